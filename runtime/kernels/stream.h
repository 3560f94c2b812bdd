// Writing results that are too big for any cache past the caches, which saves reading the lines that will be
// overwritten: a third of the traffic of an op with one operand.
#ifndef NABLA_RUNTIME_KERNELS_STREAM_H_
#define NABLA_RUNTIME_KERNELS_STREAM_H_

#include <algorithm>
#include <cstdint>

namespace nabla {

// A result of so many bytes that is not written in place should be streamed.
inline constexpr int64_t kStreamBytes = int64_t{24} << 20;

// Copies past the caches. What is at `to` may be read by other threads only after FinishStreaming().
void StreamCopy(char* to, const char* from, int64_t bytes);
// Makes the calling thread's StreamCopies visible before whatever it does next.
void FinishStreaming();

// Lets produce(out, begin, end) write elements [begin, end) of y, each `size` bytes, to `out`: in one go to their place
// in y, or, to stream, a block at a time to a buffer that stays in the first-level cache.
template <typename Produce>
void ProduceElements(char* y, int64_t begin, int64_t end, int64_t size, bool stream, Produce produce) {
  if (!stream) {
    produce(y + begin * size, begin, end);
    return;
  }
  constexpr int64_t kBytes = 8192;
  constexpr int64_t kLine = 64;
  alignas(kLine) char buffer[kBytes];
  // Blocks end where lines do, if elements do.
  const int64_t misaligned = static_cast<int64_t>(reinterpret_cast<uintptr_t>(y + begin * size) % kLine);
  int64_t count = (kBytes - misaligned) / size;
  while (begin < end) {
    const int64_t n = std::min(count, end - begin);
    produce(buffer, begin, begin + n);
    StreamCopy(y + begin * size, buffer, n * size);
    begin += n;
    count = kBytes / size;
  }
  FinishStreaming();
}

}  // namespace nabla

#endif  // NABLA_RUNTIME_KERNELS_STREAM_H_
