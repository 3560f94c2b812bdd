#include "nabla/runtime/kernels/copy.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "nabla/runtime/dtype_switch.h"

namespace nabla {
namespace {

using Loop = CopyLoops::Loop;
using Loops = absl::InlinedVector<Loop, 6>;

// Transposing pairs of loops run in tiles of this many elements each way: wide enough that most cache lines that are
// read or written are used whole, narrow enough for the lines of a tile to stay in the first-level cache.
template <typename T>
constexpr int64_t kTileOf = std::clamp<int64_t>(64 / sizeof(T), 8, 16);
// Nanoseconds per byte when copying from memory in order, and per element when not.
constexpr double kByteCost = 0.1;
constexpr double kElementCost = 0.6;

// Drops loops of one iteration and joins those that continue each other. False if nothing is to be done.
bool Normalize(Loops* loops) {
  Loops out;
  for (const Loop& loop : *loops) {
    if (loop.size <= 0) return false;
    if (loop.size == 1) continue;
    if (!out.empty() && out.back().src_stride == loop.src_stride * loop.size &&
        out.back().dst_stride == loop.dst_stride * loop.size) {
      out.back() = {out.back().size * loop.size, loop.src_stride, loop.dst_stride};
    } else {
      out.push_back(loop);
    }
  }
  if (out.empty()) out.push_back({1, 1, 1});
  *loops = std::move(out);
  return true;
}

template <typename T>
void CopyRow(int64_t n, const T* src, int64_t src_stride, T* dst, int64_t dst_stride) {
  if (src_stride == 1 && dst_stride == 1) {
    std::copy(src, src + n, dst);
  } else if (src_stride == 0 && dst_stride == 1) {
    std::fill(dst, dst + n, *src);
  } else if (src_stride == -1 && dst_stride == 1) {
    for (int64_t i = 0; i < n; ++i) dst[i] = src[-i];
  } else if (dst_stride == 1) {
    for (int64_t i = 0; i < n; ++i) dst[i] = src[i * src_stride];
  } else {
    for (int64_t i = 0; i < n; ++i) dst[i * dst_stride] = src[i * src_stride];
  }
}

// The last two loops of a nest: `row` around `cell`.
template <typename T>
void CopyRows(int64_t rows, const Loop& row, const Loop& cell, const T* src, T* dst) {
  constexpr int64_t kTile = kTileOf<T>;
  if (row.src_stride == 1 && cell.src_stride != 1 && cell.dst_stride == 1) {
    for (int64_t r = 0; r < rows; r += kTile) {
      const int64_t r_end = std::min(rows, r + kTile);
      for (int64_t i = 0; i < cell.size; i += kTile) {
        const int64_t width = std::min(kTile, cell.size - i);
        const T* from = src + i * cell.src_stride;
        T* to = dst + i;
        if (width == kTile) {
          // Each line of the tiles to come lies on another page, where the hardware does not look ahead by itself.
          if (r_end < rows) {
            for (int64_t j = 0; j < kTile; ++j) __builtin_prefetch(from + r_end + j * cell.src_stride);
          }
          for (int64_t k = r_end; k < std::min(rows, r_end + kTile); ++k)
            __builtin_prefetch(to + k * row.dst_stride, 1);
          for (int64_t k = r; k < r_end; ++k) {
            for (int64_t j = 0; j < kTile; ++j) to[k * row.dst_stride + j] = from[k + j * cell.src_stride];
          }
        } else {
          for (int64_t k = r; k < r_end; ++k) {
            for (int64_t j = 0; j < width; ++j) to[k * row.dst_stride + j] = from[k + j * cell.src_stride];
          }
        }
      }
    }
    return;
  }
  if (cell.src_stride == 1 && cell.dst_stride == 1 && cell.size <= 16) {
    // Too short for a call of memcpy to pay.
    for (int64_t r = 0; r < rows; ++r) {
      const T* from = src + r * row.src_stride;
      T* to = dst + r * row.dst_stride;
      for (int64_t i = 0; i < cell.size; ++i) to[i] = from[i];
    }
    return;
  }
  for (int64_t r = 0; r < rows; ++r) {
    CopyRow(cell.size, src + r * row.src_stride, cell.src_stride, dst + r * row.dst_stride, cell.dst_stride);
  }
}

// Iterations [begin, end) of the nest, counted in the order in which it runs.
template <typename T>
void RunPart(const Loops& loops, int64_t begin, int64_t end, const T* src, T* dst) {
  const int depth = static_cast<int>(loops.size());
  absl::InlinedVector<int64_t, 6> index(depth);
  int64_t rest = begin;
  for (int d = depth - 1; d >= 0; --d) {
    index[d] = rest % loops[d].size;
    rest /= loops[d].size;
    src += index[d] * loops[d].src_stride;
    dst += index[d] * loops[d].dst_stride;
  }
  // Moves on by `count` iterations of loop `d`, which may end it.
  const auto advance = [&](int d, int64_t count) {
    src += count * loops[d].src_stride;
    dst += count * loops[d].dst_stride;
    index[d] += count;
    while (d > 0 && index[d] == loops[d].size) {
      src += loops[d - 1].src_stride - loops[d].size * loops[d].src_stride;
      dst += loops[d - 1].dst_stride - loops[d].size * loops[d].dst_stride;
      index[d] = 0;
      ++index[--d];
    }
  };
  const Loop& cell = loops[depth - 1];
  int64_t at = begin;
  while (at < end) {
    if (depth > 1 && index[depth - 1] == 0 && end - at >= cell.size) {
      const Loop& row = loops[depth - 2];
      const int64_t rows = std::min(row.size - index[depth - 2], (end - at) / cell.size);
      CopyRows(rows, row, cell, src, dst);
      at += rows * cell.size;
      advance(depth - 2, rows);
    } else {
      const int64_t n = std::min(cell.size - index[depth - 1], end - at);
      CopyRow(n, src, cell.src_stride, dst, cell.dst_stride);
      at += n;
      advance(depth - 1, n);
    }
  }
}

template <typename T>
void RunLoops(KernelContext& ctx, const Loops& loops, const T* src, T* dst) {
  int64_t count = 1;
  for (const Loop& loop : loops) count *= loop.size;
  // The innermost two loops run fast, so they should be long: [1000, 2, 3] runs as [2, 1000, 3].
  Loops ordered = loops;
  if (const size_t depth = loops.size(); depth >= 3) {
    const Loop &row = loops[depth - 2], &cell = loops[depth - 1];
    const bool transposing = row.src_stride == 1 && cell.src_stride != 1;
    if (!transposing && row.size * cell.size < 64 && loops[depth - 3].size > row.size) {
      std::swap(ordered[depth - 3], ordered[depth - 2]);
    }
  }
  const bool in_runs = loops.back().src_stride >= 0 && loops.back().src_stride <= 1 && loops.back().dst_stride == 1;
  const double cost = !std::is_trivially_copyable_v<T> ? 20 : sizeof(T) * kByteCost + (in_runs ? 0 : kElementCost);
  if (static_cast<double>(count) * cost < 10'000) {
    RunPart(ordered, 0, count, src, dst);
    return;
  }
  ctx.ParallelFor(count, cost, [&](int64_t begin, int64_t end) { RunPart(ordered, begin, end, src, dst); });
}

// Whether another loop than the last runs through the source in order, so that the two transpose.
int TransposedLoop(const Loops& loops) {
  const Loop& last = loops.back();
  if (last.dst_stride != 1 || (last.src_stride >= -1 && last.src_stride <= 1) || last.size < 4) return -1;
  for (int d = static_cast<int>(loops.size()) - 2; d >= 0; --d) {
    if (loops[d].src_stride == 1 && loops[d].size >= 4) return d;
  }
  return -1;
}

template <typename T>
void RunTransposing(KernelContext& ctx, Loops loops, int transposed, const T* src, T* dst) {
  const Loop row = loops[transposed], cell = loops.back();
  loops.erase(loops.begin() + transposed);
  loops.pop_back();
  // Strips of the last loop, each crossed by the whole of the transposed one: what a thread reads, it reads once.
  constexpr int64_t kStrip = 4 * kTileOf<T>;
  const int64_t strips = cell.size / kStrip, rest = cell.size % kStrip;
  if (strips > 0) {
    Loops nest = loops;
    nest.push_back({strips, kStrip * cell.src_stride, kStrip});
    nest.push_back(row);
    nest.push_back({kStrip, cell.src_stride, 1});
    RunLoops(ctx, nest, src, dst);
  }
  if (rest > 0) {
    Loops nest = loops;
    nest.push_back(row);
    nest.push_back({rest, cell.src_stride, 1});
    RunLoops(ctx, nest, src + strips * kStrip * cell.src_stride, dst + strips * kStrip);
  }
}

}  // namespace

absl::Status CopyElements(KernelContext& ctx, DType dtype, CopyLoops copy, const void* src, void* dst) {
  Loops loops = std::move(copy.loops);
  if (!Normalize(&loops)) return absl::OkStatus();
  return SwitchMovable(dtype, [&](auto zero) -> absl::Status {
    using T = decltype(zero);
    const T* from = static_cast<const T*>(src);
    T* to = static_cast<T*>(dst);
    const int transposed = TransposedLoop(loops);
    if (transposed >= 0) {
      RunTransposing(ctx, loops, transposed, from, to);
    } else {
      RunLoops(ctx, loops, from, to);
    }
    return absl::OkStatus();
  });
}

absl::Status CopyRun(KernelContext& ctx, DType dtype, int64_t count, const void* src, void* dst) {
  CopyLoops loops;
  loops.Add(count, 1, 1);
  return CopyElements(ctx, dtype, std::move(loops), src, dst);
}

absl::Status FillElements(KernelContext& ctx, DType dtype, int64_t count, const void* value, void* dst) {
  CopyLoops loops;
  loops.Add(count, 0, 1);
  return CopyElements(ctx, dtype, std::move(loops), value, dst);
}

absl::Status ZeroElements(KernelContext& ctx, DType dtype, int64_t count, void* dst) {
  if (dtype == DType::kString) {
    const std::string empty;
    return FillElements(ctx, dtype, count, &empty, dst);
  }
  if (!IsPod(dtype)) return UnsupportedDType(dtype);
  char* const bytes = static_cast<char*>(dst);
  ctx.ParallelFor(count * static_cast<int64_t>(DTypeSize(dtype)), kByteCost / 2,
                  [&](int64_t begin, int64_t end) { std::memset(bytes + begin, 0, end - begin); });
  return absl::OkStatus();
}

absl::InlinedVector<int64_t, 6> StridesOf(const Shape& shape) {
  absl::InlinedVector<int64_t, 6> strides(shape.rank());
  uint64_t stride = 1;  // wraps without harm where a dimension is 0 and nothing is addressed
  for (int i = shape.rank() - 1; i >= 0; --i) {
    strides[i] = static_cast<int64_t>(stride);
    stride *= static_cast<uint64_t>(shape.dim(i));
  }
  return strides;
}

}  // namespace nabla
