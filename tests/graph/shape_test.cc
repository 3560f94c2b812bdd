#include "nabla/graph/shape.h"

#include <cstdint>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace nabla {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

std::string Message(const absl::Status& status) { return std::string(status.message()); }

TEST(ShapeTest, ToString) {
  EXPECT_EQ(Shape().ToString(), "<unknown>");
  EXPECT_EQ(Shape::Scalar().ToString(), "[]");
  EXPECT_EQ(Shape({2, kUnknownDim, 0}).ToString(), "[2,?,0]");
  std::ostringstream os;
  os << Shape::UnknownOfRank(2);
  EXPECT_EQ(os.str(), "[?,?]");
}

TEST(ShapeTest, RankAndDimensions) {
  EXPECT_EQ(Shape().rank(), kUnknownRank);
  EXPECT_EQ(Shape().DimFromEnd(1), kUnknownDim);
  EXPECT_TRUE(Shape::Scalar().IsScalar());
  EXPECT_FALSE(Shape().IsScalar());
  Shape s({2, 3, 4});
  EXPECT_EQ(s.DimFromEnd(1), 4);
  EXPECT_EQ(s.DimFromEnd(3), 2);
  s.InsertDim(1, 7);
  s.RemoveDim(0);
  s.AddDim(9);
  s.set_dim(1, 5);
  EXPECT_EQ(s, Shape({7, 5, 4, 9}));
  Shape grown;
  grown.AddDim(1);
  EXPECT_EQ(grown, Shape({1}));
}

TEST(ShapeTest, FullyDefined) {
  EXPECT_FALSE(Shape().IsFullyDefined());
  EXPECT_TRUE(Shape::Scalar().IsFullyDefined());
  EXPECT_TRUE(Shape({0, 3}).IsFullyDefined());
  EXPECT_FALSE(Shape({0, kUnknownDim}).IsFullyDefined());
}

TEST(ShapeTest, NumElements) {
  EXPECT_EQ(Shape::Scalar().num_elements(), 1);
  EXPECT_EQ(Shape({2, 3, 4}).num_elements(), 24);
  EXPECT_EQ(Shape().num_elements(), kUnknownDim);
  EXPECT_EQ(Shape({2, kUnknownDim}).num_elements(), kUnknownDim);
  EXPECT_EQ(Shape({kUnknownDim, 0}).num_elements(), 0);
  EXPECT_EQ(Shape({0, kMax, kMax}).num_elements(), 0);
  EXPECT_EQ(Shape({kMax, kMax, 0}).num_elements(), 0);
  // A shape that FromDims would refuse does not wrap around to something small.
  EXPECT_EQ(Shape({int64_t{1} << 32, int64_t{1} << 32}).num_elements(), kMax);
  EXPECT_EQ(Shape({kMax, kMax, kUnknownDim}).num_elements(), kUnknownDim);
}

TEST(ShapeTest, FromDimsAcceptsWhatIsRight) {
  const std::vector<int64_t> dims = {2, 0, 5};
  ASSERT_TRUE(Shape::FromDims(dims).ok());
  EXPECT_EQ(*Shape::FromDims(dims), Shape({2, 0, 5}));
  EXPECT_EQ(*Shape::FromDims({}), Shape::Scalar());
  EXPECT_EQ(*Shape::FromDims({kMax}), Shape({kMax}));
  EXPECT_EQ(*Shape::FromDims({-1, 3}, /*allow_unknown=*/true), Shape({kUnknownDim, 3}));
  EXPECT_TRUE(Shape::FromDims(std::vector<int64_t>(kMaxRank, 1)).ok());
}

TEST(ShapeTest, FromDimsRefusesWhatIsWrong) {
  const absl::StatusOr<Shape> unknown = Shape::FromDims({-1, 3});
  EXPECT_EQ(unknown.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(unknown.status()), HasSubstr("is -1; expected at least 0"));
  EXPECT_FALSE(Shape::FromDims({-2}, /*allow_unknown=*/true).ok());
  EXPECT_FALSE(Shape::FromDims({std::numeric_limits<int64_t>::min()}, /*allow_unknown=*/true).ok());
  const absl::StatusOr<Shape> overflow = Shape::FromDims({int64_t{1} << 32, int64_t{1} << 31});
  EXPECT_EQ(overflow.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(overflow.status()), HasSubstr("2^63"));
  // Neither a zero nor an unknown dimension excuses the others.
  EXPECT_FALSE(Shape::FromDims({kMax, 2, 0}).ok());
  EXPECT_FALSE(Shape::FromDims({0, kMax, 2}).ok());
  EXPECT_FALSE(Shape::FromDims({kMax, -1, 2}, /*allow_unknown=*/true).ok());
  const absl::StatusOr<Shape> rank = Shape::FromDims(std::vector<int64_t>(kMaxRank + 1, 1));
  EXPECT_EQ(rank.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(rank.status()), HasSubstr("255 dimensions"));
}

TEST(ShapeTest, Compatibility) {
  const Shape unknown;
  const Shape vague({kUnknownDim, 3});
  const Shape exact({2, 3});
  EXPECT_TRUE(unknown.IsCompatibleWith(exact));
  EXPECT_TRUE(exact.IsCompatibleWith(unknown));
  EXPECT_TRUE(vague.IsCompatibleWith(exact));
  EXPECT_FALSE(vague.IsCompatibleWith(Shape({2, 4})));
  EXPECT_FALSE(exact.IsCompatibleWith(Shape({2, 3, 1})));
  EXPECT_FALSE(exact.IsCompatibleWith(Shape::Scalar()));
}

