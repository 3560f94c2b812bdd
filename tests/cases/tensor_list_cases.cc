// Lists. What goes in and comes out are tensors, so each row is a small graph; squares make second derivatives that are
// not zero.
#include "nabla/ops/ops.h"
#include "nabla/tests/cases/op_case.h"

namespace nabla {
namespace {

constexpr int kAnyShape = -1;

Output ListOf(const Scope& scope, Output tensor) { return ops::TensorListFromTensor(scope, tensor, kAnyShape); }

Output Reserved(const Scope& scope, const Shape& element_shape, int length, DType dtype) {
  return ops::TensorListReserve(scope, Input(element_shape), length, dtype);
}

// The elements' squares, stacked; each of shape [2].
Output Squares(const Scope& scope, Output list, DType dtype) {
  return ops::Square(scope, ops::TensorListStack(scope, list, {2}, dtype));
}

void Add(const char* op, const char* name, std::vector<CaseInput> inputs, BuildCaseGraph build,
         std::vector<OpCase>* rows, bool golden_gradient = true) {
  CaseSpec spec;
  spec.name = name;
  spec.inputs = std::move(inputs);
  spec.build = std::move(build);
  spec.dynamic_shape = true;  // a list's length is not static
  spec.golden_gradient = golden_gradient;
  spec.gradient = absl::string_view(op) != "TensorListLength" && absl::string_view(op) != "TensorListElementShape";
  rows->push_back({op, std::move(spec)});
}

void AddElements(std::vector<OpCase>* rows) {
  Add(
      "EmptyTensorList", "", {In({2}), In({2})},
      [](const Scope& s, const Outputs& x) -> Outputs {
        Output list = ops::EmptyTensorList(s, {2}, 3, x[0].dtype());
        for (int i : {0, 1, 0}) list = ops::TensorListPushBack(s, list, x[i]);
        return {Squares(s, list, x[0].dtype())};
      },
      rows);
  Add(
      "TensorListPushBack", "", {In({2, 2}), In({2})},
      [](const Scope& s, const Outputs& x) -> Outputs {
        Output shorter = ListOf(s, x[0]);
        Output longer = ops::TensorListPushBack(s, shorter, x[1]);
        return {Squares(s, longer, x[0].dtype()), Squares(s, shorter, x[0].dtype())};
      },
      rows);
  Add(
      "TensorListPushBack", "other_shapes", {In({2}), In({3, 1}), In(Shape::Scalar())},
      [](const Scope& s, const Outputs& x) -> Outputs {
        Output list = ops::EmptyTensorList(s, kAnyShape, -1, x[0].dtype());
        for (Output tensor : x) list = ops::TensorListPushBack(s, list, tensor);
        Outputs squares;
        for (int i = 0; i < 3; ++i) {
          squares.push_back(ops::Square(s, ops::TensorListGetItem(s, list, i, kAnyShape, x[0].dtype())));
        }
        return squares;
      },
      rows);
  Add(
      "TensorListPopBack", "", {In({3, 2})},
      [](const Scope& s, const Outputs& x) -> Outputs {
        auto [rest, last] = ops::TensorListPopBack(s, ListOf(s, x[0]), {2}, x[0].dtype());
        return {Squares(s, rest, x[0].dtype()), ops::Square(s, last)};
      },
      rows);
  Add(
      "TensorListPopBack", "list", {In({3, 2})},
      [](const Scope& s, const Outputs& x) -> Outputs {
        return {Squares(s, ops::TensorListPopBack(s, ListOf(s, x[0]), {2}, x[0].dtype()).output_handle, x[0].dtype())};
      },
      rows);
  Add(
      "TensorListPopBack", "tensor", {In({3, 2})},
      [](const Scope& s, const Outputs& x) -> Outputs {
        return {ops::Square(s, ops::TensorListPopBack(s, ListOf(s, x[0]), {2}, x[0].dtype()).tensor)};
      },
      rows);
  Add(
      "TensorListPopBack", "pushed", {In({2}), In({3})},
      [](const Scope& s, const Outputs& x) -> Outputs {
        const DType dtype = x[0].dtype();
        Output list = ops::EmptyTensorList(s, kAnyShape, -1, dtype);
        list = ops::TensorListPushBack(s, ops::TensorListPushBack(s, list, x[0]), x[1]);
        auto [rest, last] = ops::TensorListPopBack(s, list, kAnyShape, dtype);
        return {ops::Square(s, last), ops::Square(s, ops::TensorListPopBack(s, rest, kAnyShape, dtype).tensor)};
      },
      rows);
  Add(
      "TensorListReserve", "", {In({2})},
      [](const Scope& s, const Outputs& x) -> Outputs {
        Output list = Reserved(s, {2}, 3, x[0].dtype());
        return {Squares(s, ops::TensorListSetItem(s, list, 1, x[0]), x[0].dtype())};
      },
      rows);
  Add(
      "TensorListGetItem", "", {In({3, 2}), Fed(Int(1))},
      [](const Scope& s, const Outputs& x) -> Outputs {
        Output list = ListOf(s, x[0]);
        Output item = ops::TensorListGetItem(s, list, x[1], {2}, x[0].dtype());
        Output last = ops::TensorListGetItem(s, list, 2, {2}, x[0].dtype());
        return {ops::Square(s, item) * last};
      },
      rows);
  Add(
      "TensorListGetItem", "not_set", {In({2})},
      [](const Scope& s, const Outputs& x) -> Outputs {
        Output list = ops::TensorListSetItem(s, Reserved(s, {kUnknownDim}, 3, x[0].dtype()), 2, x[0]);
        return {ops::TensorListGetItem(s, list, 0, kAnyShape, x[0].dtype()) + ops::Square(s, x[0]),
                ops::Square(s, ops::TensorListGetItem(s, list, 2, kAnyShape, x[0].dtype()))};
      },
      rows);
  Add(
      "TensorListSetItem", "", {In({3, 2}), Fed(Int(1)), In({2})},
      [](const Scope& s, const Outputs& x) -> Outputs {
        Output old = ListOf(s, x[0]);
        Output list = ops::TensorListSetItem(s, old, x[1], x[2]);
        return {Squares(s, list, x[0].dtype()), Squares(s, old, x[0].dtype())};
      },
      rows);
  // TensorFlow gives the overwritten element a gradient of the new one's shape, and cannot add it to the others.
  Add(
      "TensorListSetItem", "of_another_shape", {In({3}), In({2}), Fed(Int(1))},
      [](const Scope& s, const Outputs& x) -> Outputs {
        const DType dtype = x[0].dtype();
        Output first = ops::TensorListSetItem(s, Reserved(s, {kUnknownDim}, 3, dtype), x[2], x[0]);
        Output second = ops::TensorListSetItem(s, first, x[2], x[1]);
        Output third = ops::TensorListSetItem(s, second, x[2], x[0] * x[0]);
        Output other = ops::TensorListSetItem(s, third, 0, x[1]);
        return {ops::Square(s, ops::TensorListGetItem(s, first, x[2], kAnyShape, dtype)),
                ops::Square(s, ops::TensorListGetItem(s, second, x[2], kAnyShape, dtype)),
                ops::Square(s, ops::TensorListGetItem(s, other, x[2], kAnyShape, dtype)),
                ops::Square(s, ops::TensorListGetItem(s, other, 0, kAnyShape, dtype))};
      },
      rows, /*golden_gradient=*/false);
  // TensorFlow gives the shorter list the longer one's gradient.
  Add(
      "TensorListSetItem", "longer", {In({2, 2}), In({2})},
      [](const Scope& s, const Outputs& x) -> Outputs {
        Output list = ops::TensorListSetItem(s, ListOf(s, x[0]), 3, x[1], {.resize_if_index_out_of_bounds = true});
        return {Squares(s, list, x[0].dtype())};
      },
      rows, /*golden_gradient=*/false);
  // TensorFlow has no gradients of these two.
  Add(
      "TensorListPushBackBatch", "", {In({2, 2}), In({1, 2}), In({2, 2})},
      [](const Scope& s, const Outputs& x) -> Outputs {
        Output lists = ops::Pack(s, {ListOf(s, x[0]), ListOf(s, x[1])});
        Outputs squares;
        for (Output list : ops::Unpack(s, ops::TensorListPushBackBatch(s, lists, x[2]), 2)) {
          squares.push_back(Squares(s, list, x[0].dtype()));
        }
        return squares;
      },
      rows, /*golden_gradient=*/false);
  Add(
      "TensorListConcatLists", "", {In({2, 2}), In({3, 2})},
      [](const Scope& s, const Outputs& x) -> Outputs {
        return {
            Squares(s, ops::TensorListConcatLists(s, ListOf(s, x[0]), ListOf(s, x[1]), x[0].dtype()), x[0].dtype())};
      },
      rows, /*golden_gradient=*/false);
}

void AddWholeLists(std::vector<OpCase>* rows) {
  Add(
      "TensorListStack", "", {In({3, 2})},
      [](const Scope& s, const Outputs& x) -> Outputs {
        return {ops::Square(s, ops::TensorListStack(s, ListOf(s, x[0]), kAnyShape, x[0].dtype(), {.num_elements = 3}))};
      },
      rows);
  Add(
      "TensorListFromTensor", "", {In({2, 3, 2})},
      [](const Scope& s, const Outputs& x) -> Outputs {
        Output list = ops::TensorListFromTensor(s, x[0], {3, -1});
        return {ops::Square(s, ops::TensorListGetItem(s, list, 1, {3, 2}, x[0].dtype()))};
      },
      rows);
  Add(
      "TensorListFromTensor", "scalars", {In({4})},
      [](const Scope& s, const Outputs& x) -> Outputs {
        Output list = ops::TensorListFromTensor(s, x[0], Tensor(DType::kInt32, {0}));
        return {ops::Square(s, ops::TensorListGetItem(s, list, 3, kAnyShape, x[0].dtype()))};
      },
      rows);
  const CaseInput lengths = Fed(Ints({2, 0, 3}, DType::kInt64));
  Add(
      "TensorListSplit", "", {In({5, 2}), lengths},
      [](const Scope& s, const Outputs& x) -> Outputs {
        Output list = ops::TensorListSplit(s, x[0], {-1, 2}, x[1]);
        return {ops::Square(s, ops::TensorListGetItem(s, list, 0, {-1, 2}, x[0].dtype())),
                ops::Square(s, ops::TensorListGetItem(s, list, 1, kAnyShape, x[0].dtype()))};
      },
      rows);
  Add(
      "TensorListConcat", "", {In({5, 2}), lengths, In({1, 2})},
      [](const Scope& s, const Outputs& x) -> Outputs {
        Output list = ops::TensorListPushBack(s, ops::TensorListSplit(s, x[0], {-1, 2}, x[1]), x[2]);
        auto [tensor, sizes] = ops::TensorListConcat(s, list, x[0].dtype());
        return {ops::Square(s, tensor), sizes};
      },
      rows);
  Add(
      "TensorListConcatV2", "", {In({5, 2}), lengths, In({1, 2})},
      [](const Scope& s, const Outputs& x) -> Outputs {
        Output list = ops::TensorListPushBack(s, ops::TensorListSplit(s, x[0], {-1, 2}, x[1]), x[2]);
        auto [tensor, sizes] = ops::TensorListConcatV2(s, list, {-1, 2}, Tensor(DType::kInt64, {0}), x[0].dtype());
        return {ops::Square(s, tensor), sizes};
      },
      rows);
  Add(
      "TensorListConcatV2", "not_set", {In({2, 2}), Fed(Ints({1, 2, 3}, DType::kInt64))},
      [](const Scope& s, const Outputs& x) -> Outputs {
        Output list = ops::TensorListSetItem(s, Reserved(s, {kUnknownDim, 2}, 3, x[0].dtype()), 1, x[0]);
        auto [tensor, sizes] = ops::TensorListConcatV2(s, list, {-1, 2}, x[1], x[0].dtype());
        return {ops::Square(s, tensor), sizes};
      },
      rows);
  const BuildCaseGraph gather = [](const Scope& s, const Outputs& x) -> Outputs {
    return {ops::Square(s, ops::TensorListGather(s, ListOf(s, x[0]), x[1], {2}, x[0].dtype()))};
  };
  // TensorFlow's gradient is a list as long as the largest index asks for, in which the last of equal indices wins.
  Add("TensorListGather", "", {In({3, 2}), Fed(Ints({2, 0}))}, gather, rows);
  Add("TensorListGather", "constant", {In({3, 2}), Ints({2, 1})}, gather, rows);
  Add("TensorListGather", "repeated", {In({3, 2}), Fed(Ints({2, 0, 2}))}, gather, rows, /*golden_gradient=*/false);
  const BuildCaseGraph scatter = [](const Scope& s, const Outputs& x) -> Outputs {
    return {Squares(s, ops::TensorListScatter(s, x[0], x[1], {2}), x[0].dtype())};
  };
  Add("TensorListScatter", "", {In({2, 2}), Fed(Ints({3, 1}))}, scatter, rows);
  Add("TensorListScatter", "repeated", {In({4, 2}), Fed(Ints({3, 1, 3, 0}))}, scatter, rows,
      /*golden_gradient=*/false);
  Add(
      "TensorListScatterV2", "", {In({2, 2}), Ints({3, 1}), Fed(Int(6))},
      [](const Scope& s, const Outputs& x) -> Outputs {
        return {Squares(s, ops::TensorListScatterV2(s, x[0], x[1], {2}, x[2]), x[0].dtype())};
      },
      rows);
  Add(
      "TensorListScatterIntoExistingList", "", {In({3, 2}), In({2, 2}), Fed(Ints({2, 0}))},
      [](const Scope& s, const Outputs& x) -> Outputs {
        return {Squares(s, ops::TensorListScatterIntoExistingList(s, ListOf(s, x[0]), x[1], x[2]), x[0].dtype())};
      },
      rows);
  Add(
      "TensorListScatterIntoExistingList", "longer", {In({3, 2}), In({2, 2}), Fed(Ints({0, 4}))},
      [](const Scope& s, const Outputs& x) -> Outputs {
        return {Squares(s, ops::TensorListScatterIntoExistingList(s, ListOf(s, x[0]), x[1], x[2]), x[0].dtype())};
      },
      rows);
  // TensorFlow cannot stack that list.
  rows->back().spec.golden = false;
}

void AddListsAsValues(std::vector<OpCase>* rows) {
  Add(
      "TensorListLength", "", {In({3, 2})},
      [](const Scope& s, const Outputs& x) -> Outputs { return {ops::TensorListLength(s, ListOf(s, x[0]))}; }, rows);
  Add(
      "TensorListElementShape", "", {In({2})},
      [](const Scope& s, const Outputs& x) -> Outputs {
        return {ops::TensorListElementShape(s, Reserved(s, {kUnknownDim, 3}, 1, x[0].dtype()), DType::kInt64),
                ops::TensorListElementShape(s, ops::TensorListReserve(s, kAnyShape, 1, x[0].dtype()), DType::kInt32)};
      },
      rows);
  for (int size : {2, 5}) {
    Add(
        "TensorListResize", size < 3 ? "shorter" : "longer", {In({3, 2})},
        [size](const Scope& s, const Outputs& x) -> Outputs {
          return {Squares(s, ops::TensorListResize(s, ListOf(s, x[0]), size), x[0].dtype())};
        },
        rows);
  }
  Add(
      "AddN", "lists", {In({3, 2}), In({3, 2}), In({2})},
      [](const Scope& s, const Outputs& x) -> Outputs {
        Output partly = ops::TensorListSetItem(s, Reserved(s, {2}, 3, x[0].dtype()), 1, x[2]);
        Output list = ListOf(s, x[0]);
        return {Squares(s, ops::AddN(s, {list, partly, ListOf(s, x[1]), list}), x[0].dtype())};
      },
      rows);
  Add(
      "ZerosLike", "list", {In({3, 2})},
      [](const Scope& s, const Outputs& x) -> Outputs {
        Output zeros = ops::ZerosLike(s, ListOf(s, x[0]));
        return {Squares(s, zeros, x[0].dtype()), ops::TensorListLength(s, zeros)};
      },
      rows);
  // A list that holds lists.
  Add(
      "TensorListStack", "nested", {In({3, 2}), In({2, 2})},
      [](const Scope& s, const Outputs& x) -> Outputs {
        Output list = ops::EmptyTensorList(s, Tensor(DType::kInt32, {0}), -1, DType::kVariant);
        list = ops::TensorListPushBack(s, ops::TensorListPushBack(s, list, ListOf(s, x[0])), ListOf(s, x[1]));
        auto [rest, last] = ops::TensorListPopBack(s, list, Tensor(DType::kInt32, {0}), DType::kVariant);
        Output first = ops::TensorListGetItem(s, rest, 0, Tensor(DType::kInt32, {0}), DType::kVariant);
        return {Squares(s, first, x[0].dtype()), Squares(s, last, x[0].dtype())};
      },
      rows);
}

}  // namespace

std::vector<OpCase> TensorListCases() {
  std::vector<OpCase> rows;
  AddElements(&rows);
  AddWholeLists(&rows);
  AddListsAsValues(&rows);
  return rows;
}

}  // namespace nabla
