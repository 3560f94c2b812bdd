#include "nabla/ops/math_ops.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "nabla/graph/shape_inference.h"
#include "nabla/ops/registration.h"

namespace nabla {
namespace {

// The number of elements of start, start + delta, … before limit. InvalidArgument if there is no such sequence.
absl::StatusOr<int64_t> CountOfRange(int64_t start, int64_t limit, int64_t delta) {
  if (delta == 0) return absl::InvalidArgumentError("delta must not be 0");
  if (delta > 0 ? start > limit : start < limit) {
    return absl::InvalidArgumentError(absl::StrCat("a step of ", delta, " does not lead from ", start, " to ", limit));
  }
  // In unsigned arithmetic the distance cannot overflow.
  const uint64_t distance = delta > 0 ? static_cast<uint64_t>(limit) - static_cast<uint64_t>(start)
                                      : static_cast<uint64_t>(start) - static_cast<uint64_t>(limit);
  if (distance == 0) return 0;
  const uint64_t step = delta > 0 ? static_cast<uint64_t>(delta) : 0 - static_cast<uint64_t>(delta);
  const uint64_t count = (distance - 1) / step + 1;
  if (count > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return absl::InvalidArgumentError("the sequence has too many elements");
  }
  return static_cast<int64_t>(count);
}

absl::StatusOr<int64_t> CountOfRange(double start, double limit, double delta) {
  if (delta == 0 || std::isnan(delta)) return absl::InvalidArgumentError("delta must not be 0 or NaN");
  if (delta > 0 ? !(start <= limit) : !(start >= limit)) {
    return absl::InvalidArgumentError(absl::StrCat("a step of ", delta, " does not lead from ", start, " to ", limit));
  }
  const double count = std::ceil(std::abs((limit - start) / delta));
  if (!(count < 9.2e18)) return absl::InvalidArgumentError("the sequence has too many elements");
  return static_cast<int64_t>(count);
}

absl::Status RangeShape(ShapeContext& c) {
  Tensor values[3];
  bool known = true;
  for (int i = 0; i < 3; ++i) {
    NABLA_RETURN_IF_ERROR(c.InputOfRank(i, 0).status());
    absl::optional<Tensor> value = c.InputValue(i);
    if (!value.has_value() || value->num_elements() != 1) {
      known = false;
    } else {
      values[i] = *std::move(value);
    }
  }
  int64_t count = kUnknownDim;
  if (known) {
    const DType dtype = values[0].dtype();
    if (dtype == DType::kFloat) {
      NABLA_ASSIGN_OR_RETURN(count, CountOfRange(double{values[0].scalar<float>()}, double{values[1].scalar<float>()},
                                                 double{values[2].scalar<float>()}));
    } else if (dtype == DType::kDouble) {
      NABLA_ASSIGN_OR_RETURN(
          count, CountOfRange(values[0].scalar<double>(), values[1].scalar<double>(), values[2].scalar<double>()));
    } else if (dtype == DType::kInt32) {
      NABLA_ASSIGN_OR_RETURN(count,
                             CountOfRange(int64_t{values[0].scalar<int32_t>()}, int64_t{values[1].scalar<int32_t>()},
                                          int64_t{values[2].scalar<int32_t>()}));
    } else if (dtype == DType::kInt64) {
      NABLA_ASSIGN_OR_RETURN(
          count, CountOfRange(values[0].scalar<int64_t>(), values[1].scalar<int64_t>(), values[2].scalar<int64_t>()));
    }
  }
  c.SetOutput(0, Shape({count}));
  return absl::OkStatus();
}

void RegisterSequences(OpRegistry& registry) {
  registry.Add("Range")
      .Input("start: Tidx")
      .Input("limit: Tidx")
      .Input("delta: Tidx")
      .Output("output: Tidx")
      .Attr("Tidx: {bfloat16, half, float, double, int8, int16, int32, int64, uint16, uint32, uint64} = int32")
      .Doc(
          "The vector start, start + delta, … up to but without limit; all three are scalars, and delta is not 0. Not "
          "differentiable.")
      .Shape(RangeShape);
}

}  // namespace

void RegisterMathOps(OpRegistry& registry) {
  RegisterMathUnaryOps(registry);
  RegisterMathBinaryOps(registry);
  RegisterMathReductionOps(registry);
  RegisterMathMatrixOps(registry);
  RegisterSequences(registry);
}

}  // namespace nabla