TEST(ShapeTest, Subsumes) {
  const Shape unknown;
  const Shape vague({kUnknownDim, 3});
  const Shape exact({2, 3});
  EXPECT_TRUE(unknown.Subsumes(vague));
  EXPECT_TRUE(unknown.Subsumes(unknown));
  EXPECT_TRUE(vague.Subsumes(exact));
  EXPECT_TRUE(vague.Subsumes(vague));
  EXPECT_FALSE(exact.Subsumes(vague));
  EXPECT_FALSE(vague.Subsumes(unknown));
  EXPECT_FALSE(vague.Subsumes(Shape({2, 4})));
  EXPECT_FALSE(vague.Subsumes(Shape({2})));
}

TEST(ShapeTest, Merge) {
  EXPECT_EQ(*Shape().MergeWith(Shape({2})), Shape({2}));
  EXPECT_EQ(*Shape({2}).MergeWith(Shape()), Shape({2}));
  EXPECT_EQ(*Shape({kUnknownDim, 3, kUnknownDim}).MergeWith(Shape({2, kUnknownDim, kUnknownDim})),
            Shape({2, 3, kUnknownDim}));
  const absl::Status dims = Shape({2, 3}).MergeWith(Shape({2, 4})).status();
  EXPECT_EQ(dims.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(dims), HasSubstr("[2,3] and [2,4]"));
  EXPECT_THAT(Message(dims), HasSubstr("dimension 1"));
  const absl::Status ranks = Shape({2, 3}).MergeWith(Shape({2})).status();
  EXPECT_EQ(ranks.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(ranks), HasSubstr("ranks 2 and 1"));
}

TEST(ShapeTest, EqualityTellsUnknownFromScalar) {
  EXPECT_EQ(Shape(), Shape::Unknown());
  EXPECT_NE(Shape(), Shape::Scalar());
  EXPECT_NE(Shape({1}), Shape({kUnknownDim}));
}

TEST(BroadcastTest, KnownShapes) {
  EXPECT_EQ(*BroadcastShapes(Shape({2, 3}), Shape({3})), Shape({2, 3}));
  EXPECT_EQ(*BroadcastShapes(Shape({3}), Shape({2, 1})), Shape({2, 3}));
  EXPECT_EQ(*BroadcastShapes(Shape::Scalar(), Shape({4})), Shape({4}));
  EXPECT_EQ(*BroadcastShapes(Shape({0}), Shape({1})), Shape({0}));
  EXPECT_EQ(*BroadcastShapes(Shape({1}), Shape({0})), Shape({0}));
  EXPECT_FALSE(BroadcastShapes(Shape({0}), Shape({2})).ok());
  const absl::Status error = BroadcastShapes(Shape({2, 3}), Shape({4})).status();
  EXPECT_EQ(error.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(error), HasSubstr("[2,3] and [4]"));
}

// What is inferred must describe every result that values for the unknowns allow, and nothing must be known wrongly.
TEST(BroadcastTest, UnknownDimensionsAgreeWithEveryChoice) {
  const int64_t kChoices[] = {kUnknownDim, 0, 1, 2, 3};
  for (int64_t a : kChoices) {
    for (int64_t b : kChoices) {
      const absl::StatusOr<Shape> inferred = BroadcastShapes(Shape({a}), Shape({b}));
      bool possible = false;
      for (int64_t x = 0; x < 5; ++x) {
        for (int64_t y = 0; y < 5; ++y) {
          if ((a >= 0 && a != x) || (b >= 0 && b != y)) continue;
          const absl::StatusOr<Shape> exact = BroadcastShapes(Shape({x}), Shape({y}));
          if (!exact.ok()) continue;
          possible = true;
          ASSERT_TRUE(inferred.ok());
          EXPECT_TRUE(inferred->Subsumes(*exact)) << a << ' ' << b << ": " << *inferred << ' ' << *exact;
        }
      }
      EXPECT_EQ(possible, inferred.ok()) << a << ' ' << b;
    }
  }
  EXPECT_EQ(*BroadcastShapes(Shape({kUnknownDim}), Shape({5})), Shape({5}));
  EXPECT_EQ(*BroadcastShapes(Shape({kUnknownDim}), Shape({1})), Shape({kUnknownDim}));
}

TEST(BroadcastTest, UnknownRank) {
  EXPECT_EQ(*BroadcastShapes(Shape(), Shape({2})), Shape());
  EXPECT_EQ(*BroadcastShapes(Shape::Scalar(), Shape()), Shape());
}

TEST(CheckedMultiplyTest, DetectsOverflow) {
  int64_t product = 0;
  EXPECT_TRUE(CheckedMultiply(int64_t{1} << 31, int64_t{1} << 31, &product));
  EXPECT_EQ(product, int64_t{1} << 62);
  EXPECT_FALSE(CheckedMultiply(int64_t{1} << 32, int64_t{1} << 31, &product));
  EXPECT_TRUE(CheckedMultiply(kMax, 1, &product));
  EXPECT_EQ(product, kMax);
  EXPECT_TRUE(CheckedMultiply(0, kMax, &product));
  EXPECT_EQ(product, 0);
}

}  // namespace
}  // namespace nabla
