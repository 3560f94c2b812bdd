// Why an x has no gradient.
//
//   for (const GradientReport& report : ExplainGradients(ys, xs, {})) std::puts(report.ToString().c_str());
//   // x:0 has no gradient: op ArgMax (node 'top') is not differentiable
#ifndef NABLA_GRADIENTS_REPORT_H_
#define NABLA_GRADIENTS_REPORT_H_

#include <string>
#include <vector>

#include "nabla/graph/graph.h"

namespace nabla {

// A place where a gradient that comes from ys goes no further, although `tensor` depends on x.
struct GradientCut {
  enum class Kind {
    kDType,    // the tensor is of a type that has no gradients: an integer, a bool, a string
    kOp,       // the op that reads it is not differentiable, or has no rule
    kInput,    // the op is, but not by this input, or only another of its outputs has a gradient
    kStopped,  // the op is among stop_gradients
  };
  Kind kind;
  Output tensor;   // the edge: this tensor,
  Node* consumer;  // read by this op
  int input;       // as its input of this number

  // "op ArgMax (node 'a/b') is not differentiable", "'c:0' is int32, through which no gradient flows", …
  std::string ToString() const;
};

struct GradientReport {
  Output x;
  bool has_gradient = false;
  // Whether any path of data edges leads from x to ys.
  bool connected = false;
  // If x has no gradient: what cuts each path from x to ys, where it is nearest to ys. In order of the distance to ys,
  // each once. Inputs (kInput) that get a gradient from elsewhere are left out.
  std::vector<GradientCut> cuts;

  // Why there is none, in one line: the cuts, the first few if they are many, or that no path leads to ys.
  std::string Reason() const;
  // "x:0 has a gradient", or "x:0 has no gradient: " and the reason.
  std::string ToString() const;
};

// One report for each x, in order. Nothing is added to the graph; the cost is that of what ys depend on for each x, so
// ask for all xs at once. Ops of a loop are looked at again for outputs that later trips need. Requires that ys and xs,
// none of them none, belong to one graph. Thread safety: locks the graph; RegisterAllGradients() must have run.
std::vector<GradientReport> ExplainGradients(const Outputs& ys, const Outputs& xs, const Outputs& stop_gradients);

}  // namespace nabla

#endif  // NABLA_GRADIENTS_REPORT_H_
