#include "nabla/graph/buffer.h"

#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace nabla {
namespace {

// Under AddressSanitizer nothing is cached, on purpose.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kCaches = false;
#elif defined(__has_feature)
constexpr bool kCaches = !__has_feature(address_sanitizer);
#else
constexpr bool kCaches = true;
#endif

constexpr size_t kMiB = size_t{1} << 20;

struct Unreffer {
  void operator()(Buffer* buffer) const { buffer->Unref(); }
};
using BufferPtr = std::unique_ptr<Buffer, Unreffer>;
BufferPtr Allocate(size_t size) { return BufferPtr(Buffer::Allocate(size)); }

// Each test begins with nothing cached by this thread or shared.
class BufferTest : public ::testing::Test {
 protected:
  BufferTest() { TrimBufferPool(); }
};

TEST_F(BufferTest, BytesAreAlignedAndWritable) {
  for (size_t size :
       {size_t{0}, size_t{1}, size_t{63}, size_t{64}, size_t{65}, size_t{511}, size_t{512}, size_t{513}, size_t{640},
        size_t{641}, size_t{4096}, size_t{100000}, kMiB - 1, kMiB, kMiB + 1, 2 * kMiB, 5 * kMiB + 3}) {
    BufferPtr buffer = Allocate(size);
    ASSERT_NE(buffer, nullptr) << size;
    EXPECT_EQ(buffer->size(), size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data()) % kBufferAlignment, 0u) << size;
    std::memset(buffer->data(), 0xab, size);
  }
}

// Blocks that are alive at the same time do not overlap, whatever their size class.
TEST_F(BufferTest, BlocksAreDistinct) {
  std::vector<BufferPtr> buffers;
  for (size_t size = 1; size < 3 * kMiB; size += size / 3 + 1) {
    for (int copy = 0; copy < 3; ++copy) {
      buffers.push_back(Allocate(size));
      std::memset(buffers.back()->data(), static_cast<int>(buffers.size() % 251), size);
    }
  }
  for (size_t i = 0; i < buffers.size(); ++i) {
    const unsigned char* bytes = static_cast<unsigned char*>(buffers[i]->data());
    for (size_t j = 0; j < buffers[i]->size(); ++j) ASSERT_EQ(bytes[j], (i + 1) % 251) << buffers[i]->size();
  }
}

TEST_F(BufferTest, ReferenceCount) {
  Buffer* buffer = Buffer::Allocate(100);
  EXPECT_TRUE(buffer->IsUnique());
  buffer->Ref();
  EXPECT_FALSE(buffer->IsUnique());
  buffer->Unref();
  EXPECT_TRUE(buffer->IsUnique());
  buffer->Unref();
}

TEST_F(BufferTest, FreedBlocksAreReused) {
  if (!kCaches) GTEST_SKIP();
  for (size_t size : {size_t{16}, size_t{1000}, 300 * size_t{1024}, kMiB, 3 * kMiB, 40 * kMiB}) {
    void* first = Allocate(size)->data();
    const int64_t system_allocations = GetBufferPoolStats().system_allocations;
    for (int i = 0; i < 100; ++i) EXPECT_EQ(Allocate(size)->data(), first) << size;
    EXPECT_EQ(GetBufferPoolStats().system_allocations, system_allocations) << size;
  }
}

TEST_F(BufferTest, LargeBlocksServeSlightlySmallerRequests) {
  if (!kCaches) GTEST_SKIP();
  void* block = Allocate(10 * kMiB)->data();
  EXPECT_EQ(Allocate(9 * kMiB)->data(), block);
  // Half of it would be wasted.
  EXPECT_NE(Allocate(5 * kMiB)->data(), block);
  // The best fit is taken, not the first.
  BufferPtr larger = Allocate(11 * kMiB);
  void* larger_block = larger->data();
  larger.reset();
  EXPECT_EQ(Allocate(10 * kMiB)->data(), block);
  EXPECT_EQ(Allocate(11 * kMiB)->data(), larger_block);
}

TEST_F(BufferTest, Stats) {
  const int64_t before = GetBufferPoolStats().bytes_in_use;
  {
    BufferPtr small = Allocate(100);
    BufferPtr large = Allocate(3 * kMiB);
    const BufferPoolStats stats = GetBufferPoolStats();
    EXPECT_GE(stats.bytes_in_use, before + 100 + static_cast<int64_t>(3 * kMiB));
    EXPECT_LT(stats.bytes_in_use, before + static_cast<int64_t>(4 * kMiB));
  }
  BufferPoolStats stats = GetBufferPoolStats();
  EXPECT_EQ(stats.bytes_in_use, before);
  EXPECT_GE(stats.peak_bytes_in_use, before + static_cast<int64_t>(3 * kMiB));
  EXPECT_EQ(stats.bytes_cached > static_cast<int64_t>(3 * kMiB), kCaches);
  ResetBufferPoolPeak();
  EXPECT_EQ(GetBufferPoolStats().peak_bytes_in_use, before);
  TrimBufferPool();
  EXPECT_EQ(GetBufferPoolStats().bytes_cached, 0);
}

TEST_F(BufferTest, ManySmallBlocksAreCountedInThePeak) {
  ResetBufferPoolPeak();
  const int64_t before = GetBufferPoolStats().peak_bytes_in_use;
  {
    std::vector<BufferPtr> buffers;
    for (int i = 0; i < 1000; ++i) buffers.push_back(Allocate(1024));
  }
  const int64_t peak = GetBufferPoolStats().peak_bytes_in_use - before;
  EXPECT_GE(peak, 1000 * 1024 - 65 * 1024);
  EXPECT_LE(peak, 1000 * 1024 + 65 * 1024);
}

