#include "nabla/tools/gradient_difference.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nabla/graph/status_macros.h"
#include "nabla/ops/ops.h"

namespace nabla::tools {
namespace {

double ElementOf(const Tensor& tensor, int64_t i) {
  return tensor.dtype() == DType::kDouble ? tensor.data<double>()[i] : tensor.data<float>()[i];
}

void SetElement(Tensor* tensor, int64_t i, double value) {
  if (tensor->dtype() == DType::kDouble) {
    tensor->data<double>()[i] = value;
  } else {
    tensor->data<float>()[i] = static_cast<float>(value);
  }
}

// The sum as a function of x.
class SumOfX {
 public:
  static absl::StatusOr<SumOfX> Make(Session* session, Feeds feeds, Output x, Output sum) {
    feeds.erase(std::remove_if(feeds.begin(), feeds.end(), [&](const auto& feed) { return feed.first == x; }),
                feeds.end());
    SumOfX result(session);
    Outputs fed;
    for (auto& [output, value] : feeds) {
      fed.push_back(output);
      result.values_.push_back(std::move(value));
    }
    fed.push_back(x);
    result.values_.emplace_back();
    NABLA_ASSIGN_OR_RETURN(result.callable_, session->MakeCallable(fed, {sum}, {}));
    return result;
  }

  absl::StatusOr<double> operator()(const Tensor& x) {
    values_.back() = x;
    NABLA_RETURN_IF_ERROR(session_->RunCallable(*callable_, values_, &results_));
    return results_[0].scalar<double>();
  }

 private:
  explicit SumOfX(Session* session) : session_(session) {}
  Session* session_;
  std::shared_ptr<Session::Callable> callable_;
  std::vector<Tensor> values_;  // that of x last
  std::vector<Tensor> results_;
};

// |a - b|, relative to what is greater than 1.
double RelativeError(double a, double b) {
  const double error = std::abs(a - b) / std::max({1.0, std::abs(a), std::abs(b)});
  return std::isnan(error) ? INFINITY : error;
}

}  // namespace

std::string Difference::ToString() const {
  std::string text =
      absl::StrFormat("largest relative difference %.2g over %d of %d elements", worst, checked, elements);
  if (!agrees) absl::StrAppendFormat(&text, " (element %d: symbolic %g, numeric %g)", element, symbolic, numeric);
  return text;
}

absl::StatusOr<Difference> CompareWithDifferences(Session* session, const Feeds& feeds, Output x, Output gradient,
                                                  Output sum, const DifferenceOptions& options) {
  Outputs fetches = {x};
  if (gradient) fetches.push_back(gradient);
  std::vector<Tensor> values;
  NABLA_RETURN_IF_ERROR(session->Run(feeds, fetches, &values));
  const Tensor& at = values[0];
  if (gradient && values[1].shape() != at.shape()) {
    return absl::InternalError(absl::StrCat("the gradient of '", x.name(), "' has shape ", values[1].shape().ToString(),
                                            ", but it has shape ", at.shape().ToString()));
  }
  NABLA_ASSIGN_OR_RETURN(SumOfX sum_of, SumOfX::Make(session, feeds, x, sum));
  NABLA_ASSIGN_OR_RETURN(const double here, sum_of(at));

  const bool is_double = at.dtype() == DType::kDouble;
  const double step = options.step > 0 ? options.step : is_double ? 1e-5 : 1e-2;
  const double tolerance = options.tolerance > 0 ? options.tolerance : is_double ? 1e-5 : 2e-2;
  std::vector<int64_t> elements(at.num_elements());
  std::iota(elements.begin(), elements.end(), 0);
  std::shuffle(elements.begin(), elements.end(), std::mt19937(1));
  elements.resize(std::min<size_t>(elements.size(), static_cast<size_t>(std::max(options.samples, 1))));

  Difference result;
  result.checked = static_cast<int>(elements.size());
  result.elements = at.num_elements();
  for (int64_t element : elements) {
    const auto moved_by = [&](double by) {
      Tensor moved = at.Clone();
      SetElement(&moved, element, ElementOf(at, element) + by);
      return sum_of(moved);
    };
    NABLA_ASSIGN_OR_RETURN(const double above, moved_by(step));
    NABLA_ASSIGN_OR_RETURN(const double below, moved_by(-step));
    const double symbolic = gradient ? ElementOf(values[1], element) : 0;
    const double numeric = (above - below) / (2 * step);
    const double error = RelativeError(numeric, symbolic);
    if (error > tolerance) {
      const auto [least, most] = std::minmax({(above - here) / step, (here - below) / step});
      // A slope between those on either side is as good as any.
      if (RelativeError(least, most) > tolerance && symbolic >= least - tolerance && symbolic <= most + tolerance) {
        continue;
      }
      result.agrees = false;
    }
    if (error > result.worst) {
      result.worst = error;
      result.element = element;
      result.symbolic = symbolic;
      result.numeric = numeric;
    }
  }
  return result;
}

Output SumInDouble(const Scope& scope, const Outputs& ys) {
  Inputs sums;
  for (Output y : ys) {
    Output flat = ops::Reshape(scope, ops::Cast(scope, y, DType::kDouble), {-1});
    sums.push_back(ops::Sum(scope, flat, 0));
  }
  return ops::AddN(scope, sums);
}

bool FillWithNormal(Tensor* tensor, std::mt19937* random) {
  std::normal_distribution<double> normal;
  if (tensor->dtype() != DType::kFloat && tensor->dtype() != DType::kDouble) return false;
  for (int64_t i = 0; i < tensor->num_elements(); ++i) SetElement(tensor, i, normal(*random));
  return true;
}

}  // namespace nabla::tools
