// Matrix products.
#include "absl/strings/str_cat.h"
#include "nabla/tests/cases/op_case.h"
#include "nabla/tests/cases/reference.h"

namespace nabla {
namespace {

Shape Matrix(Shape batch, bool transposed, int64_t rows, int64_t columns) {
  batch.AddDim(transposed ? columns : rows);
  batch.AddDim(transposed ? rows : columns);
  return batch;
}

}  // namespace

std::vector<OpCase> MatMulCases() {
  std::vector<OpCase> rows;
  struct Size {
    const char* name;
    int64_t m, k, n;
    bool big;
  };
  for (const Size& s : {Size{"", 2, 3, 4, false},
                        {"_vector", 1, 5, 1, false},
                        {"_outer", 3, 1, 2, false},
                        {"_odd", 17, 9, 33, false},
                        {"_big", 130, 71, 257, true},
                        {"_empty", 2, 0, 3, false}}) {
    for (bool ta : {false, true}) {
      for (bool tb : {false, true}) {
        if ((s.k == 0 || s.k == 9) && ta != tb) continue;
        // Many elements take many differences.
        const bool large = s.m > 10;
        const std::string name = absl::StrCat(ta ? "t" : "n", tb ? "t" : "n", s.name);
        rows.push_back(
            {"MatMul",
             {.name = name,
              .attrs = {{"transpose_a", ta}, {"transpose_b", tb}},
              .inputs = {In(Matrix(Shape::Scalar(), ta, s.m, s.k)), In(Matrix(Shape::Scalar(), tb, s.k, s.n))},
              .reference = Products(ta, tb),
              .narrow_tolerance = 2,
              .gradient = !large || s.big,
              .golden = !large,
              .big = s.big}});
      }
    }
  }
  for (bool ta : {false, true}) {
    for (bool tb : {false, true}) {
      const auto add = [&](const char* op, const char* suffix, Shape batch_a, Shape batch_b, int64_t m, int64_t k,
                           int64_t n, bool big) {
        rows.push_back({op,
                        {.name = absl::StrCat(ta ? "t" : "n", tb ? "t" : "n", suffix),
                         .attrs = {{"adj_x", ta}, {"adj_y", tb}},
                         .inputs = {In(Matrix(batch_a, ta, m, k)), In(Matrix(batch_b, tb, k, n))},
                         .reference = Products(ta, tb),
                         .narrow_tolerance = 2,
                         .big = big}});
      };
      add("BatchMatMul", "", {2}, {2}, 2, 3, 2, false);
      add("BatchMatMulV2", "", {2}, {2}, 2, 3, 2, false);
      add("BatchMatMulV2", "_broadcast", {2, 1}, {3}, 2, 2, 1, false);
      add("BatchMatMulV2", "_big", {7, 1}, {3}, 33, 17, 41, true);
    }
  }
  rows.push_back({"MatMul",
                  {.name = "integers",
                   .inputs = {In({2, 3}), In({3, 2})},
                   .reference = Products(false, false),
                   .integers = true,
                   .narrow = false,
                   .gradient = false}});
  for (const auto& [op, a, b] :
       std::vector<std::tuple<const char*, const char*, const char*>>{{"MatMul", "transpose_a", "transpose_b"},
                                                                      {"BatchMatMul", "adj_x", "adj_y"},
                                                                      {"BatchMatMulV2", "adj_x", "adj_y"}}) {
    for (bool ta : {false, true}) {
      for (bool tb : {false, true}) {
        rows.push_back({op,
                        {.name = absl::StrCat("complex_", ta ? "t" : "n", tb ? "t" : "n"),
                         .attrs = {{a, ta}, {b, tb}},
                         .inputs = {In({2, 2}), In({2, 2})},
                         .dtype = DType::kComplex128,
                         .narrow_tolerance = 2}});
      }
    }
  }
  return rows;
}

}  // namespace nabla
