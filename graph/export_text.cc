// The formats for people: text, JSON, Graphviz.
#include <ostream>
#include <utility>

#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>

#include "absl/strings/str_cat.h"
#include "nabla/graph/error_text.h"
#include "nabla/graph/export_walk.h"
#include "nabla/graph/status_macros.h"
#include "nabla/proto/graph.pb.h"

namespace nabla {
namespace {

absl::Status WriteFailed() { return absl::DataLossError("the system reports an error in writing"); }

// A Graphviz string.
std::string DotString(absl::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  quoted += '"';
  return quoted;
}

absl::string_view DotStyle(const Node& node) {
  const std::string& op = node.op();
  if (op == "Const") return ", style=filled, fillcolor=gray92, color=gray60";
  if (op == "Placeholder" || op == "PlaceholderWithDefault") return ", style=filled, fillcolor=lightblue";
  if (op == "VarHandleOp" || op == "VariableV2" || op == "Variable") return ", style=filled, fillcolor=lightyellow";
  if (op == "Enter" || op == "Exit" || op == "Merge" || op == "Switch" || op == "NextIteration" || op == "LoopCond") {
    return ", shape=ellipse";
  }
  return "";
}

}  // namespace

absl::Status WriteGraphText(const Graph& graph, const ExportOptions& options, std::ostream& out) {
  {
    google::protobuf::io::OstreamOutputStream stream(&out, 1 << 16);
    GraphDef part;
    NABLA_RETURN_IF_ERROR(ForEachExportedNode(graph, options, [&](const Node& node) {
      part.Clear();
      NABLA_RETURN_IF_ERROR(ExportCheckedNode(node, options, part.add_node()));
      return google::protobuf::TextFormat::Print(part, &stream) ? absl::OkStatus() : WriteFailed();
    }));
    part.Clear();
    NABLA_RETURN_IF_ERROR(ExportAllButNodes(graph, &part));
    if (!google::protobuf::TextFormat::Print(part, &stream)) return WriteFailed();
  }
  return out.flush() ? absl::OkStatus() : WriteFailed();
}

absl::Status WriteGraphJson(const Graph& graph, const ExportOptions& options, std::ostream& out) {
  std::string json;
  {
    GraphDef graph_def;
    NABLA_RETURN_IF_ERROR(ExportGraphDef(graph, options, &graph_def));
    google::protobuf::util::JsonPrintOptions print;
    print.add_whitespace = true;
    const auto status = google::protobuf::util::MessageToJsonString(graph_def, &json, print);
    if (!status.ok()) {
      const google::protobuf::StringPiece message = status.message();
      return absl::InternalError(
          absl::StrCat("the graph has no JSON form: ", OneLine(absl::string_view(message.data(), message.size()))));
    }
  }
  out << json;
  return out.flush() ? absl::OkStatus() : WriteFailed();
}

absl::Status WriteGraphDot(const Graph& graph, const ExportOptions& options, std::ostream& out) {
  out << "digraph nabla {\n"
         "  node [shape=box, fontname=\"Helvetica\", fontsize=10];\n"
         "  edge [fontname=\"Helvetica\", fontsize=8];\n";
  NABLA_RETURN_IF_ERROR(ForEachExportedNode(graph, options, [&](const Node& node) {
    const std::string name = DotString(node.name());
    // "\n" is Graphviz's line break inside a label.
    std::string label = DotString(absl::StrCat(node.name(), "\n", node.op()));
    label.replace(label.find('\n'), 1, "\\n");
    out << "  " << name << " [label=" << label << DotStyle(node) << "];\n";
    for (int i = 0; i < node.num_inputs(); ++i) {
      const Output input = node.input(i);
      if (!input) continue;
      out << "  " << DotString(input.node()->name()) << " -> " << name << " [label=\"";
      if (input.index() != 0) out << ":" << input.index() << " ";
      out << DTypeName(input.dtype()) << (input.shape().has_rank() ? " " : "")
          << (input.shape().has_rank() ? input.shape().ToString() : "") << "\"";
      const bool is_back_edge = (node.op() == "Merge" || node.op() == "RefMerge") &&
                                (input.node()->op() == "NextIteration" || input.node()->op() == "RefNextIteration");
      out << (is_back_edge ? ", style=dotted, constraint=false];\n" : "];\n");
    }
    for (const Node* control : node.control_inputs()) {
      out << "  " << DotString(control->name()) << " -> " << name << " [style=dashed, color=gray50];\n";
    }
    return out ? absl::OkStatus() : WriteFailed();
  }));
  out << "}\n";
  return out.flush() ? absl::OkStatus() : WriteFailed();
}

}  // namespace nabla
