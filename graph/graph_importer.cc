#include "nabla/graph/graph_importer.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/types/optional.h"
#include "nabla/graph/control_flow.h"
#include "nabla/graph/control_flow_problems.h"
#include "nabla/graph/error_text.h"
#include "nabla/graph/foreign_spec.h"
#include "nabla/graph/function_library.h"
#include "nabla/graph/loop_shapes.h"
#include "nabla/graph/similar_names.h"
#include "nabla/graph/status_macros.h"
#include "nabla/graph/verifier.h"
#include "nabla/proto/graph.pb.h"

namespace nabla {
namespace {

// Of nodes whose number of outputs is only known from who uses them, or from an attr: what a small file can claim.
constexpr int64_t kFreeOutputs = int64_t{1} << 18;
constexpr int64_t kOutputsPerNode = 64;

int Intern(const std::string& text, std::vector<std::string>* texts, absl::flat_hash_map<std::string, int32_t>* index) {
  const auto [it, added] = index->try_emplace(text, static_cast<int32_t>(texts->size()));
  if (added) texts->push_back(text);
  return it->second;
}

}  // namespace

GraphImporter::GraphImporter(const ImportOptions& options, Graph* graph) : options_(options), graph_(graph) {}
GraphImporter::~GraphImporter() = default;

absl::Status GraphImporter::AddRecord(NodeRecord* node) {
  const int32_t id = static_cast<int32_t>(records_.size());
  if (node->name.empty()) return absl::InvalidArgumentError(absl::StrCat("node ", id, " has no name"));
  const auto error = [&](absl::StatusCode code, absl::string_view what) {
    return absl::Status(code, absl::StrCat("node ", Quoted(node->name), ": ", what));
  };
  if (!IsValidNodeName(node->name)) {
    return error(absl::StatusCode::kInvalidArgument,
                 "malformed name, expected letters, digits and any of _ . / - >, beginning with a letter, digit or .");
  }
  // The names of ops are the registry's affair, but must do in messages.
  if (node->op.empty() || !std::all_of(node->op.begin(), node->op.end(), [](char c) { return c > ' ' && c < 0x7f; })) {
    return error(absl::StatusCode::kInvalidArgument,
                 absl::StrCat("has the op ", Quoted(node->op), ", expected the name of one"));
  }
  records_.emplace_back();
  Record& record = records_.back();
  record.name = std::move(node->name);
  const auto [it, added] = by_name_.try_emplace(record.name, id);
  if (!added) {
    return absl::AlreadyExistsError(
        absl::StrCat("node ", Quoted(record.name), ": nodes ", it->second, " and ", id, " both have this name"));
  }
  const auto [op, new_op] = op_index_.try_emplace(node->op, static_cast<int32_t>(ops_.size()));
  if (new_op) {
    OpInfo info;
    info.name = node->op;
    info.first_node = id;
    info.is_merge = node->op == "Merge" || node->op == "RefMerge";
    info.is_next_iteration = node->op == "NextIteration" || node->op == "RefNextIteration";
    ops_.push_back(std::move(info));
  }
  record.op = op->second;
  record.device = Intern(node->device, &devices_, &device_index_);
  record.attrs = std::move(node->attrs);
  record.first_input = static_cast<uint32_t>(inputs_.size());
  if (inputs_.size() + node->inputs.size() > INT32_MAX) {
    return absl::ResourceExhaustedError("the graph has more than 2^31 edges");
  }
  for (const std::string& input : node->inputs) {
    const bool is_control = absl::StartsWith(input, "^");
    if (is_control) {
      ++record.num_control;
    } else if (record.num_control == 0) {
      ++record.num_inputs;
    } else {
      return absl::InvalidArgumentError(absl::StrCat("node ", Quoted(record.name), ": input ", Quoted(input),
                                                     " follows a control input, expected control inputs last"));
    }
    InputRef ref = Parse(input);
    if (ref.origin == Origin::kName) {
      ref.at = static_cast<int32_t>(names_.size());
      names_.push_back(input);
    }
    inputs_.push_back(ref);
  }
  if (!node->foreign.empty()) foreign_.emplace(id, std::move(node->foreign));
  return absl::OkStatus();
}

std::string GraphImporter::Where(int record) const {
  return absl::StrCat("node '", prefix_, records_[record].name, "' (op ", ops_[records_[record].op].name, ")");
}

absl::Status GraphImporter::CheckVersions(const VersionDef& versions) const {
  const int ours = GraphVersions().producer;
  if (versions.min_consumer() > ours) {
    return absl::FailedPreconditionError(absl::StrCat("versions: min_consumer is ", versions.min_consumer(),
                                                      ", but this library reads GraphDef version ", ours));
  }
  if (versions.producer() < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("versions: producer is ", versions.producer(), ", expected at least 0"));
  }
  for (const int bad : versions.bad_consumers()) {
    if (bad == ours) {
      return absl::FailedPreconditionError(
          absl::StrCat("versions: bad_consumers names version ", bad, ", which is this library's"));
    }
  }
  return absl::OkStatus();
}

