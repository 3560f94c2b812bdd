// Steps of optimizers, which change resource variables in place.
#include "nabla/graph/shape_inference.h"
#include "nabla/ops/registration.h"

namespace nabla {
namespace {

// Inputs named in the spec whose values are hyperparameters are scalars; every sparse step has one row of grad per
// index.
absl::Status ApplyShape(ShapeContext& c) {
  const OpSpec& spec = c.spec();
  for (absl::string_view name :
       {"alpha", "lr", "momentum", "beta1_power", "beta2_power", "beta1", "beta2", "epsilon"}) {
    const int i = spec.FindInput(name);
    if (i >= 0) NABLA_RETURN_IF_ERROR(c.InputOfRank(i, 0).status());
  }
  const int indices = spec.FindInput("indices");
  if (indices < 0) return absl::OkStatus();
  const int grad = spec.FindInput("grad");
  NABLA_ASSIGN_OR_RETURN(Shape rows, c.InputOfRank(indices, 1));
  NABLA_ASSIGN_OR_RETURN(Shape values, c.InputOfRankAtLeast(grad, 1));
  if (!values.has_rank()) return absl::OkStatus();
  return c.MergeDims(rows.dim(0), values.dim(0)).status();
}

void RegisterDenseSteps(OpRegistry& registry) {
  registry.Add("ResourceApplyGradientDescent")
      .Input("var: resource")
      .Input("alpha: T")
      .Input("delta: T")
      .Attr("T: numbertype")
      .Attr("use_locking: bool = false")
      .Doc("var -= alpha delta. alpha is a scalar, delta has var's shape.")
      .Stateful()
      .Shape(ApplyShape);
  const auto momentum = [&registry](const char* name, const char* doc) {
    registry.Add(name)
        .Input("var: resource")
        .Input("accum: resource")
        .Input("lr: T")
        .Input("grad: T")
        .Input("momentum: T")
        .Attr("T: numbertype")
        .Attr("use_locking: bool = false")
        .Attr("use_nesterov: bool = false")
        .Doc(doc)
        .Stateful()
        .Shape(ApplyShape);
  };
  momentum("ResourceApplyMomentum",
           "accum = momentum accum + grad; var -= lr accum, or lr (grad + momentum accum) with use_nesterov. lr and "
           "momentum are scalars.");
  momentum("ResourceApplyKerasMomentum",
           "accum = momentum accum - lr grad; var += accum, or momentum accum - lr grad with use_nesterov. lr and "
           "momentum are scalars.");
  registry.Add("ResourceApplyAdam")
      .Input("var: resource")
      .Input("m: resource")
      .Input("v: resource")
      .Input("beta1_power: T")
      .Input("beta2_power: T")
      .Input("lr: T")
      .Input("beta1: T")
      .Input("beta2: T")
      .Input("epsilon: T")
      .Input("grad: T")
      .Attr("T: numbertype")
      .Attr("use_locking: bool = false")
      .Attr("use_nesterov: bool = false")
      .Doc(
          "A step of Adam (Kingma and Ba, 2015): m += (1 - beta1) (grad - m); v += (1 - beta2) (grad^2 - v); var -= "
          "rate m / (sqrt(v) + epsilon), where rate = lr sqrt(1 - beta2_power) / (1 - beta1_power). With use_nesterov "
          "m beta1 + (1 - beta1) grad takes m's place. The powers are beta1 and beta2 to the number of this step, from "
          "1. All but grad are scalars.")
      .Stateful()
      .Shape(ApplyShape);
  registry.Add("ResourceApplyAdagrad")
      .Input("var: resource")
      .Input("accum: resource")
      .Input("lr: T")
      .Input("grad: T")
      .Attr("T: numbertype")
      .Attr("use_locking: bool = false")
      .Attr("update_slots: bool = true")
      .Doc(
          "A step of Adagrad (Duchi, Hazan and Singer, 2011): accum += grad^2 if update_slots; var -= lr grad / "
          "sqrt(accum). lr is a scalar.")
      .Stateful()
      .Shape(ApplyShape);
}

void RegisterSparseSteps(OpRegistry& registry) {
  const auto momentum = [&registry](const char* name, const char* doc) {
    registry.Add(name)
        .Input("var: resource")
        .Input("accum: resource")
        .Input("lr: T")
        .Input("grad: T")
        .Input("indices: Tindices")
        .Input("momentum: T")
        .Attr("T: numbertype")
        .Attr("Tindices: {int32, int64}")
        .Attr("use_locking: bool = false")
        .Attr("use_nesterov: bool = false")
        .Doc(doc)
        .Stateful()
        .Shape(ApplyShape);
  };
  momentum("ResourceSparseApplyMomentum",
           "ResourceApplyMomentum for the rows `indices` only; grad[i] is the gradient of row indices[i].");
  momentum("ResourceSparseApplyKerasMomentum",
           "ResourceApplyKerasMomentum for the rows `indices` only; grad[i] is the gradient of row indices[i].");
  registry.Add("ResourceSparseApplyAdagrad")
      .Input("var: resource")
      .Input("accum: resource")
      .Input("lr: T")
      .Input("grad: T")
      .Input("indices: Tindices")
      .Attr("T: numbertype")
      .Attr("Tindices: {int32, int64}")
      .Attr("use_locking: bool = false")
      .Attr("update_slots: bool = true")
      .Doc("ResourceApplyAdagrad for the rows `indices` only; grad[i] is the gradient of row indices[i].")
      .Stateful()
      .Shape(ApplyShape);
}

}  // namespace

void RegisterTrainingOps(OpRegistry& registry) {
  RegisterDenseSteps(registry);
  RegisterSparseSteps(registry);
}

}  // namespace nabla
