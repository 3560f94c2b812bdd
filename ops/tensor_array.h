// An array of tensors that is written and read by index, in and around loops: what one element at a time is computed
// into, and then stacked.
//
//   ops::TensorArray squares(scope, n, DType::kFloat, {.element_shape = Shape::Scalar()});
//   Outputs last = ops::For(scope, n, {squares.handle()}, [&](const Scope& s, Output i, const Outputs& v) {
//     Output x = ops::Cast(s, i, DType::kFloat);
//     return Outputs{squares.At(v[0]).Write(s, i, x * x).handle()};
//   });
//   Output all = squares.At(last[0]).Stack(scope);   // [n]
//
// It is a value, as a tensor is: Write gives a new array and leaves the old one as it was (the elements are shared, and
// a write takes constant time where nobody holds the old array). Its handle, a scalar variant, goes through loops and
// branches like any other tensor. The nodes are TensorFlow's TensorList ops, so an array has gradients of any order.
#ifndef NABLA_OPS_TENSOR_ARRAY_H_
#define NABLA_OPS_TENSOR_ARRAY_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "nabla/graph/scope.h"

namespace nabla {
namespace ops {

struct TensorArrayOptions {
  // What all elements have in common; they may differ in what it leaves open, which Stack and Gather do not allow.
  nabla::Shape element_shape;
  // Writing behind the end lengthens the array, the elements between being zeros, instead of failing.
  bool dynamic_size = false;
  // In errors, and of the nodes' name scope.
  std::string name = "tensor_array";
};

// Thread-compatible; does not own the graph. Errors (a value of another dtype, a static shape that does not fit) name
// the array and the value and are recorded in the scope; the results are then none, as are those of operations on such.
// What is only known in a run (indices outside the array, shapes) fails there, with the node's name.
class TensorArray {
 public:
  // `size` elements, a scalar int32, which read as zeros until they are written, if element_shape is fully defined.
  TensorArray(const Scope& scope, const Input& size, DType dtype, const TensorArrayOptions& options = {});

  // This array in another state: `handle` is what a loop, a branch or a function made of this one's handle.
  TensorArray At(Output handle) const;

  // A scalar variant, none after an error.
  Output handle() const { return handle_; }
  DType dtype() const { return dtype_; }
  const nabla::Shape& element_shape() const { return options_.element_shape; }

  // The number of elements, a scalar int32.
  Output Size(const Scope& scope) const;

  // Element `index`, a scalar int32 in [0, size).
  Output Read(const Scope& scope, const Input& index) const;
  // With element `index` replaced by `value`, of element_shape.
  TensorArray Write(const Scope& scope, const Input& index, Output value) const;

  // All elements, [size] + their shape, which must be the same for all.
  Output Stack(const Scope& scope) const;
  // Those at `indices`, a vector of int32: [number of indices] + their shape.
  Output Gather(const Scope& scope, const Input& indices) const;
  // One after the other along their first dimensions, in which they may differ.
  Output Concat(const Scope& scope) const;

  // The slices of `value`, [n] + element_shape, as the elements of an array of size n.
  TensorArray Unstack(const Scope& scope, Output value) const;
  // With the elements at `indices`, a vector of n different int32, replaced by the slices of `value`,
  // [n] + element_shape.
  TensorArray Scatter(const Scope& scope, const Input& indices, Output value) const;
  // The parts of `value` along its first dimension, as the elements of an array: `lengths`, a vector of int64 that adds
  // up to that dimension, says how long each of them is.
  TensorArray Split(const Scope& scope, Output value, const Input& lengths) const;

 private:
  TensorArray With(const Scope& scope, Output handle, int64_t size) const;
  // Whether `value` is there and has this dtype and shape; records an error otherwise.
  bool Check(const Scope& scope, absl::string_view operation, Output value, const nabla::Shape& shape) const;
  Scope In(const Scope& scope) const;
  // element_shape as an operand, and with an open first dimension.
  Input ShapeOperand() const;
  nabla::Shape PartShape() const;

  TensorArrayOptions options_;
  DType dtype_;
  int64_t size_ = kUnknownDim;  // if the graph tells
  Output handle_;
};

}  // namespace ops
}  // namespace nabla

#endif  // NABLA_OPS_TENSOR_ARRAY_H_
