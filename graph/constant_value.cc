#include "nabla/graph/constant_value.h"

#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "nabla/graph/partial_value.h"
#include "nabla/graph/strided_slice.h"

namespace nabla {
namespace {

using Maybe = absl::optional<PartialValue>;

// Arithmetic on shapes is a few nodes deep; what is longer is left unknown rather than walked.
constexpr int kMaxDepth = 64;
constexpr int kMaxNodes = 1024;
constexpr size_t kMaxWork = 16384;  // elements in all
constexpr int kMaxIdentities = 1024;

// The tensor that has the same value: past identities, loop invariants and the Switch of a conditional (whose outputs
// have it wherever they have any).
Output SkipIdentities(Output output) {
  for (int i = 0; i < kMaxIdentities; ++i) {
    Node* node = output.node();
    const std::string& op = node->op();
    int input = 0;
    if (op == "IdentityN") {
      input = output.index();
    } else if (op == "Enter") {
      const bool* constant = node->attr<bool>("is_constant");
      if (constant == nullptr || !*constant) return output;
    } else if (op != "Identity" && op != "StopGradient" && op != "PreventGradient" && op != "Snapshot" &&
               op != "Switch") {
      return output;
    }
    if (input >= node->num_inputs() || !node->input(input) || node->input(input).dtype() != output.dtype()) {
      return output;
    }
    output = node->input(input);
  }
  return output;
}

// The value of a Const node, whose attrs might contradict each other in a graph from a file.
const Tensor* ConstTensor(Output output) {
  if (output.node()->op() != "Const") return nullptr;
  const Tensor* value = output.node()->attr<Tensor>("value");
  return value != nullptr && value->dtype() == output.dtype() ? value : nullptr;
}

class Evaluator;
using Rule = Maybe (*)(Evaluator& e, const Node& node, int index);

// Evaluates integer tensors as far as they are known. Each tensor once: shared subexpressions must not multiply.
class Evaluator {
 public:
  // Always something if the dtype is supported and the static shape small.
  Maybe Get(Output output);
  Maybe Input(const Node& node, int i) {
    if (i >= node.num_inputs() || !node.input(i)) return absl::nullopt;
    return Get(node.input(i));
  }
  // An input, if all of it is known: axes, indices.
  absl::optional<std::vector<int64_t>> KnownInput(const Node& node, int i) {
    const Maybe value = Input(node, i);
    if (!value.has_value() || !value->IsKnown()) return absl::nullopt;
    return value->Values();
  }
  absl::optional<int64_t> KnownScalar(const Node& node, int i) {
    const Maybe value = Input(node, i);
    if (!value.has_value() || value->elements.size() != 1) return absl::nullopt;
    return value->elements[0];
  }

 private:
  Maybe Evaluate(Output output);

