#include "nabla/graph/export.h"

#include <ostream>
#include <utility>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "absl/strings/str_cat.h"
#include "nabla/graph/export_walk.h"
#include "nabla/graph/function_library.h"
#include "nabla/graph/status_macros.h"
#include "nabla/graph/tensor_proto.h"
#include "nabla/graph/unknown_fields.h"
#include "nabla/proto/graph.pb.h"

namespace nabla {
namespace {

// Protobuf reads no longer message.
constexpr int64_t kMaxBytes = (int64_t{1} << 31) - 1;

absl::Status TooLong(absl::string_view what) {
  return absl::ResourceExhaustedError(
      absl::StrCat(what, " takes more than ", kMaxBytes, " bytes, the limit of a GraphDef"));
}

absl::Status WriteBinary(const Graph& graph, const ExportOptions& options,
                         google::protobuf::io::ZeroCopyOutputStream* out) {
  int64_t total = 0;
  google::protobuf::io::CodedOutputStream coded(out);
  // Maps in the order of their keys.
  coded.SetSerializationDeterministic(true);
  const auto write = [&](uint32_t field, const google::protobuf::MessageLite& message) {
    const size_t size = message.ByteSizeLong();
    total += static_cast<int64_t>(size) + 11;
    if (total > kMaxBytes) return TooLong("the graph");
    coded.WriteTag(field << 3 | 2);
    coded.WriteVarint64(size);
    message.SerializeWithCachedSizes(&coded);
    return coded.HadError() ? absl::DataLossError("the system reports an error in writing") : absl::OkStatus();
  };
  NodeDef def;
  NABLA_RETURN_IF_ERROR(ForEachExportedNode(graph, options, [&](const Node& node) {
    def.Clear();
    NABLA_RETURN_IF_ERROR(ExportCheckedNode(node, options, &def));
    return write(GraphDef::kNodeFieldNumber, def);
  }));
  GraphDef rest;
  NABLA_RETURN_IF_ERROR(ExportAllButNodes(graph, &rest));
  total += static_cast<int64_t>(rest.ByteSizeLong());
  if (total > kMaxBytes) return TooLong("the graph");
  rest.SerializeWithCachedSizes(&coded);
  coded.Trim();
  return coded.HadError() ? absl::DataLossError("the system reports an error in writing") : absl::OkStatus();
}

}  // namespace

absl::Status ForEachExportedNode(const Graph& graph, const ExportOptions& options,
                                 const std::function<absl::Status(const Node&)>& visit) {
  std::vector<char> wanted;  // by id; empty: all
  if (!options.targets.empty()) {
    wanted.resize(graph.num_node_ids(), 0);
    std::vector<const Node*> pending;
    const auto want = [&](const Node* node) {
      if (node == nullptr || wanted[node->id()]) return;
      wanted[node->id()] = 1;
      pending.push_back(node);
    };
    for (const Node* target : options.targets) {
      if (target == nullptr || target->graph() != &graph) {
        return absl::InvalidArgumentError("a target is none or belongs to another graph");
      }
      want(target);
    }
    while (!pending.empty()) {
      const Node* node = pending.back();
      pending.pop_back();
      for (int i = 0; i < node->num_inputs(); ++i) want(node->input(i).node());
      for (const Node* control : node->control_inputs()) want(control);
    }
  }
  const int num_ids = graph.num_node_ids();
  for (int id = 0; id < num_ids; ++id) {
    if (!wanted.empty() && !wanted[id]) continue;
    const Node* node = graph.node(id);
    if (node != nullptr) NABLA_RETURN_IF_ERROR(visit(*node));
  }
  return absl::OkStatus();
}

void ExportNode(const Node& node, NodeDef* def) {
  def->set_name(node.name());
  def->set_op(node.op());
  def->set_device(node.device());
  for (int i = 0; i < node.num_inputs(); ++i) {
    const Output input = node.input(i);
    if (!input) {
      def->add_input();
    } else if (input.index() == 0) {
      def->add_input(input.node()->name());
    } else {
      def->add_input(absl::StrCat(input.node()->name(), ":", input.index()));
    }
  }
  if (node.num_control_inputs() > 0) {
    for (const Node* control : node.control_inputs()) def->add_input(absl::StrCat("^", control->name()));
  }
  for (const auto& [name, value] : node.attrs()) AttrToProto(value, &(*def->mutable_attr())[name]);
  if (const ForeignFields* foreign = node.graph()->foreign_fields(&node)) {
    if (!foreign->experimental_debug_info.empty()) {
      def->mutable_experimental_debug_info()->ParseFromString(foreign->experimental_debug_info);
    }
    if (!foreign->experimental_type.empty()) {
      def->mutable_experimental_type()->ParseFromString(foreign->experimental_type);
    }
    if (!foreign->unknown_fields.empty()) MergeUnknownFields(foreign->unknown_fields, def);
  }
}

absl::Status ExportCheckedNode(const Node& node, const ExportOptions& options, NodeDef* def) {
  for (int i = 0; i < node.num_inputs(); ++i) {
    if (node.input(i)) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("node '", node.name(), "' (op ", node.op(), "): input ", i, " is not connected"));
  }
  int64_t bytes = 0;
  for (const auto& [name, value] : node.attrs()) {
    if (const Tensor* tensor = value.As<Tensor>()) bytes += static_cast<int64_t>(tensor->num_bytes());
  }
  if (bytes > kMaxBytes) {
    return TooLong(absl::StrCat("the constant of node '", node.name(), "' (op ", node.op(), ")"));
  }
  ExportNode(node, def);
  if (options.output_shapes && node.num_outputs() > 0) {
    std::vector<Shape> shapes;
    shapes.reserve(node.num_outputs());
    for (int i = 0; i < node.num_outputs(); ++i) shapes.push_back(node.output_shape(i));
    AttrToProto(Attr(std::move(shapes)), &(*def->mutable_attr())["_output_shapes"]);
  }
  return absl::OkStatus();
}