void GraphImporter::MergeVersions(const VersionDef& versions) {
  const google::protobuf::UnknownFieldSet& unknown = VersionDef::GetReflection()->GetUnknownFields(versions);
  if (!unknown.empty()) {
    GraphDef kept;
    VersionDef::GetReflection()->MutableUnknownFields(kept.mutable_versions())->MergeFrom(unknown);
    graph_->foreign_.unknown_fields += kept.SerializeAsString();
  }
  GraphVersions& ours = graph_->versions_;
  if (first_id_ == 0) {
    ours.producer = versions.producer();
    ours.min_consumer = versions.min_consumer();
    ours.bad_consumers.assign(versions.bad_consumers().begin(), versions.bad_consumers().end());
    return;
  }
  // Of what comes together, the older semantics hold, and who may not read a part may not read the whole.
  ours.producer = std::min<int>(ours.producer, versions.producer());
  ours.min_consumer = std::max<int>(ours.min_consumer, versions.min_consumer());
  for (const int bad : versions.bad_consumers()) {
    if (std::find(ours.bad_consumers.begin(), ours.bad_consumers.end(), bad) == ours.bad_consumers.end()) {
      ours.bad_consumers.push_back(bad);
    }
  }
}

absl::Status GraphImporter::ResolveOp(OpInfo* op) {
  op->spec = graph_->FindSpec(op->name);
  if (op->spec == nullptr && options_.allow_unsupported) {
    local_specs_.push_back(op->name);
    op->spec = graph_->AddLocalSpec(ForeignSpec::Opaque(op->name));
  }
  if (op->spec != nullptr && op->spec->is_opaque() && options_.allow_unsupported) {
    unsupported_.emplace(absl::StrCat("op ", op->name), op->first_node);
    return absl::OkStatus();
  }
  if (op->spec != nullptr && !op->spec->is_opaque()) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat("node '", prefix_, records_[op->first_node].name, "': unknown op ",
                                          Quoted(op->name), DidYouMean(graph_->registry().Similar(op->name))));
}

absl::Status GraphImporter::AddFunctions(FunctionDefLibrary&& library) {
  for (const FunctionDef& function : library.function()) {
    const std::string& name = function.signature().name();
    if (graph_->registry().Find(name) != nullptr) {
      return absl::AlreadyExistsError(absl::StrCat("function ", Quoted(name), " has the name of an op"));
    }
  }
  if (library.function_size() > 0) graph_->functions().LimitExpansion(options_.max_expanded_bytes);
  return graph_->functions().AddLibrary(std::move(library));
}

absl::Status GraphImporter::CountOpaqueOutputs() {
  outputs_left_ = kFreeOutputs + kOutputsPerNode * static_cast<int64_t>(records_.size());
  for (const InputRef& ref : inputs_) {
    if (ref.origin != Origin::kRecord || ref.index == kControlSlot) continue;
    Record& source = records_[ref.at];
    if (ref.index < source.num_outputs_used) continue;
    const bool is_opaque = ops_[source.op].spec->is_opaque();
    // A node of a known op may turn out to contradict its spec.
    if (!is_opaque && !options_.allow_unsupported) continue;
    if (is_opaque) outputs_left_ -= ref.index + 1 - source.num_outputs_used;
    source.num_outputs_used = ref.index + 1;
    if (outputs_left_ < 0) {
      return absl::ResourceExhaustedError(absl::StrCat(Where(ref.at), ": output ", ref.index,
                                                       " is used, which makes more outputs than a graph of ",
                                                       records_.size(), " nodes may have"));
    }
  }
  for (Record& record : records_) {
    // The graph looks at a Merge's output to check its back edge.
    if (ops_[record.op].is_merge) record.num_outputs_used = std::max(record.num_outputs_used, 1);
  }
  return absl::OkStatus();
}

