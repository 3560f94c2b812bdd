// Slicing, padding, reversing.
#include "nabla/tests/cases/op_case.h"
#include "nabla/tests/cases/reference.h"

namespace nabla {
namespace {

struct Masks {
  int begin = 0, end = 0, ellipsis = 0, new_axis = 0, shrink = 0;
};

std::vector<std::pair<const char*, Attr>> Attrs(const Masks& masks) {
  return {{"begin_mask", masks.begin},
          {"end_mask", masks.end},
          {"ellipsis_mask", masks.ellipsis},
          {"new_axis_mask", masks.new_axis},
          {"shrink_axis_mask", masks.shrink}};
}

// The slice, and its gradient as an op: `result` is the slice's shape.
void AddStrided(const char* name, Shape shape, std::vector<double> begin, std::vector<double> end,
                std::vector<double> strides, Masks masks, Shape result, std::vector<OpCase>* rows) {
  const std::vector<double> dims(shape.dims().begin(), shape.dims().end());
  rows->push_back({"StridedSlice",
                   {.name = name,
                    .attrs = Attrs(masks),
                    .inputs = {In(std::move(shape)), Ints(begin), Ints(end), Ints(strides)},
                    .second_order = result.num_elements() > 0}});
  rows->push_back({"StridedSliceGrad",
                   {.name = name,
                    .attrs = Attrs(masks),
                    .inputs = {Ints(dims), Ints(begin), Ints(end), Ints(strides), In(std::move(result))}}});
  if (rows->back().spec.inputs[4].shape.num_elements() == 0) rows->back().spec.second_order = false;
}

}  // namespace

std::vector<OpCase> SliceCases() {
  std::vector<OpCase> rows;
  rows.push_back({"Slice", {.inputs = {In({3, 4}), Ints({1, 0}), Ints({2, 3})}, .integers = true}});
  rows.push_back(
      {"Slice", {.name = "rest", .inputs = {In({3, 4}), Ints({0, 2}, DType::kInt64), Ints({-1, -1}, DType::kInt64)}}});
  rows.push_back(
      {"Slice", {.name = "fed", .inputs = {In({3, 4}), Fed(Ints({1, 1})), Fed(Ints({1, 2}))}, .dynamic_shape = true}});
  rows.push_back({"Slice", {.name = "big", .inputs = {In({301, 203}), Ints({1, 2}), Ints({299, 200})}, .big = true}});

  AddStrided("range", {4, 3}, {1}, {3}, {1}, {}, {2, 3}, &rows);
  AddStrided("stride", {5, 3}, {0, 0}, {5, 3}, {2, 2}, {}, {3, 2}, &rows);
  AddStrided("reversed", {4, 3}, {3, 2}, {0, 0}, {-1, -2}, {.end = 3}, {4, 2}, &rows);
  AddStrided("negative", {4, 3}, {-3, -1}, {-1, 3}, {1, 1}, {}, {2, 1}, &rows);
  AddStrided("shrink", {4, 3}, {1, 0}, {2, 3}, {1, 1}, {.shrink = 1}, {3}, &rows);
  AddStrided("shrink_both", {4, 3}, {1, -1}, {2, 0}, {1, 1}, {.shrink = 3}, Shape::Scalar(), &rows);
  AddStrided("new_axis", {4, 3}, {0, 1}, {0, 3}, {1, 1}, {.new_axis = 1}, {1, 2, 3}, &rows);
  AddStrided("ellipsis", {2, 3, 4}, {0, 1}, {0, 3}, {1, 1}, {.ellipsis = 1}, {2, 3, 2}, &rows);
  AddStrided("masks", {4, 3}, {2, 2}, {1, 1}, {1, 1}, {.begin = 1, .end = 2}, {1, 1}, &rows);
  AddStrided("clamped", {4}, {-10}, {10}, {1}, {}, {4}, &rows);
  AddStrided("empty", {4}, {3}, {1}, {1}, {}, {0}, &rows);
  AddStrided("everything", {2, 3, 4}, {1, 0, 0, -1}, {2, 0, 0, -4}, {1, 1, 1, -2},
             {.ellipsis = 4, .new_axis = 2, .shrink = 1}, {1, 3, 2}, &rows);
  rows.push_back({"StridedSlice",
                  {.name = "fed",
                   .inputs = {In({4, 3}), Fed(Ints({1, 0})), Fed(Ints({3, 2})), Ints({1, 1})},
                   .dynamic_shape = true}});
  rows.push_back(
      {"StridedSlice",
       {.name = "big", .inputs = {In({301, 203}), Ints({1, 0}), Ints({300, 203}), Ints({2, 1})}, .big = true}});

  const CaseInput border = IntsOf({2, 2}, {1, 0, 2, 1});
  rows.push_back({"Pad", {.inputs = {In({2, 3}), border}, .integers = true}});
  rows.push_back({"Pad", {.name = "int64", .inputs = {In({2}), IntsOf({1, 2}, {0, 3}, DType::kInt64)}}});
  rows.push_back({"Pad", {.name = "fed", .inputs = {In({2, 3}), Fed(border)}, .dynamic_shape = true}});
  rows.push_back({"Pad", {.name = "big", .inputs = {In({301, 203}), border}, .big = true}});
  // TensorFlow gives the border's value no gradient.
  rows.push_back(
      {"PadV2", {.inputs = {In({2, 3}), border, In(Shape::Scalar())}, .integers = true, .golden_gradient = false}});
  rows.push_back({"PadV2",
                  {.name = "fed",
                   .inputs = {In({2, 3}), Fed(border), In(Shape::Scalar())},
                   .dynamic_shape = true,
                   .golden_gradient = false}});
  rows.push_back({"Reverse", {.inputs = {In({2, 3}), IntsOf({2}, {0, 1}, DType::kBool)}}});
  rows.push_back({"ReverseV2", {.inputs = {In({2, 3}), Ints({1})}, .integers = true}});
  rows.push_back({"ReverseV2", {.name = "both", .inputs = {In({2, 3, 2}), Ints({-1, 0}, DType::kInt64)}}});
  rows.push_back({"ReverseV2", {.name = "none", .inputs = {In({2, 3}), Ints({})}}});
  rows.push_back({"ReverseV2", {.name = "big", .inputs = {In({301, 203}), Ints({0, 1})}, .big = true}});
  return rows;
}

}  // namespace nabla