TEST_F(BufferTest, ImpossibleSizesAreRefused) {
  EXPECT_EQ(Buffer::Allocate(std::numeric_limits<size_t>::max()), nullptr);
  EXPECT_EQ(Buffer::Allocate(std::numeric_limits<size_t>::max() - 63), nullptr);
  EXPECT_EQ(Buffer::Allocate(size_t{1} << 62), nullptr);
  EXPECT_EQ(Buffer::Allocate(size_t{1} << 46), nullptr);
  EXPECT_EQ(Buffer::NewArray<std::string>(std::numeric_limits<size_t>::max() / 8), nullptr);
  EXPECT_EQ(Buffer::NewArray<std::string>(size_t{1} << 42), nullptr);
}

TEST_F(BufferTest, KeepsToTheLimit) {
  const int64_t in_use = GetBufferPoolStats().bytes_in_use;
  SetBufferPoolLimit(in_use + static_cast<int64_t>(20 * kMiB));
  BufferPtr first = Allocate(12 * kMiB);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(Buffer::Allocate(12 * kMiB), nullptr);
  EXPECT_EQ(GetBufferPoolStats().bytes_in_use, in_use + static_cast<int64_t>(12 * kMiB));
  first.reset();
  // What is cached gives way to what is wanted.
  BufferPtr second = Allocate(18 * kMiB);
  EXPECT_NE(second, nullptr);
  EXPECT_LE(GetBufferPoolStats().bytes_cached, static_cast<int64_t>(3 * kMiB));
  SetBufferPoolLimit(int64_t{1} << 40);
}

TEST_F(BufferTest, AdoptTakesTheBytesThemselves) {
  std::string bytes(1000, 'x');
  const void* data = bytes.data();
  BufferPtr buffer(Buffer::Adopt(std::move(bytes)));
  EXPECT_EQ(buffer->data(), data);
  EXPECT_EQ(buffer->size(), 1000u);
  // Short strings live inside the string object and move with it.
  BufferPtr small(Buffer::Adopt("abc"));
  EXPECT_EQ(std::string(static_cast<char*>(small->data()), small->size()), "abc");
}

struct Counted {
  Counted() { ++alive; }
  ~Counted() { --alive; }
  static int alive;
  int value = 7;
};
int Counted::alive = 0;

TEST_F(BufferTest, NewArrayConstructsAndDestroys) {
  {
    BufferPtr buffer(Buffer::NewArray<Counted>(5));
    EXPECT_EQ(Counted::alive, 5);
    EXPECT_EQ(buffer->size(), 5 * sizeof(Counted));
    EXPECT_EQ(static_cast<Counted*>(buffer->data())[4].value, 7);
  }
  EXPECT_EQ(Counted::alive, 0);
  // The block that comes back for plain bytes is freed as such.
  Allocate(5 * sizeof(Counted)).reset();
  EXPECT_EQ(Counted::alive, 0);
  BufferPtr none(Buffer::NewArray<std::string>(0));
  EXPECT_NE(none, nullptr);
}

TEST_F(BufferTest, BlocksOfAThreadThatEndedAreReused) {
  if (!kCaches) GTEST_SKIP();
  void* block = nullptr;
  std::thread([&block] { block = Allocate(200)->data(); }).join();
  EXPECT_EQ(GetBufferPoolStats().bytes_cached, 256);
  EXPECT_EQ(Allocate(200)->data(), block);
}

TEST_F(BufferTest, TrimReachesOtherThreads) {
  if (!kCaches) GTEST_SKIP();
  std::atomic<int> step{0};
  const auto wait_for = [&step](int value) {
    while (step.load() < value) std::this_thread::yield();
  };
  std::thread other([&] {
    Allocate(100).reset();
    step = 1;
    wait_for(2);
    Allocate(100000).reset();  // sees that there was a Trim
    step = 3;
    wait_for(4);
  });
  wait_for(1);
  EXPECT_EQ(GetBufferPoolStats().bytes_cached, 128);
  TrimBufferPool();
  step = 2;
  wait_for(3);
  EXPECT_EQ(GetBufferPoolStats().bytes_cached, 114688);  // only the second block
  step = 4;
  other.join();
}

// Allocating on one thread and freeing on another must neither lose blocks nor hoard them.
TEST_F(BufferTest, BlocksMayTravelBetweenThreads) {
  const BufferPoolStats before = GetBufferPoolStats();
  constexpr int kThreads = 4;
  constexpr int kRounds = 300;
  std::vector<std::atomic<Buffer*>> mailboxes(64);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&mailboxes, t] {
      uint32_t random = static_cast<uint32_t>(t) * 7919 + 1;
      for (int i = 0; i < kRounds * 64; ++i) {
        random = random * 1664525 + 1013904223;
        const size_t size = (random >> 8) % ((i % 100 == 0) ? 2 * kMiB : 3000);
        Buffer* buffer = Buffer::Allocate(size);
        if (size > 0) static_cast<unsigned char*>(buffer->data())[size - 1] = static_cast<unsigned char>(size);
        Buffer* other = mailboxes[random >> 26].exchange(buffer);
        if (other == nullptr) continue;
        const size_t other_size = other->size();
        if (other_size > 0) {
          ASSERT_EQ(static_cast<unsigned char*>(other->data())[other_size - 1], static_cast<unsigned char>(other_size));
        }
        other->Unref();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::atomic<Buffer*>& mailbox : mailboxes) {
    if (Buffer* buffer = mailbox.exchange(nullptr)) buffer->Unref();
  }
  EXPECT_EQ(GetBufferPoolStats().bytes_in_use, before.bytes_in_use);
}

}  // namespace
}  // namespace nabla
