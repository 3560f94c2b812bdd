// The formats for people: text, JSON, Graphviz.
#include <algorithm>
#include <ostream>
#include <string>
#include <utility>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/type_resolver.h>
#include <google/protobuf/util/type_resolver_util.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
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

// Where protobuf prints -0, which it would read as the integer 0, makes it -0.0.
void KeepNegativeZeros(std::string* json) {
  if (json->find("-0") == std::string::npos) return;
  std::string kept;
  bool in_string = false;
  for (size_t i = 0; i < json->size(); ++i) {
    const char c = (*json)[i];
    kept += c;
    if (c == '"') in_string = !in_string;
    if (in_string && c == '\\') kept += (*json)[++i];
    const bool is_exponent = i > 0 && ((*json)[i - 1] == 'e' || (*json)[i - 1] == 'E');
    const bool is_zero = !in_string && !is_exponent && c == '-' && (*json)[i + 1] == '0';
    const char next = is_zero && i + 2 < json->size() ? (*json)[i + 2] : ',';
    if (is_zero && next != '.' && next != 'e' && next != 'E') {
      kept += "0.0";
      ++i;
    }
  }
  *json = std::move(kept);
}

absl::Status ToJson(const google::protobuf::Message& message, std::string* json) {
  using google::protobuf::util::TypeResolver;
  constexpr char kUrl[] = "type.googleapis.com";
  static TypeResolver* const resolver = google::protobuf::util::NewTypeResolverForDescriptorPool(
      kUrl, google::protobuf::DescriptorPool::generated_pool());
  // By way of bytes in which maps are in the order of their keys.
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    message.SerializeToCodedStream(&coded);
  }
  google::protobuf::util::JsonPrintOptions print;
  print.add_whitespace = true;
  const auto status = google::protobuf::util::BinaryToJsonString(
      resolver, absl::StrCat(kUrl, "/", message.GetDescriptor()->full_name()), bytes, json, print);
  if (status.ok()) {
    KeepNegativeZeros(json);
    return absl::OkStatus();
  }
  const google::protobuf::StringPiece text = status.message();
  return absl::InternalError(
      absl::StrCat("the graph has no JSON form: ", OneLine(absl::string_view(text.data(), text.size()))));
}

void WriteIndented(absl::string_view lines, absl::string_view indent, std::ostream& out) {
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n'), lines.size() - 1) + 1;
    out << indent << lines.substr(0, end);
    lines.remove_prefix(end);
  }
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
  // A GraphDef as protobuf prints it, put together from its nodes and the rest, so that one node at a time is in
  // memory.
  bool is_first = true;
  NABLA_RETURN_IF_ERROR(ForEachExportedNode(graph, options, [&](const Node& node) {
    NodeDef def;
    NABLA_RETURN_IF_ERROR(ExportCheckedNode(node, options, &def));
    std::string json;
    NABLA_RETURN_IF_ERROR(ToJson(def, &json));
    out << (is_first ? "{\n \"node\": [\n" : ",\n");
    is_first = false;
    WriteIndented(absl::StripSuffix(json, "\n"), "  ", out);
    return out ? absl::OkStatus() : WriteFailed();
  }));
  GraphDef rest;
  NABLA_RETURN_IF_ERROR(ExportAllButNodes(graph, &rest));
  std::string json;
  NABLA_RETURN_IF_ERROR(ToJson(rest, &json));
  absl::string_view fields = json;
  if (!is_first) {
    out << "\n ]";
    // "{}" if there are none, else they begin on a line of their own.
    const bool is_empty = !absl::ConsumePrefix(&fields, "{\n");
    out << (is_empty ? "\n" : ",\n");
    if (is_empty) fields.remove_prefix(1);
  }
  out << fields;
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
