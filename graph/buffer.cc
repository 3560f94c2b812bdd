#include "nabla/graph/buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "absl/base/optimization.h"

#if defined(__SANITIZE_ADDRESS__)
#define NABLA_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define NABLA_ASAN 1
#endif
#endif
#ifdef NABLA_ASAN
#include <sanitizer/asan_interface.h>
#endif

// How it works. A block is a header followed by its bytes. Small blocks (up to 1 MiB) come in size classes, four to a
// doubling; each thread keeps a list per class and exchanges batches with a shared list per class when its own runs
// empty or full. Larger blocks are mapped and go to one shared list, from which a request takes the smallest that fits
// without wasting more than a quarter. Under AddressSanitizer nothing is kept, so that it sees every use after free.

namespace nabla {
namespace {

#ifdef NABLA_ASAN
constexpr bool kPooling = false;
#else
constexpr bool kPooling = true;
#endif

// A multiple of the alignment; the sanitizer's has room for poisoned bytes.
constexpr size_t kHeaderBytes = kPooling ? kBufferAlignment : 2 * kBufferAlignment;
constexpr size_t kMaxSmall = size_t{1} << 20;
constexpr size_t kPageBytes = 4096;  // at least the system's; x86-64 has no other
constexpr size_t kHugePage = size_t{2} << 20;
// What a large request is rounded up to, so that slightly different sizes share blocks.
constexpr size_t kLargeGranularity = size_t{64} << 10;
// No request is near this; keeps sums of a size and a header from wrapping.
constexpr size_t kMaxRequest = size_t{1} << 47;

// Classes 0 to 7 are the multiples of 64 up to 512; then come quarters of each doubling up to kMaxSmall.
constexpr int kLinearClasses = 8;
constexpr int kFirstLog = 9;
constexpr int kNumClasses = kLinearClasses + 4 * (20 - kFirstLog);
constexpr int kLargeClass = kNumClasses;

// Requires 0 < size <= kMaxSmall.
int SizeClass(size_t size) {
  const size_t last = size - 1;
  if (last < 512) return static_cast<int>(last / 64);
  const int log = 63 - __builtin_clzll(last);
  return kLinearClasses + (log - kFirstLog) * 4 + static_cast<int>((last >> (log - 2)) & 3);
}

constexpr size_t ClassBytes(int size_class) {
  if (size_class < kLinearClasses) return static_cast<size_t>(size_class + 1) * 64;
  const int index = size_class - kLinearClasses;
  return (size_t{4} + index % 4 + 1) << (kFirstLog - 2 + index / 4);
}
static_assert(ClassBytes(kLinearClasses) == 640 && ClassBytes(kNumClasses - 1) == kMaxSmall);

constexpr std::array<uint32_t, kNumClasses> kClassBytes = [] {
  std::array<uint32_t, kNumClasses> bytes{};
  for (int c = 0; c < kNumClasses; ++c) bytes[c] = static_cast<uint32_t>(ClassBytes(c));
  return bytes;
}();

// How many blocks of a class move between a thread's list and the shared one at a time.
constexpr std::array<uint8_t, kNumClasses> kBatch = [] {
  std::array<uint8_t, kNumClasses> batch{};
  for (int c = 0; c < kNumClasses; ++c) {
    batch[c] = static_cast<uint8_t>(std::clamp<size_t>((size_t{64} << 10) / ClassBytes(c), 1, 32));
  }
  return batch;
}();

int64_t PhysicalMemory() {
  const int64_t pages = sysconf(_SC_PHYS_PAGES);
  const int64_t page_size = sysconf(_SC_PAGE_SIZE);
  return pages > 0 && page_size > 0 ? pages * page_size : int64_t{1} << 40;
}

// A counter that one thread writes and any thread reads: no locked instruction.
class OwnedCounter {
 public:
  void Add(int64_t amount) { value_.store(Get() + amount, std::memory_order_relaxed); }
  int64_t Get() const { return value_.load(std::memory_order_relaxed); }
  int64_t Take() {
    const int64_t value = Get();
    value_.store(0, std::memory_order_relaxed);
    return value;
  }

