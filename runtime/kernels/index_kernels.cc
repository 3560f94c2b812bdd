// Ops that find indices (Where), compare elements (Unique) or turn indices into patterns (OneHot).
#include <algorithm>
#include <cstring>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "nabla/runtime/dtype_switch.h"
#include "nabla/runtime/kernels/arguments.h"
#include "nabla/runtime/kernels/copy.h"
#include "nabla/runtime/kernels/gather_scatter.h"

namespace nabla {
namespace {

// Counts in parts of a size that depends on the input alone, then each part writes where the counts before it say.
template <typename T>
absl::Status FindNonZero(KernelContext& ctx) {
  constexpr int64_t kPart = 1 << 15;
  const Tensor& input = ctx.input(0);
  const T* const x = input.data<T>();
  const int64_t size = input.num_elements();
  const int rank = input.rank();
  const int64_t parts = (size + kPart - 1) / kPart;
  const auto is_set = [](const T& value) {
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      return static_cast<float>(value) != 0.0f;
    } else {
      return value != T(0);
    }
  };
  std::vector<int64_t> starts(parts + 1, 0);
  ctx.ParallelFor(parts, 0.5 * kPart, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      int64_t count = 0;
      const int64_t stop = std::min(size, (part + 1) * kPart);
      for (int64_t i = part * kPart; i < stop; ++i) count += is_set(x[i]);
      starts[part + 1] = count;
    }
  });
  for (int64_t part = 0; part < parts; ++part) starts[part + 1] += starts[part];
  NABLA_ASSIGN_OR_RETURN(const Shape shape, Shape::FromDims({starts[parts], rank}));
  NABLA_ASSIGN_OR_RETURN(Tensor * output, ctx.AllocateOutput(0, shape));
  if (output->num_elements() == 0) return absl::OkStatus();
  int64_t* const out = output->data<int64_t>();
  const int64_t width = input.dim(rank - 1);
  ctx.ParallelFor(parts, 1.0 * kPart, [&](int64_t begin, int64_t end) {
    // The position of the row that element `i` is in, kept up to date row by row.
    Integers row(rank, 0);
    int64_t i = begin * kPart;
    const int64_t stop = std::min(size, end * kPart);
    int64_t rest = i / width, column = i % width;
    for (int d = rank - 2; d >= 0; --d) {
      row[d] = rest % input.dim(d);
      rest /= input.dim(d);
    }
    int64_t* to = out + starts[begin] * rank;
    while (i < stop) {
      const int64_t row_stop = std::min(width, column + stop - i);
      for (; column < row_stop; ++column, ++i) {
        if (!is_set(x[i])) continue;
        to = std::copy(row.begin(), row.end() - 1, to);
        *to++ = column;
      }
      column = 0;
      for (int d = rank - 2; d >= 0 && ++row[d] == input.dim(d); --d) row[d] = 0;
    }
  });
  return absl::OkStatus();
}

absl::Status WhereCompute(KernelContext& ctx) {
  const DType dtype = ctx.input(0).dtype();
  if (IsFloating(dtype) || IsComplex(dtype)) {
    return SwitchNumeric(dtype, [&](auto zero) { return FindNonZero<decltype(zero)>(ctx); });
  }
  if (dtype == DType::kString || !IsPod(dtype)) return UnsupportedDType(dtype);
  switch (DTypeSize(dtype)) {
    case 1:
      return FindNonZero<uint8_t>(ctx);
    case 2:
      return FindNonZero<uint16_t>(ctx);
    case 4:
      return FindNonZero<uint32_t>(ctx);
    default:
      return FindNonZero<uint64_t>(ctx);
  }
}

// What makes two numbers equal, as bits: both zeros are one. False for a NaN, which equals nothing.
template <typename T>
bool CanonicalBits(T value, uint64_t* bits) {
  *bits = 0;
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return CanonicalBits(static_cast<float>(value), bits);
  } else if constexpr (std::is_floating_point_v<T>) {
    if (value != value) return false;
    if (value == T(0)) value = T(0);
    std::memcpy(bits, &value, sizeof(T));
  } else {
    std::memcpy(bits, &value, sizeof(T));
  }
  return true;
}

// first[k] = the row of the k-th distinct row; index[i] = the k that row i is equal to.
struct DistinctRows {
  std::vector<int64_t> first;
  std::vector<int64_t> index;
};

