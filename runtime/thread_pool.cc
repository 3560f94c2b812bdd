#include "nabla/runtime/thread_pool.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "absl/container/inlined_vector.h"
#include "nabla/graph/check.h"
#include "nabla/runtime/denormals.h"

namespace nabla {
namespace {

// Threads from outside that can take part at once.
constexpr int kGuestSeats = 32;

// Waking a sleeping thread costs the waker up to some 25 microseconds and the woken as much again, so threads wait
// awake for a while: for a moment at full speed, then giving way to whoever else wants the processor. The wait lasts as
// long as there is a caller that may have work soon, up to kLongWait, and outlasts the last caller by kShortWait.
constexpr std::chrono::microseconds kFullSpeed(40);
constexpr std::chrono::microseconds kShortWait(100);
constexpr std::chrono::microseconds kLongWait(1000);

struct Binding {
  ThreadPool* pool = nullptr;
  int seat = -1;
};
thread_local Binding current;

constexpr uintptr_t kLong = 1;

uintptr_t Tagged(ThreadPool::Task* task) { return reinterpret_cast<uintptr_t>(task) | (task->is_long ? kLong : 0); }
ThreadPool::Task* Untagged(uintptr_t task) {
  return reinterpret_cast<ThreadPool::Task*>(task & ~kLong);  // NOLINT(performance-no-int-to-ptr): the tag needs it
}

inline void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Waits awake until `ready` is true, which it returns. False when the time is over; it runs out early while there is no
// `hope`.
template <typename Ready, typename Hope>
bool SpinUntil(Ready&& ready, Hope&& hope) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  Clock::time_point now = start, last_hope = start;
  do {
    if (now - start < kFullSpeed) {
      for (int i = 0; i < 8; ++i) {
        if (ready()) return true;
        Pause();
      }
    } else {
      if (ready()) return true;
      std::this_thread::yield();
    }
    now = Clock::now();
    if (hope()) last_hope = now;
  } while (now - start < kLongWait && now - last_hope < kShortWait);
  return false;
}

}  // namespace

// A ParallelFor in progress. One object is pushed as many times as there are threads that could help; whoever takes
// one of these tickets claims parts until none is left.
//
// The parts are dealt out in blocks, one per thread, and a thread begins with the block that its seat gives it. A loop
// that runs again and again over the same data (a training step's) so finds each part in the cache of the core that had
// it before. Who is done with its block helps with the others.
struct ThreadPool::Loop : ThreadPool::Task {
  static constexpr int kMaxBlocks = 16;

  Loop(absl::FunctionRef<void(int64_t)> fn, int64_t parts, int threads, ThreadPool* pool, Seat* owner)
      : fn(fn), num_blocks(std::min(threads, kMaxBlocks)), pool(pool), owner(owner) {
    for (int i = 0; i < num_blocks; ++i) {
      blocks[i].next.store(parts * i / num_blocks, std::memory_order_relaxed);
      blocks[i].end = parts * (i + 1) / num_blocks;
    }
  }

  void Work(int first_block) {
    for (int i = 0; i < num_blocks; ++i) {
      Block& block = blocks[(first_block + i) % num_blocks];
      for (int64_t part; (part = block.next.fetch_add(1, std::memory_order_relaxed)) < block.end;) fn(part);
    }
  }

  // A cache line each, by size: the loop stands on a stack, which need not be aligned to lines.
  struct Block {
    std::atomic<int64_t> next;
    int64_t end;
    char padding[48];
  };
  absl::FunctionRef<void(int64_t)> fn;
  const int num_blocks;
  ThreadPool* const pool;
  Seat* const owner;
  std::atomic<int64_t> tickets{0};  // pushed and neither taken back nor done
  Block blocks[kMaxBlocks];
};

// The operations that Chase and Lev separate by fences are sequentially consistent here: ThreadSanitizer understands
// those, and on x86 they cost the same.
bool ThreadPool::Deque::Push(Task* task) {
  const int64_t bottom = bottom_.load(std::memory_order_relaxed);
  if (bottom - top_.load(std::memory_order_acquire) >= kCapacity) return false;
  tasks_[bottom % kCapacity].store(Tagged(task), std::memory_order_relaxed);
  bottom_.store(bottom + 1, std::memory_order_seq_cst);
  return true;
}

