#include "nabla/runtime/tensor_list.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace nabla {
namespace {

Variant ListOf(std::vector<float> values) {
  TensorList list(DType::kFloat, Shape::Scalar());
  for (float value : values) list.PushBack(Tensor::Scalar(value));
  return TensorList::Wrap(std::move(list));
}

TEST(TensorList, IsAVariantValue) {
  const Tensor tensor = Tensor::Scalar(ListOf({1, 2}));
  const TensorList* list = TensorList::Of(tensor, 0);
  ASSERT_NE(list, nullptr);
  EXPECT_EQ(list->size(), 2);
  EXPECT_EQ(list->DebugString(), "TensorList of 2 float elements of shape []");
  EXPECT_EQ(tensor.ToString(), "variant [] <TensorList of 2 float elements of shape []>");
  EXPECT_EQ(TensorList::Of(Tensor::Scalar(Variant()), 0), nullptr);
}

TEST(TensorList, IsChangedInPlaceByItsOnlyHolder) {
  Variant variant = ListOf({1, 2});
  const VariantValue* before = variant.value().get();
  TensorList::TakeOrCopy(&variant)->PushBack(Tensor::Scalar(3.0f));
  EXPECT_EQ(variant.value().get(), before);

  const Variant held = variant;
  TensorList::TakeOrCopy(&variant)->PushBack(Tensor::Scalar(4.0f));
  EXPECT_NE(variant.value().get(), before);
  EXPECT_EQ(held.get<TensorList>()->size(), 3);
  EXPECT_EQ(variant.get<TensorList>()->size(), 4);
  EXPECT_EQ((*held.get<TensorList>())[2].scalar<float>(), 3.0f);
}

TEST(TensorList, VisitsWhatIsSet) {
  TensorList list(DType::kFloat, Shape());
  list.Resize(1000);
  list.Set(700, Tensor::Scalar(7.0f));
  list.Set(2, Tensor::Scalar(2.0f));
  EXPECT_FALSE(list[3].valid());
  std::vector<int64_t> seen;
  EXPECT_TRUE(list.ForEachSet([&](int64_t i, const Tensor&) -> absl::Status {
                    seen.push_back(i);
                    return absl::OkStatus();
                  })
                  .ok());
  EXPECT_EQ(seen, (std::vector<int64_t>{2, 700}));
}

TEST(TensorList, CombinesWhatBothHave) {
  TensorList a(DType::kFloat, Shape()), b(DType::kFloat, Shape());
  for (TensorList* list : {&a, &b}) list->Resize(3);
  a.Set(0, Tensor::Scalar(1.0f));
  a.Set(1, Tensor::Scalar(2.0f));
  b.Set(1, Tensor::Scalar(30.0f));
  b.Set(2, Tensor::Scalar(40.0f));
  EXPECT_TRUE(a.Combine(b, [](Tensor* mine, const Tensor& theirs) -> absl::Status {
                 *mine = Tensor::Scalar(mine->scalar<float>() + theirs.scalar<float>());
                 return absl::OkStatus();
               }).ok());
  EXPECT_EQ(a[0].scalar<float>(), 1.0f);
  EXPECT_EQ(a[1].scalar<float>(), 32.0f);
  EXPECT_EQ(a[2].scalar<float>(), 40.0f);
}

TEST(TensorList, NestingDoesNotRecurToDestroy) {
  Variant inner = ListOf({1});
  for (int depth = 0; depth < 300'000; ++depth) {
    TensorList outer(DType::kVariant, Shape::Scalar());
    outer.PushBack(Tensor::Scalar(std::move(inner)));
    inner = TensorList::Wrap(std::move(outer));
  }
  EXPECT_EQ(inner.get<TensorList>()->size(), 1);
  inner = Variant();
}

TEST(TensorList, ListsInAListAreDestroyedWithIt) {
  const Tensor counted = Tensor::Zeros(DType::kFloat, {100});
  Variant row = ListOf({});
  {
    TensorList list(DType::kFloat, Shape({100}));
    list.PushBack(counted);
    Variant shared = TensorList::Wrap(std::move(list));
    TensorList outer(DType::kVariant, Shape::Scalar());
    for (int i = 0; i < 100; ++i) outer.PushBack(Tensor::Scalar(shared));
    EXPECT_FALSE(counted.IsExclusive());
  }
  EXPECT_TRUE(counted.IsExclusive());
}

}  // namespace
}  // namespace nabla
