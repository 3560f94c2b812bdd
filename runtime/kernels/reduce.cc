#include "nabla/runtime/kernels/reduce.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "nabla/runtime/kernels/narrow.h"

namespace nabla {
namespace {

// Elements that one task reduces by itself; a longer row is cut.
constexpr int64_t kSegment = 1 << 16;
// Nanoseconds that an element takes, about.
constexpr double kCost = 0.15;
constexpr double kCostPerOutput = 8;

// What is left of a shape when neighbouring dimensions that are all reduced, or all kept, are merged.
struct Pattern {
  struct Dim {
    int64_t size;
    int64_t stride;
  };
  absl::InlinedVector<Dim, 4> kept;     // but for the innermost, if that is kept
  absl::InlinedVector<Dim, 4> reduced;  // the innermost of them last
  bool inner_is_reduced = true;
  int64_t inner = 1;  // size of the innermost dimension
  int64_t num_kept = 1;
  int64_t num_reduced = 1;  // elements per output
};

Pattern MakePattern(const Shape& shape, const ReduceAxes& axes) {
  struct Group {
    int64_t size;
    bool reduced;
  };
  absl::InlinedVector<Group, 8> groups;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape.dim(i) == 1) continue;
    if (!groups.empty() && groups.back().reduced == axes[i]) {
      groups.back().size *= shape.dim(i);
    } else {
      groups.push_back({shape.dim(i), axes[i]});
    }
  }
  Pattern pattern;
  for (const Group& group : groups) (group.reduced ? pattern.num_reduced : pattern.num_kept) *= group.size;
  if (groups.empty()) return pattern;
  pattern.inner_is_reduced = groups.back().reduced;
  pattern.inner = groups.back().size;
  int64_t stride = pattern.inner;
  for (int g = static_cast<int>(groups.size()) - 2; g >= 0; --g) {
    (groups[g].reduced ? pattern.reduced : pattern.kept).push_back({groups[g].size, stride});
    stride *= groups[g].size;
  }
  std::reverse(pattern.reduced.begin(), pattern.reduced.end());
  std::reverse(pattern.kept.begin(), pattern.kept.end());
  return pattern;
}

// The offset of the index-th combination of the dimensions' indices.
template <typename Dims>
int64_t OffsetOf(const Dims& dims, size_t count, int64_t index) {
  int64_t offset = 0;
  for (size_t i = count; i-- > 0;) {
    offset += index % dims[i].size * dims[i].stride;
    index /= dims[i].size;
  }
  return offset;
}

class Reducer {
 public:
  Reducer(KernelContext& ctx, const ReduceLoops& loops, const Pattern& pattern, const void* x, size_t x_size, void* y,
          size_t y_size)
      : ctx_(ctx),
        loops_(loops),
        pattern_(pattern),
        x_(static_cast<const char*>(x)),
        x_size_(static_cast<int64_t>(x_size)),
        y_(static_cast<char*>(y)),
        y_size_(static_cast<int64_t>(y_size)) {}

  void Run() { pattern_.inner_is_reduced ? ReduceRows() : ReduceColumns(); }

 private:
  // Room for the accumulators of a row, of the largest type.
  struct alignas(64) Scratch {
    char bytes[kReduceColumns * 16];
  };

  const char* At(int64_t offset) const { return x_ + offset * x_size_; }
  char* Output(int64_t i) const { return y_ + i * y_size_; }