ThreadPool::Task* ThreadPool::Deque::Pop() {
  const int64_t bottom = bottom_.load(std::memory_order_relaxed) - 1;
  bottom_.store(bottom, std::memory_order_seq_cst);
  int64_t top = top_.load(std::memory_order_seq_cst);
  Task* task = nullptr;
  if (top <= bottom) {
    task = Untagged(tasks_[bottom % kCapacity].load(std::memory_order_relaxed));
    if (top < bottom) return task;
    // The last one: a thief may be about to take it.
    if (!top_.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst)) task = nullptr;
  }
  bottom_.store(bottom + 1, std::memory_order_relaxed);
  return task;
}

bool ThreadPool::Deque::Empty() const { return bottom_.load() <= top_.load(); }

ThreadPool::Task* ThreadPool::Deque::Steal(bool any) {
  int64_t top = top_.load(std::memory_order_seq_cst);
  const int64_t bottom = bottom_.load(std::memory_order_seq_cst);
  if (top >= bottom) return nullptr;
  const uintptr_t task = tasks_[top % kCapacity].load(std::memory_order_relaxed);
  if (!any && (task & kLong) != 0) return nullptr;
  return top_.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst) ? Untagged(task) : nullptr;
}

int ThreadPool::NumCores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

ThreadPool::ThreadPool(int num_threads, bool flush_denormals)
    : num_seats_(std::clamp(num_threads, 1, kMaxThreads) - 1 + kGuestSeats),
      seats_(new Seat[num_seats_]),
      shared_(new Shared) {
  const int num_workers = num_seats_ - kGuestSeats;
  shared_->used_seats.store(num_workers);
  workers_.reserve(num_workers);
  for (int i = 0; i < num_workers; ++i) {
    workers_.emplace_back([this, i, flush_denormals] { WorkerMain(i, flush_denormals); });
  }
}

ThreadPool::~ThreadPool() {
  shared_->stop.store(true);
  WakeAll();
  for (std::thread& worker : workers_) worker.join();
}

int ThreadPool::CurrentSeat() const { return current.pool == this ? current.seat : -1; }

ThreadPool::Guest::Guest(ThreadPool* pool) : pool_(pool) {
  if (pool->CurrentSeat() >= 0) {
    seated_ = true;
    return;
  }
  for (int i = pool->num_seats_ - kGuestSeats; i < pool->num_seats_; ++i) {
    std::atomic<bool>& taken = pool->seats_[i].taken;
    if (taken.load(std::memory_order_relaxed) || taken.exchange(true, std::memory_order_acquire)) continue;
    int used = pool->shared_->used_seats.load();
    while (used <= i && !pool->shared_->used_seats.compare_exchange_weak(used, i + 1)) {
    }
    previous_pool_ = current.pool;
    previous_seat_ = current.seat;
    current = {pool, i};
    pool->shared_->guests.fetch_add(1, std::memory_order_relaxed);
    seated_ = took_seat_ = true;
    return;
  }
}

ThreadPool::Guest::~Guest() {
  if (!took_seat_) return;
  const int seat = current.seat;
  current = {previous_pool_, previous_seat_};
  pool_->shared_->guests.fetch_sub(1, std::memory_order_relaxed);
  pool_->seats_[seat].taken.store(false, std::memory_order_release);
}

void ThreadPool::WakeOne() {
  if (shared_->sleepers.load(std::memory_order_seq_cst) == 0) return;
  shared_->epoch.fetch_add(1);
  shared_->epoch.notify_one();
}

void ThreadPool::WakeAll() {
  shared_->epoch.fetch_add(1);
  if (shared_->sleepers.load(std::memory_order_seq_cst) != 0) shared_->epoch.notify_all();
}

bool ThreadPool::Push(Task* task) {
  const int seat = CurrentSeat();
  if (seat < 0 || !seats_[seat].deque.Push(task)) return false;
  WakeOne();
  return true;
}

ThreadPool::Task* ThreadPool::Steal(int thief) {
  const int used = shared_->used_seats.load(std::memory_order_relaxed);
  const bool is_worker = thief >= 0 && thief < num_seats_ - kGuestSeats;
  const bool any = is_worker || shared_->guests.load(std::memory_order_relaxed) <= 1;
  // Guests first: they are the ones that bring work.
  for (int i = used - 1; i >= 0; --i) {
    if (i == thief) continue;
    if (Task* task = seats_[i].deque.Steal(any)) return task;
  }
  return nullptr;
}

