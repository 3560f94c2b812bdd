// Gradients of TensorArrays. The gradients of an array's elements are elements of another array, which
// TensorArrayGradV3 finds by the name of the pass of Gradients() that asks: what is read here is written there. Flows
// carry no numbers; their gradients say that the other array's writes come before its reads.
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "nabla/gradients/registration.h"
#include "nabla/gradients/rule_util.h"

namespace nabla {
namespace {

// One for each pass, so that a second one does not add to what the first has written: the scope that the pass made, as
// TensorFlow finds it, or what stands before the op's own part of the rule's scope.
std::string Source(RuleContext& c) {
  const std::string& scope = c.scope().name();
  std::vector<absl::string_view> parts = absl::StrSplit(scope, '/');
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!absl::StartsWith(parts[i], "gradients")) continue;
    parts.resize(i + 1);
    return absl::StrJoin(parts, "/");
  }
  return scope.substr(0, scope.find(absl::StrCat("/", c.op()->name(), "_grad")));
}

ops::TensorArrayGradV3Outputs GradientArray(RuleContext& c, Output flow) {
  return ops::TensorArrayGradV3(c.scope(), c.input(0), flow, Source(c));
}

// What `tensor`'s slices along the first dimension are known to look like.
Shape SliceShape(Output tensor) {
  const Shape& shape = tensor.shape();
  return shape.rank() > 0 ? Shape(shape.dims().subspan(1)) : Shape();
}

Grads ReadGrad(RuleContext& c) {
  const auto array = GradientArray(c, c.input(2));
  return {Gradient(), Gradient(),
          ops::TensorArrayWriteV3(c.scope(), array.grad_handle, c.input(1), c.grad(0), array.flow_out)};
}

Grads WriteGrad(RuleContext& c) {
  const Output flow = c.grad(0);
  const auto array = GradientArray(c, flow);
  return {Gradient(), Gradient(),
          ops::TensorArrayReadV3(c.scope(), array.grad_handle, c.input(1), array.flow_out, c.input(2).dtype()), flow};
}

Grads GatherGrad(RuleContext& c) {
  const auto array = GradientArray(c, c.input(2));
  return {Gradient(), Gradient(),
          ops::TensorArrayScatterV3(c.scope(), array.grad_handle, c.input(1), c.grad(0), array.flow_out)};
}

Grads ScatterGrad(RuleContext& c) {
  const Output flow = c.grad(0);
  const auto array = GradientArray(c, flow);
  return {Gradient(), Gradient(),
          ops::TensorArrayGatherV3(c.scope(), array.grad_handle, c.input(1), array.flow_out, c.input(2).dtype(),
                                   {.element_shape = SliceShape(c.input(2))}),
          flow};
}

Grads ConcatGrad(RuleContext& c) {
  const auto array = GradientArray(c, c.input(1));
  return {Gradient(), ops::TensorArraySplitV3(c.scope(), array.grad_handle, c.grad(0), c.output(1), array.flow_out)};
}

Grads SplitGrad(RuleContext& c) {
  const Output flow = c.grad(0);
  const auto array = GradientArray(c, flow);
  return {Gradient(),
          ops::TensorArrayConcatV3(c.scope(), array.grad_handle, array.flow_out, c.input(1).dtype(),
                                   {.element_shape_except0 = SliceShape(c.input(1))})
              .value,
          Gradient(), flow};
}

}  // namespace

void RegisterTensorArrayGradients(GradientRegistry& registry) {
  registry.Add("TensorArrayReadV3", ReadGrad);
  registry.Add("TensorArrayWriteV3", WriteGrad);
  registry.Add("TensorArrayGatherV3", GatherGrad);
  registry.Add("TensorArrayScatterV3", ScatterGrad);
  registry.Add("TensorArrayConcatV3", ConcatGrad);
  registry.Add("TensorArraySplitV3", SplitGrad);
  registry.NotDifferentiable({"TensorArrayV3", "TensorArrayGradV3", "TensorArrayGradWithShape", "TensorArraySizeV3",
                              "TensorArrayCloseV3", "StackV2", "StackPushV2", "StackPopV2", "StackCloseV2"});
}

}  // namespace nabla
