#include "nabla/graph/function_shapes.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "nabla/graph/function_body.h"
#include "nabla/graph/function_instance.h"
#include "nabla/graph/function_library.h"
#include "nabla/graph/resource_handle.h"
#include "nabla/graph/shape_inference.h"

namespace nabla {
namespace {

// Calls within calls that are followed, and nodes that one outermost call may make.
constexpr int kMaxDepth = 24;
constexpr int64_t kMaxNodes = 200000;
// What each call adds to the nodes that all calls of a library together may make.
constexpr int64_t kNodesPerCall = 300;
constexpr int64_t kEdgesPerNode = 8;
// Integers that a body may reshape by or the like are passed on as values.
constexpr int64_t kMaxValueElements = 16;
constexpr size_t kMaxRemembered = 10000;
// Each weakens some dimension of a loop variable, or is the last.
constexpr int kMaxLoopRounds = 16;

// How far this thread is in following calls.
struct Progress {
  int depth = 0;
  int64_t nodes_left = 0;
};
thread_local Progress progress;

class ProgressGuard {
 public:
  explicit ProgressGuard(FunctionShapeMemo& memo) {
    if (progress.depth++ > 0) return;
    progress.nodes_left = kMaxNodes;
    memo.NoteCall();
  }
  ~ProgressGuard() { --progress.depth; }
};

// What stands for input i, which has `shape`, in a graph of its own; says in `key` all that was used of it.
NodeDesc DescribeArgument(const ShapeContext& c, int i, const Shape& shape, bool with_value, std::string* key) {
  const DType dtype = BaseDType(c.input_dtype(i));
  NodeDesc desc;
  desc.name = absl::StrCat("_argument_", i);
  desc.attrs.Set("dtype", dtype);
  absl::StrAppend(key, "|", DTypeName(dtype));
  if (dtype == DType::kResource && c.source(i)) {
    const ResourceInfo info = FindResource(c.source(i));
    if (info.node != nullptr) {
      desc.op = "VarHandleOp";
      desc.attrs.Set("dtype", info.dtype);
      desc.attrs.Set("shape", info.shape);
      absl::StrAppend(key, DTypeName(info.dtype), info.shape.ToString());
    }
  } else if (with_value && (dtype == DType::kInt32 || dtype == DType::kInt64) && shape.IsFullyDefined() &&
             shape.num_elements() <= kMaxValueElements) {
    if (absl::optional<Tensor> value = c.InputValue(i)) {
      desc.op = "Const";
      for (int64_t k = 0; k < value->num_elements(); ++k) {
        absl::StrAppend(key, k == 0 ? "=" : ",",
                        dtype == DType::kInt32 ? value->data<int32_t>()[k] : value->data<int64_t>()[k]);
      }
      absl::StrAppend(key, value->shape().ToString());
      desc.attrs.Set("value", *std::move(value));
    }
  }
  if (desc.op.empty()) {
    desc.op = "Placeholder";
    desc.attrs.Set("shape", shape);
    absl::StrAppend(key, shape.ToString());
  }
  return desc;
}

std::string AttrsKey(const AttrMap* attrs) {
  std::string key;
  if (attrs == nullptr) return key;
  for (const auto& [name, value] : *attrs) absl::StrAppend(&key, ";", name, "=", value.ToString());
  return key;
}

// The shapes of what `function` gives for c's inputs from the number `first` on, or nothing if they could not be found
// out. `inputs`: the shapes of all inputs, where these and the values are others than c has.
std::vector<Shape> InferThroughBody(const ShapeContext& c, const FunctionRef& function, int first = 0,
                                    const std::vector<Shape>* inputs = nullptr) {
  const FunctionLibrary& library = c.graph()->functions();
  const absl::StatusOr<const FunctionBody*> body = library.Body(function.name);
  if (!body.ok()) return {};
  FunctionShapeMemo& memo = library.shape_memo();
  const ProgressGuard guard(memo);
  // To ask for what is known takes a fraction of a node's time for each input, an edge a smaller one.
  if (!memo.Spend(1 + c.num_inputs() / 2)) return {};
  std::string key = absl::StrCat(function.name, AttrsKey(function.attrs.get()));
  std::vector<NodeDesc> descs;
  for (int i = first; i < c.num_inputs(); ++i) {
    descs.push_back(DescribeArgument(c, i, inputs == nullptr ? c.input(i) : (*inputs)[i], inputs == nullptr, &key));
  }
  if (absl::optional<std::vector<Shape>> known = memo.Find(key)) return *std::move(known);
  const int64_t size =
      static_cast<int64_t>((*body)->nodes.size()) + c.num_inputs() + (*body)->MaxEdges(c.num_inputs()) / kEdgesPerNode;
  if (progress.depth > kMaxDepth || progress.nodes_left < size || !memo.Spend(size)) return {};
  progress.nodes_left -= size;
  memo.Set(key, {});  // for calls of itself
  const std::unique_ptr<Graph> scratch = Graph::SharingFunctions(*c.graph());
  Outputs arguments;
  for (NodeDesc& desc : descs) {
    const absl::StatusOr<Node*> argument = scratch->AddNode(std::move(desc));
    if (!argument.ok()) return {};  // the registry lacks an op for it
    arguments.push_back((*argument)->output(0));
  }
  const absl::StatusOr<FunctionInstance> instance = InstantiateFunction(scratch.get(), function, arguments, {});
  if (!instance.ok()) return {};
  std::vector<Shape> shapes;
  for (const Output& result : instance->results) shapes.push_back(result.shape());
  memo.Set(key, shapes);
  return shapes;
}

// Those of the attr output_shapes; unknown ones where it is not there or does not fit.
std::vector<Shape> ClaimedShapes(const ShapeContext& c) {
  const size_t count = c.outputs().size();
  const auto* claimed = c.find_attr<std::vector<Shape>>("output_shapes");
  return claimed != nullptr && claimed->size() == count ? *claimed : std::vector<Shape>(count);
}

bool AllHaveRank(const std::vector<Shape>& shapes) {
  return std::all_of(shapes.begin(), shapes.end(), [](const Shape& shape) { return shape.has_rank(); });
}

}  // namespace

void FunctionShapeMemo::NoteCall() {
  const std::lock_guard<std::mutex> lock(mutex_);
  nodes_left_ += kNodesPerCall;
}

bool FunctionShapeMemo::Spend(int64_t nodes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (nodes_left_ < nodes) return false;
  nodes_left_ -= nodes;
  return true;
}

absl::optional<std::vector<Shape>> FunctionShapeMemo::Find(absl::string_view key) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto it = shapes_.find(key);
  if (it == shapes_.end()) return absl::nullopt;
  return it->second;
}

