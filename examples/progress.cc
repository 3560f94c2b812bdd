#include "nabla/examples/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

namespace nabla::examples {
namespace {

constexpr int kBarWidth = 24;
// Lines per epoch where there is no terminal to redraw.
constexpr int kPlainLines = 4;

}  // namespace

Progress::Progress(int64_t epochs, int64_t steps_per_epoch, std::string unit)
    : epochs_(epochs),
      steps_per_epoch_(steps_per_epoch),
      unit_(std::move(unit)),
      terminal_(isatty(STDERR_FILENO) != 0) {}

void Progress::Step(int64_t epoch, int64_t step, double loss, int64_t count) {
  count_ += count;
  bool last = step == steps_per_epoch_;
  if (terminal_) {
    auto now = Clock::now();
    if (!last && now - drawn_ < std::chrono::milliseconds(100)) return;
    drawn_ = now;
  } else {
    int64_t every = std::max<int64_t>(1, steps_per_epoch_ / kPlainLines);
    if (!last && step % every != 0) return;
  }
  double seconds = Seconds();
  int64_t done = (epoch - 1) * steps_per_epoch_ + step;
  int64_t all = epochs_ * steps_per_epoch_;
  double left = seconds / static_cast<double>(done) * static_cast<double>(all - done);
  int filled = static_cast<int>(kBarWidth * step / steps_per_epoch_);
  std::string bar = std::string(filled, '=') + std::string(kBarWidth - filled, ' ');
  std::fprintf(stderr, "%sepoch %ld/%ld [%s] step %ld/%ld  loss %.4f  %.0f %s/s  %.0f s left%s", terminal_ ? "\r" : "",
               static_cast<long>(epoch), static_cast<long>(epochs_), bar.c_str(), static_cast<long>(step),
               static_cast<long>(steps_per_epoch_), loss, static_cast<double>(count_) / std::max(seconds, 1e-9),
               unit_.c_str(), left, terminal_ ? "\033[K" : "\n");
}

void Progress::EndEpoch(int64_t epoch, double loss, const std::string& result) {
  std::fprintf(stderr, "%sepoch %ld/%ld  mean loss %.4f  %s  %.1f s%s\n", terminal_ ? "\r" : "",
               static_cast<long>(epoch), static_cast<long>(epochs_), loss, result.c_str(), Seconds(),
               terminal_ ? "\033[K" : "");
}

}  // namespace nabla::examples
