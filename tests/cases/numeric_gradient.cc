#include "nabla/tests/cases/numeric_gradient.h"

#include <memory>

#include "nabla/graph/status_macros.h"
#include "nabla/tests/cases/op_case.h"

namespace nabla {

absl::StatusOr<std::vector<double>> NumericGradient(Session& session, const Feeds& feeds, size_t x, const Outputs& ys,
                                                    const std::vector<Tensor>& weights) {
  Outputs fed;
  std::vector<Tensor> values;
  for (const auto& [output, value] : feeds) {
    fed.push_back(output);
    values.push_back(value);
  }
  NABLA_ASSIGN_OR_RETURN(const std::shared_ptr<Session::Callable> callable, session.MakeCallable(fed, ys, {}));
  const DType dtype = values[x].dtype();
  const Shape shape = values[x].shape();
  const std::vector<double> at = ToDoubles(values[x]);
  std::vector<std::vector<double>> weight_values;
  for (const Tensor& tensor : weights) weight_values.push_back(ToDoubles(tensor));

  // The functions' values at x with element i moved, less those at x: the sum of small differences is more accurate
  // than the difference of sums.
  std::vector<std::vector<double>> base;
  const auto projected = [&](size_t i, double step) -> absl::StatusOr<double> {
    std::vector<double> moved = at;
    if (!moved.empty()) moved[i] += step;
    values[x] = FromDoubles(dtype, shape, moved);
    std::vector<Tensor> results;
    NABLA_RETURN_IF_ERROR(session.RunCallable(*callable, values, &results));
    double sum = 0;
    for (size_t k = 0; k < results.size(); ++k) {
      const std::vector<double> result = ToDoubles(results[k]);
      if (base.size() <= k) base.push_back(result);
      for (size_t j = 0; j < result.size(); ++j) sum += (result[j] - base[k][j]) * weight_values[k][j];
    }
    return sum;
  };
  NABLA_RETURN_IF_ERROR(projected(0, 0).status());
  constexpr double kStep = 0x1p-10;
  std::vector<double> gradient(at.size());
  for (size_t i = 0; i < at.size(); ++i) {
    NABLA_ASSIGN_OR_RETURN(const double up, projected(i, kStep));
    NABLA_ASSIGN_OR_RETURN(const double down, projected(i, -kStep));
    NABLA_ASSIGN_OR_RETURN(const double far_up, projected(i, 2 * kStep));
    NABLA_ASSIGN_OR_RETURN(const double far_down, projected(i, -2 * kStep));
    gradient[i] = (8 * (up - down) - (far_up - far_down)) / (12 * kStep);
  }
  return gradient;
}

}  // namespace nabla
