#include "nabla/examples/ngram.h"

#include <gtest/gtest.h>

#include <cmath>

namespace nabla::examples {
namespace {

// "abab" of the symbols a = 0 and b = 1. As single symbols a and b occur twice each, and two different ones occur, so
// that p(a) = (2 + 2 * 1/2) / (4 + 2) = 1/2 as well as p(b). After a, b came twice: p(b | a) = (2 + 1/2) / (2 + 1) =
// 5/6; after b, a came once: p(a | b) = (1 + 1/2) / (1 + 1) = 3/4.
const std::vector<int32_t> kText = {0, 1, 0, 1};

TEST(NgramTest, MixesOrders) {
  const NgramModel bigrams(2, 2, kText);
  // The first symbol has no context.
  EXPECT_NEAR(bigrams.BitsPerSymbol({0, 1, 0, 0}),
              -(std::log2(1.0 / 2) + std::log2(5.0 / 6) + std::log2(3.0 / 4) + std::log2(1.0 / 6)) / 4, 1e-12);
  // After ab, a came once; after ba, b did once. p(a | ab) = (1 + 3/4) / 2, p(b | ba) = (1 + 5/6) / 2.
  const NgramModel trigrams(3, 2, kText);
  EXPECT_NEAR(trigrams.BitsPerSymbol({0, 1, 0, 1}),
              -(std::log2(1.0 / 2) + std::log2(5.0 / 6) + std::log2(7.0 / 8) + std::log2(11.0 / 12)) / 4, 1e-12);
}

TEST(NgramTest, UnseenSymbolsAndContextsHaveProbabilities) {
  const NgramModel trigrams(3, 4, kText);
  // p(c) = (0 + 2 * 1/4) / (4 + 2) = 1/12, and after c nothing was seen: p(a | c) = p(a) = (2 + 1/2) / 6.
  EXPECT_NEAR(trigrams.BitsPerSymbol({2, 0}), -(std::log2(1.0 / 12) + std::log2(5.0 / 12)) / 2, 1e-12);
  const NgramModel nothing(3, 8, {});
  EXPECT_DOUBLE_EQ(nothing.BitsPerSymbol({1, 7, 3}), 3);
}

TEST(NgramTest, ProbabilitiesOfAllSymbolsAddUpToOne) {
  const std::vector<int32_t> text = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4, 6, 2, 6, 4, 3, 3};
  const NgramModel trigrams(3, 10, text);
  for (const std::vector<int32_t>& context : std::vector<std::vector<int32_t>>{{5, 3}, {3, 3}, {0, 6}, {0, 0}}) {
    double sum = 0;
    for (int32_t symbol = 0; symbol < 10; ++symbol) {
      std::vector<int32_t> sequence = context;
      sequence.push_back(symbol);
      sum += std::exp2(2 * trigrams.BitsPerSymbol(context) - 3 * trigrams.BitsPerSymbol(sequence));
    }
    EXPECT_NEAR(sum, 1, 1e-12);
  }
}

}  // namespace
}  // namespace nabla::examples