void GraphImporter::PrefixReferences(const OpInfo& op, AttrMap* attrs) const {
  if (prefix_.empty()) return;
  if (const auto* colocation = attrs->Find<std::vector<std::string>>("_class")) {
    std::vector<std::string> changed = *colocation;
    for (std::string& text : changed) {
      absl::string_view name = text;
      if (absl::ConsumePrefix(&name, "loc:@") && by_name_.contains(name)) {
        text = absl::StrCat("loc:@", prefix_, name);
      }
    }
    attrs->Set("_class", std::move(changed));
  }
  if (op.name == "Enter" || op.name == "RefEnter") {
    // Frames are told apart by name, also those of graphs that come together.
    if (const std::string* frame = attrs->Find<std::string>("frame_name")) {
      attrs->Set("frame_name", absl::StrCat(prefix_, *frame));
    }
  }
}

absl::Status GraphImporter::CheckReferences(int r, const NodeDesc& desc) const {
  if (options_.allow_unsupported) return absl::OkStatus();
  if (!IsValidDeviceName(desc.device)) {
    return absl::InvalidArgumentError(
        absl::StrCat(Where(r), ": device ", Quoted(desc.device), ", expected the form '/device:CPU:0'"));
  }
  if (const auto* colocation = desc.attrs.Find<std::vector<std::string>>("_class")) {
    for (const absl::string_view text : *colocation) {
      absl::string_view name = text;
      if (!absl::ConsumePrefix(&name, "loc:@") || by_name_.contains(name)) continue;
      if (prefix_.empty() && graph_->FindNode(name) != nullptr) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(Where(r), ": is colocated with ", Quoted(name), ", which the graph does not have"));
    }
  }
  return absl::OkStatus();
}

absl::Status GraphImporter::AddNode(int r) {
  Record& record = records_[r];
  const OpInfo& op = ops_[record.op];
  NodeDesc desc;
  desc.name = absl::StrCat(prefix_, record.name);
  desc.op = op.name;
  desc.device = devices_[record.device].empty() ? options_.default_device : devices_[record.device];
  desc.inputs.reserve(record.num_inputs);
  bool depends_on_import = false;
  for (uint32_t i = 0; i < record.num_inputs + record.num_control; ++i) {
    const InputRef& ref = inputs_[record.first_input + i];
    Node* source = nullptr;
    if (!IsBackEdge(r, ref)) {
      source = ref.origin == Origin::kRecord ? nodes_[ref.at] : mapped_[ref.at].node();
      depends_on_import = depends_on_import || ref.origin == Origin::kRecord;
    }
    if (ref.index == kControlSlot) {
      desc.control_inputs.push_back(source);
    } else if (source == nullptr) {
      desc.inputs.push_back(Output());
    } else if (ref.index >= source->num_outputs()) {
      return absl::InvalidArgumentError(absl::StrCat(Where(r), ": input ", i, " is '", InputName(ref),
                                                     "', but the outputs of '", source->name(), "' (op ", source->op(),
                                                     ") number ", source->num_outputs()));
    } else {
      desc.inputs.push_back(Output(source, ref.index));
    }
  }
  // What depends on imported nodes waits through them.
  if (!depends_on_import) {
    desc.control_inputs.insert(desc.control_inputs.end(), options_.control_dependencies.begin(),
                               options_.control_dependencies.end());
  }
  desc.attrs = std::move(record.attrs);
  NABLA_RETURN_IF_ERROR(CheckReferences(r, desc));
  PrefixReferences(op, &desc.attrs);
  std::vector<AttrMap::Entry> unknown_attrs;
  if (!op.spec->is_opaque()) {
    for (const AttrMap::Entry& attr : desc.attrs) {
      if (absl::StartsWith(attr.first, "_") || op.spec->FindAttr(attr.first) != nullptr) continue;
      if (!options_.allow_unsupported) {
        return absl::InvalidArgumentError(
            absl::StrCat(Where(r), ": the op has no attr ", Quoted(attr.first),
                         "; was the file written by a newer version of the library that made it?"));
      }
      int32_t& first = unsupported_.emplace(absl::StrCat("attr ", attr.first, " of op ", op.name), r).first->second;
      first = std::min(first, r);
      unknown_attrs.push_back(attr);
    }
    for (const AttrMap::Entry& attr : unknown_attrs) desc.attrs.Erase(attr.first);
  }
  absl::optional<NodeDesc> again;
  if (options_.allow_unsupported && !op.spec->is_opaque()) again = desc;
  absl::StatusOr<Node*> added = graph_->AddNode(std::move(desc));
  if (!added.ok() && again.has_value()) added = AddContradicting(r, *std::move(again), added.status());
  if (!added.ok()) return added.status();
  Node* const node = *added;
  nodes_[r] = node;
  if (op.spec->is_opaque()) {
    node->outputs_.resize(record.num_outputs_used);
  } else {
    if (node->spec().is_opaque()) node->outputs_.resize(std::min<int64_t>(record.num_outputs_used, outputs_left_ + 1));
    outputs_left_ -= node->num_outputs();
    if (outputs_left_ < 0) {
      return absl::ResourceExhaustedError(absl::StrCat(Where(r), ": has ", node->num_outputs(),
                                                       " outputs, which makes more than a graph of ", records_.size(),
                                                       " nodes may have"));
    }
  }
  for (AttrMap::Entry& attr : unknown_attrs) node->attrs_.Set(attr.first, std::move(attr.second));
  if (const auto it = foreign_.find(r); it != foreign_.end()) {
    graph_->SetForeignFields(node, std::move(it->second));
  }
  return absl::OkStatus();
}