  // The innermost dimension is reduced: each output gathers one row, or one per combination of the outer reduced
  // dimensions.
  void ReduceRows() {
    const int64_t rows = pattern_.num_reduced / pattern_.inner;
    const int64_t segments = (pattern_.inner + kSegment - 1) / kSegment;
    if (rows > 1 || segments == 1) {
      const double cost = kCost * static_cast<double>(pattern_.num_reduced) + kCostPerOutput;
      const auto reduce = [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          alignas(16) char acc[16];
          loops_.init(acc, 1);
          const int64_t base = OffsetOf(pattern_.kept, pattern_.kept.size(), i);
          for (int64_t r = 0; r < rows; ++r) {
            loops_.row(At(base + OffsetOf(pattern_.reduced, pattern_.reduced.size(), r)), pattern_.inner, acc);
          }
          loops_.finish(acc, Output(i), 1, pattern_.num_reduced);
        }
      };
      if (pattern_.num_kept == 1) {
        reduce(0, 1);
      } else {
        ctx_.ParallelFor(pattern_.num_kept, cost, reduce);
      }
      return;
    }
    // Long rows: cut into segments, whose results are combined in order.
    const int64_t acc_size = static_cast<int64_t>(loops_.accumulator_size);
    std::vector<char> partial(pattern_.num_kept * segments * acc_size);
    loops_.init(partial.data(), pattern_.num_kept * segments);
    ctx_.ParallelFor(pattern_.num_kept * segments, kCost * kSegment, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t from = i % segments * kSegment;
        const int64_t n = std::min(kSegment, pattern_.inner - from);
        const int64_t base = OffsetOf(pattern_.kept, pattern_.kept.size(), i / segments);
        loops_.row(At(base + from), n, partial.data() + i * acc_size);
      }
    });
    for (int64_t i = 0; i < pattern_.num_kept; ++i) {
      char* acc = partial.data() + i * segments * acc_size;
      for (int64_t s = 1; s < segments; ++s) loops_.combine(acc, acc + s * acc_size, 1);
      loops_.finish(acc, Output(i), 1, pattern_.num_reduced);
    }
  }

  // The innermost dimension is kept: whole rows are added up, in chunks of columns.
  void ReduceColumns() {
    const int64_t inner = pattern_.inner;
    const int64_t outer = pattern_.num_kept / inner;
    const int64_t chunks = (inner + kReduceColumns - 1) / kReduceColumns;
    if (pattern_.reduced.empty()) {  // nothing is reduced
      ReduceBlocks(outer, chunks);
      return;
    }
    const int64_t rows = pattern_.reduced.back().size;
    const int64_t width = std::min(inner, kReduceColumns);
    const int64_t segment_rows = std::max<int64_t>(256, kSegment / width);
    const int64_t segments = (rows + segment_rows - 1) / segment_rows;
    if (pattern_.reduced.size() > 1 || segments == 1 || outer * chunks >= 64) {
      ReduceBlocks(outer, chunks);
      return;
    }
    // Tall and narrow: cut into segments of rows, whose results are combined in order.
    const int64_t acc_size = static_cast<int64_t>(loops_.accumulator_size);
    std::vector<char> partial(outer * segments * inner * acc_size);
    loops_.init(partial.data(), outer * segments * inner);
    const int64_t tasks = outer * segments * chunks;
    ctx_.ParallelFor(tasks, kCost * static_cast<double>(segment_rows * width), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t column = i % chunks * kReduceColumns;
        const int64_t row = i / chunks % segments * segment_rows;
        const int64_t base = OffsetOf(pattern_.kept, pattern_.kept.size(), i / chunks / segments);
        char* acc = partial.data() + (i / chunks * inner + column) * acc_size;
        SumRows(At(base + row * inner + column), std::min(segment_rows, rows - row),
                std::min(kReduceColumns, inner - column), acc);
      }
    });
    for (int64_t o = 0; o < outer; ++o) {
      char* acc = partial.data() + o * segments * inner * acc_size;
      for (int64_t s = 1; s < segments; ++s) loops_.combine(acc, acc + s * inner * acc_size, inner);
      loops_.finish(acc, Output(o * inner), inner, pattern_.num_reduced);
    }
  }

  // Each task does all rows of a chunk of columns.
  void ReduceBlocks(int64_t outer, int64_t chunks) {
    const int64_t inner = pattern_.inner;
    const int64_t rows = pattern_.reduced.empty() ? 1 : pattern_.reduced.back().size;
    const int64_t outer_reduced = pattern_.num_reduced / std::max<int64_t>(rows, 1);
    const int64_t width = std::min(inner, kReduceColumns);
    const double cost = kCost * static_cast<double>(pattern_.num_reduced * width) + kCostPerOutput;
    ctx_.ParallelFor(outer * chunks, cost, [&](int64_t begin, int64_t end) {
      Scratch acc;
      for (int64_t i = begin; i < end; ++i) {
        const int64_t column = i % chunks * kReduceColumns;
        const int64_t n = std::min(kReduceColumns, inner - column);
        const int64_t base = OffsetOf(pattern_.kept, pattern_.kept.size(), i / chunks);
        loops_.init(acc.bytes, n);
        for (int64_t r = 0; r < outer_reduced; ++r) {
          const size_t count = pattern_.reduced.empty() ? 0 : pattern_.reduced.size() - 1;
          SumRows(At(base + OffsetOf(pattern_.reduced, count, r) + column), rows, n, acc.bytes);
        }
        loops_.finish(acc.bytes, Output(i / chunks * inner + column), n, pattern_.num_reduced);
      }
    });
  }

  // Narrow rows that stand one after the other are taken several at a time, as one wide row, whose pieces are then
  // combined: vectors stay full.
  void SumRows(const char* x, int64_t rows, int64_t columns, char* acc) const {
    const int64_t inner = pattern_.inner;
    const int64_t together = kReduceColumns / 4 / inner;
    if (columns != inner || together < 2 || rows < 2 * together) {
      loops_.columns(x, rows, inner, columns, acc);
      return;
    }
    Scratch wide;
    loops_.init(wide.bytes, together * inner);
    const int64_t whole = rows / together;
    loops_.columns(x, whole, together * inner, together * inner, wide.bytes);
    const int64_t acc_size = static_cast<int64_t>(loops_.accumulator_size);
    for (int64_t i = 0; i < together; ++i) loops_.combine(acc, wide.bytes + i * inner * acc_size, inner);
    loops_.columns(x + whole * together * inner * x_size_, rows - whole * together, inner, columns, acc);
  }

  KernelContext& ctx_;
  const ReduceLoops& loops_;
  const Pattern& pattern_;
  const char* x_;
  int64_t x_size_;
  char* y_;
  int64_t y_size_;
};

}  // namespace

