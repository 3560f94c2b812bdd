// Batching of ops that move elements about: shapes, axes and positions make room for the batch axis in front.
#include <algorithm>

#include "nabla/gradients/batching.h"
#include "nabla/gradients/transform_util.h"
#include "nabla/ops/ops.h"

namespace nabla {
namespace {

Outputs AllInputs(BatchingContext& c) {
  Outputs inputs;
  for (int i = 0; i < c.num_inputs(); ++i) inputs.push_back(c.input(i));
  return inputs;
}

Output AsTensor(const Scope& scope, const Input& operand) {
  return operand.output() ? operand.output() : ops::Const(scope, operand);
}

// Whether only input `data` is batched, as a rule requires whose other inputs are sizes and places.
bool OnlyBatched(const BatchingContext& c, int data) {
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (i != data && c.batched(i)) return false;
  }
  return true;
}

std::vector<Batched> DeclinePlaces(BatchingContext& c) {
  return c.Decline("an axis, shape or position differs from example to example");
}

// ---- shapes: the same for every example ----

std::vector<Batched> BatchShape(BatchingContext& c) {
  return {Batched::Same(AsTensor(c.scope(), c.ExampleShape(0, c.op()->output_dtype(0))))};
}

std::vector<Batched> BatchShapeN(BatchingContext& c) {
  std::vector<Batched> shapes;
  for (int i = 0; i < c.num_inputs(); ++i) {
    shapes.push_back(Batched::Same(AsTensor(c.scope(), c.ExampleShape(i, c.op()->output_dtype(i)))));
  }
  return shapes;
}

std::vector<Batched> BatchNumElements(BatchingContext& c) {
  return {Batched::Same(ops::Prod(c.scope(), c.ExampleShape(0, c.op()->output_dtype(0)), {0}))};
}

std::vector<Batched> BatchRank(BatchingContext& c) {
  return {Batched::Same(ops::Sub(c.scope(), ops::Rank(c.scope(), c.input(0)), 1))};
}

// ---- the same elements under another shape ----

Input BatchedShape(BatchingContext& c, int shape_input) {
  const Shape& static_shape = c.example_output(0);
  if (static_shape.IsFullyDefined()) return c.PrependSize(static_shape);
  return c.PrependSize(c.input(shape_input));
}

std::vector<Batched> BatchReshape(BatchingContext& c) {
  if (!OnlyBatched(c, 0)) return DeclinePlaces(c);
  return {ops::Reshape(c.scope(), c.input(0), BatchedShape(c, 1))};
}

std::vector<Batched> BatchExpandDims(BatchingContext& c) {
  if (!OnlyBatched(c, 0)) return DeclinePlaces(c);
  return {ops::ExpandDims(c.scope(), c.input(0), c.ShiftedAxes(1))};
}

std::vector<Batched> BatchSqueeze(BatchingContext& c) {
  const Scope& scope = c.scope();
  std::vector<int64_t> axes = c.attr<std::vector<int64_t>>("squeeze_dims");
  const bool all = axes.empty();
  for (int64_t& axis : axes) axis += axis >= 0;
  const Shape& shape = c.example(0);
  if (all && shape.has_rank() && std::count(shape.dims().begin(), shape.dims().end(), kUnknownDim) == 0) {
    for (int i = 0; i < shape.rank(); ++i) {
      if (shape.dim(i) == 1) axes.push_back(i + 1);
    }
    if (axes.empty()) return {c.input(0)};
  }
  if (!axes.empty()) return {ops::Squeeze(scope, c.input(0), {.squeeze_dims = axes})};
  // Which dimensions are 1, only the run knows; the batch axis stays even if it is.
  const Output example = AsTensor(scope, c.ExampleShape(0));
  const Output kept = ops::Reshape(scope, ops::Where(scope, ops::NotEqual(scope, example, 1)), {-1});
  return {ops::Reshape(scope, c.input(0), c.PrependSize(ops::GatherV2(scope, example, kept, 0)))};
}

std::vector<Batched> BatchTranspose(BatchingContext& c) {
  if (!OnlyBatched(c, 0)) return DeclinePlaces(c);
  return c.Copy({c.input(0), AsTensor(c.scope(), c.Prepend(0, c.ShiftedAxes(1)))});
}

std::vector<Batched> BatchEnsureShape(BatchingContext& c) {
  Shape shape = c.attr<Shape>("shape");
  if (shape.has_rank()) shape.InsertDim(0, kUnknownDim);
  return {ops::EnsureShape(c.scope(), c.input(0), shape)};
}

// ---- repeating ----

std::vector<Batched> BatchTile(BatchingContext& c) {
  if (!OnlyBatched(c, 0)) return DeclinePlaces(c);
  return {ops::Tile(c.scope(), c.input(0), c.Prepend(1, c.input(1)))};
}

// x [n, x...] with room for the dimensions that a tensor of shape `target` (of an example) has more.
Output WithRankOf(BatchingContext& c, int i, Output target) {
  const int64_t rank = target.shape().rank() == 1 ? target.shape().dim(0) : kUnknownDim;
  if (rank != kUnknownDim && c.example(i).has_rank()) {
    return c.InsertOnes(c.input(i), std::max(static_cast<int>(rank) - c.example(i).rank(), 0));
  }
  const Scope& scope = c.scope();
  const Output whole = ops::Shape(scope, c.input(i));
  const Output missing = ops::Sub(scope, ops::Size(scope, target), ops::Sub(scope, ops::Size(scope, whole), 1));
  const Output ones = ops::Fill(scope, ops::ExpandDims(scope, missing, 0), ops::Const(scope, 1, DType::kInt32));
  return ops::Reshape(scope, c.input(i),
                      ops::ConcatV2(scope, {SliceRows(whole, 0, 1), ones, SliceRows(whole, 1, INT64_MAX)}, 0));
}

std::vector<Batched> BatchBroadcastTo(BatchingContext& c) {
  if (!OnlyBatched(c, 0)) return DeclinePlaces(c);
  return {ops::BroadcastTo(c.scope(), WithRankOf(c, 0, c.input(1)), BatchedShape(c, 1))};
}

std::vector<Batched> BatchFill(BatchingContext& c) {
  if (!OnlyBatched(c, 1)) return DeclinePlaces(c);
  return {ops::BroadcastTo(c.scope(), WithRankOf(c, 1, c.input(0)), BatchedShape(c, 0))};
}

// ---- joining and splitting ----

Outputs AllExpanded(BatchingContext& c, int begin, int end) {
  Outputs inputs;
  for (int i = begin; i < end; ++i) inputs.push_back(c.Expanded(i));
  return inputs;
}

std::vector<Batched> BatchPack(BatchingContext& c) {
  return c.Copy(AllExpanded(c, 0, c.num_inputs()), {{"axis", c.ShiftedAxis("axis")}});
}

std::vector<Batched> BatchUnpack(BatchingContext& c) { return c.Copy({c.input(0)}, {{"axis", c.ShiftedAxis("axis")}}); }

std::vector<Batched> BatchConcat(BatchingContext& c) {
  if (c.batched(0)) return DeclinePlaces(c);
  Outputs inputs = AllExpanded(c, 1, c.num_inputs());
  inputs.insert(inputs.begin(), AsTensor(c.scope(), c.ShiftedAxes(0)));
  return c.Copy(inputs);
}

std::vector<Batched> BatchConcatV2(BatchingContext& c) {
  const int last = c.num_inputs() - 1;
  if (c.batched(last)) return DeclinePlaces(c);
  Outputs inputs = AllExpanded(c, 0, last);
  inputs.push_back(AsTensor(c.scope(), c.ShiftedAxes(last)));
  return c.Copy(inputs);
}

std::vector<Batched> BatchSplit(BatchingContext& c) {
  if (!OnlyBatched(c, 1)) return DeclinePlaces(c);
  return c.Copy({AsTensor(c.scope(), c.ShiftedAxes(0)), c.input(1)});
}

std::vector<Batched> BatchSplitV(BatchingContext& c) {
  if (!OnlyBatched(c, 0)) return DeclinePlaces(c);
  return c.Copy({c.input(0), c.input(1), AsTensor(c.scope(), c.ShiftedAxes(2))});
}

// ---- parts and borders ----

std::vector<Batched> BatchSlice(BatchingContext& c) {
  if (!OnlyBatched(c, 0)) return DeclinePlaces(c);
  return {ops::Slice(c.scope(), c.input(0), c.Prepend(0, c.input(1)), c.Prepend(-1, c.input(2)))};
}

// The masks have a bit per element of begin, end and strides, of which there is one more in front: all of the batch.
std::vector<std::pair<std::string, Attr>> ShiftedMasks(BatchingContext& c) {
  return {{"begin_mask", c.attr<int64_t>("begin_mask") * 2 + 1},
          {"end_mask", c.attr<int64_t>("end_mask") * 2 + 1},
          {"ellipsis_mask", c.attr<int64_t>("ellipsis_mask") * 2},
          {"new_axis_mask", c.attr<int64_t>("new_axis_mask") * 2},
          {"shrink_axis_mask", c.attr<int64_t>("shrink_axis_mask") * 2}};
}

std::vector<Batched> BatchStridedSlice(BatchingContext& c) {
  if (!OnlyBatched(c, 0)) return DeclinePlaces(c);
  const auto place = [&](int64_t first, int i) { return AsTensor(c.scope(), c.Prepend(first, c.input(i))); };
  return c.Copy({c.input(0), place(0, 1), place(0, 2), place(1, 3)}, ShiftedMasks(c));
}

std::vector<Batched> BatchStridedSliceGrad(BatchingContext& c) {
  if (!OnlyBatched(c, 4)) return DeclinePlaces(c);
  const auto place = [&](int64_t first, int i) { return AsTensor(c.scope(), c.Prepend(first, c.input(i))); };
  return c.Copy({AsTensor(c.scope(), c.PrependSize(c.input(0))), place(0, 1), place(0, 2), place(1, 3), c.input(4)},
                ShiftedMasks(c));
}

Input BatchedPaddings(BatchingContext& c) {
  const Output paddings = c.input(1);
  return ops::ConcatV2(c.scope(), {Tensor::Zeros(paddings.dtype(), {1, 2}), paddings}, 0);
}

std::vector<Batched> BatchPad(BatchingContext& c) {
  if (!OnlyBatched(c, 0)) return DeclinePlaces(c);
  return {ops::Pad(c.scope(), c.input(0), BatchedPaddings(c))};
}

std::vector<Batched> BatchPadV2(BatchingContext& c) {
  const Scope& scope = c.scope();
  if (c.batched(1)) return DeclinePlaces(c);
  const Input paddings = BatchedPaddings(c);
  const Output x = c.Expanded(0);
  if (!c.batched(2)) return {ops::PadV2(scope, x, paddings, c.input(2))};
  // Each example has a border value of its own.
  const Output inside = ops::NotEqual(scope, ops::Pad(scope, ops::OnesLike(scope, x), paddings), 0);
  const Output values = WithRankOf(c, 2, AsTensor(scope, c.ExampleShape(0)));
  return {ops::SelectV2(scope, inside, ops::Pad(scope, x, paddings), values)};
}

std::vector<Batched> BatchReverseV2(BatchingContext& c) {
  if (!OnlyBatched(c, 0)) return DeclinePlaces(c);
  return {ops::ReverseV2(c.scope(), c.input(0), c.ShiftedAxes(1))};
}

// With a bool for each dimension.
std::vector<Batched> BatchReverse(BatchingContext& c) {
  if (!OnlyBatched(c, 0)) return DeclinePlaces(c);
  return {
      ops::Reverse(c.scope(), c.input(0), ops::ConcatV2(c.scope(), {Tensor::Vector<bool>({false}), c.input(1)}, 0))};
}

// Along an axis that is the second input.
std::vector<Batched> BatchAlongAxis(BatchingContext& c) {
  if (!OnlyBatched(c, 0)) return DeclinePlaces(c);
  return c.Copy({c.input(0), AsTensor(c.scope(), c.ShiftedAxes(1))});
}

// Hands its first input on, whatever it prints.
std::vector<Batched> BatchPrint(BatchingContext& c) {
  std::vector<Batched> outputs = c.Copy(AllInputs(c));
  if (!c.batched(0) && !outputs.empty()) outputs[0].has_batch_axis = false;
  return outputs;
}

}  // namespace

