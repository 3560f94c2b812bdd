#include "nabla/tests/cases/reference.h"

#include <algorithm>
#include <utility>

#include "nabla/graph/check.h"

namespace nabla {

int64_t BroadcastOffset(const Shape& shape, const std::vector<int64_t>& index) {
  int64_t offset = 0;
  const size_t extra = index.size() - shape.rank();
  for (int i = 0; i < shape.rank(); ++i) {
    offset = offset * shape.dim(i) + (shape.dim(i) == 1 ? 0 : index[extra + i]);
  }
  return offset;
}

bool NextIndex(const Shape& shape, std::vector<int64_t>* index) {
  for (int i = shape.rank() - 1; i >= 0; --i) {
    if (++(*index)[i] < shape.dim(i)) return true;
    (*index)[i] = 0;
  }
  return false;
}

Reference Map(double (*fn)(double)) {
  return [fn](const std::vector<Doubles>& inputs) {
    Doubles result = inputs[0];
    for (double& value : result.values) value = fn(value);
    return std::vector<Doubles>{result};
  };
}

Reference Zip(double (*fn)(double, double)) {
  return [fn](const std::vector<Doubles>& inputs) {
    Doubles result;
    result.shape = *BroadcastShapes(inputs[0].shape, inputs[1].shape);
    if (result.shape.num_elements() == 0) return std::vector<Doubles>{result};
    std::vector<int64_t> index(result.shape.rank());
    do {
      result.values.push_back(fn(inputs[0].values[BroadcastOffset(inputs[0].shape, index)],
                                 inputs[1].values[BroadcastOffset(inputs[1].shape, index)]));
    } while (NextIndex(result.shape, &index));
    return std::vector<Doubles>{result};
  };
}

Reference Reduced(const std::function<double(const std::vector<double>&)>& fold, std::vector<int> axes, bool keep) {
  return [fold, axes = std::move(axes), keep](const std::vector<Doubles>& inputs) {
    const Shape& shape = inputs[0].shape;
    Shape kept = shape;
    for (int axis : axes) kept.set_dim(axis < 0 ? axis + shape.rank() : axis, 1);
    std::vector<std::vector<double>> groups(kept.num_elements());
    if (shape.num_elements() > 0) {
      std::vector<int64_t> index(shape.rank());
      int64_t i = 0;
      do {
        groups[BroadcastOffset(kept, index)].push_back(inputs[0].values[i++]);
      } while (NextIndex(shape, &index));
    }
    Doubles result;
    for (const std::vector<double>& group : groups) result.values.push_back(fold(group));
    result.shape = Shape::Scalar();
    for (int i = 0; i < shape.rank(); ++i) {
      const bool reduced =
          std::any_of(axes.begin(), axes.end(), [&](int axis) { return axis == i || axis + shape.rank() == i; });
      if (!reduced || keep) result.shape.AddDim(kept.dim(i));
    }
    return std::vector<Doubles>{result};
  };
}

Reference Rows(const std::function<std::vector<double>(const std::vector<double>&)>& fn) {
  return [fn](const std::vector<Doubles>& inputs) {
    Doubles result;
    result.shape = inputs[0].shape;
    const int64_t width = result.shape.dim(result.shape.rank() - 1);
    for (size_t begin = 0; begin < inputs[0].values.size(); begin += width) {
      const auto first = inputs[0].values.begin() + static_cast<int64_t>(begin);
      for (double value : fn(std::vector<double>(first, first + width))) result.values.push_back(value);
    }
    return std::vector<Doubles>{result};
  };
}

Reference Products(bool transpose_a, bool transpose_b) {
  return [=](const std::vector<Doubles>& inputs) {
    const Shape &a = inputs[0].shape, &b = inputs[1].shape;
    const int64_t m = a.DimFromEnd(transpose_a ? 1 : 2), depth = a.DimFromEnd(transpose_a ? 2 : 1);
    const int64_t n = b.DimFromEnd(transpose_b ? 2 : 1);
    const Shape batch_a(a.dims().subspan(0, a.rank() - 2)), batch_b(b.dims().subspan(0, b.rank() - 2));
    const Shape batch = *BroadcastShapes(batch_a, batch_b);
    Doubles result;
    result.shape = batch;
    result.shape.AddDim(m);
    result.shape.AddDim(n);
    if (result.shape.num_elements() == 0) return std::vector<Doubles>{result};
    std::vector<int64_t> index(batch.rank());
    do {
      const double* const from_a = inputs[0].values.data() + BroadcastOffset(batch_a, index) * m * depth;
      const double* const from_b = inputs[1].values.data() + BroadcastOffset(batch_b, index) * n * depth;
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          double sum = 0;
          for (int64_t k = 0; k < depth; ++k) {
            sum += from_a[transpose_a ? k * m + i : i * depth + k] * from_b[transpose_b ? j * depth + k : k * n + j];
          }
          result.values.push_back(sum);
        }
      }
    } while (NextIndex(batch, &index));
    return std::vector<Doubles>{result};
  };
}

Reference Same(std::vector<int> which) {
  return [which = std::move(which)](const std::vector<Doubles>& inputs) {
    std::vector<Doubles> result;
    for (int i : which) result.push_back(inputs[i]);
    return result;
  };
}

}  // namespace nabla
