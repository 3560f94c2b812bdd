// The shape of a tensor, possibly only partly known.
//
//   Shape()                  unknown rank, "<unknown>"
//   Shape::Scalar()          rank 0, "[]"
//   Shape({2, 3})            "[2,3]"
//   Shape({kUnknownDim, 3})  "[?,3]"
//
// One class serves static shapes (graph construction, where anything may be unknown) and run-time shapes (always
// fully defined). A value type; cheap to copy up to rank 4. Thread-compatible.
#ifndef NABLA_GRAPH_SHAPE_H_
#define NABLA_GRAPH_SHAPE_H_

#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace nabla {

inline constexpr int64_t kUnknownDim = -1;
inline constexpr int kUnknownRank = -1;
// TensorFlow's limit: a longer shape is malformed input.
inline constexpr int kMaxRank = 254;

class Shape {
 public:
  using Dims = absl::InlinedVector<int64_t, 4>;

  Shape() = default;  // unknown rank
  Shape(std::initializer_list<int64_t> dims) : known_rank_(true), dims_(dims) {}
  explicit Shape(absl::Span<const int64_t> dims) : known_rank_(true), dims_(dims.begin(), dims.end()) {}

  static Shape Scalar() { return Shape(absl::Span<const int64_t>()); }
  static Shape Unknown() { return Shape(); }
  static Shape UnknownOfRank(int rank) {
    Shape s = Scalar();
    s.dims_.resize(rank, kUnknownDim);
    return s;
  }

  // Checks untrusted dimensions: each at least 0 (or -1 where `allow_unknown`), rank at most kMaxRank, and the
  // product of the known ones representable in int64. InvalidArgument otherwise.
  static absl::StatusOr<Shape> FromDims(absl::Span<const int64_t> dims, bool allow_unknown = false);

  bool has_rank() const { return known_rank_; }
  // kUnknownRank if unknown.
  int rank() const { return known_rank_ ? static_cast<int>(dims_.size()) : kUnknownRank; }
  bool IsScalar() const { return known_rank_ && dims_.empty(); }
  bool IsFullyDefined() const;

  // Requires 0 <= i < rank().
  int64_t dim(int i) const { return dims_[i]; }
  // Python's way of counting from the end; kUnknownDim if the rank is unknown.
  int64_t DimFromEnd(int i) const { return known_rank_ ? dims_[dims_.size() - i] : kUnknownDim; }
  absl::Span<const int64_t> dims() const { return dims_; }

  void set_dim(int i, int64_t value) { dims_[i] = value; }
  void AddDim(int64_t value) {
    known_rank_ = true;
    dims_.push_back(value);
  }
  void InsertDim(int at, int64_t value) { dims_.insert(dims_.begin() + at, value); }
  void RemoveDim(int at) { dims_.erase(dims_.begin() + at); }

  // The number of elements, or kUnknownDim if not fully defined (a known 0 makes it 0 whatever else is unknown).
  // Does not overflow for shapes that FromDims accepted.
  int64_t num_elements() const;

  // Both could describe one tensor.
  bool IsCompatibleWith(const Shape& other) const;
  // What is known of a tensor that both describe; InvalidArgument if they contradict each other.
  absl::StatusOr<Shape> MergeWith(const Shape& other) const;
  // Every tensor that `other` describes, this describes too (so it is as vague or vaguer).
  bool Subsumes(const Shape& other) const;

  // Same rank and dimensions; two unknowns are equal as descriptions (not as tensors).
  friend bool operator==(const Shape& a, const Shape& b) {
    return a.known_rank_ == b.known_rank_ && a.dims_ == b.dims_;
  }
  friend bool operator!=(const Shape& a, const Shape& b) { return !(a == b); }

  std::string ToString() const;

 private:
  bool known_rank_ = false;
  Dims dims_;
};

// NumPy's broadcasting of two shapes, unknowns included; InvalidArgument if impossible.
absl::StatusOr<Shape> BroadcastShapes(const Shape& a, const Shape& b);

// What is certain of a tensor that has one shape or the other: dimensions that differ are unknown.
Shape CommonShape(const Shape& a, const Shape& b);

// Sets *product to a * b; false if that does not fit int64. Both must be nonnegative.
bool CheckedMultiply(int64_t a, int64_t b, int64_t* product);

std::ostream& operator<<(std::ostream& os, const Shape& shape);

}  // namespace nabla

#endif  // NABLA_GRAPH_SHAPE_H_