void RegisterArrayBatching(BatchingRegistry& registry) {
  registry.Add("BroadcastTo", BatchBroadcastTo);
  registry.Add("Concat", BatchConcat);
  registry.Add("ConcatV2", BatchConcatV2);
  registry.Add("ConjugateTranspose", BatchTranspose);
  registry.Add({"Cumprod", "Cumsum"}, BatchAlongAxis);
  registry.Add("EnsureShape", BatchEnsureShape);
  registry.Add("ExpandDims", BatchExpandDims);
  registry.Add("Fill", BatchFill);
  registry.Add("Pack", BatchPack);
  registry.Add("Pad", BatchPad);
  registry.Add("PadV2", BatchPadV2);
  registry.Add("Print", BatchPrint);
  registry.Add("Rank", BatchRank);
  registry.Add("Reshape", BatchReshape);
  registry.Add("Reverse", BatchReverse);
  registry.Add("ReverseV2", BatchReverseV2);
  registry.Add("Shape", BatchShape);
  registry.Add("ShapeN", BatchShapeN);
  registry.Add("Size", BatchNumElements);
  registry.Add("Slice", BatchSlice);
  registry.Add("Split", BatchSplit);
  registry.Add("SplitV", BatchSplitV);
  registry.Add("Squeeze", BatchSqueeze);
  registry.Add("StridedSlice", BatchStridedSlice);
  registry.Add("StridedSliceGrad", BatchStridedSliceGrad);
  registry.Add("Tile", BatchTile);
  registry.Add("Transpose", BatchTranspose);
  registry.Add("Unpack", BatchUnpack);
}

}  // namespace nabla
