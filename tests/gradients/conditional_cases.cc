#include "nabla/ops/cond.h"
#include "nabla/ops/ops.h"
#include "nabla/ops/while.h"
#include "nabla/tests/gradients/control_flow_cases.h"

namespace nabla {
namespace {

using ops::WhileOptions;

Output SumOf(const Scope& s, Output x) { return ops::Sum(s, x, 0); }
Output Positive(const Scope& s, Output x) { return ops::Greater(s, SumOf(s, x), 0.0); }
Output IsEven(const Scope& s, Output i) { return ops::Equal(s, ops::FloorMod(s, i, 2), 0); }

WhileOptions With(int64_t parallel) {
  WhileOptions options;
  options.parallel_iterations = parallel;
  return options;
}

}  // namespace

std::vector<ControlFlowCase> ConditionalCases() {
  return {
      {"then",
       {{0.8, 0.4}},
       [](const Scope& s, const Outputs& x, int64_t) {
         return SumOf(s, ops::Cond(
                             s, Positive(s, x[0]), [&](const Scope& b) { return Outputs{ops::Sin(b, x[0])}; },
                             [&](const Scope&) { return Outputs{x[0] * x[0]}; })[0]);
       }},
      {"otherwise",
       {{-0.8, 0.4}},
       [](const Scope& s, const Outputs& x, int64_t) {
         return SumOf(s, ops::Cond(
                             s, Positive(s, x[0]), [&](const Scope& b) { return Outputs{ops::Sin(b, x[0])}; },
                             [&](const Scope&) { return Outputs{x[0] * x[0]}; })[0]);
       }},
      {"value_used_in_one_branch_taken",
       {{0.8}, {0.5}},
       [](const Scope& s, const Outputs& x, int64_t) {
         return SumOf(s, ops::Cond(
                             s, Positive(s, x[0]), [&](const Scope&) { return Outputs{x[0] * x[1] * x[1]}; },
                             [&](const Scope&) { return Outputs{x[0]}; })[0]);
       }},
      {"value_used_in_the_other_branch",
       {{-0.8}, {0.5}},
       [](const Scope& s, const Outputs& x, int64_t) {
         return SumOf(s, ops::Cond(
                             s, Positive(s, x[0]), [&](const Scope&) { return Outputs{x[0] * x[1] * x[1]}; },
                             [&](const Scope&) { return Outputs{x[0] * x[0]}; })[0]);
       }},
      {"value_used_inside_and_outside",
       {{0.8}},
       [](const Scope& s, const Outputs& x, int64_t) {
         Output y = ops::Exp(s, x[0]);
         Output c = ops::Cond(
             s, Positive(s, x[0]), [&](const Scope& b) { return Outputs{ops::Sin(b, y)}; },
             [&](const Scope&) { return Outputs{y}; })[0];
         return SumOf(s, c * y);
       }},
      {"value_returned_unchanged",
       {{0.8}},
       [](const Scope& s, const Outputs& x, int64_t) {
         return SumOf(s, x[0] * ops::Cond(
                                    s, Positive(s, x[0]), [&](const Scope&) { return Outputs{x[0]}; },
                                    [&](const Scope&) { return Outputs{-x[0]}; })[0]);
       }},
      {"constant_branch_taken",
       {{0.8}},
       [](const Scope& s, const Outputs& x, int64_t) {
         return SumOf(s, x[0] * ops::Cond(
                                    s, Positive(s, x[0]),
                                    [&](const Scope& b) { return Outputs{ops::Const(b, Tensor::Vector<double>({3}))}; },
                                    [&](const Scope&) { return Outputs{x[0]}; })[0]);
       }},
      {"two_results",
       {{0.8}, {0.3}},
       [](const Scope& s, const Outputs& x, int64_t) {
         Outputs r = ops::Cond(
             s, Positive(s, x[0]),
             [&](const Scope& b) {
               return Outputs{x[0] * x[1], ops::Sin(b, x[1])};
             },
             [&](const Scope&) {
               return Outputs{x[1], x[0]};
             });
         return SumOf(s, r[0] * r[1]);
       }},
      {"one_result_not_used",
       {{0.8}, {0.3}},
       [](const Scope& s, const Outputs& x, int64_t) {
         Outputs r = ops::Cond(
             s, Positive(s, x[0]),
             [&](const Scope& b) {
               return Outputs{x[0] * x[1] * x[1], ops::Sin(b, x[1])};
             },
             [&](const Scope&) {
               return Outputs{x[1], x[0]};
             });
         return SumOf(s, r[0]);
       }},
      {"nested",
       {{0.8}, {-0.3}},
       [](const Scope& s, const Outputs& x, int64_t) {
         return SumOf(s, ops::Cond(
                             s, Positive(s, x[0]),
                             [&](const Scope& b) {
                               Output t = x[0] * x[1];
                               return ops::Cond(
                                   b, Positive(b, x[1]), [&](const Scope&) { return Outputs{t}; },
                                   [&](const Scope& c) { return Outputs{ops::Sin(c, t) * x[1]}; });
                             },
                             [&](const Scope&) { return Outputs{x[0]}; })[0]);
       }},
      {"nested_in_the_branch_not_taken",
       {{-0.8}, {-0.3}},
       [](const Scope& s, const Outputs& x, int64_t) {
         return SumOf(s, ops::Cond(
                             s, Positive(s, x[0]),
                             [&](const Scope& b) {
                               return ops::Cond(
                                   b, Positive(b, x[1]), [&](const Scope&) { return Outputs{x[0]}; },
                                   [&](const Scope& c) { return Outputs{ops::Sin(c, x[1])}; });
                             },
                             [&](const Scope&) { return Outputs{x[0] * x[1] * x[1]}; })[0]);
       }},
      {"nested_deciding_by_the_same",
       {{0.8}},
       [](const Scope& s, const Outputs& x, int64_t) {
         Output p = Positive(s, x[0]);
         return SumOf(s, ops::Cond(
                             s, p,
                             [&](const Scope& b) {
                               return ops::Cond(
                                   b, p, [&](const Scope&) { return Outputs{x[0] * x[0]}; },
                                   [&](const Scope&) { return Outputs{x[0]}; });
                             },
                             [&](const Scope&) { return Outputs{-x[0]}; })[0]);
       }},
      {"one_after_another",
       {{0.8}},
       [](const Scope& s, const Outputs& x, int64_t) {
         Output a = ops::Cond(
             s, Positive(s, x[0]), [&](const Scope& b) { return Outputs{ops::Sin(b, x[0])}; },
             [&](const Scope&) { return Outputs{x[0]}; })[0];
         return SumOf(s, ops::Cond(
                             s, Positive(s, a - 1.0), [&](const Scope&) { return Outputs{a}; },
                             [&](const Scope&) { return Outputs{a * x[0]}; })[0]);
       }},
      {"case_first",
       {{0.8}},
       [](const Scope& s, const Outputs& x, int64_t) {
         Output i = ops::Const(s, Tensor::Scalar<int32_t>(0));
         return SumOf(s, ops::Case(s, i,
                                   {[&](const Scope&) { return Outputs{x[0] * x[0]}; },
                                    [&](const Scope& b) { return Outputs{ops::Sin(b, x[0])}; },
                                    [&](const Scope& b) { return Outputs{ops::Exp(b, x[0])}; }})[0]);
       }},
      {"case_middle",
       {{0.8}},
       [](const Scope& s, const Outputs& x, int64_t) {
         Output i = ops::Const(s, Tensor::Scalar<int32_t>(1));
         return SumOf(s, ops::Case(s, i,
                                   {[&](const Scope&) { return Outputs{x[0] * x[0]}; },
                                    [&](const Scope& b) { return Outputs{ops::Sin(b, x[0])}; },
                                    [&](const Scope& b) { return Outputs{ops::Exp(b, x[0])}; }})[0]);
       }},
      {"case_out_of_range",
       {{0.8}},
       [](const Scope& s, const Outputs& x, int64_t) {
         Output i = ops::Const(s, Tensor::Scalar<int32_t>(7));
         return SumOf(s, ops::Case(s, i,
                                   {[&](const Scope&) { return Outputs{x[0] * x[0]}; },
                                    [&](const Scope& b) { return Outputs{ops::Sin(b, x[0])}; },
                                    [&](const Scope& b) { return Outputs{ops::Exp(b, x[0])}; }})[0]);
       }},
      {"log_of_what_is_positive_only",
       {{-0.8}},
       [](const Scope& s, const Outputs& x, int64_t) {
         return SumOf(s, ops::Cond(
                             s, Positive(s, x[0]), [&](const Scope& b) { return Outputs{ops::Log(b, x[0])}; },
                             [&](const Scope& b) { return Outputs{ops::Exp(b, x[0])}; })[0]);
       }},
      {"rows",
       {{0.8, 0.1, -0.4}},
       [](const Scope& s, const Outputs& x, int64_t) {
         return ops::Cond(
             s, Positive(s, x[0]),
             [&](const Scope& b) {
               return Outputs{SumOf(b, ops::GatherV2(b, x[0] * x[0], {2, 2, 0}, 0))};
             },
             [&](const Scope& b) { return Outputs{SumOf(b, x[0])}; })[0];
       }},
      {"rows_of_an_input_in_one_branch",
       {{0.8, 0.1, -0.4}, {0.3}},
       [](const Scope& s, const Outputs& x, int64_t) {
         return ops::Cond(
             s, Positive(s, x[1]),
             [&](const Scope& b) {
               return Outputs{SumOf(b, ops::Sin(b, ops::GatherV2(b, x[0], {2, 2, 0}, 0)))};
             },
             [&](const Scope& b) { return Outputs{SumOf(b, x[1])}; })[0];
       }},
  };
}

std::vector<ControlFlowCase> MixedCases() {
  return {
      {"conditional_in_loop",
       {{0.8}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         return SumOf(s, ops::For(
                             s, 4, {x[0]},
                             [&](const Scope& b, Output i, const Outputs& v) {
                               return ops::Cond(
                                   b, IsEven(b, i), [&](const Scope& c) { return Outputs{ops::Sin(c, v[0])}; },
                                   [&](const Scope&) { return Outputs{v[0] * v[0] + x[0]}; });
                             },
                             With(p))[0]);
       }},
      {"conditional_in_loop_on_the_value",
       {{0.8}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         return SumOf(s, ops::For(
                             s, 5, {x[0]},
                             [&](const Scope& b, Output, const Outputs& v) {
                               return ops::Cond(
                                   b, Positive(b, v[0] - 0.5),
                                   [&](const Scope& c) { return Outputs{ops::Sin(c, v[0]) - 0.4}; },
                                   [&](const Scope& c) { return Outputs{ops::Exp(c, v[0]) * v[0]}; });
                             },
                             With(p))[0]);
       }},
      {"values_saved_in_a_branch",
       {{0.8}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         return SumOf(s, ops::For(
                             s, 5, {x[0]},
                             [&](const Scope& b, Output i, const Outputs& v) {
                               return ops::Cond(
                                   b, IsEven(b, i),
                                   [&](const Scope& c) {
                                     Output a = ops::Sin(c, v[0]) + x[0];
                                     return Outputs{ops::Tanh(c, a) * a};
                                   },
                                   [&](const Scope&) { return Outputs{v[0]}; });
                             },
                             With(p))[0]);
       }},
      {"matrix_products_in_a_branch_in_a_loop",
       {{0.3, -0.2, 0.5, 0.9}, {0.1, 0.4}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         const Output w = ops::Reshape(s, x[0], {2, 2}), h = ops::Reshape(s, x[1], {1, 2});
         const Outputs last = ops::For(
             s, 4, {h},
             [&](const Scope& b, Output i, const Outputs& v) {
               return ops::Cond(
                   b, IsEven(b, i), [&](const Scope& c) { return Outputs{ops::Tanh(c, ops::MatMul(c, v[0], w))}; },
                   [&](const Scope&) { return Outputs{v[0] * v[0]}; });
             },
             With(p));
         return SumOf(s, ops::Reshape(s, last[0], {-1}));
       }},
      {"matrix_products_in_loops_in_branches",
       {{0.3, -0.2, 0.5, 0.9}, {0.1, 0.4}, {0.8}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         const Output w = ops::Reshape(s, x[0], {2, 2}), h = ops::Reshape(s, x[1], {1, 2});
         const auto powers = [&](const Scope& b, const Output& factor) {
           return ops::For(
               b, 2, {h},
               [&](const Scope& outer, Output, const Outputs& v) {
                 return ops::For(
                     outer, 2, {v[0]},
                     [&](const Scope& c, Output, const Outputs& u) {
                       return Outputs{ops::Tanh(c, ops::MatMul(c, ops::MatMul(c, u[0], w), factor))};
                     },
                     With(p));
               },
               With(p));
         };
         const Output square = ops::MatMul(s, w, w);
         Outputs taken = ops::Cond(
             s, Positive(s, x[2]), [&](const Scope& b) { return powers(b, w); },
             [&](const Scope& b) { return powers(b, square); });
         Outputs not_taken = ops::Cond(
             s, Positive(s, x[2]), [&](const Scope&) { return Outputs{h}; },
             [&](const Scope& b) { return powers(b, square); });
         return SumOf(s, ops::Reshape(s, taken[0] * not_taken[0] * x[2], {-1}));
       }},
      {"nested_conditional_in_loop",
       {{0.8}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         return SumOf(s, ops::For(
                             s, 5, {x[0]},
                             [&](const Scope& b, Output i, const Outputs& v) {
                               return ops::Cond(
                                   b, IsEven(b, i),
                                   [&](const Scope& c) {
                                     Output a = ops::Sin(c, v[0]);
                                     return ops::Cond(
                                         c, Positive(c, a - 0.6),
                                         [&](const Scope& d) { return Outputs{ops::Exp(d, a) * a}; },
                                         [&](const Scope&) { return Outputs{a * v[0] + x[0]}; });
                                   },
                                   [&](const Scope&) { return Outputs{v[0] * 1.1}; });
                             },
                             With(p))[0]);
       }},
      {"loop_in_conditional_taken",
       {{0.8}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         return SumOf(
             s, ops::Cond(
                    s, Positive(s, x[0]),
                    [&](const Scope& b) {
                      return ops::For(
                          b, 3, {x[0]},
                          [&](const Scope& c, Output, const Outputs& v) { return Outputs{ops::Sin(c, v[0]) * x[0]}; },
                          With(p));
                    },
                    [&](const Scope&) { return Outputs{x[0]}; })[0]);
       }},
      {"loop_in_conditional_not_taken",
       {{-0.8}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         return SumOf(
             s, ops::Cond(
                    s, Positive(s, x[0]),
                    [&](const Scope& b) {
                      return ops::For(
                          b, 3, {x[0]},
                          [&](const Scope& c, Output, const Outputs& v) { return Outputs{ops::Sin(c, v[0]) * x[0]}; },
                          With(p));
                    },
                    [&](const Scope&) { return Outputs{x[0] * x[0]}; })[0]);
       }},
      {"loops_in_both_branches",
       {{-0.8}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         return SumOf(
             s, ops::Cond(
                    s, Positive(s, x[0]),
                    [&](const Scope& b) {
                      return ops::For(
                          b, 3, {x[0]},
                          [&](const Scope& c, Output, const Outputs& v) { return Outputs{ops::Sin(c, v[0]) * x[0]}; },
                          With(p));
                    },
                    [&](const Scope& b) {
                      return ops::For(
                          b, 2, {x[0]},
                          [&](const Scope&, Output, const Outputs& v) { return Outputs{v[0] * v[0] * x[0]}; }, With(p));
                    })[0]);
       }},
      {"loop_in_conditional_in_loop",
       {{0.8}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         return SumOf(s, ops::For(
                             s, 4, {x[0]},
                             [&](const Scope& a, Output i, const Outputs& u) {
                               return ops::Cond(
                                   a, IsEven(a, i),
                                   [&](const Scope& b) {
                                     return ops::For(
                                         b, 2, {u[0]},
                                         [&](const Scope& c, Output, const Outputs& v) {
                                           return Outputs{ops::Sin(c, v[0]) + x[0] * u[0]};
                                         },
                                         With(p));
                                   },
                                   [&](const Scope&) { return Outputs{u[0] * 0.9}; });
                             },
                             With(p))[0]);
       }},
      {"conditional_in_nested_loop",
       {{0.8}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         return SumOf(s, ops::For(
                             s, 2, {x[0]},
                             [&](const Scope& a, Output i, const Outputs& u) {
                               return ops::For(
                                   a, 3, {u[0]},
                                   [&](const Scope& b, Output j, const Outputs& v) {
                                     return ops::Cond(
                                         b, IsEven(b, ops::AddV2(b, i, j)),
                                         [&](const Scope& c) { return Outputs{ops::Sin(c, v[0]) * u[0]}; },
                                         [&](const Scope&) { return Outputs{v[0] + x[0]}; });
                                   },
                                   With(p));
                             },
                             With(p))[0]);
       }},
      {"conditional_around_an_exit",
       {{0.8}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         Output r = ops::For(
             s, 3, {x[0]}, [&](const Scope& c, Output, const Outputs& v) { return Outputs{ops::Sin(c, v[0]) + v[0]}; },
             With(p))[0];
         return SumOf(s, ops::Cond(
                             s, Positive(s, r), [&](const Scope&) { return Outputs{r * r}; },
                             [&](const Scope&) { return Outputs{x[0]}; })[0]);
       }},
      {"branch_without_gradient_in_loop",
       {{0.8}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         return SumOf(s,
                      ops::For(
                          s, 4, {x[0]},
                          [&](const Scope& b, Output i, const Outputs& v) {
                            Output c = ops::Cond(
                                b, IsEven(b, i),
                                [&](const Scope& d) { return Outputs{ops::Const(d, Tensor::Vector<double>({1.5}))}; },
                                [&](const Scope&) { return Outputs{v[0]}; })[0];
                            return Outputs{c * v[0] * 0.5 + x[0]};
                          },
                          With(p))[0]);
       }},
      {"rows_in_a_branch_in_a_loop",
       {{0.8, 0.3, -0.2}, {0.5}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         return SumOf(s, ops::For(
                             s, 4, {x[1]},
                             [&](const Scope& b, Output i, const Outputs& v) {
                               return ops::Cond(
                                   b, IsEven(b, i),
                                   [&](const Scope& c) {
                                     return Outputs{v[0] * SumOf(c, ops::GatherV2(c, x[0], {2, 2, 1}, 0)) + x[1]};
                                   },
                                   [&](const Scope&) { return Outputs{v[0]}; });
                             },
                             With(p))[0]);
       }},
  };
}

}  // namespace nabla
