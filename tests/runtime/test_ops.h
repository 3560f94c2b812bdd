// A few kernels, and ops of the tests' own, so that the runtime is tested without the real kernels.
#ifndef NABLA_TESTS_RUNTIME_TEST_OPS_H_
#define NABLA_TESTS_RUNTIME_TEST_OPS_H_

#include <atomic>
#include <string>
#include <vector>

#include "nabla/graph/scope.h"
#include "nabla/graph/tensor.h"

namespace nabla::testing {

// Registers all op specs, kernels for Add, Sub, Mul, Neg, AddN (float, equal shapes), Identity, Reshape, Fill, NoOp,
// Shape and variables, and these ops (x and y are float tensors of any shape):
//   TestSpin(x; microseconds) = x   works for that long on one thread
//   TestLoop(x; parts) = x          a StoppableParallelFor over `parts` units of 100 µs, counted in NumLooped()
//   TestBlock(x) = x                works until the run is stopped (or 30 s are over)
//   TestFail(x; message) = x        fails with Internal
//   TestCount(x) = x                stateful; counts its runs in NumCounted()
//   TestOrder(x; tag) = x           stateful; appends its tag to Tags()
//   TestForgetful(x) = x            does not set its output
//   TestNoKernel(x) = x             has none
//   TestTwo(x) = x, -x
// Idempotent.
void RegisterTestOps();

std::atomic<int>& NumCounted();
std::atomic<int>& NumLooped();
std::vector<std::string> Tags();
void ClearTags();
// Outputs that kernels wrote over one of their inputs.
std::atomic<int>& NumForwarded();

// Nodes. The scope must stay ok.
Output Placeholder(const Scope& scope, const std::string& name, const Shape& shape, DType dtype = DType::kFloat);
Output Constant(const Scope& scope, Tensor value);
Output Call(const Scope& scope, const std::string& op, const Outputs& inputs, AttrMap attrs = {});
Node* CallNode(const Scope& scope, const std::string& op, const Outputs& inputs, AttrMap attrs = {});
AttrMap Attrs(std::vector<std::pair<std::string, Attr>> attrs);

// The elements of a float tensor.
std::vector<float> Floats(const Tensor& tensor);

}  // namespace nabla::testing

#endif  // NABLA_TESTS_RUNTIME_TEST_OPS_H_
