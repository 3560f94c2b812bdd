#include "nabla/gradients/gradients.h"
#include "nabla/ops/ops.h"
#include "nabla/ops/while.h"
#include "nabla/tests/gradients/control_flow_cases.h"

namespace nabla {
namespace {

using ops::WhileOptions;

Output I(const Scope& s, int32_t value) { return ops::Const(s, Tensor::Scalar(value)); }
Output SumOf(const Scope& s, Output x) { return ops::Sum(s, x, 0); }

WhileOptions With(int64_t parallel, std::vector<Shape> invariants = {}) {
  WhileOptions options;
  options.parallel_iterations = parallel;
  options.shape_invariants = std::move(invariants);
  return options;
}

}  // namespace

std::vector<ControlFlowCase> LoopCases() {
  return {
      {"power",
       {{1.3, 0.7}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         Outputs r = ops::For(
             s, 5, {x[0]}, [&](const Scope&, Output, const Outputs& v) { return Outputs{v[0] * x[0]}; }, With(p));
         return SumOf(s, r[0]);
       }},
      {"constant_factor",
       {{1.5}, {0.9}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         Outputs r = ops::For(
             s, 4, {x[0]}, [&](const Scope&, Output, const Outputs& v) { return Outputs{v[0] * x[1]}; }, With(p));
         return SumOf(s, r[0]);
       }},
      {"no_trips",
       {{1.5, -2}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         Outputs r = ops::For(
             s, 0, {x[0]}, [&](const Scope&, Output, const Outputs& v) { return Outputs{v[0] * x[0]}; }, With(p));
         return SumOf(s, r[0] * x[0]);
       }},
      {"one_trip",
       {{1.5, -2}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         Outputs r = ops::For(
             s, 1, {x[0]}, [&](const Scope& b, Output, const Outputs& v) { return Outputs{ops::Sin(b, v[0])}; },
             With(p));
         return SumOf(s, r[0]);
       }},
      {"nonlinear",
       {{0.3, -0.8}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         Outputs r = ops::For(
             s, 6, {x[0]},
             [&](const Scope& b, Output, const Outputs& v) { return Outputs{ops::Sin(b, v[0]) + 0.5 * v[0]}; },
             With(p));
         return SumOf(s, r[0]);
       }},
      {"tanh_cell",
       {{0.3, -0.8}, {0.5, 1.1}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         Outputs r = ops::For(
             s, 7, {x[0]},
             [&](const Scope& b, Output, const Outputs& v) { return Outputs{ops::Tanh(b, v[0] * x[1] + 0.1)}; },
             With(p));
         return SumOf(s, r[0]);
       }},
      {"data_dependent_trips",
       {{1.1}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         Outputs r = ops::While(
             s, {x[0]}, [&](const Scope& b, const Outputs& v) { return ops::Less(b, SumOf(b, v[0]), 50.0); },
             [&](const Scope&, const Outputs& v) { return Outputs{v[0] * v[0] + 0.5}; }, With(p));
         return SumOf(s, r[0]);
       }},
      {"condition_on_a_value_from_around",
       {{1.1}, {0.4}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         Outputs r = ops::While(
             s, {x[0]},
             [&](const Scope& b, const Outputs& v) { return ops::Less(b, SumOf(b, v[0]), SumOf(b, x[1]) + 8.0); },
             [&](const Scope&, const Outputs& v) { return Outputs{v[0] + v[0] * x[1]}; }, With(p));
         return SumOf(s, r[0]);
       }},
      {"two_variables",
       {{0.7}, {1.2}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         Outputs r = ops::For(
             s, 5, {x[0], x[1]},
             [&](const Scope& b, Output, const Outputs& v) {
               return Outputs{ops::Sin(b, v[1]) * v[0], v[0] + v[1]};
             },
             With(p));
         return SumOf(s, r[0] * r[1]);
       }},
      {"swapped_variables",
       {{0.7}, {1.2}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         Outputs r = ops::For(
             s, 3, {x[0], x[1]},
             [&](const Scope&, Output, const Outputs& v) {
               return Outputs{v[1], v[0] * 2.0};
             },
             With(p));
         return SumOf(s, r[0] * r[0] + r[1]);
       }},
      {"fibonacci_of_values",
       {{0.7}, {1.2}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         Outputs r = ops::For(
             s, 6, {x[0], x[1]},
             [&](const Scope&, Output, const Outputs& v) {
               return Outputs{v[1], v[0] * v[1]};
             },
             With(p));
         return SumOf(s, r[0]);
       }},
      {"list_elements_of_growing_shape",
       {{0.7, 1.2, -0.4}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         Output list = ops::TensorListReserve(s, -1, 2, DType::kDouble);
         list = ops::TensorListSetItem(s, list, 0, x[0] * x[0]);
         Outputs r = ops::For(
             s, 3, {list, x[0]},
             [&](const Scope& b, Output trip, const Outputs& v) {
               const Output old = ops::TensorListGetItem(b, v[0], 0, {-1}, DType::kDouble);
               const Output part = ops::Slice(b, v[1], {0}, ops::ExpandDims(b, trip + 1, 0));
               return Outputs{ops::TensorListSetItem(b, v[0], 0, part * part), ops::Sin(b, v[1]) + SumOf(b, old) * 0.1};
             },
             With(p));
         return SumOf(s, r[1]) + SumOf(s, ops::TensorListGetItem(s, r[0], 0, {-1}, DType::kDouble));
       }},
      {"exit_used_twice",
       {{0.7}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         Outputs r = ops::For(
             s, 3, {x[0]}, [&](const Scope&, Output, const Outputs& v) { return Outputs{v[0] * v[0]}; }, With(p));
         return SumOf(s, ops::Sin(s, r[0]) + r[0] * x[0]);
       }},
      {"exit_not_used",
       {{0.7}, {1.2}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         Outputs r = ops::For(
             s, 3, {x[0], x[1]},
             [&](const Scope&, Output, const Outputs& v) {
               return Outputs{v[0] * v[1], v[1] * v[1]};
             },
             With(p));
         return SumOf(s, r[0]);
       }},
      {"variable_without_gradient",
       {{0.7}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         Outputs r = ops::For(
             s, 3, {x[0], ops::Const(s, Tensor::Vector<double>({2}))},
             [&](const Scope&, Output, const Outputs& v) {
               return Outputs{v[0] * v[1], v[1] + 1.0};
             },
             With(p));
         return SumOf(s, r[0]);
       }},
      {"variable_overwritten",
       {{0.7}, {1.3}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         Outputs r = ops::For(
             s, 3, {x[0]},
             [&](const Scope& b, Output i, const Outputs&) { return Outputs{x[1] * ops::Cast(b, i, DType::kDouble)}; },
             With(p));
         return SumOf(s, r[0] * x[0]);
       }},
      {"variable_passed_on",
       {{0.7}, {1.3}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         Outputs r = ops::For(
             s, 3, {x[0], x[1]},
             [&](const Scope& b, Output, const Outputs& v) {
               return Outputs{ops::Sin(b, v[0] * v[1]), v[1]};
             },
             With(p));
         return SumOf(s, r[0] * r[1]);
       }},
      {"invariant_used_inside_and_outside",
       {{0.7}, {1.3}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         Output w = ops::Exp(s, x[1]);
         Outputs r = ops::For(
             s, 3, {x[0]}, [&](const Scope&, Output, const Outputs& v) { return Outputs{v[0] * w + w}; }, With(p));
         return SumOf(s, r[0] * w);
       }},
      {"computed_from_an_invariant_inside",
       {{0.7}, {1.3}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         Outputs r = ops::For(
             s, 3, {x[0]}, [&](const Scope& b, Output, const Outputs& v) { return Outputs{v[0] * ops::Sin(b, x[1])}; },
             With(p));
         return SumOf(s, r[0]);
       }},
      {"trip_number_as_a_factor",
       {{0.7}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         Outputs r = ops::For(
             s, 4, {x[0]},
             [&](const Scope& b, Output i, const Outputs& v) {
               return Outputs{v[0] * (ops::Cast(b, i, DType::kDouble) + 1.0) * v[0]};
             },
             With(p));
         return SumOf(s, r[0]);
       }},
      {"counting_down_by_two",
       {{0.7}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         Outputs r = ops::While(
             s, {I(s, 9), x[0]}, [](const Scope& b, const Outputs& v) { return ops::Greater(b, v[0], 2); },
             [](const Scope& b, const Outputs& v) {
               return Outputs{ops::Sub(b, v[0], 2), ops::Sin(b, v[1] * ops::Cast(b, v[0], DType::kDouble) * 0.2)};
             },
             With(p));
         return SumOf(s, r[1]);
       }},
      {"integer_variable",
       {{0.7}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         Outputs r = ops::For(
             s, 4, {x[0], I(s, 1)},
             [&](const Scope& b, Output, const Outputs& v) {
               return Outputs{v[0] * ops::Cast(b, v[1], DType::kDouble) + v[0] * v[0] * 0.1, ops::Mul(b, v[1], 2)};
             },
             With(p));
         return SumOf(s, r[0]);
       }},
      {"maximum_iterations",
       {{0.7}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         WhileOptions options = With(p);
         options.maximum_iterations = 3;
         Outputs r = ops::While(
             s, {x[0]}, [](const Scope& b, const Outputs&) { return ops::Const(b, Tensor::Scalar(true)); },
             [](const Scope&, const Outputs& v) { return Outputs{v[0] * v[0] + v[0]}; }, options);
         return SumOf(s, r[0]);
       }},
      {"growing_vector",
       {{0.7, 0.2}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         Outputs r = ops::For(
             s, 3, {x[0]},
             [&](const Scope& b, Output, const Outputs& v) {
               return Outputs{ops::ConcatV2(b, {v[0], x[0] * x[0]}, 0)};
             },
             With(p, {Shape({kUnknownDim})}));
         return SumOf(s, r[0] * r[0]);
       }},
      {"growing_and_nonlinear",
       {{0.7, 0.2}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         Outputs r = ops::For(
             s, 3, {x[0]},
             [&](const Scope& b, Output, const Outputs& v) {
               return Outputs{ops::Sin(b, ops::ConcatV2(b, {v[0], x[0]}, 0))};
             },
             With(p, {Shape({kUnknownDim})}));
         return SumOf(s, r[0]);
       }},
      {"shrinking_vector",
       {{0.7, 0.2, 0.4, -0.3}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         Outputs r = ops::For(
             s, 3, {x[0]},
             [&](const Scope&, Output, const Outputs& v) { return Outputs{SliceRows(v[0] * v[0], 1, INT64_MAX)}; },
             With(p, {Shape({kUnknownDim})}));
         return SumOf(s, r[0]);
       }},
      {"matrix_product",
       {{0.3, -0.2, 0.5, 0.9}, {0.1, 0.4, -0.6, 0.2}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         Output w = ops::Reshape(s, x[0], {2, 2}), h = ops::Reshape(s, x[1], {2, 2});
         Outputs r = ops::For(
             s, 3, {h},
             [&](const Scope& b, Output, const Outputs& v) { return Outputs{ops::Tanh(b, ops::MatMul(b, v[0], w))}; },
             With(p));
         return SumOf(s, ops::Reshape(s, r[0], {-1}));
       }},
      // Few rows: the gradient of w is one product after the loop.
      {"matrix_products_of_a_row",
       {{0.3, -0.2, 0.5, 0.9}, {0.1, 0.4}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         Output w = ops::Reshape(s, x[0], {2, 2}), h = ops::Reshape(s, x[1], {1, 2});
         Outputs r = ops::For(
             s, 3, {h},
             [&](const Scope& b, Output, const Outputs& v) { return Outputs{ops::Tanh(b, ops::MatMul(b, v[0], w))}; },
             With(p));
         return SumOf(s, ops::Reshape(s, r[0], {-1}));
       }},
      {"broadcast_inside",
       {{0.3, -0.2, 0.5}, {0.6}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         Outputs r = ops::For(
             s, 3, {x[0]},
             [&](const Scope& b, Output, const Outputs& v) { return Outputs{v[0] * x[1] + ops::Sin(b, x[1])}; },
             With(p));
         return SumOf(s, r[0]);
       }},
      {"rows_by_trip",
       {{0.3, -0.2, 0.5, 0.7}, {0.6}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         Outputs r = ops::For(
             s, 4, {x[1]},
             [&](const Scope& b, Output i, const Outputs& v) {
               return Outputs{ops::Sin(b, v[0] + ops::GatherV2(b, x[0], i, 0))};
             },
             With(p));
         return SumOf(s, r[0]);
       }},
      {"gather_with_repeated_rows",
       {{0.3, -0.2, 0.5}, {0.6}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         Output rows = ops::Const(s, Tensor::Vector<int32_t>({2, 0, 2}));
         Outputs r = ops::For(
             s, 3, {x[1]},
             [&](const Scope& b, Output, const Outputs& v) {
               return Outputs{v[0] * SumOf(b, ops::GatherV2(b, x[0] * x[0], rows, 0))};
             },
             With(p));
         return SumOf(s, r[0]);
       }},
      {"nested",
       {{0.8}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         Outputs r = ops::For(
             s, 3, {x[0]},
             [&](const Scope& b, Output, const Outputs& v) {
               return ops::For(
                   b, 2, {v[0]},
                   [&](const Scope& c, Output, const Outputs& w) { return Outputs{ops::Sin(c, w[0] * x[0])}; },
                   With(p));
             },
             With(p));
         return SumOf(s, r[0]);
       }},
      {"nested_with_trips_of_the_outer_number",
       {{0.8}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         Outputs r = ops::For(
             s, 4, {x[0]},
             [&](const Scope& b, Output i, const Outputs& v) {
               return ops::For(
                   b, i, {v[0]},
                   [&](const Scope& c, Output, const Outputs& w) { return Outputs{w[0] * ops::Cos(c, v[0]) + 0.1}; },
                   With(p));
             },
             With(p));
         return SumOf(s, r[0]);
       }},
      {"nested_using_outer_values",
       {{0.8}, {0.5}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         Outputs r = ops::For(
             s, 3, {x[0]},
             [&](const Scope& b, Output i, const Outputs& v) {
               Output a = v[0] * x[1] + ops::Cast(b, i, DType::kDouble);
               Outputs inner = ops::For(
                   b, 2, {ops::Sin(b, v[0])},
                   [&](const Scope& c, Output j, const Outputs& w) {
                     return Outputs{w[0] * a + x[1] * ops::Cast(c, j, DType::kDouble)};
                   },
                   With(p));
               return Outputs{ops::Sin(b, inner[0]) * v[0]};
             },
             With(p));
         return SumOf(s, r[0]);
       }},
      {"nested_three_deep",
       {{0.8}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         Outputs r = ops::For(
             s, 2, {x[0]},
             [&](const Scope& a, Output, const Outputs& u) {
               return ops::For(
                   a, 2, {u[0]},
                   [&](const Scope& b, Output, const Outputs& v) {
                     return ops::For(
                         b, 2, {v[0]},
                         [&](const Scope& c, Output, const Outputs& w) {
                           return Outputs{ops::Sin(c, w[0]) + w[0] * u[0]};
                         },
                         With(p));
                   },
                   With(p));
             },
             With(p));
         return SumOf(s, r[0]);
       }},
      {"two_inner_loops",
       {{0.8}, {0.3}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         Outputs r = ops::For(
             s, 2, {x[0]},
             [&](const Scope& b, Output, const Outputs& v) {
               Outputs first = ops::For(
                   b, 2, {v[0]}, [&](const Scope&, Output, const Outputs& w) { return Outputs{w[0] * w[0]}; }, With(p));
               return ops::For(
                   b, 2, {first[0]},
                   [&](const Scope& c, Output, const Outputs& w) { return Outputs{ops::Sin(c, w[0]) * x[1]}; },
                   With(p));
             },
             With(p));
         return SumOf(s, r[0]);
       }},
      {"one_loop_after_another",
       {{0.8}, {0.3}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         Outputs first = ops::For(
             s, 2, {x[0]}, [&](const Scope&, Output, const Outputs& w) { return Outputs{w[0] * w[0] + x[1]}; },
             With(p));
         Outputs r = ops::For(
             s, 2, {x[1]},
             [&](const Scope& c, Output, const Outputs& w) { return Outputs{ops::Sin(c, w[0]) * first[0]}; }, With(p));
         return SumOf(s, r[0]);
       }},
      {"softmax_rows",
       {{0.1, 0.9, -0.4}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         Outputs r = ops::For(
             s, 3, {x[0]},
             [&](const Scope& b, Output, const Outputs& v) { return Outputs{ops::Softmax(b, v[0] * 2.0) + x[0]}; },
             With(p));
         return SumOf(s, r[0] * r[0]);
       }},
      {"stopped_inside",
       {{0.8}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         // The value that is not followed is linear in x, so that its derivative can be subtracted by hand.
         Outputs r = ops::For(
             s, 3, {x[0]},
             [&](const Scope& b, Output, const Outputs& v) {
               return Outputs{v[0] * v[0] + ops::StopGradient(b, ops::OnesLike(b, v[0]))};
             },
             With(p));
         return SumOf(s, r[0]);
       }},
      {"gradient_inside_the_body",
       {{0.8}, {0.4}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         // Gradient descent, differentiated.
         Outputs r = ops::For(
             s, 3, {x[0]},
             [&](const Scope& b, Output, const Outputs& v) {
               absl::StatusOr<Grads> g = Gradients(b, {ops::Sin(b, v[0] * v[0]) * x[1]}, {v[0]});
               b.RecordError(g.status());
               return Outputs{g.ok() ? v[0] - 0.1 * (*g)[0].dense() : Output()};
             },
             With(p));
         return SumOf(s, r[0]);
       }},
      {"gradient_of_a_loop_inside_the_body",
       {{0.8}},
       [](const Scope& s, const Outputs& x, int64_t p) {
         Outputs r = ops::For(
             s, 2, {x[0]},
             [&](const Scope& b, Output, const Outputs& v) {
               Outputs inner = ops::For(
                   b, 2, {v[0]},
                   [&](const Scope& c, Output, const Outputs& w) { return Outputs{ops::Sin(c, w[0]) * v[0]}; },
                   With(p));
               absl::StatusOr<Grads> g = Gradients(b, inner, {v[0]});
               b.RecordError(g.status());
               return Outputs{g.ok() ? v[0] * (*g)[0].dense() : Output()};
             },
             With(p));
         return SumOf(s, r[0]);
       }},
  };
}

}  // namespace nabla
