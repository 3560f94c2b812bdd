// Loops over the first axis of tensors.
//
//   // h[t] = tanh(x[t] W + h[t-1] U)
//   ops::ScanResult r = ops::Scan(scope, {h0}, {xs}, [&](const Scope& s, const Outputs& h, const Outputs& x) {
//     Output next = ops::Tanh(s, ops::MatMul(s, x[0], w) + ops::MatMul(s, h[0], u));
//     return ops::ScanStep{{next}, {next}};
//   });
//   r.results[0];   // all of the next, stacked: [n, …]
//
// They are built on ops::While: the lambdas are called once, and may use any tensor from around the loop.
#ifndef NABLA_OPS_SCAN_H_
#define NABLA_OPS_SCAN_H_

#include <functional>

#include "nabla/graph/scope.h"
#include "nabla/ops/while.h"

namespace nabla {
namespace ops {

struct ScanOptions {
  // From the last element to the first; results keep the order of the elements.
  bool reverse = false;
  int64_t parallel_iterations = 10;
  bool back_prop = true;
  std::string name = "scan";
};

// What one step gives: the state for the next step, and results to stack.
struct ScanStep {
  Outputs state;
  Outputs results;
};
struct ScanResult {
  Outputs state;    // after the last step
  Outputs results;  // each [n, …]: the steps' results stacked
};
using ScanBody = std::function<ScanStep(const Scope& scope, const Outputs& state, const Outputs& elements)>;

// Steps through `elements`, tensors [n, …] of one n, which may be 0 and unknown until the run. Errors (no elements; a
// scalar; different n; a state that changes its dtype or static shape) are recorded in the scope, and the results are
// none or empty. The gradient with respect to the elements is gathered as slices and made dense once.
ScanResult Scan(const Scope& scope, const Outputs& state, const Outputs& elements, const ScanBody& body,
                const ScanOptions& options = {});

// body(element) for each of the elements, stacked.
Outputs MapFn(const Scope& scope, const Outputs& elements,
              const std::function<Outputs(const Scope& scope, const Outputs& elements)>& body,
              const ScanOptions& options = {});

// body(… body(body(state, element 0), element 1) …).
Outputs FoldLeft(const Scope& scope, const Outputs& state, const Outputs& elements,
                 const std::function<Outputs(const Scope& scope, const Outputs& state, const Outputs& elements)>& body,
                 const ScanOptions& options = {});

}  // namespace ops
}  // namespace nabla

#endif  // NABLA_OPS_SCAN_H_
