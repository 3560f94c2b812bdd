#include "nabla/examples/ngram.h"

#include <algorithm>
#include <cmath>

namespace nabla::examples {

NgramModel::NgramModel(int order, int num_symbols, const std::vector<int32_t>& text)
    : order_(order), num_symbols_(num_symbols) {
  for (size_t i = 0; i < text.size(); ++i) {
    const int longest = static_cast<int>(std::min<size_t>(order_ - 1, i));
    for (int length = 0; length <= longest; ++length) {
      Context& context = contexts_[Key(text, i - length, length)];
      ++context.count;
      if (++counts_[Key(text, i - length, length + 1)] == 1) ++context.different;
    }
  }
}

uint64_t NgramModel::Key(const std::vector<int32_t>& text, size_t begin, int length) const {
  uint64_t key = 0;
  // Digits from 1 on, so that sequences of different lengths differ.
  for (int i = 0; i < length; ++i) key = key * (num_symbols_ + 1) + static_cast<uint64_t>(text[begin + i]) + 1;
  return key;
}

double NgramModel::BitsPerSymbol(const std::vector<int32_t>& text) const {
  double bits = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    double probability = 1.0 / num_symbols_;
    const int longest = static_cast<int>(std::min<size_t>(order_ - 1, i));
    for (int length = 0; length <= longest; ++length) {
      const auto context = contexts_.find(Key(text, i - length, length));
      if (context == contexts_.end()) break;  // nor have longer ones been seen
      const auto count = counts_.find(Key(text, i - length, length + 1));
      const double followed = count == counts_.end() ? 0 : static_cast<double>(count->second);
      const double different = static_cast<double>(context->second.different);
      probability = (followed + different * probability) / (static_cast<double>(context->second.count) + different);
    }
    bits -= std::log2(probability);
  }
  return bits / static_cast<double>(text.size());
}

}  // namespace nabla::examples