absl::Status ExportAllButNodes(const Graph& graph, GraphDef* graph_def) {
  // First the fields that are kept as bytes, so that what follows is added to them.
  if (!graph_def->MergeFromString(graph.graph_foreign_fields().unknown_fields)) {
    return absl::InternalError("the unknown fields of the graph are malformed");
  }
  if (!graph.functions().empty()) graph.functions().ToProto(graph_def->mutable_library());
  const GraphVersions& versions = graph.versions();
  if (versions.producer != 0 || versions.min_consumer != 0 || !versions.bad_consumers.empty()) {
    VersionDef* def = graph_def->mutable_versions();
    def->set_producer(versions.producer);
    def->set_min_consumer(versions.min_consumer);
    for (const int bad : versions.bad_consumers) def->add_bad_consumers(bad);
  }
  return absl::OkStatus();
}

absl::Status ExportGraphDef(const Graph& graph, const ExportOptions& options, GraphDef* graph_def) {
  const auto lock = graph.Lock();
  graph_def->Clear();
  NABLA_RETURN_IF_ERROR(ForEachExportedNode(
      graph, options, [&](const Node& node) { return ExportCheckedNode(node, options, graph_def->add_node()); }));
  return ExportAllButNodes(graph, graph_def);
}

absl::Status ExportGraphDefString(const Graph& graph, const ExportOptions& options, std::string* bytes) {
  const auto lock = graph.Lock();
  bytes->clear();
  google::protobuf::io::StringOutputStream out(bytes);
  return WriteBinary(graph, options, &out);
}

absl::Status ExportGraphDefStream(const Graph& graph, const ExportOptions& options, std::ostream& out) {
  const auto lock = graph.Lock();
  absl::Status status;
  {
    google::protobuf::io::OstreamOutputStream stream(&out, 1 << 20);
    status = WriteBinary(graph, options, &stream);
  }
  if (status.ok() && !out.flush()) status = absl::DataLossError("the system reports an error in writing");
  return status;
}

}  // namespace nabla
