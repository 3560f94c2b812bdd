// Runs tasks of which some wait for others, on a thread pool.
//
// A worker goes on with the first task that it has made ready, keeps cheap ones to itself, and puts expensive ones
// where idle threads find them. A task's number is its place in the order in which one thread would run them: it waits
// for lower ones only.
#ifndef NABLA_RUNTIME_TASK_GRAPH_H_
#define NABLA_RUNTIME_TASK_GRAPH_H_

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "nabla/runtime/thread_pool.h"

namespace nabla {

// Who waits for whom.
struct TaskGraph {
  struct Task {
    int32_t first_successor = 0;  // into successors
    int32_t num_successors = 0;
    int32_t pending = 0;     // tasks that must end before this one begins
    bool expensive = false;  // worth handing to another thread
  };
  std::vector<Task> tasks;
  std::vector<int32_t> successors;
  std::vector<int32_t> roots;  // tasks that wait for none, in order

  int32_t size() const { return static_cast<int32_t>(tasks.size()); }
  const Task& task(int32_t i) const { return tasks[i]; }
  int32_t successor(int32_t i) const { return successors[i]; }
};

// Waking another thread and moving data to its cache pays for work of this length.
inline constexpr double kExpensiveNanoseconds = 20'000;
// Several threads must be able to finish in this fraction of one thread's time.
inline constexpr double kWorthwhileFraction = 0.95;

// What a run of a task graph changes, kept from run to run: counters are wound back by whoever takes them to zero.
struct TaskCounters {
  struct Task : ThreadPool::Task {
    void* owner = nullptr;  // a TaskRun
    int32_t index = 0;
  };
  template <typename Graph>
  void Prepare(const Graph& graph) {
    if (pending != nullptr) return;
    pending.reset(new std::atomic<int32_t>[graph.size()]);
    tasks.reset(new Task[graph.size()]);
    for (int32_t i = 0; i < graph.size(); ++i) pending[i].store(graph.task(i).pending, std::memory_order_relaxed);
  }
  std::unique_ptr<std::atomic<int32_t>[]> pending;
  std::unique_ptr<Task[]> tasks;
};

// Of several failing tasks the first, whatever the number of threads. Once one has failed, those before it still run,
// for the first of all failures is the one to report; those after it need not. What runs has all its inputs, because
// these come before it. Thread-safe.
class FirstFailure {
 public:
  bool IsAfter(int32_t index) const { return index < index_.load(std::memory_order_relaxed); }
  void Record(int32_t index, absl::Status error) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!IsAfter(index)) return;
    index_.store(index, std::memory_order_relaxed);
    status_ = std::move(error);
  }
  absl::Status status() {
    std::lock_guard<std::mutex> lock(mutex_);
    return status_;
  }

 private:
  std::atomic<int32_t> index_{std::numeric_limits<int32_t>::max()};
  std::mutex mutex_;
  absl::Status status_;
};

// One run: calls body(i) once for each task i. `Graph` is TaskGraph or has its functions.
template <typename Graph, typename Body>
class TaskRun {
 public:
  // Tasks that one thread has made ready and not handed out, the next one last.
  using Ready = absl::InlinedVector<int32_t, 64>;

  // `long_tasks`: they may take any time (ThreadPool::Task::is_long).
  TaskRun(const Graph& graph, TaskCounters& counters, ThreadPool* pool, Body& body, bool long_tasks = false)
      : graph_(graph), counters_(counters), pool_(pool), body_(body), is_long_(long_tasks), remaining_(graph.size()) {}

  // Begins with the graph's roots and returns when all tasks are done.
  void Run(const std::vector<int32_t>& roots) {
    counters_.Prepare(graph_);
    Process(Ready(roots.rbegin(), roots.rend()));
    pool_->RunUntil([this] { return remaining_.load(std::memory_order_acquire) == 0; });
  }

 private:
  // Runs the ready tasks and whatever becomes ready through them, but for what other threads take.
  void Process(Ready ready) {
    int64_t executed = 0;
    HandOut(ready, 0);
    while (!ready.empty()) {
      const int32_t index = ready.back();
      ready.pop_back();
      body_(index);
      ++executed;
      const size_t first_new = ready.size();
      const auto& task = graph_.task(index);
      // Backwards, so that the first successor comes next.
      for (int32_t i = task.num_successors; i-- > 0;) {
        const int32_t successor = graph_.successor(task.first_successor + i);
        const int32_t pending = graph_.task(successor).pending;
        if (pending > 1) {
          if (counters_.pending[successor].fetch_sub(1, std::memory_order_acq_rel) > 1) continue;
          counters_.pending[successor].store(pending, std::memory_order_relaxed);
        }
        ready.push_back(successor);
      }
      HandOut(ready, first_new);
    }
    // The run may be over, and this object gone, as soon as the last task is counted.
    ThreadPool* const pool = pool_;
    if (remaining_.fetch_sub(executed, std::memory_order_acq_rel) == executed) pool->WakeAll();
  }

  // Puts the expensive ones of the tasks from `first` on where other threads find them. If one is all there is to do,
  // it stays.
  void HandOut(Ready& ready, size_t first) {
    size_t kept = first;
    for (size_t i = first; i < ready.size(); ++i) {
      const int32_t index = ready[i];
      if (graph_.task(index).expensive && ready.size() - i + kept > 1) {
        TaskCounters::Task& task = counters_.tasks[index];
        task.owner = this;
        task.index = index;
        task.is_long = is_long_;
        task.run = [](ThreadPool::Task* t) {
          const auto* self = static_cast<TaskCounters::Task*>(t);
          static_cast<TaskRun*>(self->owner)->Process({self->index});
        };
        if (pool_->Push(&task)) continue;
      }
      ready[kept++] = index;
    }
    ready.resize(kept);
  }

  const Graph& graph_;
  TaskCounters& counters_;
  ThreadPool* const pool_;
  Body& body_;
  const bool is_long_;
  std::atomic<int64_t> remaining_;
};

}  // namespace nabla

#endif  // NABLA_RUNTIME_TASK_GRAPH_H_