absl::Status Reduce(KernelContext& ctx, ReduceOp op, const Tensor& x, const ReduceAxes& axes,
                    const Shape& output_shape) {
  const bool narrow = IsNarrow(x.dtype());
  const ReduceLoops* loops = FindReduceLoops(op, narrow ? DType::kFloat : x.dtype());
  if (loops == nullptr) return UnsupportedDType(x.dtype());
  NABLA_ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, output_shape));
  const int64_t outputs = y->num_elements();
  if (outputs == 0) return absl::OkStatus();

  const void* source = x.raw_data();
  size_t size = DTypeSize(x.dtype());
  void* result = y->raw_data();
  Tensor wide_x;
  Tensor wide_y;
  if (narrow) {
    NABLA_ASSIGN_OR_RETURN(wide_x, ctx.AllocateTemp(DType::kFloat, x.shape()));
    NABLA_ASSIGN_OR_RETURN(wide_y, ctx.AllocateTemp(DType::kFloat, output_shape));
    ctx.ParallelFor(x.num_elements(), 1, [&](int64_t begin, int64_t end) {
      NarrowToFloat(x.dtype(), static_cast<const char*>(source) + begin * 2, wide_x.data<float>() + begin, end - begin);
    });
    source = wide_x.raw_data();
    result = wide_y.raw_data();
    size = sizeof(float);
  }
  if (x.num_elements() == 0) {
    alignas(16) char acc[16];
    loops->init(acc, 1);
    for (int64_t i = 0; i < outputs; ++i) loops->finish(acc, static_cast<char*>(result) + i * size, 1, 0);
  } else {
    const Pattern pattern = MakePattern(x.shape(), axes);
    Reducer(ctx, *loops, pattern, source, size, result, size).Run();
  }
  if (narrow) FloatToNarrow(x.dtype(), static_cast<const float*>(result), y->raw_data(), outputs);
  return absl::OkStatus();
}

}  // namespace nabla
