// Reference-counted memory for tensors, and the pool it comes from.
//
// A Buffer is a header and a pointer to bytes aligned to kBufferAlignment (bytes that are adopted, from a file say,
// keep the alignment they have). Freed blocks go to a process-wide pool of size classes, with a small cache per
// thread in front, and are handed out again: a training step that has run once allocates nothing from the system.
//
// Thread safety: Ref, Unref, Allocate and the pool may be used from any thread; the bytes are the user's to guard.
#ifndef NABLA_GRAPH_BUFFER_H_
#define NABLA_GRAPH_BUFFER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>

namespace nabla {

inline constexpr size_t kBufferAlignment = 64;

class Buffer {
 public:
  // `size` bytes, uninitialised. nullptr when the system has no memory for it. The caller owns one reference.
  static Buffer* Allocate(size_t size);
  // Takes over a string's bytes without copying (the content of an imported constant).
  static Buffer* Adopt(std::string bytes);
  // `count` value-initialised elements of T, destroyed with the buffer. nullptr as for Allocate.
  template <typename T>
  static Buffer* NewArray(size_t count);

  void* data() const { return data_; }
  size_t size() const { return size_; }

  void Ref() { refs_.fetch_add(1, std::memory_order_relaxed); }
  void Unref() {
    if (refs_.load(std::memory_order_acquire) == 1 || refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) Delete();
  }
  bool IsUnique() const { return refs_.load(std::memory_order_acquire) == 1; }

 private:
  using Deleter = void (*)(Buffer*);
  Buffer(void* data, size_t size, Deleter deleter) : data_(data), size_(size), deleter_(deleter) {}
  void Delete() { deleter_(this); }
  // The deleter of what Allocate returns.
  static void ReturnToPool(Buffer* buffer);

  std::atomic<int32_t> refs_{1};
  void* data_;
  size_t size_;
  Deleter deleter_;

  friend class BufferPool;
};

// What the pool holds and has handed out, for tests, traces and memory benchmarks. Sizes are those of the blocks, which
// may be somewhat larger than what was asked for; adopted bytes do not count. The peak is exact for blocks of 1 MiB and
// more, smaller ones may be missing from it with up to 64 KiB per thread.
struct BufferPoolStats {
  int64_t bytes_in_use = 0;        // handed out and not yet freed
  int64_t peak_bytes_in_use = 0;   // since the last ResetBufferPoolPeak
  int64_t bytes_cached = 0;        // freed, kept for reuse
  int64_t system_allocations = 0;  // blocks taken from the system so far
};
BufferPoolStats GetBufferPoolStats();
void ResetBufferPoolPeak();
// Gives cached blocks back to the system: the shared ones and this thread's at once, another thread's when it next
// allocates or frees.
void TrimBufferPool();
// From now on Allocate fails rather than have more than `bytes` in use (blocks under 1 MiB, which no single bad request
// can make many of, are counted but never refused). Initially the machine's memory.
void SetBufferPoolLimit(int64_t bytes);

template <typename T>
Buffer* Buffer::NewArray(size_t count) {
  static_assert(alignof(T) <= kBufferAlignment);
  if (count > std::numeric_limits<size_t>::max() / sizeof(T)) return nullptr;
  Buffer* buffer = Allocate(count * sizeof(T));
  if (buffer == nullptr) return nullptr;
  std::uninitialized_value_construct_n(static_cast<T*>(buffer->data_), count);
  buffer->deleter_ = [](Buffer* self) {
    std::destroy_n(static_cast<T*>(self->data_), self->size_ / sizeof(T));
    ReturnToPool(self);
  };
  return buffer;
}

}  // namespace nabla

#endif  // NABLA_GRAPH_BUFFER_H_
