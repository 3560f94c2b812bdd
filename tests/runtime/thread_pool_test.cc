#include "nabla/runtime/thread_pool.h"

#include <atomic>
#include <chrono>
#include <set>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace nabla {
namespace {

TEST(ThreadPoolTest, CountsTheCaller) {
  EXPECT_EQ(ThreadPool(1).num_threads(), 1);
  EXPECT_EQ(ThreadPool(3).num_threads(), 3);
  EXPECT_EQ(ThreadPool(0).num_threads(), 1);
  EXPECT_EQ(ThreadPool(-5).num_threads(), 1);
  EXPECT_GE(ThreadPool::NumCores(), 1);
}

TEST(ThreadPoolTest, RunsEveryPartOnce) {
  for (int threads : {1, 2, 4, 8}) {
    ThreadPool pool(threads);
    for (int64_t parts : {0, 1, 2, 3, 7, 100, 5000}) {
      std::vector<std::atomic<int>> runs(parts);
      pool.ParallelFor(parts, [&](int64_t part) { runs[part].fetch_add(1); });
      for (int64_t i = 0; i < parts; ++i) EXPECT_EQ(runs[i].load(), 1) << threads << " threads, part " << i;
    }
  }
}

TEST(ThreadPoolTest, WritesOfPartsAreSeenAfterwards) {
  ThreadPool pool(4);
  std::vector<int64_t> values(1000);
  for (int round = 0; round < 200; ++round) {
    pool.ParallelFor(static_cast<int64_t>(values.size()), [&](int64_t part) { values[part] += part; });
  }
  for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], static_cast<int64_t>(200 * i));
}

TEST(ThreadPoolTest, OtherThreadsTakePart) {
  ThreadPool pool(2);
  // Each part waits until the other has begun, so one thread alone would not get through.
  std::atomic<int> begun{0};
  pool.ParallelFor(2, [&](int64_t) {
    begun.fetch_add(1);
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (begun.load() < 2 && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
  });
  EXPECT_EQ(begun.load(), 2);
}

int64_t NestedSum(ThreadPool& pool, int depth) {
  if (depth == 0) return 1;
  std::atomic<int64_t> sum{0};
  pool.ParallelFor(4, [&](int64_t) { sum.fetch_add(NestedSum(pool, depth - 1)); });
  return sum.load();
}

TEST(ThreadPoolTest, Nests) {
  for (int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(NestedSum(pool, 6), 4096);
  }
}

TEST(ThreadPoolTest, ManyCallersAtOnce) {
  ThreadPool pool(3);
  std::atomic<int64_t> sum{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 40; ++i) {  // more than there are guest seats
    callers.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        pool.ParallelFor(10, [&](int64_t part) { sum.fetch_add(part); });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sum.load(), 40 * 50 * 45);
}

TEST(ThreadPoolTest, OnePoolInsideAnother) {
  ThreadPool outer(2), inner(2);
  std::atomic<int> count{0};
  outer.ParallelFor(8, [&](int64_t) {
    inner.ParallelFor(8, [&](int64_t) { outer.ParallelFor(4, [&](int64_t) { count.fetch_add(1); }); });
  });
  EXPECT_EQ(count.load(), 256);
}

TEST(ThreadPoolTest, WorksAfterWorkersSlept) {
  ThreadPool pool(4);
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::atomic<int> count{0};
    pool.ParallelFor(64, [&](int64_t) { count.fetch_add(1); });
    EXPECT_EQ(count.load(), 64);
  }
}

struct CountingTask : ThreadPool::Task {
  std::atomic<int>* count = nullptr;
  ThreadPool* pool = nullptr;
};

TEST(ThreadPoolTest, TasksRunOnceEach) {
  for (int threads : {1, 2, 4}) {
    ThreadPool pool(threads);
    constexpr int kTasks = 5000;  // more than a deque holds
    std::atomic<int> count{0};
    std::vector<CountingTask> tasks(kTasks);
    ThreadPool::Guest guest(&pool);
    ASSERT_TRUE(guest.seated());
    for (CountingTask& task : tasks) {
      task.count = &count;
      task.pool = &pool;
      task.run = [](ThreadPool::Task* t) {
        CountingTask* self = static_cast<CountingTask*>(t);
        std::atomic<int>* counter = self->count;
        ThreadPool* pool = self->pool;
        if (counter->fetch_add(1) + 1 == kTasks) pool->WakeAll();
      };
      if (!pool.Push(&task)) task.run(&task);
    }
    pool.RunUntil([&] { return count.load() >= kTasks; });
    EXPECT_EQ(count.load(), kTasks);
  }
}

TEST(ThreadPoolTest, PushNeedsASeat) {
  ThreadPool pool(2);
  ThreadPool::Task task;
  EXPECT_FALSE(pool.Push(&task));
}

}  // namespace
}  // namespace nabla
