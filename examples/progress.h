// A line that tells how far a training run is: a bar that redraws itself on a terminal, plain lines elsewhere.
#ifndef NABLA_EXAMPLES_PROGRESS_H_
#define NABLA_EXAMPLES_PROGRESS_H_

#include <chrono>
#include <cstdint>
#include <string>

namespace nabla::examples {

// Thread-compatible. Writes to stderr.
class Progress {
 public:
  // `unit`: what steps go through, as in "images".
  Progress(int64_t epochs, int64_t steps_per_epoch, std::string unit);

  // After step `step` (from 1) of epoch `epoch` (from 1), `count` units later.
  void Step(int64_t epoch, int64_t step, double loss, int64_t count);
  // Ends the epoch's line with its mean loss and `result`, what a test of the network says.
  void EndEpoch(int64_t epoch, double loss, const std::string& result);

 private:
  using Clock = std::chrono::steady_clock;
  double Seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  int64_t epochs_, steps_per_epoch_;
  std::string unit_;
  int64_t count_ = 0;
  bool terminal_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point drawn_{};
};

}  // namespace nabla::examples

#endif  // NABLA_EXAMPLES_PROGRESS_H_
