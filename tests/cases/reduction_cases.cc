// Reductions, scans, sums of several tensors, segments.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "nabla/tests/cases/op_case.h"
#include "nabla/tests/cases/reference.h"

namespace nabla {
namespace {

using Fold = double (*)(const std::vector<double>&);

double SumOf(const std::vector<double>& v) { return std::accumulate(v.begin(), v.end(), 0.0); }
double MeanOf(const std::vector<double>& v) { return SumOf(v) / static_cast<double>(v.size()); }
double ProductOf(const std::vector<double>& v) { return std::accumulate(v.begin(), v.end(), 1.0, std::multiplies<>()); }
double LargestOf(const std::vector<double>& v) { return *std::max_element(v.begin(), v.end()); }
double SmallestOf(const std::vector<double>& v) { return *std::min_element(v.begin(), v.end()); }
double AllOf(const std::vector<double>& v) { return SmallestOf(v); }
double AnyOf(const std::vector<double>& v) { return LargestOf(v); }

void AddReductions(std::vector<OpCase>* rows) {
  struct Reduction {
    const char* op;
    Fold fold;
    bool distinct;
    bool empty_ok;
  };
  for (const Reduction& r : {Reduction{"Sum", SumOf, false, true},
                             {"Mean", MeanOf, false, false},
                             {"Prod", ProductOf, false, true},
                             {"Max", LargestOf, true, false},
                             {"Min", SmallestOf, true, false}}) {
    const auto x = [&](Shape shape) {
      return r.distinct ? Distinct(std::move(shape)) : In(std::move(shape), -1.5, 1.5);
    };
    const auto add = [&](const char* name, Shape shape, std::vector<int> axes, bool keep) {
      CaseSpec spec{.name = name,
                    .attrs = {{"keep_dims", keep}},
                    .inputs = {x(shape), Ints(std::vector<double>(axes.begin(), axes.end()))},
                    .reference = Reduced(r.fold, axes, keep),
                    .narrow_tolerance = 2};
      rows->push_back({r.op, std::move(spec)});
    };
    add("rows", {2, 3}, {1}, false);
    add("columns", {2, 3}, {0}, false);
    add("all", {2, 3}, {0, 1}, false);
    add("keep", {2, 3}, {1}, true);
    add("negative", {2, 3}, {-2}, false);
    add("middle", {2, 3, 2}, {1}, false);
    add("outer", {2, 3, 2}, {0, 2}, false);
    add("outer_keep", {2, 3, 2}, {2, 0}, true);
    add("nothing", {2, 3}, {}, false);
    if (r.empty_ok) {
      add("of_nothing", {2, 0}, {1}, false);
      rows->back().spec.second_order = false;
    }
    // A scalar axis, axes that are not known beforehand, whole numbers.
    rows->push_back({r.op, {.name = "scalar_axis", .inputs = {x({2, 3}), Int(1)}, .reference = Reduced(r.fold, {1})}});
    rows->push_back({r.op,
                     {.name = "fed_axes",
                      .inputs = {x({2, 3, 2}), Fed(Ints({1, -1}))},
                      .reference = Reduced(r.fold, {1, 2}),
                      .dynamic_shape = true}});
    if (r.fold != MeanOf) {
      rows->push_back({r.op,
                       {.name = "integers",
                        .inputs = {In({2, 3}, -0.75, 0.75), Ints({0})},
                        .reference = Reduced(r.fold, {0}),
                        .integers = true,
                        .gradient = false}});
    }
    for (const auto& [name, shape, axes] :
         std::vector<std::tuple<const char*, Shape, std::vector<int>>>{{"big_rows", {300, 501}, {1}},
                                                                       {"big_columns", {300, 501}, {0}},
                                                                       {"big_all", {300, 501}, {0, 1}},
                                                                       {"big_middle", {30, 100, 51}, {1}}}) {
      const bool product = r.fold == ProductOf;
      rows->push_back({r.op,
                       {.name = name,
                        .inputs = {product ? In(shape, 0.96875, 1.03125) : In(shape),
                                   Ints(std::vector<double>(axes.begin(), axes.end()))},
                        .gradient = !product,
                        .big = true}});
    }
  }
  rows->push_back(
      {"Max", {.name = "ties", .inputs = {Values({2, 3}, {1, 3, 3, 2, 2, 2}), Ints({1})}, .at_kink = true}});
  rows->push_back(
      {"Min", {.name = "ties", .inputs = {Values({2, 3}, {1, 1, 3, 2, 2, 2}), Ints({0})}, .at_kink = true}});
  rows->push_back({"Prod", {.name = "one_zero", .inputs = {Values({2, 3}, {1, 0, 3, 2, -1, 2}), Ints({1})}}});
  rows->push_back({"Prod", {.name = "two_zeros", .inputs = {Values({2, 3}, {1, 0, 0, 2, -1, 0}), Ints({1})}}});
  rows->push_back({"Prod", {.name = "scalar", .inputs = {Values(Shape::Scalar(), {3}), Ints({})}}});
  for (const auto& [op, fold] : {std::make_pair("All", Fold(AllOf)), std::make_pair("Any", Fold(AnyOf))}) {
    const CaseInput b = Bools({2, 3}, {1, 0, 1, 1, 1, 1});
    rows->push_back({op, {.name = "rows", .inputs = {b, Ints({1})}, .reference = Reduced(fold, {1})}});
    rows->push_back({op, {.name = "all", .inputs = {b, Ints({0, 1})}, .reference = Reduced(fold, {0, 1})}});
    rows->push_back({op,
                     {.name = "keep",
                      .attrs = {{"keep_dims", true}},
                      .inputs = {b, Int(0)},
                      .reference = Reduced(fold, {0}, true)}});
  }
  for (const char* op : {"ArgMax", "ArgMin"}) {
    rows->push_back({op, {.name = "rows", .inputs = {Distinct({2, 3}), Int(1)}}});
    rows->push_back({op, {.name = "columns", .inputs = {Distinct({4, 3}), Int(0)}, .integers = true}});
    rows->push_back(
        {op, {.name = "middle", .attrs = {{"output_type", DType::kInt32}}, .inputs = {Distinct({2, 3, 2}), Int(-2)}}});
    rows->push_back({op, {.name = "ties", .inputs = {Values({2, 3}, {2, 1, 2, 1, 1, 3}), Int(1)}}});
    rows->push_back({op, {.name = "big", .inputs = {In({300, 501}), Int(1)}, .big = true}});
    rows->push_back({op, {.name = "big_columns", .inputs = {In({300, 501}), Int(0)}, .big = true}});
  }
}

void AddScans(std::vector<OpCase>* rows) {
  for (const char* op : {"Cumsum", "Cumprod"}) {
    const bool product = std::string(op) == "Cumprod";
    for (bool exclusive : {false, true}) {
      for (bool reverse : {false, true}) {
        const auto add = [&](std::string name, CaseInput x, CaseInput axis, bool big) {
          name += exclusive ? "_exclusive" : "";
          name += reverse ? "_reverse" : "";
          rows->push_back({op,
                           {.name = name,
                            .attrs = {{"exclusive", exclusive}, {"reverse", reverse}},
                            .inputs = {std::move(x), std::move(axis)},
                            .narrow_tolerance = 2,
                            .gradient = !(product && big),
                            .big = big}});
        };
        add("rows", In({2, 3}), Int(1), false);
        add("middle", In({2, 3, 2}), Int(-2), false);
        add("big", product ? In({401, 151}, 0.96875, 1.03125) : In({401, 151}), Int(0), true);
      }
    }
    rows->push_back({op, {.name = "fed_axis", .inputs = {In({2, 3}), Fed(Int(0))}}});
    // TensorFlow's gradient of Cumprod forgets the conjugates, and is 0 where an element is.
    rows->push_back({op,
                     {.name = "complex",
                      .inputs = {In({2, 2}, 0.5, 1.5), Int(1)},
                      .dtype = DType::kComplex128,
                      .narrow_tolerance = 4,
                      .golden_gradient = !product}});
  }
  const auto zeros = [&](std::string name, std::vector<double> x, bool exclusive, bool reverse, bool golden) {
    // Second derivatives by two zeros are left out.
    const bool one_zero = std::count(x.begin(), x.end(), 0) == 1;
    rows->push_back({"Cumprod",
                     {.name = std::move(name),
                      .attrs = {{"exclusive", exclusive}, {"reverse", reverse}},
                      .inputs = {Values({4}, std::move(x)), Int(0)},
                      .second_order = one_zero,
                      .golden = golden,
                      .golden_gradient = false}});
  };
  zeros("zero", {2, 0, 3, 4}, false, false, true);
  zeros("zero_exclusive", {2, 0, 3, 4}, true, false, false);
  zeros("zero_reverse", {2, 0, 3, 4}, false, true, false);
  zeros("two_zeros", {2, 0, 3, 0}, false, false, false);
  zeros("two_zeros_exclusive_reverse", {0, 0, 3, 2}, true, true, false);
}

void AddSums(std::vector<OpCase>* rows) {
  rows->push_back({"AddN", {.inputs = {In({2, 3}), In({2, 3}), In({2, 3})}, .integers = true}});
  rows->push_back({"AddN", {.name = "one", .inputs = {In({2, 3})}}});
  rows->push_back({"AddN", {.name = "big", .inputs = {In({301, 203}), In({301, 203}), In({301, 203})}, .big = true}});
  rows->push_back(
      {"AccumulateNV2",
       {.attrs = {{"shape", Shape{2, 3}}}, .inputs = {In({2, 3}), In({2, 3}), In({2, 3})}, .golden_gradient = false}});
  rows->push_back({"L2Loss", {.inputs = {In({2, 3})}}});
  rows->push_back({"L2Loss", {.name = "big", .inputs = {In({301, 203})}, .big = true}});
  rows->push_back({"UnsortedSegmentSum", {.inputs = {In({4, 2}), Fed(Ints({2, 0, 2, -1})), Int(3)}}});
  rows->push_back(
      {"UnsortedSegmentSum", {.name = "matrix", .inputs = {In({2, 2, 3}), Fed(IntsOf({2, 2}, {1, 0, 1, 1})), Int(2)}}});
  rows->push_back({"UnsortedSegmentSum",
                   {.name = "fed_count",
                    .inputs = {In({3}), Fed(Ints({0, 0, 3}, DType::kInt64)), Fed(Int(5))},
                    .dynamic_shape = true}});
  rows->push_back({"SegmentSum", {.inputs = {In({4, 2}), Fed(Ints({0, 0, 2, 3}))}, .dynamic_shape = true}});
  rows->push_back(
      {"SegmentSum", {.name = "constant_ids", .inputs = {In({4, 2}), Ints({0, 1, 1, 1})}, .dynamic_shape = true}});
}

}  // namespace

std::vector<OpCase> ReductionCases() {
  std::vector<OpCase> rows;
  AddReductions(&rows);
  AddScans(&rows);
  AddSums(&rows);
  return rows;
}

}  // namespace nabla
