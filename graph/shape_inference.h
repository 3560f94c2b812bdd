// Shape inference: the context that shape rules (OpSpec::shape_fn) read and write, and the helpers they share.
//
//   absl::Status MatMulShape(ShapeContext& c) {
//     NABLA_ASSIGN_OR_RETURN(Shape a, c.InputOfRank(0, 2));
//     NABLA_ASSIGN_OR_RETURN(Shape b, c.InputOfRank(1, 2));
//     …
//     c.SetOutput(0, Shape({a.dim(0), b.dim(1)}));
//     return absl::OkStatus();
//   }
//
// Thread-compatible; used while the graph is locked.
#ifndef NABLA_GRAPH_SHAPE_INFERENCE_H_
#define NABLA_GRAPH_SHAPE_INFERENCE_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "nabla/graph/graph.h"
#include "nabla/graph/status_macros.h"

namespace nabla {

class ShapeContext {
 public:
  // `inputs` may hold none (a loop's open back edge): unknown shape and value.
  // `graph` is where the node will be; nullptr if that is unknown.
  ShapeContext(const OpSpec& spec, const AttrMap& attrs, absl::Span<const nabla::Output> inputs, int num_outputs,
               const Graph* graph = nullptr);

  const OpSpec& spec() const { return spec_; }
  const AttrMap& attrs() const { return attrs_; }
  const Graph* graph() const { return graph_; }
  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  const Shape& input(int i) const;
  DType input_dtype(int i) const;
  // The tensor that input `i` is; none for an open back edge.
  nabla::Output source(int i) const { return inputs_[i]; }
  // The input's value where the graph fixes it: a constant, or integer arithmetic on constants and static shapes
  // (see graph/constant_value.h). nullopt otherwise.
  absl::optional<Tensor> InputValue(int i) const;
  // An integer vector input read as a shape, as far as known: Pack(Shape(x)[0], 3) gives [?,3].
  Shape InputAsShape(int i) const;

  template <typename T>
  const T& attr(absl::string_view name) const {
    const T* value = attrs_.Find<T>(name);
    if (value == nullptr) MissingAttr(name);
    return *value;
  }
  template <typename T>
  const T* find_attr(absl::string_view name) const {
    return attrs_.Find<T>(name);
  }

  // The input's shape if it can have that rank (unknown becomes [?,?…]); InvalidArgument otherwise.
  absl::StatusOr<Shape> InputOfRank(int i, int rank) const;
  absl::StatusOr<Shape> InputOfRankAtLeast(int i, int rank) const;
  // axis counted from the end if negative; InvalidArgument outside [-rank, rank).
  static absl::StatusOr<int> ResolveAxis(int64_t axis, int rank);
  // Two dimensions that must be equal: the known one; InvalidArgument if they differ.
  static absl::StatusOr<int64_t> MergeDims(int64_t a, int64_t b);

  void SetOutput(int i, Shape shape) { outputs_[i] = std::move(shape); }
  const std::vector<Shape>& outputs() const { return outputs_; }

 private:
  [[noreturn]] void MissingAttr(absl::string_view name) const;
  const OpSpec& spec_;
  const AttrMap& attrs_;
  absl::Span<const nabla::Output> inputs_;
  const Graph* graph_;
  std::vector<Shape> outputs_;
};

// Rules that many ops share.
absl::Status ScalarShape(ShapeContext& c);           // every output is a scalar
absl::Status UnchangedShape(ShapeContext& c);        // every output has input 0's shape
absl::Status BroadcastBinaryShape(ShapeContext& c);  // output 0: inputs 0 and 1, NumPy broadcasting
absl::Status UnknownShape(ShapeContext& c);          // nothing is known
absl::Status NoOutputsShape(ShapeContext& c);        // ops without outputs
absl::Status MergedInputsShape(ShapeContext& c);     // all inputs and output 0 have one shape
// Inputs: data, reduction indices; attr keep_dims.
absl::Status ReductionShape(ShapeContext& c);

}  // namespace nabla

#endif  // NABLA_GRAPH_SHAPE_INFERENCE_H_
