// The counter-based random number generator Philox4x32-10 (J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random
// numbers: as easy as 1, 2, 3", 2011), with the conventions by which TensorFlow seeds it and makes numbers of its
// words, so that the same seeds give the same numbers.
#ifndef NABLA_RUNTIME_KERNELS_PHILOX_H_
#define NABLA_RUNTIME_KERNELS_PHILOX_H_

#include <array>
#include <cstdint>

namespace nabla {

class Philox {
 public:
  using Block = std::array<uint32_t, 4>;
  using Key = std::array<uint32_t, 2>;

  Philox(Block counter, Key key) : counter_(counter), key_(key) {}

  // Of a stateful op's attrs seed and seed2.
  static Philox FromSeeds(uint64_t seed, uint64_t seed2) {
    return Philox({0, 0, Low(seed2), High(seed2)}, {Low(seed), High(seed)});
  }
  // Of a stateless op's seed pair: mixed first, so that seeds that differ in any bit differ in all.
  static Philox FromStatelessSeed(uint64_t seed0, uint64_t seed1) {
    Block mix = Philox({Low(seed0), High(seed0), Low(seed1), High(seed1)}, {0x3ec8f720u, 0x02461e29u}).Next();
    return Philox({0, 0, mix[2], mix[3]}, {mix[0], mix[1]});
  }
  // Of the key and counter that StatelessRandomGetKeyCounter makes.
  static Philox FromKeyCounter(uint64_t key, uint64_t counter0, uint64_t counter1) {
    return Philox({Low(counter0), High(counter0), Low(counter1), High(counter1)}, {Low(key), High(key)});
  }

  const Block& counter() const { return counter_; }
  const Key& key() const { return key_; }

  // Four words; the counter moves on by one.
  Block Next() {
    Block words = counter_;
    Key key = key_;
    for (int round = 0; round < 10; ++round) {
      const uint64_t a = uint64_t{0xD2511F53u} * words[0];
      const uint64_t b = uint64_t{0xCD9E8D57u} * words[2];
      words = {High(b) ^ words[1] ^ key[0], Low(b), High(a) ^ words[3] ^ key[1], Low(a)};
      key[0] += 0x9E3779B9u;
      key[1] += 0xBB67AE85u;
    }
    Skip(1);
    return words;
  }

  // Moves the counter on, as that many calls of Next would.
  void Skip(uint64_t count) {
    const uint64_t low = (counter_[0] | uint64_t{counter_[1]} << 32);
    const uint64_t sum = low + count;
    counter_[0] = Low(sum);
    counter_[1] = High(sum);
    if (sum < low && ++counter_[2] == 0) ++counter_[3];
  }

 private:
  static uint32_t Low(uint64_t x) { return static_cast<uint32_t>(x); }
  static uint32_t High(uint64_t x) { return static_cast<uint32_t>(x >> 32); }

  Block counter_;
  Key key_;
};

// One word at a time.
class PhiloxWords {
 public:
  explicit PhiloxWords(Philox generator) : generator_(generator) {}
  uint32_t operator()() {
    if (used_ == 4) {
      block_ = generator_.Next();
      used_ = 0;
    }
    return block_[used_++];
  }

 private:
  Philox generator_;
  Philox::Block block_{};
  int used_ = 4;
};

}  // namespace nabla

#endif  // NABLA_RUNTIME_KERNELS_PHILOX_H_