  absl::flat_hash_map<Output, Maybe> known_;
  int depth_ = 0;
  size_t work_ = 0;
};

Maybe ShapeVector(DType dtype, const Shape& shape) {
  if (!shape.has_rank()) return absl::nullopt;
  std::vector<PartialElement> dims;
  for (int64_t dim : shape.dims()) {
    // What does not fit int32 is an error at run time, not a wrong number here.
    const bool fits = dim != kUnknownDim && WrapToDType(dtype, dim) == dim;
    dims.push_back(fits ? PartialElement(dim) : absl::nullopt);
  }
  return PartialValue::Vector(dtype, std::move(dims));
}

Maybe ShapeRule(Evaluator&, const Node& node, int index) {  // and ShapeN
  if (index >= node.num_inputs() || !node.input(index)) return absl::nullopt;
  return ShapeVector(node.output_dtype(index), node.input(index).shape());
}

Maybe SizeRule(Evaluator&, const Node& node, int) {
  const Shape& shape = node.input(0).shape();
  const DType dtype = node.output_dtype(0);
  const int64_t size = shape.num_elements();
  if (size == kUnknownDim || WrapToDType(dtype, size) != size) return absl::nullopt;
  return PartialValue::Scalar(dtype, size);
}

Maybe RankRule(Evaluator&, const Node& node, int) {
  const Shape& shape = node.input(0).shape();
  if (!shape.has_rank()) return absl::nullopt;
  return PartialValue::Scalar(node.output_dtype(0), shape.rank());
}

Maybe BinaryRule(Evaluator& e, const Node& node, int) {
  const Maybe a = e.Input(node, 0);
  const Maybe b = e.Input(node, 1);
  if (!a.has_value() || !b.has_value()) return absl::nullopt;
  return PartialBinary(node.op(), node.output_dtype(0), *a, *b);
}

Maybe UnaryRule(Evaluator& e, const Node& node, int) {
  const Maybe a = e.Input(node, 0);
  if (!a.has_value()) return absl::nullopt;
  return PartialUnary(node.op(), node.output_dtype(0), *a);
}

Maybe ReduceRule(Evaluator& e, const Node& node, int) {
  const Maybe a = e.Input(node, 0);
  const absl::optional<std::vector<int64_t>> axes = e.KnownInput(node, 1);
  const bool* keep_dims = node.attr<bool>("keep_dims");
  if (!a.has_value() || !axes.has_value() || keep_dims == nullptr) return absl::nullopt;
  return PartialReduce(node.op(), *a, *axes, *keep_dims);
}

// Reshape, Squeeze, ExpandDims: the shape rule has found the shape.
Maybe SameElementsRule(Evaluator& e, const Node& node, int) {
  Maybe a = e.Input(node, 0);
  if (!a.has_value()) return absl::nullopt;
  return PartialReshape(*std::move(a), node.output_shape(0));
}

Maybe PackRule(Evaluator& e, const Node& node, int) {
  const int64_t* axis_attr = node.attr<int64_t>("axis");
  const int64_t axis = axis_attr == nullptr ? 0 : *axis_attr;
  std::vector<PartialValue> parts;
  for (int i = 0; i < node.num_inputs(); ++i) {
    Maybe part = e.Input(node, i);
    if (!part.has_value() || static_cast<int64_t>(parts.size()) > PartialValue::kMaxElements) return absl::nullopt;
    const int rank = part->shape.rank();
    if (axis < -(rank + 1) || axis > rank) return absl::nullopt;
    part->shape.InsertDim(static_cast<int>(axis < 0 ? axis + rank + 1 : axis), 1);
    parts.push_back(*std::move(part));
  }
  return PartialConcat(parts, axis);
}

Maybe ConcatInputs(Evaluator& e, const Node& node, int first, int last, int axis_input) {
  const absl::optional<int64_t> axis = e.KnownScalar(node, axis_input);
  if (!axis.has_value()) return absl::nullopt;
  std::vector<PartialValue> parts;
  for (int i = first; i < last; ++i) {
    Maybe part = e.Input(node, i);
    if (!part.has_value() || static_cast<int64_t>(parts.size()) > PartialValue::kMaxElements) return absl::nullopt;
    parts.push_back(*std::move(part));
  }
  return PartialConcat(parts, *axis);
}
Maybe ConcatRule(Evaluator& e, const Node& node, int) { return ConcatInputs(e, node, 1, node.num_inputs(), 0); }
Maybe ConcatV2Rule(Evaluator& e, const Node& node, int) {
  return ConcatInputs(e, node, 0, node.num_inputs() - 1, node.num_inputs() - 1);
}

Maybe SliceRule(Evaluator& e, const Node& node, int) {
  const Maybe a = e.Input(node, 0);
  const absl::optional<std::vector<int64_t>> begin = e.KnownInput(node, 1);
  const absl::optional<std::vector<int64_t>> size = e.KnownInput(node, 2);
  if (!a.has_value() || !begin.has_value() || !size.has_value()) return absl::nullopt;
  const size_t rank = static_cast<size_t>(a->shape.rank());
  if (begin->size() != rank || size->size() != rank) return absl::nullopt;
  std::vector<PartialRange> ranges;
  Shape shape = Shape::Scalar();
  for (size_t i = 0; i < rank; ++i) {
    const int64_t dim = a->shape.dim(static_cast<int>(i));
    if ((*begin)[i] < 0 || (*begin)[i] > dim) return absl::nullopt;
    const int64_t taken = (*size)[i] == -1 ? dim - (*begin)[i] : (*size)[i];
    if (taken < 0 || taken > dim - (*begin)[i]) return absl::nullopt;
    ranges.push_back({(*begin)[i], 1, taken});
    shape.AddDim(taken);
  }
  return PartialTake(*a, ranges, shape);
}

Maybe StridedSliceRule(Evaluator& e, const Node& node, int) {
  const Maybe a = e.Input(node, 0);
  const absl::optional<std::vector<int64_t>> begin = e.KnownInput(node, 1);
  const absl::optional<std::vector<int64_t>> end = e.KnownInput(node, 2);
  const absl::optional<std::vector<int64_t>> strides = e.KnownInput(node, 3);
  if (!a.has_value() || !begin.has_value() || !end.has_value() || !strides.has_value()) return absl::nullopt;
  const absl::StatusOr<ResolvedSlice> slice =
      ResolveStridedSlice(a->shape, *begin, *end, *strides, MasksFromAttrs(node.attrs()));
  if (!slice.ok() || !slice->begins_known) return absl::nullopt;
  std::vector<PartialRange> ranges;
  for (const ResolvedSlice::Dimension& dim : slice->dims) ranges.push_back({dim.begin, dim.stride, dim.size});
  return PartialTake(*a, ranges, slice->output);
}

Maybe GatherRule(Evaluator& e, const Node& node, int) {  // and GatherV2
  const Maybe a = e.Input(node, 0);
  const Maybe indices = e.Input(node, 1);
  if (!a.has_value() || !indices.has_value()) return absl::nullopt;
  const int64_t* batch_dims = node.attr<int64_t>("batch_dims");
  if (batch_dims != nullptr && *batch_dims != 0) return absl::nullopt;
  if (node.num_inputs() == 2) return PartialGather(*a, *indices, 0);
  const absl::optional<int64_t> axis = e.KnownScalar(node, 2);
  if (!axis.has_value()) return absl::nullopt;
  return PartialGather(*a, *indices, *axis);
}

Maybe RangeRule(Evaluator& e, const Node& node, int) {
  const absl::optional<int64_t> start = e.KnownScalar(node, 0);
  const absl::optional<int64_t> limit = e.KnownScalar(node, 1);
  const absl::optional<int64_t> delta = e.KnownScalar(node, 2);
  if (!start.has_value() || !limit.has_value() || !delta.has_value() || *delta == 0) return absl::nullopt;
  std::vector<PartialElement> elements;
  for (int64_t value = *start; *delta > 0 ? value < *limit : value > *limit;) {
    if (static_cast<int64_t>(elements.size()) == PartialValue::kMaxElements) return absl::nullopt;
    elements.push_back(value);
    if (__builtin_add_overflow(value, *delta, &value)) break;
  }
  return PartialValue::Vector(node.output_dtype(0), std::move(elements));
}

// `value_input` repeated in the shape that `shape_input` says.
Maybe BroadcastInput(Evaluator& e, const Node& node, int value_input, int shape_input) {
  const Maybe value = e.Input(node, value_input);
  const absl::optional<std::vector<int64_t>> dims = e.KnownInput(node, shape_input);
  if (!value.has_value() || !dims.has_value()) return absl::nullopt;
  const absl::StatusOr<Shape> shape = Shape::FromDims(*dims);
  if (!shape.ok()) return absl::nullopt;
  return PartialBroadcast(*value, *shape);
}
Maybe FillRule(Evaluator& e, const Node& node, int) { return BroadcastInput(e, node, 1, 0); }
Maybe BroadcastToRule(Evaluator& e, const Node& node, int) { return BroadcastInput(e, node, 0, 1); }

Maybe Splat(const Node& node, int64_t element) {
  Maybe value = PartialValue::Unknown(node.output_dtype(0), node.output_shape(0));
  if (value.has_value()) value->elements.assign(value->elements.size(), element);
  return value;
}
Maybe ZerosLikeRule(Evaluator&, const Node& node, int) { return Splat(node, 0); }
Maybe OnesLikeRule(Evaluator&, const Node& node, int) { return Splat(node, 1); }

Maybe SelectRule(Evaluator& e, const Node& node, int) {  // and SelectV2
  const Maybe condition = e.Input(node, 0);
  const Maybe a = e.Input(node, 1);
  const Maybe b = e.Input(node, 2);
  if (!condition.has_value() || !a.has_value() || !b.has_value()) return absl::nullopt;
  const Shape& shape = node.output_shape(0);
  // A vector condition of the older Select goes along the first dimension, which is no broadcast.
  if (node.op() == "Select" && condition->shape != a->shape && !condition->shape.IsScalar()) return absl::nullopt;
  if (!shape.IsFullyDefined()) return absl::nullopt;
  Maybe result = PartialBroadcast(*a, shape);
  const Maybe other = PartialBroadcast(*b, shape);
  const Maybe chosen = PartialBroadcast(*condition, shape);
  if (!result.has_value() || !other.has_value() || !chosen.has_value()) return absl::nullopt;
  for (size_t i = 0; i < result->elements.size(); ++i) {
    if (!chosen->elements[i].has_value()) {
      if (result->elements[i] != other->elements[i]) result->elements[i] = absl::nullopt;
    } else if (*chosen->elements[i] == 0) {
      result->elements[i] = other->elements[i];
    }
  }
  return result;
}

// A part of one dimension: `size` from `begin` on.
Maybe TakeAlong(const PartialValue& a, int64_t axis, int64_t begin, int64_t size, const Shape& shape) {
  const int rank = a.shape.rank();
  if (axis < -rank || axis >= rank) return absl::nullopt;
  std::vector<PartialRange> ranges;
  for (int64_t dim : a.shape.dims()) ranges.push_back({0, 1, dim});
  ranges[static_cast<size_t>(axis < 0 ? axis + rank : axis)] = {begin, 1, size};
  return PartialTake(a, ranges, shape);
}

Maybe UnpackRule(Evaluator& e, const Node& node, int index) {
  const Maybe a = e.Input(node, 0);
  const int64_t* axis = node.attr<int64_t>("axis");
  if (!a.has_value() || axis == nullptr) return absl::nullopt;
  return TakeAlong(*a, *axis, index, 1, node.output_shape(index));
}

Maybe SplitRule(Evaluator& e, const Node& node, int index) {  // axis, value
  const absl::optional<int64_t> axis = e.KnownScalar(node, 0);
  const Maybe a = e.Input(node, 1);
  if (!a.has_value() || !axis.has_value()) return absl::nullopt;
  const int rank = a->shape.rank();
  if (*axis < -rank || *axis >= rank) return absl::nullopt;
  const int64_t dim = a->shape.dim(static_cast<int>(*axis < 0 ? *axis + rank : *axis));
  const int64_t size = dim / node.num_outputs();
  return TakeAlong(*a, *axis, index * size, size, node.output_shape(index));
}

Maybe SplitVRule(Evaluator& e, const Node& node, int index) {  // value, sizes, axis
  const Maybe a = e.Input(node, 0);
  const absl::optional<std::vector<int64_t>> sizes = e.KnownInput(node, 1);
  const absl::optional<int64_t> axis = e.KnownScalar(node, 2);
  if (!a.has_value() || !sizes.has_value() || !axis.has_value()) return absl::nullopt;
  if (static_cast<int>(sizes->size()) != node.num_outputs()) return absl::nullopt;
  int64_t begin = 0;
  for (int i = 0; i < index; ++i) {
    const int64_t size = (*sizes)[i];
    if (size < 0 || size > PartialValue::kMaxElements) return absl::nullopt;  // a -1 before it: not worth the trouble
    begin += size;
  }
  return TakeAlong(*a, *axis, begin, (*sizes)[index], node.output_shape(index));
}

Maybe InvertPermutationRule(Evaluator& e, const Node& node, int) {
  const absl::optional<std::vector<int64_t>> permutation = e.KnownInput(node, 0);
  if (!permutation.has_value()) return absl::nullopt;
  const int64_t size = static_cast<int64_t>(permutation->size());
  std::vector<PartialElement> inverse(permutation->size());
  for (int64_t i = 0; i < size; ++i) {
    const int64_t to = (*permutation)[i];
    if (to < 0 || to >= size || inverse[to].has_value()) return absl::nullopt;
    inverse[to] = i;
  }
  return PartialValue::Vector(node.output_dtype(0), std::move(inverse));
}

const absl::flat_hash_map<absl::string_view, Rule>& Rules() {
  static const auto* const rules = new absl::flat_hash_map<absl::string_view, Rule>([] {
    absl::flat_hash_map<absl::string_view, Rule> map = {
        {"Shape", ShapeRule},
        {"ShapeN", ShapeRule},
        {"Size", SizeRule},
        {"Rank", RankRule},
        {"Reshape", SameElementsRule},
        {"Squeeze", SameElementsRule},
        {"ExpandDims", SameElementsRule},
        {"Pack", PackRule},
        {"Concat", ConcatRule},
        {"ConcatV2", ConcatV2Rule},
        {"Slice", SliceRule},
        {"StridedSlice", StridedSliceRule},
        {"Gather", GatherRule},
        {"GatherV2", GatherRule},
        {"Range", RangeRule},
        {"Fill", FillRule},
        {"BroadcastTo", BroadcastToRule},
        {"ZerosLike", ZerosLikeRule},
        {"OnesLike", OnesLikeRule},
        {"Select", SelectRule},
        {"SelectV2", SelectRule},
        {"Unpack", UnpackRule},
        {"Split", SplitRule},
        {"SplitV", SplitVRule},
        {"InvertPermutation", InvertPermutationRule},
    };
    for (absl::string_view op :
         {"Add",      "AddV2",        "Sub",         "Mul",      "Div",        "TruncateDiv", "FloorDiv",
          "FloorMod", "Mod",          "TruncateMod", "Maximum",  "Minimum",    "Less",        "LessEqual",
          "Greater",  "GreaterEqual", "Equal",       "NotEqual", "LogicalAnd", "LogicalOr"}) {
      map.emplace(op, BinaryRule);
    }
    for (absl::string_view op : {"Neg", "Abs", "Sign", "Square", "LogicalNot", "Cast"}) map.emplace(op, UnaryRule);
    for (absl::string_view op : {"Sum", "Prod", "Max", "Min", "All", "Any"}) map.emplace(op, ReduceRule);
    return map;
  }());
  return *rules;
}

Maybe Evaluator::Evaluate(Output output) {
  if (const Tensor* value = ConstTensor(output)) return PartialValue::FromTensor(*value);
  const Node& node = *output.node();
  const auto rule = Rules().find(node.op());
  if (rule == Rules().end() || depth_ >= kMaxDepth || known_.size() >= kMaxNodes || work_ >= kMaxWork) {
    return absl::nullopt;
  }
  ++depth_;
  Maybe value = rule->second(*this, node, output.index());
  --depth_;
  // A graph from a file may be inconsistent in ways that its shape rules did not see.
  if (value.has_value() && !node.output_shape(output.index()).IsCompatibleWith(value->shape)) return absl::nullopt;
  return value;
}

Maybe Evaluator::Get(Output output) {
  const Shape& static_shape = output.shape();
  if (!PartialValue::Supports(output.dtype())) return absl::nullopt;
  output = SkipIdentities(output);
  const auto found = known_.find(output);
  if (found != known_.end()) return found->second;
  Maybe value = Evaluate(output);
  if (!value.has_value()) value = PartialValue::Unknown(output.dtype(), static_shape);
  if (value.has_value()) work_ += value->elements.size();
  known_[output] = value;
  return value;
}

}  // namespace

absl::optional<Tensor> ConstantValue(Output output) {
  const Output source = SkipIdentities(output);
  if (const Tensor* value = ConstTensor(source)) return *value;
  if (!PartialValue::Supports(source.dtype())) return absl::nullopt;
  const Maybe value = Evaluator().Get(source);
  if (!value.has_value() || !value->IsKnown()) return absl::nullopt;
  return value->ToTensor();
}

Shape ConstantValueAsShape(Output output) {
  const Maybe value = Evaluator().Get(output);
  if (!value.has_value()) {
    // Too long for a shape, of unknown length, or no integers at all.
    return Shape();
  }
  if (value->shape.rank() != 1 || value->elements.size() > static_cast<size_t>(kMaxRank)) return Shape();
  Shape shape = Shape::Scalar();
  for (const PartialElement& element : value->elements) {
    shape.AddDim(element.has_value() && *element >= 0 ? *element : kUnknownDim);
  }
  return shape;
}

}  // namespace nabla
