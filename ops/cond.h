// Conditionals, built from C++ lambdas.
//
//   Outputs y = ops::Cond(scope, x > 0.0,
//                         [&](const Scope& s) { return Outputs{ops::Log(s, x)}; },
//                         [&](const Scope& s) { return Outputs{-x}; });
//
// The lambdas are called once each, to build the branches. What a branch takes from around it comes in through a Switch
// by itself, so that only the branch that is taken runs.
#ifndef NABLA_OPS_COND_H_
#define NABLA_OPS_COND_H_

#include <functional>
#include <string>
#include <vector>

#include "nabla/graph/scope.h"

namespace nabla {
namespace ops {

// Builds a branch, and gives its results.
using BranchBuilder = std::function<Outputs(const Scope& scope)>;

// The results of `then` where `predicate`, a scalar bool, holds, and of `otherwise` where it does not. Both give as
// many results, of the same dtypes. A node without data inputs or outputs in a branch runs only if a result waits for
// it (Scope::WithControl). Errors are recorded in the scope, and the results are none. Thread-compatible.
Outputs Cond(const Scope& scope, Output predicate, const BranchBuilder& then, const BranchBuilder& otherwise,
             const std::string& name = "cond");

// The results of the branch that `index`, a scalar int32, names; of the last one if it names none.
Outputs Case(const Scope& scope, Output index, const std::vector<BranchBuilder>& branches,
             const std::string& name = "case");

}  // namespace ops
}  // namespace nabla

#endif  // NABLA_OPS_COND_H_
