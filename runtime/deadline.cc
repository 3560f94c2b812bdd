#include "nabla/runtime/deadline.h"

#include <chrono>

#include "absl/time/clock.h"

namespace nabla {

DeadlineWatcher::~DeadlineWatcher() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

DeadlineWatcher::Timer::Timer(DeadlineWatcher* watcher, absl::Time deadline) {
  if (deadline == absl::InfiniteFuture()) return;
  watcher_ = watcher;
  if (deadline <= absl::Now()) expired_.store(true);
  std::lock_guard<std::mutex> lock(watcher->mutex_);
  entry_ = watcher->timers_.emplace(deadline, this);
  if (!watcher->thread_.joinable()) watcher->thread_ = std::thread([watcher] { watcher->Main(); });
  if (entry_ == watcher->timers_.begin()) watcher->changed_.notify_all();
}

DeadlineWatcher::Timer::~Timer() {
  if (watcher_ == nullptr) return;
  std::lock_guard<std::mutex> lock(watcher_->mutex_);
  watcher_->timers_.erase(entry_);
}

void DeadlineWatcher::Main() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stop_) {
    const absl::Time now = absl::Now();
    // Those that are over stay in the map until their runs end.
    auto next = timers_.upper_bound(now);
    for (auto it = timers_.begin(); it != next; ++it) it->second->expired_.store(true);
    if (next == timers_.end()) {
      changed_.wait(lock);
    } else {
      changed_.wait_until(lock, absl::ToChronoTime(next->first));
    }
  }
}

}  // namespace nabla
