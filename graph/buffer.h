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
#include <string>

namespace nabla {

inline constexpr size_t kBufferAlignment = 64;

class Buffer {
 public:
  // `size` bytes, uninitialised. nullptr when the system has no memory for it. The caller owns one reference.
  static Buffer* Allocate(size_t size);
  // Takes over a string's bytes without copying (the content of an imported constant).
  static Buffer* Adopt(std::string bytes);
  // `count` default-constructed elements of T, destroyed with the buffer.
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

  std::atomic<int32_t> refs_{1};
  void* data_;
  size_t size_;
  Deleter deleter_;

  friend class BufferPool;
};

// What the pool holds and has handed out, for tests, traces and memory benchmarks.
struct BufferPoolStats {
  int64_t bytes_in_use = 0;       // handed out and not yet freed
  int64_t peak_bytes_in_use = 0;  // since the last ResetPeak
  int64_t bytes_cached = 0;       // freed, kept for reuse
  int64_t system_allocations = 0;
};
BufferPoolStats GetBufferPoolStats();
void ResetBufferPoolPeak();
// Gives cached blocks back to the system.
void TrimBufferPool();

template <typename T>
Buffer* Buffer::NewArray(size_t count) {
  T* elements = new T[count]();
  struct Destroyer {
    static void Destroy(Buffer* buffer) {
      delete[] static_cast<T*>(buffer->data_);
      delete buffer;
    }
  };
  return new Buffer(elements, count * sizeof(T), &Destroyer::Destroy);
}

}  // namespace nabla

#endif  // NABLA_GRAPH_BUFFER_H_
