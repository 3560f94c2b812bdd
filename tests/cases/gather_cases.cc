// Reading and writing at indices.
#include "nabla/tests/cases/op_case.h"
#include "nabla/tests/cases/reference.h"

namespace nabla {
namespace {

void AddGathers(std::vector<OpCase>* rows) {
  const CaseInput indices = Fed(Ints({2, 0, 2})), matrix = Fed(IntsOf({2, 2}, {1, 0, 2, 1}));
  rows->push_back({"Gather", {.inputs = {In({3, 2}), indices}}});
  rows->push_back({"Gather", {.name = "matrix", .inputs = {In({3, 2}), matrix}}});
  rows->push_back({"Gather", {.name = "scalar", .inputs = {In({3, 2}), Fed(Int(1))}}});
  rows->push_back({"GatherV2", {.inputs = {In({3, 2}), indices, Int(0)}, .integers = true}});
  rows->push_back({"GatherV2", {.name = "columns", .inputs = {In({2, 3}), indices, Int(1)}}});
  rows->push_back({"GatherV2", {.name = "matrix", .inputs = {In({2, 3, 2}), matrix, Int(-2)}}});
  rows->push_back(
      {"GatherV2", {.name = "scalar", .inputs = {In({3, 2}), Fed(Int(2, DType::kInt64)), Int(0, DType::kInt64)}}});
  rows->push_back({"GatherV2",
                   {.name = "batch",
                    .attrs = {{"batch_dims", 1}},
                    .inputs = {In({2, 3, 2}), Fed(IntsOf({2, 2}, {1, 0, 2, 2})), Int(1)}}});
  rows->push_back({"GatherV2",
                   {.name = "batch_last",
                    .attrs = {{"batch_dims", 1}},
                    .inputs = {In({2, 2, 3}), Fed(IntsOf({2, 2}, {1, 0, 2, 2})), Int(2)}}});
  rows->push_back(
      {"GatherV2", {.name = "fed_axis", .inputs = {In({3, 3}), indices, Fed(Int(1))}, .dynamic_shape = true}});
  rows->push_back(
      {"GatherV2", {.name = "empty", .inputs = {In({3, 2}), Fed(Ints({})), Int(0)}, .second_order = false}});
  std::vector<double> many(5000);
  for (size_t i = 0; i < many.size(); ++i) many[i] = static_cast<double>(i * 37 % 301);
  rows->push_back({"GatherV2", {.name = "big", .inputs = {In({301, 33}), Fed(Ints(many)), Int(0)}, .big = true}});
  rows->push_back({"GatherNd", {.inputs = {In({2, 3}), Fed(IntsOf({2, 2}, {1, 2, 0, 1}))}}});
  rows->push_back({"GatherNd", {.name = "rows", .inputs = {In({3, 2}), Fed(IntsOf({3, 1}, {1, 1, 2}))}}});
  rows->push_back(
      {"GatherNd",
       {.name = "duplicates", .inputs = {In({2, 3}), Fed(IntsOf({3, 2}, {1, 2, 1, 2, 0, 0}, DType::kInt64))}}});
  rows->push_back({"OneHot",
                   {.inputs = {Fed(Ints({1, 0, 5, -1})), Int(3), In(Shape::Scalar()), In(Shape::Scalar())},
                    .golden_gradient = false}});
  rows->push_back(
      {"OneHot",
       {.name = "first",
        .attrs = {{"axis", 0}},
        .inputs = {Fed(IntsOf({2, 2}, {1, 0, 2, 1}, DType::kInt64)), Int(3), In(Shape::Scalar()), In(Shape::Scalar())},
        .golden_gradient = false}});
  rows->push_back({"Where", {.inputs = {Bools({2, 3}, {1, 0, 0, 1, 1, 0})}, .dynamic_shape = true}});
  rows->push_back({"Where", {.name = "numbers", .inputs = {Values({4}, {0, 1, 0, -2})}, .dynamic_shape = true}});
  rows->push_back({"Unique", {.inputs = {Values({6}, {1, 2, 1, 3, 2, 1})}, .dynamic_shape = true}});
  rows->push_back({"Unique",
                   {.name = "int64",
                    .attrs = {{"out_idx", DType::kInt64}},
                    .inputs = {Fed(Ints({5, 5, 2}))},
                    .dynamic_shape = true}});
  rows->push_back(
      {"UniqueV2", {.inputs = {Values({3, 2}, {1, 2, 3, 4, 1, 2}), Ints({0}, DType::kInt64)}, .dynamic_shape = true}});
  rows->push_back(
      {"UniqueV2",
       {.name = "columns", .inputs = {Values({2, 3}, {1, 1, 2, 3, 3, 4}), Ints({1})}, .dynamic_shape = true}});
}

void AddScatters(std::vector<OpCase>* rows) {
  const CaseInput at = Fed(IntsOf({3, 1}, {2, 0, 2})), distinct = Fed(IntsOf({2, 1}, {3, 1}));
  rows->push_back({"ScatterNd", {.inputs = {at, In({3, 2}), Ints({4, 2})}, .integers = true}});
  rows->push_back(
      {"ScatterNd", {.name = "elements", .inputs = {Fed(IntsOf({2, 2}, {1, 0, 0, 2})), In({2}), Ints({2, 3})}}});
  rows->push_back(
      {"ScatterNd", {.name = "fed_shape", .inputs = {at, In({3, 2}), Fed(Ints({4, 2}))}, .dynamic_shape = true}});
  for (const char* op : {"TensorScatterAdd", "TensorScatterSub"}) {
    rows->push_back({op, {.inputs = {In({4, 2}), at, In({3, 2})}, .integers = true}});
    rows->push_back(
        {op, {.name = "elements", .inputs = {In({2, 3}), Fed(IntsOf({2, 2}, {1, 0, 0, 2}, DType::kInt64)), In({2})}}});
  }
  rows->push_back({"TensorScatterUpdate", {.inputs = {In({4, 2}), distinct, In({2, 2})}, .integers = true}});
  rows->push_back(
      {"TensorScatterUpdate",
       {.name = "elements", .inputs = {In({2, 3}), Fed(IntsOf({2, 2}, {1, 0, 0, 2}, DType::kInt64)), In({2})}}});
  std::vector<double> many(5000);
  for (size_t i = 0; i < many.size(); ++i) many[i] = static_cast<double>(i * 37 % 301);
  rows->push_back(
      {"TensorScatterAdd",
       {.name = "big", .inputs = {In({301, 33}), Fed(IntsOf({5000, 1}, many)), In({5000, 33})}, .big = true}});
  rows->push_back(
      {"UnsortedSegmentSum", {.name = "big", .inputs = {In({5000, 33}), Fed(Ints(many)), Int(301)}, .big = true}});
}

}  // namespace

std::vector<OpCase> GatherCases() {
  std::vector<OpCase> rows;
  AddGathers(&rows);
  AddScatters(&rows);
  return rows;
}

}  // namespace nabla