template <typename Map, typename Key>
void Insert(Map& seen, const Key& key, int64_t row, DistinctRows* out) {
  const auto [it, is_new] = seen.try_emplace(key, static_cast<int64_t>(out->first.size()));
  if (is_new) out->first.push_back(row);
  out->index.push_back(it->second);
}

void InsertUnequal(int64_t row, DistinctRows* out) {
  out->index.push_back(static_cast<int64_t>(out->first.size()));
  out->first.push_back(row);
}

template <typename T>
void FindDistinct(const T* x, int64_t rows, int64_t width, DistinctRows* out) {
  if (width == 1) {
    absl::flat_hash_map<uint64_t, int64_t> seen;
    for (int64_t i = 0; i < rows; ++i) {
      uint64_t key;
      if (CanonicalBits(x[i], &key)) {
        Insert(seen, key, i, out);
      } else {
        InsertUnequal(i, out);
      }
    }
    return;
  }
  absl::flat_hash_map<std::string, int64_t> seen;
  std::string key(width * sizeof(uint64_t), '\0');
  for (int64_t i = 0; i < rows; ++i) {
    bool comparable = true;
    for (int64_t k = 0; k < width; ++k) {
      uint64_t bits;
      comparable = CanonicalBits(x[i * width + k], &bits) && comparable;
      std::memcpy(&key[k * sizeof(bits)], &bits, sizeof(bits));
    }
    if (comparable) {
      Insert(seen, key, i, out);
    } else {
      InsertUnequal(i, out);
    }
  }
}

void FindDistinct(const std::string* x, int64_t rows, int64_t width, DistinctRows* out) {
  absl::flat_hash_map<std::string, int64_t> seen;
  for (int64_t i = 0; i < rows; ++i) {
    std::string key;
    for (int64_t k = 0; k < width; ++k) {
      // The lengths keep ("ab", "c") and ("a", "bc") apart.
      const std::string& element = x[i * width + k];
      if (width > 1) absl::StrAppend(&key, element.size(), ":");
      key.append(element);
    }
    Insert(seen, key, i, out);
  }
}

absl::Status FindDistinct(const Tensor& rows, int64_t count, int64_t width, DistinctRows* out) {
  const DType dtype = rows.dtype();
  out->index.reserve(count);
  if (dtype == DType::kString) {
    FindDistinct(rows.data<std::string>(), count, width, out);
    return absl::OkStatus();
  }
  if (IsComplex(dtype)) {
    // Two numbers each.
    if (dtype == DType::kComplex64) {
      FindDistinct(reinterpret_cast<const float*>(rows.raw_data()), count, 2 * width, out);
    } else {
      FindDistinct(reinterpret_cast<const double*>(rows.raw_data()), count, 2 * width, out);
    }
    return absl::OkStatus();
  }
  const auto find = [&](auto zero) -> absl::Status {
    FindDistinct(rows.data<decltype(zero)>(), count, width, out);
    return absl::OkStatus();
  };
  if (IsFloating(dtype)) return SwitchFloating(dtype, find);
  if (dtype == DType::kBool) return find(uint8_t());
  return SwitchInteger(dtype, find);
}

// x along `axis`: the distinct slices and, for each, which of them it is.
absl::Status DistinctAlong(KernelContext& ctx, int axis) {
  const Tensor& x = ctx.input(0);
  const int64_t count = x.dim(axis);
  const int64_t outer = DimProduct(x.shape(), 0, axis), inner = DimProduct(x.shape(), axis + 1, x.rank());
  const int64_t width = outer * inner;
  // The slices as rows.
  Tensor rows = x;
  if (outer > 1 && x.num_elements() > 0) {
    NABLA_ASSIGN_OR_RETURN(rows, ctx.AllocateTemp(x.dtype(), x.shape()));
    CopyLoops loops;
    loops.Add(count, inner, width);
    loops.Add(outer, count * inner, inner);
    loops.Add(inner, 1, 1);
    NABLA_RETURN_IF_ERROR(CopyElements(ctx, x.dtype(), std::move(loops), x.raw_data(), rows.raw_data()));
  }
  DistinctRows distinct;
  if (width == 0) {
    // Slices without elements are all equal.
    if (count > 0) distinct.first.push_back(0);
    distinct.index.assign(count, 0);
  } else {
    NABLA_RETURN_IF_ERROR(FindDistinct(rows, count, width, &distinct));
  }
  NABLA_ASSIGN_OR_RETURN(Tensor * index, ctx.AllocateOutput(1, Shape({count})));
  NABLA_RETURN_IF_ERROR(WriteIntegers(distinct.index, index));
  NABLA_ASSIGN_OR_RETURN(Tensor first,
                         ctx.AllocateTemp(DType::kInt64, Shape({static_cast<int64_t>(distinct.first.size())})));
  std::copy(distinct.first.begin(), distinct.first.end(), first.data<int64_t>());
  return GatherSlices(ctx, x, first, axis, 0, 0);
}

