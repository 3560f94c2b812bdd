// What the op cases do not say of lists: values that only TensorFlow's semantics fix, bad input, cost, threads.
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "nabla/ops/ops.h"
#include "nabla/runtime/kernel.h"
#include "nabla/runtime/session.h"
#include "nabla/runtime/tensor_list.h"
#include "nabla/tests/runtime/kernels/tensors.h"

namespace nabla {
namespace {

Tensor List(std::vector<Tensor> elements, Shape element_shape = Shape(), DType dtype = DType::kFloat) {
  TensorList list(dtype, std::move(element_shape));
  for (Tensor& element : elements) list.PushBack(std::move(element));
  return Tensor::Scalar(TensorList::Wrap(std::move(list)));
}

Tensor Unset(int64_t size, Shape element_shape = Shape(), DType dtype = DType::kFloat) {
  TensorList list(dtype, std::move(element_shape));
  list.Resize(size);
  return Tensor::Scalar(TensorList::Wrap(std::move(list)));
}

// The elements; an invalid tensor where one is not set.
std::vector<Tensor> Elements(const Tensor& handle) {
  const TensorList* list = TensorList::Of(handle, 0);
  std::vector<Tensor> elements;
  if (list == nullptr) {
    ADD_FAILURE() << handle.ToString();
    return elements;
  }
  for (int64_t i = 0; i < list->size(); ++i) elements.push_back((*list)[i]);
  return elements;
}

void ExpectElements(const Tensor& handle, const std::vector<Tensor>& want) {
  const std::vector<Tensor> got = Elements(handle);
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_TRUE(BitwiseEqual(got[i], want[i])) << i << ": " << (got[i].valid() ? got[i].ToString() : "not set");
  }
}

const AttrMap kFloats = Attrs({{"element_dtype", DType::kFloat}});
const AttrMap kFloatsInt32 = Attrs({{"element_dtype", DType::kFloat}, {"shape_type", DType::kInt32}});
const Tensor kNoShape = Int(-1);
const Tensor kOne = Tensor::Scalar(1.0f), kTwo = Tensor::Scalar(2.0f);

TEST(TensorListKernels, ResizeDropsAndAdds) {
  const Tensor list = List({kOne, kTwo});
  ExpectElements(RunOp1("TensorListResize", {list, Int(1)}), {kOne});
  ExpectElements(RunOp1("TensorListResize", {list, Int(3)}), {kOne, kTwo, Tensor()});
  ExpectElements(list, {kOne, kTwo});
}

TEST(TensorListKernels, UnsetElementsReadAsZeros) {
  const Tensor list = Unset(2, {kUnknownDim, 3});
  const Tensor zeros = Floats({2, 3}, {0, 0, 0, 0, 0, 0});
  ExpectTensor(RunOp1("TensorListGetItem", {list, Int(1), Ints({2, -1})}, kFloats), zeros);
  const auto popped = RunOp("TensorListPopBack", {list, Ints({2, 3})}, kFloats);
  ASSERT_TRUE(popped.ok()) << popped.status();
  ExpectTensor((*popped)[1], zeros);
  EXPECT_EQ(Elements((*popped)[0]).size(), 1u);
  ExpectTensor(RunOp1("TensorListStack", {Unset(2), Ints({1})}, kFloats), Floats({2, 1}, {0, 0}));
  ExpectTensor(RunOp1("TensorListGather", {Unset(5), Ints({4, 4}), Ints({})}, kFloats), Floats({2}, {0, 0}));
  ExpectTensor(
      RunOp1("TensorListStack", {Unset(2, {}, DType::kString), Ints({})}, Attrs({{"element_dtype", DType::kString}})),
      Tensor::Vector<std::string>({"", ""}));
  // The shape of those that are set.
  TensorList some(DType::kFloat, Shape());
  some.Resize(2);
  some.Set(1, Floats({2}, {5, 6}));
  const Tensor handle = Tensor::Scalar(TensorList::Wrap(std::move(some)));
  ExpectTensor(RunOp1("TensorListGetItem", {handle, Int(0), kNoShape}, kFloats), Floats({2}, {0, 0}));
  ExpectTensor(RunOp1("TensorListStack", {handle, kNoShape}, kFloats), Floats({2, 2}, {0, 0, 5, 6}));
}

TEST(TensorListKernels, ElementShapes) {
  const AttrMap int64s = Attrs({{"shape_type", DType::kInt64}}), int32s = Attrs({{"shape_type", DType::kInt32}});
  ExpectTensor(RunOp1("TensorListElementShape", {Unset(1)}, int32s), Int(-1));
  ExpectTensor(RunOp1("TensorListElementShape", {Unset(1, {2, kUnknownDim})}, int64s),
               Tensor::Vector<int64_t>({2, -1}));
  ExpectRefused("int32", "TensorListElementShape", {Unset(1, {int64_t{1} << 40})}, int32s);
}

TEST(TensorListKernels, ConcatOfEmptyAndUnsetElements) {
  const AttrMap attrs = Attrs({{"element_dtype", DType::kFloat}, {"shape_type", DType::kInt32}});
  const Tensor none = Tensor(DType::kInt64, {0});
  const auto empty = RunOp("TensorListConcatV2", {List({}), Ints({-1, 3}), none}, attrs);
  ASSERT_TRUE(empty.ok()) << empty.status();
  ExpectTensor((*empty)[0], Tensor(DType::kFloat, {0, 3}));
  ExpectTensor((*empty)[1], none);
  const auto zeros = RunOp("TensorListConcatV2", {Unset(2), Ints({-1, 1}), Tensor::Vector<int64_t>({1, 2})}, attrs);
  ASSERT_TRUE(zeros.ok()) << zeros.status();
  ExpectTensor((*zeros)[0], Floats({3, 1}, {0, 0, 0}));
  ExpectTensor((*zeros)[1], Tensor::Vector<int64_t>({1, 2}));
}

TEST(TensorListKernels, ScatterLastOfEqualIndicesWins) {
  const Tensor rows = Floats({3}, {1, 2, 3});
  ExpectElements(RunOp1("TensorListScatter", {rows, Ints({2, 0, 2}), kNoShape}, kFloatsInt32),
                 {kTwo, Tensor(), Tensor::Scalar(3.0f)});
  ExpectElements(RunOp1("TensorListScatterV2", {rows, Ints({0, 0, 0}), kNoShape, Int(2)}, kFloatsInt32),
                 {Tensor::Scalar(3.0f), Tensor()});
}

TEST(TensorListKernels, AddsListsElementByElement) {
  TensorList some(DType::kFloat, Shape());
  some.Resize(2);
  some.Set(1, kTwo);
  const Tensor a = List({kOne, kTwo}), b = Tensor::Scalar(TensorList::Wrap(some));
  for (bool in_place : {false, true}) {
    ExpectElements(RunOp1("AddN", {a, b, a}, Attrs({{"N", 3}}), {1, in_place}), {kTwo, Tensor::Scalar(6.0f)});
    ExpectElements(RunOp1("AddN", {b, b}, Attrs({{"N", 2}}), {1, in_place}), {Tensor(), Tensor::Scalar(4.0f)});
    ExpectElements(a, {kOne, kTwo});
    ExpectElements(b, {Tensor(), kTwo});
  }
  // A variant that holds nothing is zero.
  ExpectElements(RunOp1("AddN", {Tensor::Scalar(Variant()), a}, Attrs({{"N", 2}})), {kOne, kTwo});
  ExpectElements(RunOp1("ZerosLike", {b}), {Tensor(), Tensor::Scalar(0.0f)});
  ExpectTensor(Elements(RunOp1("ZerosLike", {List({Tensor::Vector<std::string>({"x"})}, Shape(), DType::kString)}))[0],
               Tensor::Vector<std::string>({""}));
}

TEST(TensorListKernels, AddsHalf) {
  const Tensor half = List({Tensor::Vector<Half>({Half(1.5f), Half(-2.0f)})}, Shape(), DType::kHalf);
  ExpectElements(RunOp1("AddN", {half, half}, Attrs({{"N", 2}})), {Tensor::Vector<Half>({Half(3.0f), Half(-4.0f)})});
}

// A list of which each level holds the level below twice has 2^60 elements, but only 60 lists.
TEST(TensorListKernels, SharedListsAreVisitedOnce) {
  Variant inner = TensorList::Wrap([] {
    TensorList list(DType::kFloat, Shape());
    list.PushBack(kOne);
    return list;
  }());
  for (int depth = 0; depth < 60; ++depth) {
    TensorList outer(DType::kVariant, Shape::Scalar());
    outer.PushBack(Tensor::Scalar(inner));
    outer.PushBack(Tensor::Scalar(inner));
    inner = TensorList::Wrap(std::move(outer));
  }
  const Tensor list = Tensor::Scalar(std::move(inner));
  Tensor sum = RunOp1("AddN", {RunOp1("ZerosLike", {list}), list, list}, Attrs({{"N", 3}}));
  for (int depth = 0; depth < 60; ++depth) sum = Elements(sum)[depth % 2];
  ExpectElements(sum, {kTwo});
}

TEST(TensorListKernels, NestingHasALimit) {
  Variant inner = List({kOne}).scalar<Variant>();
  for (int depth = 0; depth < 1'000; ++depth) {
    TensorList outer(DType::kVariant, Shape::Scalar());
    outer.PushBack(Tensor::Scalar(std::move(inner)));
    inner = TensorList::Wrap(std::move(outer));
  }
  const Tensor list = Tensor::Scalar(std::move(inner));
  ExpectRefused("nested more than 100 deep", "ZerosLike", {list});
  ExpectRefused("nested more than 100 deep", "AddN", {list, list}, Attrs({{"N", 2}}));
}

TEST(TensorListKernels, RefusesBadInput) {
  const Tensor row = Floats({2}, {1, 2}), rows = Floats({2, 2}, {1, 2, 3, 4});
  const Tensor list = List({row, row}), scalars = List({kOne});
  const auto element = [](DType dtype) { return Attrs({{"element_dtype", dtype}}); };
  const AttrMap two = Attrs({{"N", 2}});
  const int32_t max = std::numeric_limits<int32_t>::max();

  ExpectRefused("must be a list, is an empty variant", "TensorListLength", {Tensor::Scalar(Variant())});
  ExpectRefused("must be one list, has shape [2]", "TensorListLength", {Tensor(DType::kVariant, {2})});
  ExpectRefused("must be a list of int32 elements", "TensorListPushBack", {list, Int(1)}, element(DType::kInt32));
  ExpectRefused("[3] does not fit the list's element shape, [2]", "TensorListPushBack",
                {List({}, {2}), Floats({3}, {1, 2, 3})}, kFloats);
  ExpectRefused("num_elements is -1, must be at least 0", "TensorListReserve", {kNoShape, Int(-1)}, kFloatsInt32);
  ExpectRefused("num_elements must be a scalar", "TensorListReserve", {kNoShape, Ints({1, 2})}, kFloatsInt32);
  ExpectRefused("a scalar must be -1", "TensorListReserve", {Int(3), Int(1)}, kFloatsInt32);
  ExpectRefused("-2", "EmptyTensorList", {Ints({-2}), Int(1)}, kFloatsInt32);
  ExpectRefused("size is -3", "TensorListResize", {list, Int(-3)});
  ExpectRefused("empty list", "TensorListPopBack", {List({}), kNoShape}, kFloats);
  ExpectRefused("element 1 has shape [2], expected [3]", "TensorListPopBack", {list, Ints({3})}, kFloats);
  ExpectRefused("their shape is <unknown>", "TensorListPopBack", {Unset(2), kNoShape}, kFloats);
  ExpectRefused("their shape is [?,3]", "TensorListGetItem", {Unset(2, {kUnknownDim, 3}), Int(0), kNoShape}, kFloats);
  ExpectRefused("index 2 is outside of the list, which has 2 elements", "TensorListGetItem", {list, Int(2), kNoShape},
                kFloats);
  ExpectRefused("index -1 is outside", "TensorListSetItem", {list, Int(-1), row}, kFloats);
  ExpectRefused("index 2 is outside", "TensorListSetItem", {list, Int(2), row}, kFloats);
  const AttrMap resize = Attrs({{"element_dtype", DType::kFloat}, {"resize_if_index_out_of_bounds", true}});
  ExpectRefused("index 2147483647 is outside", "TensorListSetItem", {list, Int(max), row}, resize);
  ExpectRefused("element 1 has shape [], expected [2]", "TensorListStack", {List({row, kOne}), kNoShape}, kFloats);
  ExpectRefused("the list's element shape is [2], expected [3]", "TensorListStack", {List({row}, {2}), Ints({3})},
                kFloats);
  ExpectRefused("the list has 2 elements, attr num_elements is 3", "TensorListStack", {list, kNoShape},
                Attrs({{"element_dtype", DType::kFloat}, {"num_elements", 3}}));
  ExpectRefused("shape is not known", "TensorListStack", {List({}), Ints({-1, 3})}, kFloats);
  ExpectRefused("tensor is a scalar", "TensorListFromTensor", {kOne, kNoShape}, kFloatsInt32);
  ExpectRefused("whose elements [2] do not fit", "TensorListFromTensor", {rows, Ints({3})}, kFloatsInt32);
  ExpectRefused("lengths[1] is 2, but 1 of 2 rows are left", "TensorListSplit",
                {rows, kNoShape, Tensor::Vector<int64_t>({1, 2})}, kFloatsInt32);
  ExpectRefused("lengths[0] is -1", "TensorListSplit", {rows, kNoShape, Tensor::Vector<int64_t>({-1, 3})},
                kFloatsInt32);
  ExpectRefused("lengths add up to 1, but tensor has 2 rows", "TensorListSplit",
                {rows, kNoShape, Tensor::Vector<int64_t>({1})}, kFloatsInt32);
  ExpectRefused("[2,2] does not fit the list's element shape, [1,2]", "TensorListSplit",
                {rows, Ints({1, 2}), Tensor::Vector<int64_t>({2})}, kFloatsInt32);
  const Tensor none = Tensor(DType::kInt64, {0});
  ExpectRefused("only those of rank 1 or more", "TensorListConcatV2", {scalars, kNoShape, none}, kFloatsInt32);
  ExpectRefused("element 1 has shape [2,2], expected [?]", "TensorListConcatV2", {List({row, rows}), kNoShape, none},
                kFloatsInt32);
  ExpectRefused("element 0 is not set, and leading_dims has 0 elements", "TensorListConcatV2",
                {Unset(1), Ints({-1, 2}), none}, kFloatsInt32);
  ExpectRefused("leading_dims[0] is -7", "TensorListConcatV2", {Unset(1), Ints({-1}), Tensor::Vector<int64_t>({-7})},
                kFloatsInt32);
  const int64_t huge = std::numeric_limits<int64_t>::max();
  ExpectRefused("too large", "TensorListConcatV2", {Unset(2), Ints({-1}), Tensor::Vector<int64_t>({huge, huge})},
                kFloatsInt32);
  ExpectRefused("not known", "TensorListConcatV2", {List({}), kNoShape, none}, kFloatsInt32);
  ExpectRefused("indices[1] is 2, the list has 2 elements", "TensorListGather", {list, Ints({0, 2}), kNoShape},
                kFloats);
  ExpectRefused("indices[0] is -1", "TensorListGather", {list, Ints({-1}), kNoShape}, kFloats);
  ExpectRefused("indices must be a vector", "TensorListGather", {list, Int(0), kNoShape}, kFloats);
  ExpectRefused("indices has 1 elements, but tensor has shape [2,2]", "TensorListScatter", {rows, Ints({0}), kNoShape},
                kFloatsInt32);
  ExpectRefused("indices[1] is -5", "TensorListScatter", {rows, Ints({0, -5}), kNoShape}, kFloatsInt32);
  ExpectRefused("indices[0] is 2147483647", "TensorListScatter", {rows, Ints({max, 0}), kNoShape}, kFloatsInt32);
  ExpectRefused("num_elements is 2, but indices go up to 2", "TensorListScatterV2",
                {rows, Ints({0, 2}), kNoShape, Int(2)}, kFloatsInt32);
  ExpectRefused("do not fit the element shape [3]", "TensorListScatterIntoExistingList",
                {List({}, {3}), rows, Ints({0, 1})}, kFloats);
  ExpectRefused("element shapes [2] and [3] cannot be joined", "TensorListConcatLists", {List({}, {2}), List({}, {3})},
                kFloats);
  ExpectRefused("must be lists of float elements", "TensorListConcatLists", {list, List({}, Shape(), DType::kInt32)},
                kFloats);
  ExpectRefused("as many lists as tensor has rows", "TensorListPushBackBatch", {Tensor(DType::kVariant, {3}), rows},
                kFloats);
  ExpectRefused("input_handles[0] must be a list", "TensorListPushBackBatch", {Tensor(DType::kVariant, {2}), rows},
                kFloats);
  ExpectRefused("lists of 2 and 1 elements cannot be added", "AddN", {list, List({row})}, two);
  ExpectRefused("elements of shapes [2] and [] cannot be added", "AddN", {List({row}), scalars}, two);
  ExpectRefused("a list of float elements cannot be added to one of int32 elements", "AddN",
                {Unset(1), Unset(1, Shape(), DType::kInt32)}, two);

  const Tensor limited = RunOp1("EmptyTensorList", {kNoShape, Int(1)}, kFloatsInt32);
  const Tensor full = RunOp1("TensorListPushBack", {limited, row}, kFloats);
  ExpectRefused("the list is full: it may have 1 elements", "TensorListPushBack", {full, row}, kFloats);
}

// Lengths that nothing is set to cost nothing; tensors of them are refused for want of memory.
TEST(TensorListKernels, HugeListsAreBounded) {
  const int32_t max = std::numeric_limits<int32_t>::max();
  const Tensor huge = RunOp1("TensorListReserve", {Ints({1 << 20}), Int(max)}, kFloatsInt32);
  ExpectTensor(RunOp1("TensorListLength", {huge}), Int(max));
  ExpectTensor(RunOp1("TensorListLength", {RunOp1("ZerosLike", {huge})}), Int(max));
  ExpectTensor(RunOp1("TensorListLength", {RunOp1("AddN", {huge, huge}, Attrs({{"N", 2}}))}), Int(max));
  EXPECT_EQ(RunOp("TensorListStack", {huge, kNoShape}, kFloats).status().code(), absl::StatusCode::kResourceExhausted);
  ExpectRefused("the list is full", "TensorListPushBack", {huge, Tensor::Zeros(DType::kFloat, {1 << 20})}, kFloats);
  ExpectRefused("too long to be joined", "TensorListConcatLists", {huge, huge}, kFloats);
  // Rows without elements take no memory, but a list of them does.
  const Tensor rows(DType::kFloat, {2'000'000'000, 0});
  EXPECT_EQ(RunOp("TensorListFromTensor", {rows, kNoShape}, kFloatsInt32).status().code(),
            absl::StatusCode::kResourceExhausted);
  const Tensor more(DType::kFloat, {int64_t{1} << 40, 0});
  ExpectRefused("at most 2147483647 elements", "TensorListFromTensor", {more, kNoShape}, kFloatsInt32);
}

// One kernel that runs many times, its inputs moved in.
class Runner {
 public:
  Runner(const std::string& op, const std::vector<DType>& inputs, const AttrMap& attrs) {
    RunOp1("TensorListLength", {List({})});  // registers everything
    NodeDesc desc;
    desc.name = "tested";
    desc.op = op;
    desc.attrs = attrs;
    for (DType dtype : inputs) {
      NodeDesc placeholder;
      placeholder.op = "Placeholder";
      placeholder.attrs.Set("dtype", dtype);
      desc.inputs.push_back((*graph_.AddNode(std::move(placeholder)))->output(0));
    }
    node_ = *graph_.AddNode(std::move(desc));
    kernel_ = *KernelRegistry::Global().Create(*node_);
  }

  // The outputs; inputs that were taken are invalid afterwards.
  std::vector<Tensor> Run(std::vector<Tensor>& inputs) {
    std::vector<Tensor*> pointers;
    for (Tensor& input : inputs) pointers.push_back(&input);
    std::vector<Tensor> outputs(node_->num_outputs());
    KernelContext ctx(environment_, node_, pointers.data(), static_cast<int>(pointers.size()), outputs.data(),
                      node_->num_outputs(), ~uint64_t{0});
    const absl::Status status = kernel_->Compute(ctx);
    EXPECT_TRUE(status.ok()) << status;
    return outputs;
  }

 private:
  Graph graph_;
  Node* node_;
  std::unique_ptr<Kernel> kernel_;
  KernelContext::Environment environment_;
};

const VariantValue* ValueOf(const Tensor& handle) { return handle.scalar<Variant>().value().get(); }

// The work would be quadratic, hours, if a push copied the list.
TEST(TensorListKernels, AMillionPushesInPlace) {
  constexpr int kCount = 1'000'000;
  Runner push("TensorListPushBack", {DType::kVariant, DType::kInt32}, Attrs({{"element_dtype", DType::kInt32}}));
  Tensor list = List({}, Shape::Scalar(), DType::kInt32);
  const VariantValue* value = ValueOf(list);
  for (int i = 0; i < kCount; ++i) {
    std::vector<Tensor> inputs = {std::move(list), Int(i)};
    list = std::move(push.Run(inputs)[0]);
    ASSERT_EQ(ValueOf(list), value);
  }
  ExpectTensor((*TensorList::Of(list, 0))[654'321], Int(654'321));
  Runner set("TensorListSetItem", {DType::kVariant, DType::kInt32, DType::kInt32},
             Attrs({{"element_dtype", DType::kInt32}}));
  Runner pop("TensorListPopBack", {DType::kVariant, DType::kInt32}, Attrs({{"element_dtype", DType::kInt32}}));
  // Element i / 2 is written before it is taken off.
  for (int i = kCount - 1; i >= 0; --i) {
    std::vector<Tensor> set_inputs = {std::move(list), Int(i / 2), Int(-i)};
    list = std::move(set.Run(set_inputs)[0]);
    std::vector<Tensor> inputs = {std::move(list), Ints({})};
    std::vector<Tensor> outputs = pop.Run(inputs);
    ASSERT_EQ(outputs[1].scalar<int32_t>(), 2 * i < kCount ? -2 * i : i) << i;
    list = std::move(outputs[0]);
    ASSERT_EQ(ValueOf(list), value);
  }
  EXPECT_EQ(Elements(list).size(), 0u);
}

// Where every old list is still held, none changes, and a push costs no more than a path in the tree.
TEST(TensorListKernels, AHundredThousandPushesOnListsThatOthersHold) {
  constexpr int kCount = 100'000;
  Runner push("TensorListPushBack", {DType::kVariant, DType::kInt32}, Attrs({{"element_dtype", DType::kInt32}}));
  std::vector<Tensor> lists = {List({}, Shape::Scalar(), DType::kInt32)};
  for (int i = 0; i < kCount; ++i) {
    std::vector<Tensor> inputs = {lists.back(), Int(i)};
    lists.push_back(std::move(push.Run(inputs)[0]));
    ASSERT_NE(ValueOf(lists[i]), ValueOf(lists[i + 1]));
    if (lists.size() > 2000) lists[lists.size() - 2000] = Tensor();
  }
  EXPECT_EQ(TensorList::Of(lists[kCount - 1000], 0)->size(), kCount - 1000);
  EXPECT_EQ(TensorList::Of(lists[kCount], 0)->size(), kCount);
  ExpectTensor((*TensorList::Of(lists[kCount], 0))[77'777], Int(77'777));
}

class TensorListGraphs : public ::testing::Test {
 protected:
  TensorListGraphs() { RunOp1("TensorListLength", {List({})}); }

  Graph graph_;
  Scope scope_{&graph_};
};

TEST_F(TensorListGraphs, ListsAreFedAndFetched) {
  Output handle = ops::Placeholder(scope_, DType::kVariant, {.shape = Shape::Scalar()});
  Output longer = ops::TensorListPushBack(scope_, handle, 3.0f);
  ASSERT_TRUE(scope_.ok()) << scope_.status();
  Session session(&graph_);
  const Tensor list = List({kOne});
  for (int run = 0; run < 2; ++run) {
    std::vector<Tensor> fetched;
    const absl::Status status = session.Run({{handle, list}}, {longer, handle}, &fetched);
    ASSERT_TRUE(status.ok()) << status;
    ExpectElements(fetched[0], {kOne, Tensor::Scalar(3.0f)});
    ExpectElements(fetched[1], {kOne});
    EXPECT_EQ(fetched[0].ToString(), "variant [] <TensorList of 2 float elements of shape <unknown>>");
  }
}

// Every list is read after it was pushed on, popped off and written to: in whatever order things run, nobody sees what
// another did.
TEST_F(TensorListGraphs, ReadersDoNotSeeLaterChanges) {
  constexpr int kLists = 40;
  Outputs fetches;
  Output list = ops::TensorListReserve(scope_, Input(Shape::Scalar()), 70, DType::kInt32);
  std::vector<std::vector<int32_t>> wants;
  std::vector<int32_t> want(70);
  for (int i = 0; i < kLists; ++i) {
    if (i % 3 == 0) {
      list = ops::TensorListSetItem(scope_, list, i, i);
      want[i] = i;
    } else if (i % 3 == 1) {
      list = ops::TensorListPushBack(scope_, list, ops::Const(scope_, 100 + i, DType::kInt32));
      want.push_back(100 + i);
    } else {
      list = ops::TensorListPopBack(scope_, list, Input(Shape::Scalar()), DType::kInt32).output_handle;
      want.pop_back();
    }
    fetches.push_back(ops::TensorListStack(scope_, list, Input(Shape::Scalar()), DType::kInt32));
    wants.push_back(want);
  }
  ASSERT_TRUE(scope_.ok()) << scope_.status();
  for (int threads : {1, 4}) {
    Session session(&graph_, {threads});
    for (int run = 0; run < 20; ++run) {
      std::vector<Tensor> fetched;
      const absl::Status status = session.Run({}, fetches, &fetched);
      ASSERT_TRUE(status.ok()) << status;
      for (int i = 0; i < kLists; ++i) ExpectTensor(fetched[i], Tensor::Vector<int32_t>(wants[i]));
    }
  }
}

}  // namespace
}  // namespace nabla
