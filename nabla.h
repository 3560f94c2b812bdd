// The public API in one header.
//
//   nabla::Initialize();
//   nabla::Graph graph;
//   nabla::Scope scope(&graph);
//   nabla::Output x = nabla::ops::Placeholder(scope, nabla::DType::kFloat);
//   nabla::Output y = x * x;
//   auto grads = nabla::Gradients(scope, {y}, {x});
//   nabla::Session session(&graph);
//   std::vector<nabla::Tensor> out;
//   absl::Status status = session.Run({{x, nabla::Tensor::Scalar(3.0f)}}, {(*grads)[0].dense()}, &out);
#ifndef NABLA_NABLA_H_
#define NABLA_NABLA_H_

#include "nabla/gradients/clip.h"
#include "nabla/gradients/custom_gradient.h"
#include "nabla/gradients/gradients.h"
#include "nabla/gradients/hessian.h"
#include "nabla/gradients/jacobian.h"
#include "nabla/gradients/jvp.h"
#include "nabla/gradients/optimizers.h"
#include "nabla/gradients/report.h"
#include "nabla/gradients/rule.h"
#include "nabla/gradients/schedule.h"
#include "nabla/gradients/tape.h"
#include "nabla/gradients/vjp.h"
#include "nabla/graph/export.h"
#include "nabla/graph/function.h"
#include "nabla/graph/graph.h"
#include "nabla/graph/import.h"
#include "nabla/graph/npy.h"
#include "nabla/graph/scope.h"
#include "nabla/graph/tensor.h"
#include "nabla/ops/cond.h"
#include "nabla/ops/lower_functional.h"
#include "nabla/ops/ops.h"
#include "nabla/ops/scan.h"
#include "nabla/ops/tensor_array.h"
#include "nabla/ops/variable.h"
#include "nabla/ops/while.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/resources.h"
#include "nabla/runtime/session.h"
#include "nabla/runtime/trace.h"

namespace nabla {

// Registers every op, kernel and gradient. Call it once before anything else; more calls do nothing. Thread-safe.
inline void Initialize() {
  RegisterAllOps();
  RegisterFunctionalLowering();
  RegisterAllKernels();
  RegisterAllGradients();
}

}  // namespace nabla

#endif  // NABLA_NABLA_H_
