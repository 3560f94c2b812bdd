// Batching of gathering and scattering. Indices count from the first axis, so the batch axis steps out of their way: to
// the end, as one more dimension of what is gathered.
#include "nabla/gradients/batching.h"
#include "nabla/gradients/transform_util.h"
#include "nabla/ops/ops.h"

namespace nabla {
namespace {

std::vector<Batched> DeclineIndices(BatchingContext& c) {
  return c.Decline("the indices differ from example to example");
}

// Along an axis, which is shifted. Where indices are batched, too, the batch is one more of the batch dimensions.
std::vector<Batched> GatherAlong(BatchingContext& c, const Input& axis, int64_t batch_dims) {
  const Scope& scope = c.scope();
  if (!c.batched(1) && batch_dims == 0) return {ops::GatherV2(scope, c.input(0), c.input(1), axis)};
  // From the end, batch_dims counts indices' dimensions: the same number of them is before the end.
  return {ops::GatherV2(scope, c.Expanded(0), c.Expanded(1), axis,
                        {.batch_dims = batch_dims >= 0 ? batch_dims + 1 : batch_dims})};
}

std::vector<Batched> BatchGather(BatchingContext& c) { return GatherAlong(c, 1, 0); }

std::vector<Batched> BatchGatherV2(BatchingContext& c) {
  if (c.batched(2)) return c.Decline("the axis differs from example to example");
  return GatherAlong(c, c.ShiftedAxes(2), c.attr<int64_t>("batch_dims"));
}

std::vector<Batched> BatchGatherNd(BatchingContext& c) {
  if (c.batched(1)) return DeclineIndices(c);
  return {c.BatchFirst(ops::GatherNd(c.scope(), c.BatchLast(c.input(0)), c.input(1)))};
}

std::vector<Batched> BatchScatterNd(BatchingContext& c) {
  if (c.batched(0) || c.batched(2)) return DeclineIndices(c);
  const Scope& scope = c.scope();
  const DType dtype = c.input(2).dtype();
  // The shape with the batch behind it: [size, shape...] turned by one.
  const Output shape = ops::ConcatV2(scope, {c.input(2), c.PrependSize(IntVector({}, dtype))}, 0);
  return {c.BatchFirst(ops::ScatterNd(scope, c.input(0), c.BatchLast(c.input(1)), shape))};
}

// TensorScatterUpdate, …Add, …Sub (tensor, indices, updates).
std::vector<Batched> BatchTensorScatter(BatchingContext& c) {
  if (c.batched(1)) return DeclineIndices(c);
  std::vector<Batched> outputs = c.Copy({c.BatchLast(c.Expanded(0)), c.input(1), c.BatchLast(c.Expanded(2))});
  for (Batched& output : outputs) output.value = c.BatchFirst(output.value);
  return outputs;
}

// Sums of segments (data, ids, and for the unsorted ones their number).
std::vector<Batched> BatchSegments(BatchingContext& c) {
  Outputs inputs = {c.BatchLast(c.input(0))};
  for (int i = 1; i < c.num_inputs(); ++i) {
    if (c.batched(i)) return DeclineIndices(c);
    inputs.push_back(c.input(i));
  }
  std::vector<Batched> outputs = c.Copy(inputs);
  for (Batched& output : outputs) output.value = c.BatchFirst(output.value);
  return outputs;
}

std::vector<Batched> BatchOneHot(BatchingContext& c) {
  if (!c.batched(0) || c.batched(1) || c.batched(2) || c.batched(3)) {
    return c.Decline("its depth or values differ from example to example");
  }
  return c.Copy({c.input(0), c.input(1), c.input(2), c.input(3)}, {{"axis", c.ShiftedAxis("axis")}});
}

}  // namespace

void RegisterGatherBatching(BatchingRegistry& registry) {
  registry.Add("Gather", BatchGather);
  registry.Add("GatherNd", BatchGatherNd);
  registry.Add("GatherV2", BatchGatherV2);
  registry.Add("OneHot", BatchOneHot);
  registry.Add("ScatterNd", BatchScatterNd);
  registry.Add({"SegmentSum", "UnsortedSegmentSum"}, BatchSegments);
  registry.Add({"TensorScatterAdd", "TensorScatterSub", "TensorScatterUpdate"}, BatchTensorScatter);
}

}  // namespace nabla
