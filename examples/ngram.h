// What a recurrent network has to beat: a model that looks at a fixed number of characters before the next one.
#ifndef NABLA_EXAMPLES_NGRAM_H_
#define NABLA_EXAMPLES_NGRAM_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace nabla::examples {

// Counts sequences of up to `order` symbols (3 for a trigram model) and mixes the orders: after a context that occurred
// n times, followed by t different symbols, symbol s that followed it c(s) times has the probability
//
//   (c(s) + t p(s)) / (n + t)
//
// where p is the same of the context without its first symbol, and the same for all symbols at the end. This is method
// C of I. Witten and T. Bell, "The zero-frequency problem", IEEE Transactions on Information Theory 37 (1991), which
// has nothing to be tuned. Immutable.
class NgramModel {
 public:
  // Symbols are [0, num_symbols); num_symbols ^ order must fit an int64.
  NgramModel(int order, int num_symbols, const std::vector<int32_t>& text);

  // The mean number of bits that a symbol of `text`, which must not be empty, takes.
  double BitsPerSymbol(const std::vector<int32_t>& text) const;

 private:
  struct Context {
    int64_t count = 0;      // how often something followed it
    int64_t different = 0;  // what different symbols did
  };
  // The number of the `length` symbols of `text` from `begin` on, unlike that of any other sequence.
  uint64_t Key(const std::vector<int32_t>& text, size_t begin, int length) const;

  const int order_;
  const int num_symbols_;
  absl::flat_hash_map<uint64_t, Context> contexts_;
  absl::flat_hash_map<uint64_t, int64_t> counts_;  // of sequences, a context and what followed
};

}  // namespace nabla::examples

#endif  // NABLA_EXAMPLES_NGRAM_H_