void FunctionShapeMemo::Set(absl::string_view key, std::vector<Shape> shapes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (shapes_.size() >= kMaxRemembered) shapes_.clear();
  shapes_.insert_or_assign(std::string(key), std::move(shapes));
}

absl::Status CallShape(ShapeContext& c) {
  const size_t count = c.outputs().size();
  std::vector<Shape> shapes;
  if (c.graph() != nullptr && count > 0) {
    const auto* named = c.find_attr<FunctionRef>("f");
    shapes = InferThroughBody(
        c, named != nullptr ? *named : FunctionRef{c.spec().name(), std::make_shared<AttrMap>(c.attrs())});
  }
  shapes.resize(shapes.size() == count ? count : 0);
  const auto* claimed = c.find_attr<std::vector<Shape>>("_output_shapes");
  for (size_t i = 0; i < count; ++i) {
    if (i < shapes.size() && shapes[i].has_rank()) {
      c.SetOutput(static_cast<int>(i), std::move(shapes[i]));
    } else if (claimed != nullptr && claimed->size() == count) {
      c.SetOutput(static_cast<int>(i), (*claimed)[i]);
    }
  }
  return absl::OkStatus();
}

std::vector<Shape> WhileShapes(const ShapeContext& c) {
  const size_t count = c.outputs().size();
  std::vector<Shape> claimed = ClaimedShapes(c);
  const auto* body = c.find_attr<FunctionRef>("body");
  if (AllHaveRank(claimed)) return claimed;
  if (c.graph() == nullptr || body == nullptr || static_cast<size_t>(c.num_inputs()) != count) return claimed;
  const ProgressGuard guard(c.graph()->functions().shape_memo());
  std::vector<Shape> shapes = claimed;
  for (size_t i = 0; i < count; ++i) {
    if (!claimed[i].has_rank()) shapes[i] = c.input(static_cast<int>(i));
  }
  for (int round = 0; round < kMaxLoopRounds; ++round) {
    const std::vector<Shape> next = InferThroughBody(c, *body, 0, &shapes);
    if (next.size() != count) return claimed;
    bool changed = false;
    for (size_t i = 0; i < count; ++i) {
      if (claimed[i].has_rank()) continue;
      Shape common = CommonShape(shapes[i], next[i]);
      changed = changed || common != shapes[i];
      shapes[i] = std::move(common);
    }
    if (!changed) return shapes;
  }
  return claimed;
}

absl::Status ConditionalShape(ShapeContext& c) {
  std::vector<Shape> shapes = ClaimedShapes(c);
  const size_t count = shapes.size();
  std::vector<FunctionRef> branches;
  if (const auto* listed = c.find_attr<std::vector<FunctionRef>>("branches")) branches = *listed;
  for (const char* name : {"then_branch", "else_branch"}) {
    if (const auto* branch = c.find_attr<FunctionRef>(name)) branches.push_back(*branch);
  }
  if (c.graph() != nullptr && !AllHaveRank(shapes)) {
    const ProgressGuard guard(c.graph()->functions().shape_memo());
    std::vector<Shape> common;
    for (size_t b = 0; b < branches.size(); ++b) {
      const std::vector<Shape> results = InferThroughBody(c, branches[b], 1);
      if (b == 0) common = results;
      if (results.size() != count) common.clear();
      for (size_t i = 0; i < common.size(); ++i) common[i] = CommonShape(common[i], results[i]);
      if (common.empty()) break;
    }
    for (size_t i = 0; i < common.size(); ++i) {
      if (!shapes[i].has_rank()) shapes[i] = std::move(common[i]);
    }
  }
  for (size_t i = 0; i < count; ++i) c.SetOutput(static_cast<int>(i), std::move(shapes[i]));
  return absl::OkStatus();
}

}  // namespace nabla
