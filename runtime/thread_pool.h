// The threads that execute: a work-stealing pool that runs both the nodes of a graph and the parts of loops inside
// kernels.
//
//   ThreadPool pool(4);  // 3 workers and whoever calls
//   pool.ParallelFor(100, [&](int64_t part) { … });
//
// Every thread that works has a seat with a deque: its own tasks go in and out at the bottom without a lock, idle
// threads steal from the top (D. Chase, Y. Lev, "Dynamic Circular Work-Stealing Deque", 2005; the deques here do not
// grow, a full one makes its owner run the task itself). Threads from outside that call ParallelFor or RunUntil take a
// guest seat for that long, so they take part like workers; when all guest seats are taken they work alone.
//
// Nothing ever waits for a task that has not begun: a ParallelFor waits only for parts that other threads are
// executing, so calls nest to any depth without deadlock. Idle workers spin for a moment before they sleep, and longer
// while a caller is there.
//
// Thread-safe. The pool must outlive every call into it.
#ifndef NABLA_RUNTIME_THREAD_POOL_H_
#define NABLA_RUNTIME_THREAD_POOL_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"

namespace nabla {

class ThreadPool {
 public:
  // Something to run once. Whoever pushes it owns it and keeps it alive until `run` was called.
  struct Task {
    void (*run)(Task* task) = nullptr;
    // May take any time, as a loop of a graph does. A caller that waits for a run of its own does not help another
    // caller with such.
    bool is_long = false;
  };

  // `num_threads` counts the calling thread: num_threads - 1 workers are started. At least 1, at most kMaxThreads.
  // `flush_denormals` is for the workers (runtime/denormals.h); the calling thread has its own ways.
  explicit ThreadPool(int num_threads, bool flush_denormals = false);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  static constexpr int kMaxThreads = 1024;
  // Cores that this process may use.
  static int NumCores();

  int num_threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls fn(0) … fn(num_parts - 1), each once, on this thread and on idle ones, and returns when all are done. Which
  // thread runs which part is open. `fn` may call ParallelFor itself.
  void ParallelFor(int64_t num_parts, absl::FunctionRef<void(int64_t part)> fn);

  // The rest is for the executor.

  // Gives the task to whichever thread takes it first, this one included. False, and nothing happened, if this thread
  // has no seat or its deque is full.
  bool Push(Task* task);
  // Runs this thread's own tasks, then other threads', until done() is true; sleeps when there are none. Whatever makes
  // done() true must be followed by WakeAll(). The thread has a seat meanwhile, and sees its pushes served.
  void RunUntil(absl::FunctionRef<bool()> done);
  void WakeAll();

  // Takes a guest seat for the calling thread, unless it has a seat already or none is free.
  class Guest {
   public:
    explicit Guest(ThreadPool* pool);
    ~Guest();
    Guest(const Guest&) = delete;
    Guest& operator=(const Guest&) = delete;
    bool seated() const { return seated_; }

   private:
    ThreadPool* pool_;
    bool seated_ = false;
    bool took_seat_ = false;
    ThreadPool* previous_pool_ = nullptr;
    int previous_seat_ = -1;
  };

 private:
  class Deque {
   public:
    bool Push(Task* task);  // owner only
    Task* Pop();            // owner only
    // Leaves a long task where it is, unless `any`.
    Task* Steal(bool any);
    bool Empty() const;

   private:
    static constexpr int64_t kCapacity = 1024;
    alignas(64) std::atomic<int64_t> top_{0};
    alignas(64) std::atomic<int64_t> bottom_{0};
    // Tasks, with the lowest bit set if they are long: a thief must not look at one before it has it.
    std::atomic<uintptr_t> tasks_[kCapacity] = {};
  };
  struct Seat {
    Deque deque;
    // For an owner that waits for the last parts of its loop.
    alignas(64) std::atomic<uint32_t> signal{0};
    std::atomic<bool> waiting{false};
    std::atomic<bool> taken{false};  // guest seats
  };
  struct Loop;

  static void RunLoop(Task* task);
  static int TakeBack(const Task* ticket, int pushed, Deque* deque);
  int CurrentSeat() const;
  void WorkerMain(int seat, bool flush_denormals);
  Task* Steal(int thief);
  void WakeOne();

  // What idle and busy threads look at all the time, apart from what they write. (On the heap, like the seats: a pool
  // that stands on a stack is not always aligned as its members ask.)
  struct alignas(64) Shared {
    alignas(64) std::atomic<int> used_seats{0};  // seats beyond were never taken
    std::atomic<int> guests{0};                  // seats taken by threads from outside
    std::atomic<bool> stop{false};
    alignas(64) std::atomic<int> sleepers{0};
    std::atomic<uint32_t> epoch{0};  // sleepers wait for it to change
  };

  const int num_seats_;
  const std::unique_ptr<Seat[]> seats_;  // the workers' first, then the guests'
  const std::unique_ptr<Shared> shared_;
  std::vector<std::thread> workers_;
};

}  // namespace nabla

#endif  // NABLA_RUNTIME_THREAD_POOL_H_
