// Gradients of matrix products. For C = A B: dA = dC B^H, dB = A^H dC;
// transposes and adjoints move into the flags.
#include "nabla/gradients/registration.h"
#include "nabla/gradients/rule_util.h"
#include "nabla/gradients/unbroadcast.h"

namespace nabla {
namespace {

// The products for op(A) op(B), `multiply(x, y, tx, ty)` being the product with
// x and y transposed as tx, ty say.
template <typename Multiply>
Grads ProductGrads(RuleContext& c, bool ta, bool tb, Output a, Output b, Multiply multiply) {
  Output dc = c.grad(0);
  Grads grads(2);
  if (c.needs_input_grad(0)) grads[0] = ta ? multiply(b, dc, tb, true) : multiply(dc, b, false, !tb);
  if (c.needs_input_grad(1)) grads[1] = tb ? multiply(dc, a, true, ta) : multiply(a, dc, !ta, false);
  return grads;
}

Grads MatMulGrad(RuleContext& c) {
  const Scope& scope = c.scope();
  Output a = Conjugate(scope, c.input(0)), b = Conjugate(scope, c.input(1));
  return ProductGrads(c, c.attr<bool>("transpose_a"), c.attr<bool>("transpose_b"), a, b,
                      [&](Output x, Output y, bool tx, bool ty) {
                        return ops::MatMul(scope, x, y, {.transpose_a = tx, .transpose_b = ty});
                      });
}

// The flags of the batched ops mean conjugate transposes, which makes
// ProductGrads right for complex numbers as well.
Grads BatchMatMulGrad(RuleContext& c) {
  return ProductGrads(c, c.attr<bool>("adj_x"), c.attr<bool>("adj_y"), c.input(0), c.input(1),
                      [&](Output x, Output y, bool tx, bool ty) {
                        return ops::BatchMatMul(c.scope(), x, y, {.adj_x = tx, .adj_y = ty});
                      });
}

Grads BatchMatMulV2Grad(RuleContext& c) {
  Grads grads = ProductGrads(c, c.attr<bool>("adj_x"), c.attr<bool>("adj_y"), c.input(0), c.input(1),
                             [&](Output x, Output y, bool tx, bool ty) {
                               return ops::BatchMatMulV2(c.scope(), x, y, {.adj_x = tx, .adj_y = ty});
                             });
  UnbroadcastBatch(c.scope(), c.op(), &grads);
  return grads;
}

}  // namespace

void RegisterMatMulGradients(GradientRegistry& registry) {
  registry.Add("MatMul", MatMulGrad);
  registry.Add("BatchMatMul", BatchMatMulGrad);
  registry.Add("BatchMatMulV2", BatchMatMulV2Grad);
}

}  // namespace nabla