void ThreadPool::RunUntil(absl::FunctionRef<bool()> done) {
  Guest guest(this);
  const int seat = CurrentSeat();
  bool slept = false;
  while (!done()) {
    Task* task = seat < 0 ? nullptr : seats_[seat].deque.Pop();
    if (task == nullptr) task = Steal(seat);
    if (task == nullptr) {
      SpinUntil([&] { return done() || (task = Steal(seat)) != nullptr; },
                [&] { return shared_->guests.load(std::memory_order_relaxed) > 0; });
    }
    if (task == nullptr && !done()) {
      // Whoever pushes after this thread has counted itself as asleep wakes it; whoever pushed before is seen here.
      const uint32_t epoch = shared_->epoch.load(std::memory_order_seq_cst);
      shared_->sleepers.fetch_add(1, std::memory_order_seq_cst);
      if (!done() && (task = Steal(seat)) == nullptr) shared_->epoch.wait(epoch, std::memory_order_seq_cst);
      shared_->sleepers.fetch_sub(1, std::memory_order_seq_cst);
      slept = true;
    }
    if (task != nullptr) {
      slept = false;
      task->run(task);
    }
  }
  // Tasks of other runs, pushed here while helping with them, are left behind; and a call to wake one sleeper may have
  // reached this thread, which leaves. Others must look.
  if (seat >= 0 && !seats_[seat].deque.Empty()) {
    WakeAll();
  } else if (slept) {
    WakeOne();
  }
}

void ThreadPool::WorkerMain(int seat, bool flush_denormals) {
  const ScopedDenormals denormals(flush_denormals);
  char name[24];
  std::snprintf(name, sizeof(name), "nabla-%d", seat + 1);
  name[15] = 0;  // the system's limit
  pthread_setname_np(pthread_self(), name);
  current = {this, seat};
  RunUntil([this] { return shared_->stop.load(std::memory_order_relaxed); });
  current = {};
}

void ThreadPool::RunLoop(Task* task) {
  Loop* loop = static_cast<Loop*>(task);
  // Workers' blocks follow the caller's.
  loop->Work(loop->pool->CurrentSeat() + 1);
  // The loop may be gone as soon as its last ticket is counted.
  Seat* owner = loop->owner;
  if (loop->tickets.fetch_sub(1, std::memory_order_seq_cst) == 1) {
    owner->signal.fetch_add(1, std::memory_order_seq_cst);
    if (owner->waiting.load(std::memory_order_seq_cst)) owner->signal.notify_one();
  }
}

// Takes back up to `pushed` tickets that nobody has taken. Above them may lie tasks of runs that this thread helped
// with inside a part; those stay.
int ThreadPool::TakeBack(const Task* ticket, int pushed, Deque* deque) {
  int taken = 0;
  absl::InlinedVector<Task*, 4> others;
  while (taken < pushed) {
    Task* task = deque->Pop();
    if (task == nullptr) break;
    if (task == ticket) {
      ++taken;
    } else {
      others.push_back(task);
    }
  }
  for (; !others.empty(); others.pop_back()) NABLA_CHECK(deque->Push(others.back()));
  return taken;
}

void ThreadPool::ParallelFor(int64_t num_parts, absl::FunctionRef<void(int64_t part)> fn) {
  const int helpers = static_cast<int>(std::min<int64_t>(num_parts, num_threads())) - 1;
  if (helpers > 0) {
    Guest guest(this);
    if (guest.seated()) {
      Seat& seat = seats_[CurrentSeat()];
      Loop loop(fn, num_parts, helpers + 1, this, &seat);
      loop.run = &RunLoop;
      loop.tickets.store(helpers, std::memory_order_relaxed);
      int pushed = 0;
      while (pushed < helpers && Push(&loop)) ++pushed;
      loop.Work(0);
      const int unused = helpers - pushed + TakeBack(&loop, pushed, &seat.deque);
      if (loop.tickets.fetch_sub(unused, std::memory_order_seq_cst) == unused) return;
      auto finished = [&] { return loop.tickets.load(std::memory_order_acquire) == 0; };
      if (SpinUntil(finished, [] { return true; })) return;
      seat.waiting.store(true, std::memory_order_seq_cst);
      for (;;) {
        const uint32_t signal = seat.signal.load(std::memory_order_seq_cst);
        if (loop.tickets.load(std::memory_order_seq_cst) == 0) break;
        seat.signal.wait(signal, std::memory_order_seq_cst);
      }
      seat.waiting.store(false, std::memory_order_relaxed);
      return;
    }
  }
  for (int64_t part = 0; part < num_parts; ++part) fn(part);
}

}  // namespace nabla
