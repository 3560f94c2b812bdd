// Gradients of neural-network ops.
#include "nabla/gradients/registration.h"
#include "nabla/gradients/rule_util.h"

namespace nabla {
namespace {

Output SumOverClasses(const Scope& scope, Output x) { return ops::Sum(scope, x, {-1}, {.keep_dims = true}); }

Grads BiasAddGradRule(RuleContext& c) {
  Output dy = c.grad(0);
  Grads grads = {dy, Gradient()};
  if (c.needs_input_grad(1)) {
    grads[1] = ops::BiasAddGrad(c.scope(), dy, {.data_format = c.attr<std::string>("data_format")});
  }
  return grads;
}

// BiasAdd without the choice of layout: the channels are last.
Grads BiasAddV1Grad(RuleContext& c) { return {c.grad(0), ops::BiasAddGrad(c.scope(), c.grad(0))}; }

// A sum over all but the channels: each element of the input gets its channel's
// gradient.
Grads BiasAddGradGrad(RuleContext& c) {
  const Scope& scope = c.scope();
  Output x = c.input(0), dy = c.grad(0);
  if (c.attr<std::string>("data_format") == "NCHW") {
    if (x.shape().has_rank()) {
      std::vector<int64_t> aligned(x.shape().rank(), 1);
      if (aligned.size() > 1) aligned[1] = -1;
      dy = ops::Reshape(scope, dy, aligned);
    } else {
      Output ones =
          ops::Fill(scope, ops::ExpandDims(scope, ops::Rank(scope, x) - 2, 0), ops::Const(scope, 1, DType::kInt32));
      dy = ops::Reshape(scope, dy, ops::ConcatV2(scope, {Input({1, -1}), ones}, 0));
    }
  }
  return {BroadcastLike(scope, dy, x)};
}

Grads SoftmaxGrad(RuleContext& c) {
  Output y = c.output(0), dy = c.grad(0);
  return {(dy - SumOverClasses(c.scope(), dy * y)) * y};
}

Grads LogSoftmaxGrad(RuleContext& c) {
  const Scope& scope = c.scope();
  Output dy = c.grad(0);
  return {dy - SumOverClasses(scope, dy) * ops::Exp(scope, c.output(0))};
}

// What a gradient of the op's second output (itself the derivative of the loss
// by the logits) adds for the logits: the softmax's Jacobian applied to it.
Output ThroughBackprop(RuleContext& c) {
  Output p = ops::Softmax(c.scope(), c.input(0));
  Output g = c.grad(1);
  return (g - SumOverClasses(c.scope(), g * p)) * p;
}

Output PerExample(RuleContext& c) { return ops::ExpandDims(c.scope(), c.grad(0), -1); }

Gradient CrossEntropyLogitsGrad(RuleContext& c) {
  Output grad;
  if (c.has_grad(0)) grad = PerExample(c) * c.output(1);
  if (c.has_grad(1)) grad = grad ? grad + ThroughBackprop(c) : ThroughBackprop(c);
  return grad;
}

Grads SoftmaxCrossEntropyGrad(RuleContext& c) {
  Grads grads = {CrossEntropyLogitsGrad(c), Gradient()};
  if (c.needs_input_grad(1)) {
    Output labels;
    if (c.has_grad(0)) labels = PerExample(c) * -ops::LogSoftmax(c.scope(), c.input(0));
    if (c.has_grad(1)) labels = labels ? labels - c.grad(1) : -c.grad(1);
    grads[1] = labels;
  }
  return grads;
}

Grads SparseSoftmaxCrossEntropyGrad(RuleContext& c) { return {CrossEntropyLogitsGrad(c), Gradient()}; }

}  // namespace

void RegisterNnGradients(GradientRegistry& registry) {
  registry.Add("BiasAdd", BiasAddGradRule);
  registry.Add("BiasAddGrad", BiasAddGradGrad);
  registry.Add("BiasAddV1", BiasAddV1Grad);
  registry.Add("LogSoftmax", LogSoftmaxGrad);
  registry.Add("Softmax", SoftmaxGrad);
  registry.Broadcasting("SoftmaxCrossEntropyWithLogits", SoftmaxCrossEntropyGrad);
  registry.Add("SparseSoftmaxCrossEntropyWithLogits", SparseSoftmaxCrossEntropyGrad);
  registry.NotDifferentiable({"InTopK", "InTopKV2"});
}

}  // namespace nabla
