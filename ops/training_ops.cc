// Steps of optimizers, which change resource variables in place.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "nabla/graph/resource_handle.h"
#include "nabla/graph/shape_inference.h"
#include "nabla/ops/registration.h"

namespace nabla {
namespace {

absl::Status Disagree(const ShapeContext& c, int i, const Shape& shape, const Shape& variable) {
  return absl::InvalidArgumentError(absl::StrCat("input '", c.spec().inputs()[i].name, "' has shape ", shape.ToString(),
                                                 ", the variable ", variable.ToString()));
}

// The variable and its slots have one shape. A dense gradient has it too; a sparse one has a row of it per index. All
// other inputs are scalars.
absl::Status ApplyShape(ShapeContext& c) {
  const std::vector<ArgSpec>& inputs = c.spec().inputs();
  const int indices = c.spec().FindInput("indices");
  const int grad = std::max(c.spec().FindInput("grad"), c.spec().FindInput("delta"));
  Shape variable;
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (i == grad) continue;
    NABLA_RETURN_IF_ERROR(c.InputOfRank(i, i == indices ? 1 : 0).status());
    if (inputs[i].dtype != DType::kResource) continue;
    const Shape shape = FindResource(c.source(i)).shape;
    absl::StatusOr<Shape> merged = variable.MergeWith(shape);
    if (!merged.ok()) return Disagree(c, i, shape, variable);
    variable = *std::move(merged);
  }
  if (indices < 0) {
    return variable.IsCompatibleWith(c.input(grad)) ? absl::OkStatus() : Disagree(c, grad, c.input(grad), variable);
  }
  NABLA_ASSIGN_OR_RETURN(const Shape rows, c.InputOfRank(indices, 1));
  NABLA_ASSIGN_OR_RETURN(const Shape values, c.InputOfRankAtLeast(grad, 1));
  if (!values.has_rank()) return absl::OkStatus();
  NABLA_RETURN_IF_ERROR(c.MergeDims(rows.dim(0), values.dim(0)).status());
  if (!variable.has_rank()) return absl::OkStatus();
  if (variable.rank() == 0) return absl::InvalidArgumentError("a scalar variable has no rows");
  variable.set_dim(0, values.dim(0));
  return variable.IsCompatibleWith(values) ? absl::OkStatus() : Disagree(c, grad, values, variable);
}

enum Forms { kDense = 1, kSparse = 2, kBoth = 3 };

// A rule of which there may be a dense form, ResourceApply<name>, and a sparse one, ResourceSparseApply<name>, which
// has the input `indices` after the gradient.
struct Step {
  const char* name;
  Forms forms;
  const char* variables;
  const char* values;  // the other inputs
  const char* flag;    // a bool attr, or nullptr
  const char* doc;
};

// grad has var's shape; what is not explained is a scalar.
constexpr Step kSteps[] = {
    {"GradientDescent", kDense, "var", "alpha delta", nullptr, "var -= alpha delta. delta has var's shape."},
    {"ProximalGradientDescent", kDense, "var", "alpha l1 l2 delta", nullptr,
     "A step of FOBOS (Duchi and Singer, 2009): v = var - alpha delta; var = sign(v) max(|v| - alpha l1, 0) / (1 + "
     "alpha l2). delta has var's shape."},
    {"ProximalGradientDescent", kSparse, "var", "alpha l1 l2 grad", nullptr, ""},
    {"Momentum", kBoth, "var accum", "lr grad momentum", "use_nesterov = false",
     "accum = momentum accum + grad; var -= lr accum, or lr (grad + momentum accum) with use_nesterov."},
    {"KerasMomentum", kBoth, "var accum", "lr grad momentum", "use_nesterov = false",
     "accum = momentum accum - lr grad; var += accum, or momentum accum - lr grad with use_nesterov."},
    {"Adagrad", kBoth, "var accum", "lr grad", "update_slots = true",
     "A step of Adagrad (Duchi, Hazan and Singer, 2011): accum += grad^2 if update_slots; var -= lr grad / "
     "sqrt(accum)."},
    {"AdagradV2", kBoth, "var accum", "lr epsilon grad", "update_slots = true",
     "A step of Adagrad (Duchi, Hazan and Singer, 2011): accum += grad^2 if update_slots; var -= lr grad / "
     "(sqrt(accum) + epsilon)."},
    {"ProximalAdagrad", kBoth, "var accum", "lr l1 l2 grad", nullptr,
     "A step of Adagrad with FOBOS (Duchi and Singer, 2009): accum += grad^2; rate = lr / sqrt(accum); v = var - rate "
     "grad; var = sign(v) max(|v| - rate l1, 0) / (1 + rate l2)."},
    {"Adadelta", kBoth, "var accum accum_update", "lr rho epsilon grad", nullptr,
     "A step of Adadelta (Zeiler, 2012): accum = rho accum + (1 - rho) grad^2; update = grad sqrt(accum_update + "
     "epsilon) / sqrt(accum + epsilon); accum_update = rho accum_update + (1 - rho) update^2; var -= lr update."},
    {"RMSProp", kBoth, "var ms mom", "lr rho momentum epsilon grad", nullptr,
     "A step of RMSProp (Tieleman and Hinton, 2012): ms += (1 - rho) (grad^2 - ms); mom = momentum mom + lr grad / "
     "sqrt(ms + epsilon); var -= mom."},
    {"CenteredRMSProp", kBoth, "var mg ms mom", "lr rho momentum epsilon grad", nullptr,
     "A step of RMSProp by the variance of the gradient (Graves, 2013): ms += (1 - rho) (grad^2 - ms); mg += (1 - rho) "
     "(grad - mg); mom = momentum mom + lr grad / sqrt(ms - mg^2 + epsilon); var -= mom."},
    {"Adam", kDense, "var m v", "beta1_power beta2_power lr beta1 beta2 epsilon grad", "use_nesterov = false",
     "A step of Adam (Kingma and Ba, 2015): m += (1 - beta1) (grad - m); v += (1 - beta2) (grad^2 - v); var -= rate m "
     "/ (sqrt(v) + epsilon), where rate = lr sqrt(1 - beta2_power) / (1 - beta1_power). With use_nesterov m beta1 + (1 "
     "- beta1) grad takes m's place. The powers are beta1 and beta2 to the number of this step, from 1."},
    {"AdamWithAmsgrad", kDense, "var m v vhat", "beta1_power beta2_power lr beta1 beta2 epsilon grad", nullptr,
     "A step of AMSGrad (Reddi, Kale and Kumar, 2018): m and v as for ResourceApplyAdam; vhat = max(vhat, v); var -= "
     "rate m / (sqrt(vhat) + epsilon), where rate = lr sqrt(1 - beta2_power) / (1 - beta1_power)."},
    {"AdaMax", kDense, "var m v", "beta1_power lr beta1 beta2 epsilon grad", nullptr,
     "A step of AdaMax (Kingma and Ba, 2015): m += (1 - beta1) (grad - m); v = max(beta2 v, |grad|); var -= lr / (1 - "
     "beta1_power) m / (v + epsilon). beta1_power is beta1 to the number of this step, from 1."},
    {"Ftrl", kBoth, "var accum linear", "grad lr l1 l2 lr_power", "multiply_linear_by_lr = false",
     "A step of FTRL-proximal (McMahan and others, 2013): n = accum + grad^2; linear += grad - (n^-lr_power - "
     "accum^-lr_power) / lr var; accum = n; var = |linear| > l1 ? (sign(linear) l1 - linear) / (n^-lr_power / lr + 2 "
     "l2) : 0. With multiply_linear_by_lr linear is kept multiplied by lr."},
    {"FtrlV2", kBoth, "var accum linear", "grad lr l1 l2 l2_shrinkage lr_power", "multiply_linear_by_lr = false",
     "ResourceApplyFtrl, but linear is fed by grad + 2 l2_shrinkage var; accum by grad alone."},
};

void AddStep(OpRegistry& registry, const Step& step, bool sparse) {
  OpSpecBuilder spec = registry.Add(absl::StrCat(sparse ? "ResourceSparseApply" : "ResourceApply", step.name));
  for (absl::string_view name : absl::StrSplit(step.variables, ' ')) spec.Input(absl::StrCat(name, ": resource"));
  for (absl::string_view name : absl::StrSplit(step.values, ' ')) {
    spec.Input(absl::StrCat(name, ": T"));
    if (sparse && name == "grad") spec.Input("indices: Tindices");
  }
  spec.Attr("T: numbertype");
  if (sparse) spec.Attr("Tindices: {int32, int64}");
  spec.Attr("use_locking: bool = false");
  if (step.flag != nullptr) {
    const std::pair<std::string, std::string> flag = absl::StrSplit(step.flag, " = ");
    spec.Attr(absl::StrCat(flag.first, ": bool = ", flag.second));
  }
  if (sparse) {
    spec.Doc(absl::StrCat("ResourceApply", step.name,
                          " for the rows `indices` only; grad[i] is the gradient of row indices[i]. A row that occurs "
                          "twice makes two steps."));
  } else {
    spec.Doc(step.doc);
  }
  spec.Stateful().Shape(ApplyShape);
}

}  // namespace

void RegisterTrainingOps(OpRegistry& registry) {
  for (const Step& step : kSteps) {
    if (step.forms & kDense) AddStep(registry, step, /*sparse=*/false);
  }
  for (const Step& step : kSteps) {
    if (step.forms & kSparse) AddStep(registry, step, /*sparse=*/true);
  }
}

}  // namespace nabla