absl::StatusOr<Node*> GraphImporter::AddContradicting(int r, NodeDesc desc, const absl::Status& why) {
  const std::string& op = ops_[records_[r].op].name;
  // The message without the node, which stands beside it.
  absl::string_view reason = why.message();
  if (const size_t end = reason.find("): "); end != absl::string_view::npos) reason.remove_prefix(end + 3);
  const bool is_new = !graph_->local_specs_.contains(op);
  const OpSpec* const spec = graph_->AddLocalSpec(ForeignSpec::Opaque(op, reason));
  absl::StatusOr<Node*> node = graph_->AddNodeAs(spec, std::move(desc));
  if (is_new) local_specs_.push_back(op);
  if (!node.ok()) return why;
  if (is_new) unsupported_.emplace(absl::StrCat("op ", op, ", which has a spec that says: ", reason), r);
  return node;
}

absl::Status GraphImporter::AddNodes() {
  nodes_.assign(records_.size(), nullptr);
  if (order_.empty()) {
    for (size_t r = 0; r < records_.size(); ++r) NABLA_RETURN_IF_ERROR(AddNode(static_cast<int>(r)));
  } else {
    for (const int32_t r : order_) NABLA_RETURN_IF_ERROR(AddNode(r));
  }
  return absl::OkStatus();
}

absl::Status GraphImporter::AddBackEdges() {
  bool has_loops = false;
  for (size_t r = 0; r < records_.size(); ++r) {
    const Record& record = records_[r];
    if (!ops_[record.op].is_merge) continue;
    for (uint32_t i = 0; i < record.num_inputs; ++i) {
      const InputRef& ref = inputs_[record.first_input + i];
      if (!IsBackEdge(static_cast<int>(r), ref)) continue;
      Node* source = nodes_[ref.at];
      if (ref.index >= source->num_outputs()) {
        return absl::InvalidArgumentError(absl::StrCat(Where(r), ": input ", i, " is '", InputName(ref),
                                                       "', but the outputs of that node number ",
                                                       source->num_outputs()));
      }
      NABLA_RETURN_IF_ERROR(graph_->SetBackEdge(nodes_[r], static_cast<int>(i), Output(source, ref.index)));
      has_loops = true;
    }
  }
  if (has_loops) InferLoopShapes(graph_, first_id_);
  return absl::OkStatus();
}

absl::Status GraphImporter::LookUpResults(ImportResult* result) const {
  for (const std::string& name : options_.return_nodes) {
    const auto it = by_name_.find(name);
    if (it == by_name_.end()) {
      return absl::NotFoundError(absl::StrCat("return_nodes: the imported graph has no node ", Quoted(name)));
    }
    result->return_nodes.push_back(nodes_[it->second]);
  }
  for (const std::string& name : options_.return_outputs) {
    const std::string short_name(absl::StripSuffix(name, ":0"));
    bool is_mapped = false;
    for (const auto& [from, to] : options_.input_map) {
      if (absl::StripSuffix(from, ":0") != short_name) continue;
      result->outputs.push_back(to);
      is_mapped = true;
    }
    if (is_mapped) continue;
    const InputRef ref = Parse(name);
    if (ref.origin == Origin::kName || ref.index == kControlSlot || ref.index >= nodes_[ref.at]->num_outputs()) {
      return absl::NotFoundError(absl::StrCat("return_outputs: the imported graph has no tensor ", Quoted(name)));
    }
    result->outputs.push_back(Output(nodes_[ref.at], ref.index));
  }
  return absl::OkStatus();
}

