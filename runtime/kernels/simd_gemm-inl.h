// The matrix product of doubles; compiled once per instruction set.
//
// After K. Goto and R. van de Geijn, "Anatomy of high-performance matrix multiplication" (2008): panels of A and B are
// packed so that the innermost loop reads memory in order and keeps a small block of C in registers. An element of C
// is summed over k in blocks of kDepth from the first to the last whatever part of C is asked for, so the product may
// be cut anywhere without changing a bit.
#if defined(NABLA_RUNTIME_KERNELS_SIMD_GEMM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NABLA_RUNTIME_KERNELS_SIMD_GEMM_INL_H_
#undef NABLA_RUNTIME_KERNELS_SIMD_GEMM_INL_H_
#else
#define NABLA_RUNTIME_KERNELS_SIMD_GEMM_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "hwy/aligned_allocator.h"
#include "hwy/highway.h"
#include "nabla/runtime/kernels/gemm.h"

HWY_BEFORE_NAMESPACE();
namespace nabla {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using GemmTag = hn::ScalableTag<double>;
using GemmVector = hn::Vec<GemmTag>;

// Rows of the block of C in registers; it is two vectors wide. As many as the registers of the instruction set hold.
#if HWY_TARGET <= HWY_AVX3
constexpr int64_t kTileRows = 12;
#else
constexpr int64_t kTileRows = 6;
#endif
constexpr int64_t kDepth = 256;      // a packed panel of B stays in the first-level cache
constexpr int64_t kPanelRows = 144;  // a packed block of A stays in the second; a multiple of kTileRows
constexpr int64_t kPanelColumns = 1024;

// c[0 … rows) x [0 … columns) += alpha * a b over `depth` products; a and b are packed.
HWY_NOINLINE void GemmTile(const double* HWY_RESTRICT a, const double* HWY_RESTRICT b, int64_t depth, double alpha,
                           double* c, int64_t ldc, int64_t rows, int64_t columns) {
  const GemmTag d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  GemmVector left[kTileRows];
  GemmVector right[kTileRows];
#pragma GCC unroll 16
  for (int64_t i = 0; i < kTileRows; ++i) {
    left[i] = hn::Zero(d);
    right[i] = hn::Zero(d);
  }
  for (int64_t k = 0; k < depth; ++k) {
    const GemmVector b0 = hn::Load(d, b + k * 2 * lanes);
    const GemmVector b1 = hn::Load(d, b + k * 2 * lanes + lanes);
#pragma GCC unroll 16
    for (int64_t i = 0; i < kTileRows; ++i) {
      const GemmVector ai = hn::Set(d, a[k * kTileRows + i]);
      left[i] = hn::MulAdd(ai, b0, left[i]);
      right[i] = hn::MulAdd(ai, b1, right[i]);
    }
  }
  const GemmVector factor = hn::Set(d, alpha);
  if (HWY_LIKELY(rows == kTileRows && columns == 2 * lanes)) {
#pragma GCC unroll 16
    for (int64_t i = 0; i < kTileRows; ++i) {
      double* row = c + i * ldc;
      hn::StoreU(hn::MulAdd(factor, left[i], hn::LoadU(d, row)), d, row);
      hn::StoreU(hn::MulAdd(factor, right[i], hn::LoadU(d, row + lanes)), d, row + lanes);
    }
    return;
  }
  // At the edge, through buffers, by the same operations. (Were the registers' arrays indexed by a variable, the
  // compiler would keep them in memory throughout.)
  constexpr int64_t kWidth = 2 * HWY_MAX_BYTES / sizeof(double);
  HWY_ALIGN double sums[kTileRows * kWidth];
  HWY_ALIGN double edge[kWidth] = {};
#pragma GCC unroll 16
  for (int64_t i = 0; i < kTileRows; ++i) {
    hn::Store(left[i], d, sums + i * kWidth);
    hn::Store(right[i], d, sums + i * kWidth + lanes);
  }
  for (int64_t i = 0; i < rows; ++i) {
    double* row = c + i * ldc;
    std::copy(row, row + columns, edge);
    hn::Store(hn::MulAdd(factor, hn::Load(d, sums + i * kWidth), hn::Load(d, edge)), d, edge);
    hn::Store(hn::MulAdd(factor, hn::Load(d, sums + i * kWidth + lanes), hn::Load(d, edge + lanes)), d, edge + lanes);
    std::copy(edge, edge + columns, row);
  }
}

// Rows [row, row + rows) of A as tiles of kTileRows interleaved rows, filled up with zeros.
void PackA(const GemmOperand<double>& a, int64_t row, int64_t rows, int64_t k0, int64_t depth, double* to) {
  for (int64_t i0 = 0; i0 < rows; i0 += kTileRows) {
    const int64_t count = std::min(kTileRows, rows - i0);
    for (int64_t k = 0; k < depth; ++k, to += kTileRows) {
      for (int64_t i = 0; i < count; ++i) {
        to[i] = a.data[(row + i0 + i) * a.row_stride + (k0 + k) * a.column_stride];
      }
      std::fill(to + count, to + kTileRows, 0.0);
    }
  }
}

// Columns [column, column + columns) of B as tiles of `width` columns, filled up with zeros.
void PackB(const GemmOperand<double>& b, int64_t column, int64_t columns, int64_t k0, int64_t depth, int64_t width,
           double* to) {
  for (int64_t j0 = 0; j0 < columns; j0 += width) {
    const int64_t count = std::min(width, columns - j0);
    for (int64_t k = 0; k < depth; ++k, to += width) {
      const double* from = b.data + (k0 + k) * b.row_stride + (column + j0) * b.column_stride;
      for (int64_t j = 0; j < count; ++j) to[j] = from[j * b.column_stride];
      std::fill(to + count, to + width, 0.0);
    }
  }
}

void GemmBlock(const GemmOperand<double>& a, const GemmOperand<double>& b, int64_t depth, double alpha, double* c,
               int64_t ldc, int64_t rows, int64_t columns) {
  const int64_t width = 2 * static_cast<int64_t>(hn::Lanes(GemmTag()));
  const int64_t k_block = std::min(kDepth, depth);
  const int64_t packed_rows = (std::min(kPanelRows, rows) + kTileRows - 1) / kTileRows * kTileRows;
  const int64_t packed_columns = (std::min(kPanelColumns, columns) + width - 1) / width * width;
  auto packed_a = hwy::AllocateAligned<double>(packed_rows * k_block);
  auto packed_b = hwy::AllocateAligned<double>(packed_columns * k_block);
  for (int64_t j0 = 0; j0 < columns; j0 += kPanelColumns) {
    const int64_t nj = std::min(kPanelColumns, columns - j0);
    for (int64_t k0 = 0; k0 < depth; k0 += kDepth) {
      const int64_t nk = std::min(kDepth, depth - k0);
      PackB(b, j0, nj, k0, nk, width, packed_b.get());
      for (int64_t i0 = 0; i0 < rows; i0 += kPanelRows) {
        const int64_t ni = std::min(kPanelRows, rows - i0);
        PackA(a, i0, ni, k0, nk, packed_a.get());
        for (int64_t j = 0; j < nj; j += width) {
          for (int64_t i = 0; i < ni; i += kTileRows) {
            GemmTile(packed_a.get() + i * nk, packed_b.get() + j * nk, nk, alpha, c + (i0 + i) * ldc + j0 + j, ldc,
                     std::min(kTileRows, ni - i), std::min(width, nj - j));
          }
        }
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace nabla
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