absl::Status UniqueCompute(KernelContext& ctx) {
  if (ctx.input(0).rank() != 1) {
    return absl::InvalidArgumentError(absl::StrCat("x must be a vector, has shape ", ctx.input(0).shape().ToString()));
  }
  return DistinctAlong(ctx, 0);
}

absl::Status UniqueV2Compute(KernelContext& ctx) {
  const int rank = ctx.input(0).rank();
  NABLA_ASSIGN_OR_RETURN(const Integers axes, IntegerVector(ctx.input(1), "axis"));
  if (axes.empty()) return UniqueCompute(ctx);
  if (axes.size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat("axis must have at most one element, has ", axes.size()));
  }
  NABLA_ASSIGN_OR_RETURN(const int axis, ResolveAxis(axes[0], rank));
  return DistinctAlong(ctx, axis);
}

absl::Status OneHotCompute(KernelContext& ctx) {
  const Tensor& indices = ctx.input(0);
  NABLA_ASSIGN_OR_RETURN(const int64_t depth, IntegerScalar(ctx.input(1), "depth"));
  if (depth < 0) return absl::InvalidArgumentError(absl::StrCat("depth is ", depth, ", must be at least 0"));
  for (int i : {2, 3}) {
    if (ctx.input(i).rank() != 0) {
      return absl::InvalidArgumentError(absl::StrCat(i == 2 ? "on_value" : "off_value", " must be a scalar, has shape ",
                                                     ctx.input(i).shape().ToString()));
    }
  }
  NABLA_ASSIGN_OR_RETURN(const int axis, ResolveAxis(ctx.node().GetAttr<int64_t>("axis"), indices.rank() + 1));
  Shape shape = indices.shape();
  shape.InsertDim(axis, depth);
  NABLA_ASSIGN_OR_RETURN(shape, Shape::FromDims(shape.dims()));
  NABLA_ASSIGN_OR_RETURN(Tensor * output, ctx.AllocateOutput(0, shape));
  if (output->num_elements() == 0) return absl::OkStatus();
  const int64_t outer = DimProduct(indices.shape(), 0, axis);
  const int64_t inner = DimProduct(indices.shape(), axis, indices.rank());
  // Indices in the widths that the op takes; what is out of range marks nothing.
  const auto index_at = [&](int64_t i) -> int64_t {
    switch (indices.dtype()) {
      case DType::kInt32:
        return indices.data<int32_t>()[i];
      case DType::kInt8:
        return indices.data<int8_t>()[i];
      case DType::kUInt8:
        return indices.data<uint8_t>()[i];
      default:
        return indices.data<int64_t>()[i];
    }
  };
  return SwitchMovable(output->dtype(), [&](auto zero) -> absl::Status {
    using T = decltype(zero);
    const T on = ctx.input(2).scalar<T>(), off = ctx.input(3).scalar<T>();
    T* const y = output->data<T>();
    const double cost = (std::is_trivially_copyable_v<T> ? 0.1 * sizeof(T) : 20.0) * depth * inner + 2.0 * inner;
    ctx.ParallelFor(outer, cost, [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) {
        T* const block = y + o * depth * inner;
        std::fill(block, block + depth * inner, off);
        for (int64_t i = 0; i < inner; ++i) {
          const int64_t index = index_at(o * inner + i);
          if (index >= 0 && index < depth) block[index * inner + i] = on;
        }
      }
    });
    return absl::OkStatus();
  });
}

}  // namespace

void RegisterIndexKernels(KernelRegistry& registry) {
  registry.Add("Where", WhereCompute);
  registry.Add("Unique", UniqueCompute);
  registry.Add("UniqueV2", UniqueV2Compute);
  registry.Add("OneHot", OneHotCompute);
}

}  // namespace nabla