 private:
  std::atomic<int64_t> value_{0};
};

// `bytes` aligned to kBufferAlignment, or nullptr. Large ones are mapped, on huge pages where that pays.
void* Map(size_t bytes, bool large) {
  if (!kPooling || !large) {
    void* memory = nullptr;
    return posix_memalign(&memory, kBufferAlignment, bytes) == 0 ? memory : nullptr;
  }
  const bool huge = bytes >= kHugePage;
  const size_t reserved = bytes + (huge ? kHugePage : 0);
  void* memory = mmap(nullptr, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  if (!huge) return memory;
  // Only the aligned part can be huge pages: cut off what lies before and after it.
  const uintptr_t begin = reinterpret_cast<uintptr_t>(memory);
  const uintptr_t aligned = (begin + kHugePage - 1) & ~(kHugePage - 1);
  const uintptr_t end = (aligned + bytes + kPageBytes - 1) & ~(kPageBytes - 1);
  if (aligned > begin) munmap(memory, aligned - begin);
  if (begin + reserved > end) munmap(reinterpret_cast<void*>(end), begin + reserved - end);
  memory = reinterpret_cast<void*>(aligned);
  madvise(memory, bytes, MADV_HUGEPAGE);  // a wish; nothing is lost where the system has none
  return memory;
}

void Unmap(void* memory, size_t bytes, bool large) {
  if (!kPooling || !large) {
    std::free(memory);
  } else {
    munmap(memory, bytes);
  }
}

}  // namespace

// The process-wide pool. Never destroyed, since threads and static objects may free blocks until the very end.
class BufferPool {
 public:
  static BufferPool& Get() {
    static BufferPool* const pool = new BufferPool;
    return *pool;
  }

  static Buffer* Allocate(size_t size);
  static void Free(Buffer* buffer);
  static Buffer* Adopt(std::string bytes);

  BufferPoolStats Stats();
  void ResetPeak();
  void Trim();
  void SetLimit(int64_t bytes) { limit_.store(bytes, std::memory_order_relaxed); }

 private:
  // The header. A large block's mapping begins with it and ends with its bytes.
  struct Block : Buffer {
    Block(void* data, size_t capacity, int size_class)
        : Buffer(data, 0, &Free), capacity(capacity), size_class(size_class) {}
    Block* next = nullptr;
    const size_t capacity;
    const int size_class;
  };
  static_assert(sizeof(Block) <= kHeaderBytes);

  struct AdoptedString : Buffer {
    explicit AdoptedString(std::string bytes) : Buffer(nullptr, 0, &Destroy), string(std::move(bytes)) {
      data_ = string.data();
      size_ = string.size();
    }
    static void Destroy(Buffer* buffer) { delete static_cast<AdoptedString*>(buffer); }
    std::string string;
  };

  struct List {
    Block* head = nullptr;
    int count = 0;
    void Push(Block* block) {
      block->next = head;
      head = block;
      ++count;
    }
    Block* Pop() {
      Block* block = head;
      if (block != nullptr) {
        head = block->next;
        --count;
      }
      return block;
    }
  };

  struct ThreadCache {
    std::array<List, kNumClasses> lists;
    uint32_t trim_epoch = 0;
    OwnedCounter cached;
    OwnedCounter in_use_change;  // what bytes_in_use_ does not include yet
  };
  // Gives a thread's blocks back when the thread ends.
  struct ThreadExit {
    ~ThreadExit();
    void Arm() {}  // a thread_local that nobody uses would not be constructed
  };
  struct alignas(64) SharedList {
    std::mutex mutex;
    List list;
  };
  struct FreeLarge {
    Block* block;
    uint64_t freed_at;
  };

  // A thread's changes reach bytes_in_use_ when they exceed this.
  static constexpr int64_t kCountSlack = int64_t{64} << 10;

  BufferPool();

  // nullptr when the thread is ending and has given its cache back.
  ThreadCache* Cache() {
    ThreadCache* cache = thread_cache_;
    if (ABSL_PREDICT_FALSE(cache == nullptr)) return MakeCache();
    if (ABSL_PREDICT_FALSE(cache->trim_epoch != trim_epoch_.load(std::memory_order_relaxed))) Empty(cache);
    return cache;
  }
  ThreadCache* MakeCache();
  void DropCache(ThreadCache* cache);
  void Empty(ThreadCache* cache);

  Block* AllocateSmall(int size_class);
  void FreeSmall(Block* block);
  // A batch for the cache and one block for the caller.
  Block* Refill(ThreadCache* cache, int size_class);
  void Spill(ThreadCache* cache, int size_class, int count);

  Block* AllocateLarge(size_t size);
  void FreeLargeBlock(Block* block);
  // Takes out the blocks that have been unused longest until at most `bytes` are cached. Requires large_mutex_.
  void EvictLarge(int64_t bytes, std::vector<Block*>* evicted);

  Block* NewBlock(size_t capacity, int size_class);
  static void DeleteBlock(Block* block);

  void CountInUse(ThreadCache* cache, int64_t change);
  void PublishInUse(int64_t change);

