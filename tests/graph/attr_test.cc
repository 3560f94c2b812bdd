#include "nabla/graph/attr.h"

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace nabla {
namespace {

using ::testing::ElementsAre;

FunctionRef Function(std::string name, std::vector<AttrMap::Entry> entries) {
  auto attrs = std::make_shared<AttrMap>();
  for (AttrMap::Entry& entry : entries) attrs->Set(entry.first, std::move(entry.second));
  return {std::move(name), std::move(attrs)};
}

// One attr of every kind, each different from all others.
std::vector<Attr> OneOfEach() {
  return {Attr(),
          "text",
          int64_t{3},
          2.5f,
          true,
          DType::kFloat,
          Shape({2, kUnknownDim}),
          Tensor::Scalar(1.0f),
          FunctionRef{"f", nullptr},
          AttrPlaceholder{"T"},
          std::vector<std::string>{"a", "b"},
          std::vector<int64_t>{1, 2},
          std::vector<float>{0.5f},
          std::vector<bool>{true, false},
          std::vector<DType>{DType::kInt32, DType::kString},
          std::vector<Shape>{Shape(), Shape({1})},
          std::vector<Tensor>{Tensor::Scalar(int32_t{1}), Tensor::Scalar(2.0)},
          std::vector<FunctionRef>{{"g", nullptr}},
          Attr::EmptyList()};
}

TEST(AttrTest, IsSmall) { EXPECT_LE(sizeof(Attr), 32u); }

TEST(AttrTest, GivesItsValueOnlyAsWhatItIs) {
  const Attr number = int64_t{3};
  ASSERT_NE(number.As<int64_t>(), nullptr);
  EXPECT_EQ(*number.As<int64_t>(), 3);
  EXPECT_EQ(number.As<float>(), nullptr);
  EXPECT_EQ(number.As<bool>(), nullptr);
  EXPECT_EQ(number.As<std::string>(), nullptr);
  EXPECT_EQ(number.As<std::vector<int64_t>>(), nullptr);
  EXPECT_EQ(*Attr(7).As<int64_t>(), 7);
  EXPECT_EQ(*Attr("text").As<std::string>(), "text");
  EXPECT_EQ(*Attr(DType::kHalf).As<DType>(), DType::kHalf);
  EXPECT_EQ(*Attr(Shape({4})).As<Shape>(), Shape({4}));
  EXPECT_EQ(Attr(Shape({4})).As<Tensor>(), nullptr);
  EXPECT_EQ(Attr(FunctionRef{"f", nullptr}).As<FunctionRef>()->name, "f");
  EXPECT_EQ(Attr(AttrPlaceholder{"T"}).As<AttrPlaceholder>()->name, "T");
  EXPECT_THAT(*Attr(std::vector<bool>{true, false}).As<std::vector<bool>>(), ElementsAre(true, false));
  EXPECT_EQ(Attr().As<int64_t>(), nullptr);
}

TEST(AttrTest, AnEmptyListIsOfAnyKind) {
  const Attr empty = Attr::EmptyList();
  EXPECT_TRUE(empty.IsList());
  ASSERT_NE(empty.As<std::vector<int64_t>>(), nullptr);
  EXPECT_TRUE(empty.As<std::vector<int64_t>>()->empty());
  EXPECT_TRUE(empty.As<std::vector<FunctionRef>>()->empty());
  EXPECT_EQ(empty.As<int64_t>(), nullptr);
  EXPECT_EQ(empty, Attr(std::vector<int64_t>{}));
  EXPECT_EQ(Attr(std::vector<Shape>{}), empty);
  EXPECT_NE(empty, Attr(std::vector<int64_t>{0}));
  EXPECT_NE(empty, Attr(""));
  EXPECT_NE(Attr(std::vector<Shape>{}), Attr(std::vector<int64_t>{}));
}

TEST(AttrTest, CopiesShareWhatIsLarge) {
  const Attr a = std::vector<int64_t>(1000, 1);
  const Attr b = a;  // NOLINT: the copy is the point
  EXPECT_EQ(a.As<std::vector<int64_t>>(), b.As<std::vector<int64_t>>());
}

TEST(AttrTest, EqualOnlyToTheSameValue) {
  const std::vector<Attr> one = OneOfEach();
  const std::vector<Attr> two = OneOfEach();
  for (size_t i = 0; i < one.size(); ++i) {
    for (size_t j = 0; j < two.size(); ++j) EXPECT_EQ(one[i] == two[j], i == j) << one[i].ToString();
  }
  EXPECT_NE(Attr(1), Attr(2));
  EXPECT_NE(Attr(std::vector<bool>{true}), Attr(std::vector<bool>{false}));
  EXPECT_NE(Attr(std::vector<int64_t>{1}), Attr(std::vector<int64_t>{1, 1}));
  EXPECT_NE(Attr(Tensor::Scalar(1.0f)), Attr(Tensor::Scalar(2.0f)));
}

TEST(AttrTest, FloatsAreComparedBitByBit) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(Attr(nan), Attr(nan));
  EXPECT_NE(Attr(0.0f), Attr(-0.0f));
  EXPECT_EQ(Attr(std::vector<float>{nan}), Attr(std::vector<float>{nan}));
  EXPECT_NE(Attr(Tensor::Scalar(0.0f)), Attr(Tensor::Scalar(-0.0f)));
}

TEST(AttrTest, FunctionsAreComparedWithTheirAttrs) {
  const Attr with_int = Function("f", {{"T", DType::kInt32}});
  EXPECT_EQ(with_int, Attr(Function("f", {{"T", DType::kInt32}})));
  EXPECT_NE(with_int, Attr(Function("f", {{"T", DType::kFloat}})));
  EXPECT_NE(with_int, Attr(Function("g", {{"T", DType::kInt32}})));
  EXPECT_NE(with_int, Attr(FunctionRef{"f", nullptr}));
  EXPECT_EQ(Attr(Function("f", {})), Attr(FunctionRef{"f", nullptr}));
}

TEST(AttrTest, KindNames) {
  const std::vector<std::string> expected = {"none",         "string",       "int",         "float",      "bool",
                                             "type",         "shape",        "tensor",      "func",       "placeholder",
                                             "list(string)", "list(int)",    "list(float)", "list(bool)", "list(type)",
                                             "list(shape)",  "list(tensor)", "list(func)",  "list"};
  const std::vector<Attr> attrs = OneOfEach();
  ASSERT_EQ(attrs.size(), expected.size());
  for (size_t i = 0; i < attrs.size(); ++i) EXPECT_EQ(attrs[i].KindName(), expected[i]);
}

TEST(AttrTest, ToString) {
  const std::vector<std::string> expected = {"none",
                                             "\"text\"",
                                             "3",
                                             "2.5",
                                             "true",
                                             "float",
                                             "[2,?]",
                                             "float [] 1",
                                             "f",
                                             "$T",
                                             "[\"a\", \"b\"]",
                                             "[1, 2]",
                                             "[0.5]",
                                             "[true, false]",
                                             "[int32, string]",
                                             "[<unknown>, [1]]",
                                             "[int32 [] 1, double [] 2]",
                                             "[g]",
                                             "[]"};
  const std::vector<Attr> attrs = OneOfEach();
  ASSERT_EQ(attrs.size(), expected.size());
  for (size_t i = 0; i < attrs.size(); ++i) EXPECT_EQ(attrs[i].ToString(), expected[i]);
  EXPECT_EQ(Attr(std::string("a\"\n\0", 4)).ToString(), R"("a\"\n\x00")");
  EXPECT_EQ(Attr(Tensor::Zeros(DType::kFloat, {100})).ToString(), "float [100] [0 0 0 ... 0 0 0]");
  EXPECT_EQ(Attr(Function("f", {{"n", 1}, {"T", DType::kInt32}})).ToString(), "f[T=int32, n=1]");
}

TEST(AttrMapTest, SetFindErase) {
  AttrMap map;
  EXPECT_TRUE(map.empty());
  map.Set("b", 2);
  map.Set("a", 1);
  map.Set("c", "three");
  map.Set("b", 20);
  EXPECT_EQ(map.size(), 3u);
  ASSERT_NE(map.Find("b"), nullptr);
  EXPECT_EQ(*map.Find("b"), Attr(20));
  ASSERT_NE(map.Find<int64_t>("a"), nullptr);
  EXPECT_EQ(*map.Find<int64_t>("a"), 1);
  EXPECT_EQ(map.Find<int64_t>("c"), nullptr);
  EXPECT_EQ(map.Find("d"), nullptr);
  EXPECT_EQ(map.Find(""), nullptr);
  std::vector<std::string> names;
  for (const AttrMap::Entry& entry : map) names.push_back(entry.first);
  EXPECT_THAT(names, ElementsAre("a", "b", "c"));
  map.Erase("b");
  map.Erase("nothing");
  EXPECT_EQ(map.Find("b"), nullptr);
  EXPECT_EQ(map.size(), 2u);
}

TEST(AttrMapTest, EqualityIgnoresTheOrderOfSetting) {
  AttrMap a;
  a.Set("x", 1);
  a.Set("y", 2);
  AttrMap b;
  b.Set("y", 2);
  EXPECT_FALSE(a == b);
  b.Set("x", 1);
  EXPECT_TRUE(a == b);
  b.Set("x", 2);
  EXPECT_FALSE(a == b);
}

}  // namespace
}  // namespace nabla
