// Broadcasting: how the operands of an elementwise op line up with its output.
//
//   NABLA_ASSIGN_OR_RETURN(Broadcast broadcast, Broadcast::Make({&a.shape(), &b.shape()}));
//   broadcast.ForEachRun(0, broadcast.num_elements(), [&](const int64_t* offsets, int64_t out, int64_t n) {
//     // out[out + i] = f(a[offsets[0] + i], b[offsets[1] + i]) for i in [0, n), where an operand for which
//     // broadcast.is_scalar(k) stays at its offset
//   });
//
// Neighbouring dimensions that all operands treat alike are merged, so that most shapes come down to one or two. A
// value type, thread-compatible.
#ifndef NABLA_RUNTIME_KERNELS_BROADCAST_H_
#define NABLA_RUNTIME_KERNELS_BROADCAST_H_

#include <algorithm>
#include <cstdint>
#include <initializer_list>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "nabla/graph/shape.h"

namespace nabla {

class Broadcast {
 public:
  static constexpr int kMaxOperands = 3;

  // Of at most kMaxOperands fully defined shapes. InvalidArgument if they don't broadcast, or if the result has more
  // elements than int64 can count.
  static absl::StatusOr<Broadcast> Make(std::initializer_list<const Shape*> shapes);

  const Shape& shape() const { return shape_; }
  int64_t num_elements() const { return num_elements_; }
  // The longest run.
  int64_t run_length() const { return groups_.empty() ? 1 : groups_.back().size; }
  // Within a run, operand k stays at one element.
  bool is_scalar(int k) const { return !groups_.empty() && groups_.back().strides[k] == 0; }

  // Calls fn(offsets, out, n) for the runs that make up the output's elements [begin, end), in order; offsets[k] is
  // the element of operand k at which the run begins.
  template <typename Fn>
  void ForEachRun(int64_t begin, int64_t end, Fn&& fn) const;

 private:
  struct Group {
    int64_t size;
    int64_t strides[kMaxOperands];  // in elements; 0: broadcast
  };

  Shape shape_;
  int64_t num_elements_ = 1;
  absl::InlinedVector<Group, 4> groups_;  // outermost first
};

template <typename Fn>
void Broadcast::ForEachRun(int64_t begin, int64_t end, Fn&& fn) const {
  int64_t offsets[kMaxOperands] = {};
  if (begin >= end) return;
  if (groups_.empty()) {
    fn(static_cast<const int64_t*>(offsets), int64_t{0}, int64_t{1});
    return;
  }
  const int last = static_cast<int>(groups_.size()) - 1;
  absl::InlinedVector<int64_t, 8> index(groups_.size());
  int64_t rest = begin;
  for (int g = last; g >= 0; --g) {
    index[g] = rest % groups_[g].size;
    rest /= groups_[g].size;
    for (int k = 0; k < kMaxOperands; ++k) offsets[k] += index[g] * groups_[g].strides[k];
  }
  int64_t out = begin;
  while (true) {
    const int64_t n = std::min(groups_[last].size - index[last], end - out);
    fn(static_cast<const int64_t*>(offsets), out, n);
    out += n;
    if (out >= end) return;
    // This run reached the end of its group: carry into the next outer one.
    for (int k = 0; k < kMaxOperands; ++k) offsets[k] -= index[last] * groups_[last].strides[k];
    index[last] = 0;
    for (int g = last - 1; g >= 0; --g) {
      const Group& group = groups_[g];
      ++index[g];
      for (int k = 0; k < kMaxOperands; ++k) offsets[k] += group.strides[k];
      if (index[g] < group.size) break;
      for (int k = 0; k < kMaxOperands; ++k) offsets[k] -= group.size * group.strides[k];
      index[g] = 0;
    }
  }
}

}  // namespace nabla

#endif  // NABLA_RUNTIME_KERNELS_BROADCAST_H_