  static thread_local constinit ThreadCache* thread_cache_;
  static thread_local constinit bool thread_had_cache_;
  static thread_local ThreadExit thread_exit_;

  // Read on every call, written hardly ever.
  std::atomic<uint32_t> trim_epoch_{0};
  std::atomic<int64_t> limit_;
  const int64_t max_large_cached_;
  const int64_t max_small_cached_;

  alignas(64) std::atomic<int64_t> bytes_in_use_{0};
  std::atomic<int64_t> peak_{0};
  std::atomic<int64_t> system_allocations_{0};
  std::atomic<int64_t> small_cached_{0};  // in shared_

  std::array<SharedList, kNumClasses> shared_;

  std::mutex large_mutex_;
  std::vector<FreeLarge> free_large_;  // by capacity
  int64_t large_cached_ = 0;
  uint64_t large_clock_ = 0;

  std::mutex caches_mutex_;
  std::vector<ThreadCache*> caches_;
};

thread_local constinit BufferPool::ThreadCache* BufferPool::thread_cache_ = nullptr;
thread_local constinit bool BufferPool::thread_had_cache_ = false;
thread_local BufferPool::ThreadExit BufferPool::thread_exit_;

BufferPool::BufferPool()
    : limit_(PhysicalMemory()), max_large_cached_(PhysicalMemory() / 4), max_small_cached_(PhysicalMemory() / 16) {}

Buffer* BufferPool::Allocate(size_t size) {
  if (ABSL_PREDICT_FALSE(size > kMaxRequest)) return nullptr;
  Block* block =
      kPooling && size <= kMaxSmall ? Get().AllocateSmall(SizeClass(size + (size == 0))) : Get().AllocateLarge(size);
  if (ABSL_PREDICT_FALSE(block == nullptr)) return nullptr;
  block->refs_.store(1, std::memory_order_relaxed);
  block->size_ = size;
  block->deleter_ = &Free;
  return block;
}

void BufferPool::Free(Buffer* buffer) {
  Block* block = static_cast<Block*>(buffer);
  if (block->size_class == kLargeClass) {
    Get().FreeLargeBlock(block);
  } else {
    Get().FreeSmall(block);
  }
}

Buffer* BufferPool::Adopt(std::string bytes) { return new AdoptedString(std::move(bytes)); }

BufferPool::Block* BufferPool::AllocateSmall(int size_class) {
  ThreadCache* cache = Cache();
  Block* block = cache != nullptr ? cache->lists[size_class].Pop() : nullptr;
  if (ABSL_PREDICT_TRUE(block != nullptr)) {
    cache->cached.Add(-int64_t{kClassBytes[size_class]});
  } else {
    block = Refill(cache, size_class);
    if (block == nullptr) return nullptr;
  }
  CountInUse(cache, kClassBytes[size_class]);
  return block;
}

void BufferPool::FreeSmall(Block* block) {
  const int size_class = block->size_class;
  ThreadCache* cache = Cache();
  CountInUse(cache, -int64_t{kClassBytes[size_class]});
  if (ABSL_PREDICT_TRUE(cache != nullptr)) {
    cache->lists[size_class].Push(block);
    cache->cached.Add(kClassBytes[size_class]);
    if (ABSL_PREDICT_FALSE(cache->lists[size_class].count > 2 * kBatch[size_class])) {
      Spill(cache, size_class, kBatch[size_class]);
    }
    return;
  }
  std::lock_guard<std::mutex> lock(shared_[size_class].mutex);
  shared_[size_class].list.Push(block);
  small_cached_.fetch_add(kClassBytes[size_class], std::memory_order_relaxed);
}

BufferPool::Block* BufferPool::Refill(ThreadCache* cache, int size_class) {
  Block* block = nullptr;
  {
    SharedList& shared = shared_[size_class];
    std::lock_guard<std::mutex> lock(shared.mutex);
    const int available = shared.list.count;
    block = shared.list.Pop();
    for (int i = 1; cache != nullptr && i < kBatch[size_class] && shared.list.count > 0; ++i) {
      cache->lists[size_class].Push(shared.list.Pop());
      cache->cached.Add(kClassBytes[size_class]);
    }
    small_cached_.fetch_sub(int64_t{kClassBytes[size_class]} * (available - shared.list.count),
                            std::memory_order_relaxed);
  }
  if (block == nullptr) block = NewBlock(kClassBytes[size_class], size_class);
  return block;
}

void BufferPool::Spill(ThreadCache* cache, int size_class, int count) {
  const int64_t bytes = kClassBytes[size_class];
  cache->cached.Add(-bytes * count);
  List& list = cache->lists[size_class];
  if (small_cached_.fetch_add(bytes * count, std::memory_order_relaxed) > max_small_cached_) {
    small_cached_.fetch_sub(bytes * count, std::memory_order_relaxed);
    for (int i = 0; i < count; ++i) DeleteBlock(list.Pop());
    return;
  }
  SharedList& shared = shared_[size_class];
  std::lock_guard<std::mutex> lock(shared.mutex);
  for (int i = 0; i < count; ++i) shared.list.Push(list.Pop());
}

BufferPool::Block* BufferPool::AllocateLarge(size_t size) {
  // Under AddressSanitizer the block ends where the request does, so that reading past it is seen.
  const size_t capacity = kPooling ? (size + kLargeGranularity - 1) / kLargeGranularity * kLargeGranularity : size;
  Block* block = nullptr;
  bool refused = false;
  std::vector<Block*> evicted;
  {
    std::lock_guard<std::mutex> lock(large_mutex_);
    const auto best = std::lower_bound(free_large_.begin(), free_large_.end(), capacity,
                                       [](const FreeLarge& f, size_t bytes) { return f.block->capacity < bytes; });
    if (best != free_large_.end() && best->block->capacity <= capacity + capacity / 4) {
      block = best->block;
      free_large_.erase(best);
      large_cached_ -= static_cast<int64_t>(block->capacity);
    }
    // Counted before the lock is given up, so that threads together keep to the limit.
    const int64_t bytes = static_cast<int64_t>(block != nullptr ? block->capacity : capacity);
    const int64_t room = limit_.load(std::memory_order_relaxed) - bytes_in_use_.load(std::memory_order_relaxed) - bytes;
    refused = room < 0;
    if (!refused) {
      EvictLarge(room, &evicted);
      PublishInUse(bytes);
    } else if (block != nullptr) {
      evicted.push_back(block);
      block = nullptr;
    }
  }
  for (Block* old : evicted) DeleteBlock(old);
  if (block != nullptr || refused) return block;
  block = NewBlock(capacity, kLargeClass);
  if (block == nullptr) PublishInUse(-static_cast<int64_t>(capacity));
  return block;
}

void BufferPool::FreeLargeBlock(Block* block) {
  const int64_t bytes = static_cast<int64_t>(block->capacity);
  PublishInUse(-bytes);
  if (!kPooling || bytes > max_large_cached_) {
    DeleteBlock(block);
    return;
  }
  std::vector<Block*> evicted;
  {
    std::lock_guard<std::mutex> lock(large_mutex_);
    EvictLarge(max_large_cached_ - bytes, &evicted);
    // Before others of the same size: what was freed last is taken first, since caches may still hold some of it.
    const auto at = std::lower_bound(free_large_.begin(), free_large_.end(), block->capacity,
                                     [](const FreeLarge& f, size_t bytes) { return f.block->capacity < bytes; });
    free_large_.insert(at, {block, ++large_clock_});
    large_cached_ += bytes;
  }
  for (Block* old : evicted) DeleteBlock(old);
}

void BufferPool::EvictLarge(int64_t bytes, std::vector<Block*>* evicted) {
  while (large_cached_ > bytes) {
    const auto oldest =
        std::min_element(free_large_.begin(), free_large_.end(),
                         [](const FreeLarge& a, const FreeLarge& b) { return a.freed_at < b.freed_at; });
    large_cached_ -= static_cast<int64_t>(oldest->block->capacity);
    evicted->push_back(oldest->block);
    free_large_.erase(oldest);
  }
}

BufferPool::Block* BufferPool::NewBlock(size_t capacity, int size_class) {
  void* memory = Map(kHeaderBytes + capacity, size_class == kLargeClass);
  if (memory == nullptr) {
    Trim();
    memory = Map(kHeaderBytes + capacity, size_class == kLargeClass);
    if (memory == nullptr) return nullptr;
  }
  system_allocations_.fetch_add(1, std::memory_order_relaxed);
  char* data = static_cast<char*>(memory) + kHeaderBytes;
#ifdef NABLA_ASAN
  // Bytes just before the data are the header's and would hide an underflow.
  ASAN_POISON_MEMORY_REGION(static_cast<char*>(memory) + sizeof(Block), kHeaderBytes - sizeof(Block));
#endif
  return new (memory) Block(data, capacity, size_class);
}

void BufferPool::DeleteBlock(Block* block) {
  const size_t bytes = kHeaderBytes + block->capacity;
  const bool large = block->size_class == kLargeClass;
  block->~Block();
  Unmap(block, bytes, large);
}

BufferPool::ThreadCache* BufferPool::MakeCache() {
  if (thread_had_cache_) return nullptr;
  thread_had_cache_ = true;
  thread_exit_.Arm();
  auto* cache = new ThreadCache;
  cache->trim_epoch = trim_epoch_.load(std::memory_order_relaxed);
  {
    std::lock_guard<std::mutex> lock(caches_mutex_);
    caches_.push_back(cache);
  }
  thread_cache_ = cache;
  return cache;
}

BufferPool::ThreadExit::~ThreadExit() {
  ThreadCache* cache = thread_cache_;
  thread_cache_ = nullptr;
  if (cache != nullptr) Get().DropCache(cache);
}

void BufferPool::DropCache(ThreadCache* cache) {
  for (int c = 0; c < kNumClasses; ++c) Spill(cache, c, cache->lists[c].count);
  std::lock_guard<std::mutex> lock(caches_mutex_);
  PublishInUse(cache->in_use_change.Take());
  caches_.erase(std::find(caches_.begin(), caches_.end(), cache));
  delete cache;
}

void BufferPool::Empty(ThreadCache* cache) {
  cache->trim_epoch = trim_epoch_.load(std::memory_order_relaxed);
  for (List& list : cache->lists) {
    while (Block* block = list.Pop()) {
      cache->cached.Add(-static_cast<int64_t>(block->capacity));
      DeleteBlock(block);
    }
  }
}

void BufferPool::Trim() {
  trim_epoch_.fetch_add(1, std::memory_order_relaxed);
  Cache();  // empties it
  for (int c = 0; c < kNumClasses; ++c) {
    List list;
    {
      std::lock_guard<std::mutex> lock(shared_[c].mutex);
      std::swap(list, shared_[c].list);
      small_cached_.fetch_sub(int64_t{kClassBytes[c]} * list.count, std::memory_order_relaxed);
    }
    while (Block* block = list.Pop()) DeleteBlock(block);
  }
  std::vector<Block*> evicted;
  {
    std::lock_guard<std::mutex> lock(large_mutex_);
    EvictLarge(0, &evicted);
  }
  for (Block* block : evicted) DeleteBlock(block);
}

void BufferPool::CountInUse(ThreadCache* cache, int64_t change) {
  if (cache == nullptr) {
    PublishInUse(change);
    return;
  }
  cache->in_use_change.Add(change);
  const int64_t pending = cache->in_use_change.Get();
  if (ABSL_PREDICT_FALSE(pending > kCountSlack || pending < -kCountSlack)) PublishInUse(cache->in_use_change.Take());
}

void BufferPool::PublishInUse(int64_t change) {
  const int64_t now = bytes_in_use_.fetch_add(change, std::memory_order_relaxed) + change;
  int64_t peak = peak_.load(std::memory_order_relaxed);
  while (now > peak && !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
}

BufferPoolStats BufferPool::Stats() {
  BufferPoolStats stats;
  stats.system_allocations = system_allocations_.load(std::memory_order_relaxed);
  {
    std::lock_guard<std::mutex> lock(large_mutex_);
    stats.bytes_cached = large_cached_;
  }
  stats.bytes_cached += small_cached_.load(std::memory_order_relaxed);
  std::lock_guard<std::mutex> lock(caches_mutex_);
  stats.bytes_in_use = bytes_in_use_.load(std::memory_order_relaxed);
  for (const ThreadCache* cache : caches_) {
    stats.bytes_in_use += cache->in_use_change.Get();
    stats.bytes_cached += cache->cached.Get();
  }
  stats.peak_bytes_in_use = std::max(stats.bytes_in_use, peak_.load(std::memory_order_relaxed));
  return stats;
}

void BufferPool::ResetPeak() {
  const int64_t now = Stats().bytes_in_use;
  peak_.store(now, std::memory_order_relaxed);
}

Buffer* Buffer::Allocate(size_t size) { return BufferPool::Allocate(size); }
Buffer* Buffer::Adopt(std::string bytes) { return BufferPool::Adopt(std::move(bytes)); }
void Buffer::ReturnToPool(Buffer* buffer) { BufferPool::Free(buffer); }

BufferPoolStats GetBufferPoolStats() { return BufferPool::Get().Stats(); }
void ResetBufferPoolPeak() { BufferPool::Get().ResetPeak(); }
void TrimBufferPool() { BufferPool::Get().Trim(); }
void SetBufferPoolLimit(int64_t bytes) { BufferPool::Get().SetLimit(bytes); }

}  // namespace nabla
