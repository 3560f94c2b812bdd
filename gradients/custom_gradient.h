// Functions with a gradient of their own, instead of the one that follows from their bodies.
//
//   // log(1 + exp(x)), whose derived gradient overflows for large x.
//   Outputs y = CustomGradient(
//       scope, {x}, [](const Scope& body, const Outputs& in) { return Outputs{ops::Log(body, 1 + ops::Exp(body,
//       in[0]))}; },
//       [](RuleContext& c) { return Grads{c.grad(0) * ops::Sigmoid(c.scope(), c.input(0))}; });
//
// A file holds such a gradient as an entry of its function library (GradientDef), which names a function of the inputs
// and the outputs' gradients; those are used as they are. A call of a function with a gradient of its own stays a call
// in the graph; at run time it is expanded like any other.
#ifndef NABLA_GRADIENTS_CUSTOM_GRADIENT_H_
#define NABLA_GRADIENTS_CUSTOM_GRADIENT_H_

#include <functional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "nabla/gradients/rule.h"
#include "nabla/graph/function.h"

namespace nabla {

// As a gradient rule (gradients/rule.h): one Gradient for each input of the call, captured tensors after the others.
using CustomRule = std::function<Grads(RuleContext& c)>;

// Builds a function of `inputs` from `forward`, gives it the gradient `backward`, and calls it. Both lambdas may be
// kept and called later, so they must not refer to what dies. Errors are recorded in the scope. Thread safety: as for
// building through the scope.
Outputs CustomGradient(const Scope& scope, const Outputs& inputs, const Function::Body& forward, CustomRule backward);

// Gives a function of the graph's library a gradient, for all calls of it. The registration is in memory: a file gets
// the gradients that were built, not the rule. AlreadyExists if the function has one, in C++ or in the library;
// NotFound if there is no such function. Thread-safe.
absl::Status SetCustomGradient(Graph* graph, absl::string_view function, CustomRule rule);

// Whether the node calls a function that has a gradient of its own.
bool HasCustomGradient(const Node& node);

// The rule of calls: builds what the called function's own gradient says. Fails for a function that has two, or one
// whose signature does not fit.
Grads CallGradient(RuleContext& c);

}  // namespace nabla

#endif  // NABLA_GRADIENTS_CUSTOM_GRADIENT_H_
