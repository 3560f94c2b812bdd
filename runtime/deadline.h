// Deadlines of runs: one sleeping thread that raises each run's flag when its time has come.
#ifndef NABLA_RUNTIME_DEADLINE_H_
#define NABLA_RUNTIME_DEADLINE_H_

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "absl/time/time.h"

namespace nabla {

// Thread-safe. Its thread starts with the first deadline.
class DeadlineWatcher {
 public:
  DeadlineWatcher() = default;
  ~DeadlineWatcher();

  // A run's deadline, for as long as the run lasts.
  class Timer {
   public:
    // `watcher` is not touched if `deadline` is absl::InfiniteFuture().
    Timer(DeadlineWatcher* watcher, absl::Time deadline);
    ~Timer();
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;
    // Becomes true when the deadline has passed; nullptr if there is none.
    const std::atomic<bool>* flag() const { return watcher_ == nullptr ? nullptr : &expired_; }

   private:
    friend class DeadlineWatcher;
    DeadlineWatcher* watcher_ = nullptr;
    std::atomic<bool> expired_{false};
    std::multimap<absl::Time, Timer*>::iterator entry_;
  };

 private:
  void Main();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::multimap<absl::Time, Timer*> timers_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace nabla

#endif  // NABLA_RUNTIME_DEADLINE_H_