void GraphImporter::TakeBack() {
  for (const bool unlink : {true, false}) {
    for (size_t id = graph_->nodes_.size(); id-- > static_cast<size_t>(first_id_);) {
      Node* node = graph_->nodes_[id].get();
      if (node == nullptr) continue;
      if (unlink) {
        for (int i = 0; i < node->num_inputs_; ++i) {
          if (node->inputs_[i].source != nullptr) graph_->UnlinkEdge(&node->inputs_[i]);
        }
        for (const std::unique_ptr<Edge>& edge : node->control_inputs_) graph_->UnlinkEdge(edge.get());
      } else {
        graph_->node_foreign_.erase(node);
        graph_->names_.Erase(node);
        --graph_->num_live_;
      }
    }
  }
  graph_->nodes_.resize(first_id_);
  for (const std::string& op : local_specs_) graph_->local_specs_.erase(op);
  graph_->version_ = version_;
}

// That what the file says of loops and branches fits together. The graph around it may still be growing.
static absl::Status CheckFrames(const Graph& graph, int first_id, const std::vector<Node*>& nodes) {
  if (!std::any_of(nodes.begin(), nodes.end(), [](const Node* node) {
        return node != nullptr && (IsEnter(*node) || IsExit(*node) || IsNextIteration(*node) || IsLoopCond(*node) ||
                                   IsMerge(*node) || IsSwitch(*node));
      })) {
    return absl::OkStatus();
  }
  const std::vector<std::string> problems = FindControlFlowProblems(graph, first_id);
  return problems.empty() ? absl::OkStatus() : absl::InvalidArgumentError(problems[0]);
}

absl::Status GraphImporter::Finish(GraphDefRest rest, ImportResult* result) {
  const auto lock = graph_->Lock();
  first_id_ = graph_->num_node_ids();
  version_ = graph_->version();
  for (const Node* node : options_.control_dependencies) {
    if (node == nullptr || node->graph() != graph_) {
      return absl::InvalidArgumentError("control_dependencies: a node is none or belongs to another graph");
    }
  }
  if (!options_.prefix.empty()) {
    const absl::string_view prefix = absl::StripSuffix(options_.prefix, "/");
    if (!IsValidNodeName(prefix)) {
      return absl::InvalidArgumentError(absl::StrCat("prefix: ", Quoted(options_.prefix), " is no valid name"));
    }
    prefix_ = absl::StrCat(graph_->UniqueName(prefix), "/");
  }
  ImportResult done;
  const FunctionLibrary::Mark functions = graph_->functions().GetMark();
  absl::Status status = CheckVersions(rest.versions);
  // The functions first: nodes may call them.
  if (status.ok()) status = AddFunctions(std::move(rest.library));
  for (OpInfo& op : ops_) {
    if (status.ok()) status = ResolveOp(&op);
  }
  if (status.ok()) status = ResolveNames();
  if (status.ok()) status = CountOpaqueOutputs();
  if (status.ok()) status = Order();
  if (status.ok()) status = AddNodes();
  if (status.ok()) status = AddBackEdges();
  if (status.ok()) status = LookUpResults(&done);
  if (status.ok() && !options_.allow_unsupported) status = CheckFrames(*graph_, first_id_, nodes_);
  if (!status.ok()) {
    TakeBack();
    graph_->functions().TakeBack(functions);
    return status;
  }
  if (!prefix_.empty()) graph_->names_.ReserveScope(absl::StripSuffix(prefix_, "/"));
  MergeVersions(rest.versions);
  graph_->foreign_.unknown_fields += rest.foreign_fields;
  if (result != nullptr) {
    done.nodes = std::move(nodes_);
    std::set<std::pair<int32_t, std::string>> in_file_order;
    for (const auto& [what, record] : unsupported_) in_file_order.emplace(record, what);
    for (const auto& [record, what] : in_file_order) {
      done.unsupported.push_back(absl::StrCat(OneLine(what), " (node ", prefix_, records_[record].name, ")"));
    }
    *result = std::move(done);
  }
  return absl::OkStatus();
}

}  // namespace nabla
