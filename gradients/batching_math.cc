// Batching of reductions, matrix products and neural-network ops.
#include <algorithm>

#include "nabla/gradients/batching.h"
#include "nabla/gradients/rule_util.h"
#include "nabla/gradients/transform_util.h"
#include "nabla/ops/ops.h"

namespace nabla {
namespace {

// ---- reductions (x, axes) ----

std::vector<Batched> BatchReduction(BatchingContext& c) {
  if (c.batched(1)) return c.Decline("the axes differ from example to example");
  const Input axes = c.ShiftedAxes(1);
  return c.Copy({c.input(0), axes.output() ? axes.output() : ops::Const(c.scope(), axes)});
}

std::vector<Batched> BatchL2Loss(BatchingContext& c) {
  const Output x = c.input(0);
  return {ops::Sum(c.scope(), ops::Square(c.scope(), x), c.AxesFrom(1, x)) * 0.5};
}

// ---- matrix products ----

struct Factor {
  Output matrix;
  bool transposed;
};

// Batched products, in which a transposed matrix is a conjugate one, too.
Output ProductOfEach(const Scope& scope, Factor a, Factor b) {
  if (a.transposed) a.matrix = Conjugate(scope, a.matrix);
  if (b.transposed) b.matrix = Conjugate(scope, b.matrix);
  return ops::BatchMatMulV2(scope, a.matrix, b.matrix, {.adj_x = a.transposed, .adj_y = b.transposed});
}

// x [n, rows, columns] as [n * rows, columns], or nothing if the run alone knows how many columns there are.
Output Rows(const Scope& scope, Output x) {
  if (x.shape().rank() != 3 || x.shape().dim(2) == kUnknownDim || x.shape().dim(2) == 0) return Output();
  return ops::Reshape(scope, x, {-1, x.shape().dim(2)});
}

// The product of unit vectors [rows, n] of all examples with b [n, k]: rows of b, and zeros. None if shapes are
// unknown.
Output ProductOfUnitVectors(BatchingContext& c, const Factor& b) {
  const Scope& scope = c.scope();
  const Shape &left = c.example(0), &product = c.example_output(0);
  if (!left.IsFullyDefined() || !product.IsFullyDefined()) return Output();
  const int64_t rows = left.dim(0), n = left.dim(1), k = product.dim(1);
  Output matrix = b.matrix;
  if (b.transposed) matrix = ops::Transpose(scope, matrix, {1, 0});
  if (c.whole_input(0).units == UnitVectors::kOfEachRow || rows == 1) {
    const Output row_of_each = ops::Reshape(scope, matrix, {n, 1, k});
    return rows == 1 ? row_of_each : ops::BroadcastTo(scope, row_of_each, {n, rows, k});
  }
  // In row i of the example for [i, j] stands row j of b.
  const Output same_row =
      ops::OneHot(scope, ops::Range(scope, 0, static_cast<int32_t>(rows), 1), static_cast<int32_t>(rows),
                  ops::Const(scope, 1, matrix.dtype()), ops::Const(scope, 0, matrix.dtype()));
  return ops::Reshape(scope,
                      ops::Reshape(scope, same_row, {rows, 1, rows, 1}) * ops::Reshape(scope, matrix, {1, n, 1, k}),
                      {rows * n, rows, k});
}

std::vector<Batched> BatchMatMul(BatchingContext& c) {
  const Scope& scope = c.scope();
  const Factor a = {c.input(0), c.attr<bool>("transpose_a")}, b = {c.input(1), c.attr<bool>("transpose_b")};
  if (!c.batched(1) && !a.transposed && c.whole_input(0).units != UnitVectors::kNone) {
    if (const Output product = ProductOfUnitVectors(c, b)) return {product};
  }
  if (!c.batched(1) && !a.transposed) {  // all rows of all examples times one matrix: a single product
    if (const Output rows = Rows(scope, a.matrix)) {
      const Output product = ops::MatMul(scope, rows, b.matrix, {.transpose_b = b.transposed});
      const int64_t each = c.example(0).dim(0), columns = c.example_output(0).dim(1);
      if (each > 0 && columns > 0) return {ops::Reshape(scope, product, {-1, each, columns})};
      const Output shape = ops::Shape(scope, a.matrix);
      return {
          ops::Reshape(scope, product,
                       ops::ConcatV2(scope, {SliceRows(shape, 0, 2), SliceRows(ops::Shape(scope, product), 1, 2)}, 0))};
    }
  }
  return {ProductOfEach(scope, a, b)};
}

// BatchMatMul and BatchMatMulV2, which broadcasts what is before the matrices.
std::vector<Batched> BatchBatchMatMul(BatchingContext& c) {
  return {ops::BatchMatMulV2(c.scope(), c.Aligned(0), c.Aligned(1),
                             {.adj_x = c.attr<bool>("adj_x"), .adj_y = c.attr<bool>("adj_y")})};
}

// ---- neural networks ----

std::vector<Batched> BatchOverClasses(BatchingContext& c) { return c.Copy({c.input(0)}); }

bool ChannelsFirst(const BatchingContext& c) {
  const auto* format = c.op()->attr<std::string>("data_format");
  return format != nullptr && *format == "NCHW";
}

// The bias [n, channels], or [channels], with dimensions of size 1 so that it broadcasts against the values. Of an
// example's dimensions, the channels are the last or the second.
Output AlignedBias(BatchingContext& c) {
  const Scope& scope = c.scope();
  const Output bias = c.input(1), value = c.input(0);
  const int rank = c.example(0).rank();
  if (rank != kUnknownRank) {
    const int behind = ChannelsFirst(c) ? rank - 2 : 0;
    Output aligned = bias;
    for (int i = 0; i < behind; ++i) aligned = ops::ExpandDims(scope, aligned, -1);
    return c.batched(1) ? c.InsertOnes(aligned, rank - 1 - behind) : aligned;
  }
  Output value_rank = ops::Rank(scope, value);
  if (c.batched(0)) value_rank = ops::Sub(scope, value_rank, 1);
  const auto ones = [&](Output count) {
    return ops::Fill(scope, ops::ExpandDims(scope, count, 0), ops::Const(scope, 1, DType::kInt32));
  };
  Output front, behind;
  if (ChannelsFirst(c)) {
    front = ops::Const(scope, {1});
    behind = ones(ops::Sub(scope, value_rank, 2));
  } else {
    front = ones(ops::Sub(scope, value_rank, 1));
    behind = ops::Const(scope, Tensor(DType::kInt32, {0}));
  }
  const Output shape = ops::Shape(scope, bias);
  if (!c.batched(1)) return ops::Reshape(scope, bias, ops::ConcatV2(scope, {shape, behind}, 0));
  return ops::Reshape(scope, bias,
                      ops::ConcatV2(scope, {SliceRows(shape, 0, 1), front, SliceRows(shape, 1, 2), behind}, 0));
}

std::vector<Batched> BatchBiasAdd(BatchingContext& c) {
  if (!c.batched(1) && !ChannelsFirst(c)) return c.Copy({c.input(0), c.input(1)});
  return {ops::AddV2(c.scope(), c.input(0), AlignedBias(c))};
}

std::vector<Batched> BatchBiasAddGrad(BatchingContext& c) {
  const Scope& scope = c.scope();
  const Output dy = c.input(0);
  if (ChannelsFirst(c)) {
    return {ops::Sum(scope, dy, ops::ConcatV2(scope, {{1}, c.AxesFrom(3, dy)}, 0))};
  }
  // All axes but the first and the last.
  Input axes = Input(0);
  if (const int rank = dy.shape().rank(); rank != kUnknownRank) {
    std::vector<int64_t> between;
    for (int i = 1; i < rank - 1; ++i) between.push_back(i);
    axes = between;
  } else {
    axes = ops::Range(scope, 1, ops::Sub(scope, ops::Rank(scope, dy), 1), 1);
  }
  return {ops::Sum(scope, dy, axes)};
}

// x [n, b, classes] as [n * b, classes].
Output Flat(const Scope& scope, Output x) {
  if (const Output rows = Rows(scope, x)) return rows;
  return ops::Reshape(scope, x, ops::ConcatV2(scope, {{-1}, SliceRows(ops::Shape(scope, x), 2, INT64_MAX)}, 0));
}

// Loss and backprop of [n * b] rows, by example again; `logits` is [n, b, classes].
std::vector<Batched> ByExample(const Scope& scope, Output loss, Output backprop, Output logits) {
  const Shape& shape = logits.shape();
  if (shape.IsFullyDefined()) {
    return {ops::Reshape(scope, loss, {shape.dim(0), shape.dim(1)}), ops::Reshape(scope, backprop, shape)};
  }
  const Output at_run_time = ops::Shape(scope, logits);
  return {ops::Reshape(scope, loss, SliceRows(at_run_time, 0, 2)), ops::Reshape(scope, backprop, at_run_time)};
}

std::vector<Batched> BatchCrossEntropy(BatchingContext& c) {
  const Scope& scope = c.scope();
  Output logits = c.Expanded(0), labels = c.Expanded(1);
  if (!c.example(0).IsFullyDefined() || c.example(0) != c.example(1)) {  // the op broadcasts them
    logits = ops::AddV2(scope, logits, ops::ZerosLike(scope, labels));
    labels = ops::AddV2(scope, labels, ops::ZerosLike(scope, logits));
  }
  const auto flat = ops::SoftmaxCrossEntropyWithLogits(scope, Flat(scope, logits), Flat(scope, labels));
  return ByExample(scope, flat.loss, flat.backprop, logits);
}

std::vector<Batched> BatchSparseCrossEntropy(BatchingContext& c) {
  const Scope& scope = c.scope();
  const Output logits = c.Expanded(0);
  const Output labels = ops::Reshape(scope, c.Expanded(1), {-1});
  const auto flat = ops::SparseSoftmaxCrossEntropyWithLogits(scope, Flat(scope, logits), labels);
  return ByExample(scope, flat.loss, flat.backprop, logits);
}

}  // namespace

void RegisterMathBatching(BatchingRegistry& registry) {
  registry.Add({"All", "Any", "ArgMax", "ArgMin", "Max", "Mean", "Min", "Prod", "Sum"}, BatchReduction);
  registry.Add("L2Loss", BatchL2Loss);
  registry.Add("MatMul", BatchMatMul);
  registry.Add({"BatchMatMul", "BatchMatMulV2"}, BatchBatchMatMul);
  registry.Add({"LogSoftmax", "Softmax"}, BatchOverClasses);
  registry.Add({"BiasAdd", "BiasAddV1"}, BatchBiasAdd);
  registry.Add("BiasAddGrad", BatchBiasAddGrad);
  registry.Add("SoftmaxCrossEntropyWithLogits", BatchCrossEntropy);
  registry.Add("SparseSoftmaxCrossEntropyWithLogits", BatchSparseCrossEntropy);
}

}  // namespace nabla
