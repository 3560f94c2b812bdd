// Loops, built from C++ lambdas.
//
//   Outputs last = ops::While(scope, {i, x},
//                             [&](const Scope& s, const Outputs& v) { return ops::Less(s, v[0], n); },
//                             [&](const Scope& s, const Outputs& v) { return Outputs{v[0] + 1, v[1] * a}; });
//
// The lambdas are called once, to build the condition and the body. They may use any tensor from around the loop (n and
// a above): it is carried in by itself. Operators on Outputs add their nodes to the right place.
#ifndef NABLA_OPS_WHILE_H_
#define NABLA_OPS_WHILE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "nabla/graph/scope.h"

namespace nabla {
namespace ops {

// Of the loop variables, whether to go on: a scalar bool.
using LoopCondition = std::function<Output(const Scope& scope, const Outputs& variables)>;
// From the loop variables to their next values, as many and of the same dtypes.
using LoopBody = std::function<Outputs(const Scope& scope, const Outputs& variables)>;

struct WhileOptions {
  // Trips that may be under way at once.
  int64_t parallel_iterations = 10;
  // Trips after which the loop ends, whatever the condition says; negative for any number.
  int64_t maximum_iterations = -1;
  // The static shapes that the variables keep, one for each; empty for those that they begin with. A variable whose
  // shape changes from trip to trip needs one with unknown dimensions.
  std::vector<nabla::Shape> shape_invariants;
  // Without, the results are constants to gradients.
  bool back_prop = true;
  // Of the name scope.
  std::string name = "while";
};

// Runs `body` as long as `condition` holds, and gives the last values of the variables, which begin as `init`. Errors
// (no variables; a condition that is not a scalar bool; a body that gives the wrong number, dtype or static shape, with
// the variable named) are recorded in the scope, and the results are none. Thread-compatible.
Outputs While(const Scope& scope, const Outputs& init, const LoopCondition& condition, const LoopBody& body,
              const WhileOptions& options = {});

// From the trip's number, a scalar int32 that counts from 0, and the loop variables to their next values.
using ForBody = std::function<Outputs(const Scope& scope, Output trip, const Outputs& variables)>;

// Makes `trips` trips, a scalar int32 (or a number); none if it is negative.
Outputs For(const Scope& scope, const Input& trips, const Outputs& init, const ForBody& body,
            const WhileOptions& options = {});

}  // namespace ops
}  // namespace nabla

#endif  // NABLA_OPS_WHILE_H_
