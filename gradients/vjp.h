// Reverse mode as transforms of functions: products of a cotangent with the Jacobian.
//
//   auto f = [](const Scope& scope, const Outputs& x) -> Outputs { return {ops::MatMul(scope, x[0], x[1])}; };
//   NABLA_ASSIGN_OR_RETURN(Linearization l, MakeVjp(scope, f, {a, b}));
//   NABLA_ASSIGN_OR_RETURN(Grads first, l.pullback({v}));   // v'J: a pair of matrices
//   NABLA_ASSIGN_OR_RETURN(Grads second, l.pullback({w}));  // the values l.ys are not computed again
#ifndef NABLA_GRADIENTS_VJP_H_
#define NABLA_GRADIENTS_VJP_H_

#include <functional>

#include "absl/status/statusor.h"
#include "nabla/gradients/gradient.h"
#include "nabla/gradients/gradients.h"
#include "nabla/graph/scope.h"

namespace nabla {

// Builds outputs from inputs, once, in the scope that it is given. Tensors that it uses besides `xs` are constants to
// the transforms below, even where they depend on an x.
using GraphFunction = std::function<Outputs(const Scope& scope, const Outputs& xs)>;

// v'J: what the cotangents of ys, one each, are for every x, in order. As Gradients() with grad_ys, save that a
// cotangent of none is zero, not ones. `options.grad_ys` must be empty. Errors as for Gradients().
absl::StatusOr<Grads> Vjp(const Scope& scope, const Outputs& ys, const Outputs& xs, const Grads& cotangents,
                          const GradientOptions& options = {});

// Appends the backward graph of a function, once for each call. A value; valid while the graph is.
class Pullback {
 public:
  Pullback(const Scope& scope, Outputs ys, Outputs xs, GradientOptions options);
  // One cotangent per y, none for zero; one gradient per x.
  absl::StatusOr<Grads> operator()(const Grads& cotangents) const;

 private:
  Scope scope_;
  Outputs ys_, xs_;
  GradientOptions options_;
};

struct Linearization {
  Outputs ys;  // f(xs)
  Pullback pullback;
};

// f's values and its pullback. The xs are independent of each other, whatever the graph says: f works on Identities of
// them. Errors: InvalidArgument if f gives nothing, or none, or a tensor of another graph; what f recorded in the
// scope; as for Gradients().
absl::StatusOr<Linearization> MakeVjp(const Scope& scope, const GraphFunction& f, const Outputs& xs,
                                      const GradientOptions& options = {});

struct ValuesAndGradients {
  Outputs values;   // f(xs)
  Grads gradients;  // of the sum of all values, for each x
};

// f's values and the gradient of their sum (or of what options.grad_ys weighs them with). Errors as for MakeVjp.
absl::StatusOr<ValuesAndGradients> ValueAndGradients(const Scope& scope, const GraphFunction& f, const Outputs& xs,
                                                     const GradientOptions& options = {});

}  // namespace nabla

#endif  // NABLA_GRADIENTS_VJP_H_
