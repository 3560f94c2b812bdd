#include "nabla/runtime/kernels/gemm.h"

#include <dnnl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "absl/strings/str_cat.h"
#include "nabla/runtime/kernels/simd_gemm.h"

// From the OpenMP runtime that oneDNN brings; its header comes with some compilers only.
extern "C" int omp_get_max_threads(void);
extern "C" void omp_set_num_threads(int);

namespace nabla {
namespace {

// oneDNN would start a team of OpenMP threads of its own, next to our pool. While this lives, the calling thread's
// teams are of one.
class SingleThreadedOpenMp {
 public:
  SingleThreadedOpenMp() : saved_(omp_get_max_threads()) {
    if (saved_ != 1) omp_set_num_threads(1);
  }
  ~SingleThreadedOpenMp() {
    if (saved_ != 1) omp_set_num_threads(saved_);
  }
  SingleThreadedOpenMp(const SingleThreadedOpenMp&) = delete;
  SingleThreadedOpenMp& operator=(const SingleThreadedOpenMp&) = delete;

 private:
  const int saved_;
};

int64_t RoundUp(int64_t value, int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

struct Tiling {
  int64_t rows;
  int64_t columns;
};

// How a product is cut among threads. oneDNN chooses how it adds up by the shape that it is asked for, so another cut
// gives other bits: it must not depend on the number of threads. It depends on the shape and on the processors that the
// machine has. Each part repeats some packing, so there are no more than keep these busy, none below some fifty
// microseconds' work, and none of few rows.
Tiling ChooseTiling(int64_t m, int64_t n, int64_t k) {
  static const double kProcessors = static_cast<double>(std::max(2L, sysconf(_SC_NPROCESSORS_CONF)));
  const double flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  const double parts = std::max(std::min(flops / 8e6, kProcessors), std::min(flops / 4e9, 64.0));
  Tiling tiling = {m, n};
  for (double made = 1; 2 * made <= parts; made *= 2) {
    // Of equals the columns, which cost a little less.
    if (tiling.columns >= 128 && tiling.columns >= tiling.rows) {
      tiling.columns = RoundUp((tiling.columns + 1) / 2, 16);
    } else if (tiling.rows >= 128) {
      tiling.rows = RoundUp((tiling.rows + 1) / 2, 8);
    } else {
      break;
    }
  }
  return tiling;
}

template <typename Run>
void ForEachTile(KernelContext& ctx, bool parallel, int64_t m, int64_t n, int64_t k, Tiling tiling, Run run) {
  const int64_t across = (n + tiling.columns - 1) / tiling.columns;
  const int64_t tiles = across * ((m + tiling.rows - 1) / tiling.rows);
  const auto run_tiles = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = i / across * tiling.rows;
      const int64_t column = i % across * tiling.columns;
      run(row, column, std::min(tiling.rows, m - row), std::min(tiling.columns, n - column));
    }
  };
  if (!parallel || tiles == 1) {
    run_tiles(0, tiles);
    return;
  }
  // About 100 floating-point operations a nanosecond.
  const double cost =
      0.02 * static_cast<double>(tiling.rows) * static_cast<double>(tiling.columns) * static_cast<double>(k);
  ctx.StoppableParallelFor(tiles, cost, run_tiles);
}

}  // namespace

absl::Status Gemm(KernelContext& ctx, bool parallel, int64_t m, int64_t n, int64_t k, float alpha,
                  const GemmOperand<float>& a, const GemmOperand<float>& b, bool accumulate, float* c) {
  if (m == 0 || n == 0) return absl::OkStatus();
  if (k == 0) {
    if (!accumulate) std::fill(c, c + m * n, 0.0f);
    return absl::OkStatus();
  }
  const bool transpose_a = a.column_stride != 1;
  const bool transpose_b = b.column_stride != 1;
  // A matrix of one row may come with any stride between rows, oneDNN wants at least a row's length.
  const int64_t lda = transpose_a ? a.column_stride : std::max(a.row_stride, k);
  const int64_t ldb = transpose_b ? b.column_stride : std::max(b.row_stride, n);
  const float beta = accumulate ? 1.0f : 0.0f;
  std::atomic<dnnl_status_t> failure{dnnl_success};
  ForEachTile(
      ctx, parallel, m, n, k, ChooseTiling(m, n, k), [&](int64_t row, int64_t column, int64_t rows, int64_t columns) {
        const SingleThreadedOpenMp one_thread;
        const dnnl_status_t status = dnnl_sgemm(transpose_a ? 'T' : 'N', transpose_b ? 'T' : 'N', rows, columns, k,
                                                alpha, a.data + row * a.row_stride, lda,
                                                b.data + column * b.column_stride, ldb, beta, c + row * n + column, n);
        if (status != dnnl_success) failure.store(status);
      });
  switch (failure.load()) {
    case dnnl_success:
      return absl::OkStatus();
    case dnnl_out_of_memory:
      return absl::ResourceExhaustedError("no memory for a matrix product's workspace");
    default:
      return absl::InternalError(absl::StrCat("oneDNN refuses a matrix product with status ", failure.load()));
  }
}

absl::Status Gemm(KernelContext& ctx, bool parallel, int64_t m, int64_t n, int64_t k, double alpha,
                  const GemmOperand<double>& a, const GemmOperand<double>& b, bool accumulate, double* c) {
  if (!accumulate) std::fill(c, c + m * n, 0.0);
  if (m == 0 || n == 0 || k == 0) return absl::OkStatus();
  ForEachTile(ctx, parallel, m, n, k, ChooseTiling(m, n, k),
              [&](int64_t row, int64_t column, int64_t rows, int64_t columns) {
                SimdGemm({a.data + row * a.row_stride, a.row_stride, a.column_stride},
                         {b.data + column * b.column_stride, b.row_stride, b.column_stride}, k, alpha,
                         c + row * n + column, n, rows, columns);
              });
  return absl::OkStatus();
}

}  // namespace nabla
