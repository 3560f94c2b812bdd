// Batching: from a graph that computes something of one tensor to a graph that computes it of many at once, op by op.
//
//   Outputs batch(const Scope& scope): for y = f(x), given xs [n] + x.shape, gives [n] + y.shape
//
// Every tensor that depends on what is batched gets a new first axis, the batch axis; the others stay as they are and
// are used by all examples. A rule says what an op becomes. What only shapes decide is the same for all examples, so
// the shape of a batched tensor is not batched. (The method is that of JAX's vmap and TensorFlow's pfor.)
//
//   std::vector<Batched> BatchTranspose(BatchingContext& c) {
//     return {ops::Transpose(c.scope(), c.input(0), c.Prepend(0, c.ShiftedAxes(1)))};
//   }
#ifndef NABLA_GRADIENTS_BATCHING_H_
#define NABLA_GRADIENTS_BATCHING_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nabla/graph/graph.h"
#include "nabla/graph/scope.h"

namespace nabla {

// What a batched tensor is known to hold: the unit vectors of a matrix [rows, n]. A product with them takes no
// multiplication.
enum class UnitVectors {
  kNone,       // anything
  kAll,        // [rows * n, rows, n]: example number i * n + j has a 1 at [i, j]
  kOfEachRow,  // [n, rows, n]: example number j has a 1 at [i, j] for every i
};

// A tensor of the batched graph: with the batch axis first, or the same for all examples.
struct Batched {
  Batched() = default;
  Batched(Output value) : value(value) {}  // NOLINT: what most rules return
  Batched(Output value, UnitVectors units) : value(value), units(units) {}
  static Batched Same(Output value) {
    Batched same(value);
    same.has_batch_axis = false;
    return same;
  }
  Output value;
  bool has_batch_axis = true;
  UnitVectors units = UnitVectors::kNone;
};

// The number of examples, as far as it is known and as a tensor.
class BatchSize {
 public:
  // Of a tensor whose first axis is the batch axis.
  explicit BatchSize(Output batched) : batched_(batched) {}
  int64_t known() const { return batched_.shape().rank() > 0 ? batched_.shape().dim(0) : kUnknownDim; }
  // A vector of one element, int32 or int64.
  Input vector(const Scope& scope, DType dtype);

 private:
  Output batched_;
  Output vector_;  // int32, once it was asked for
};

// What a rule sees of its op. Inputs are those of the batched graph; op() is the original, whose static shapes are
// those of an example.
class BatchingContext {
 public:
  BatchingContext(const Scope& scope, Node* op, std::vector<Batched> inputs, BatchSize* size)
      : scope_(scope), op_(op), inputs_(std::move(inputs)), size_(size) {}

  const Scope& scope() const { return scope_; }
  Node* op() const { return op_; }
  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  // Whether input i has the batch axis.
  bool batched(int i) const { return inputs_[i].has_batch_axis; }
  Output input(int i) const { return inputs_[i].value; }
  const Batched& whole_input(int i) const { return inputs_[i]; }
  // Input i with the batch axis in any case: repeated for each example.
  Output Expanded(int i);
  // Static shapes of an example.
  const Shape& example(int i) const { return op_->input(i).shape(); }
  const Shape& example_output(int i) const { return op_->output_shape(i); }
  // The shape vector of an example of input i; a constant where static.
  Input ExampleShape(int i, DType dtype = DType::kInt32);
  template <typename T>
  const T& attr(absl::string_view name) const {
    return op_->GetAttr<T>(name);
  }

  // Vectors (a constant where all parts are): [first, rest...], and [batch size, rest...].
  Input Prepend(int64_t first, Input rest);
  Input PrependSize(Input rest);
  // Input i, axes of an example (any shape), as axes of the batch: those that count from the end stay.
  Input ShiftedAxes(int i);
  int64_t ShiftedAxis(absl::string_view attr) const;
  // Input i, reshaped so that it broadcasts against tensors of the other inputs' ranks: with dimensions of size 1
  // behind the batch axis where an example has fewer dimensions than another input's.
  Output Aligned(int i);
  // x [n, ...], reshaped to [n, 1, ..., 1, ...], `ones` more dimensions.
  Output InsertOnes(Output x, int ones);
  // The batch axis moved behind all others, and back.
  Output BatchLast(Output x);
  Output BatchFirst(Output x);
  // The axes of x from `begin` on.
  Input AxesFrom(int begin, Output x);

  // All outputs of an op like this one, batched.
  std::vector<Batched> Copy(const Outputs& inputs, const std::vector<std::pair<std::string, Attr>>& changed = {});

  // Gives up: return c.Decline("the axis differs from example to example").
  std::vector<Batched> Decline(absl::string_view reason);
  const absl::Status& status() const { return status_; }

 private:
  Output InsertOnesAtRunTime(int i);

  const Scope& scope_;
  Node* op_;
  std::vector<Batched> inputs_;
  BatchSize* size_;
  absl::Status status_;
};

// One Batched per output of the op. Called if at least one input has the batch axis.
using BatchingRule = std::vector<Batched> (*)(BatchingContext& c);

// Rules by op. Filled once by RegisterAllGradients(), read from any thread afterwards.
class BatchingRegistry {
 public:
  static BatchingRegistry& Global();
  void Add(absl::string_view op, BatchingRule rule) { rules_[op] = rule; }
  void Add(std::initializer_list<absl::string_view> ops, BatchingRule rule) {
    for (absl::string_view op : ops) Add(op, rule);
  }
  BatchingRule Find(absl::string_view op) const {  // nullptr if there is none
    const auto it = rules_.find(op);
    return it == rules_.end() ? nullptr : it->second;
  }

 private:
  absl::flat_hash_map<std::string, BatchingRule> rules_;
};

// The families, each in batching_<family>.cc.
void RegisterArrayBatching(BatchingRegistry& registry);
void RegisterElementwiseBatching(BatchingRegistry& registry);
void RegisterGatherBatching(BatchingRegistry& registry);
void RegisterMathBatching(BatchingRegistry& registry);  // reductions, matrix products, neural networks
void RegisterAllBatching(BatchingRegistry& registry);

// `results`, which were built as functions of `examples`, for all of `batches`, which have the examples' shapes after
// a first axis of one size: one per result, with the batch axis where it depends on an example. Nothing is removed.
// Errors: Unimplemented if an op in between has no rule or its rule declines ("op X (node 'n') cannot be batched: …").
// Requires the graph's lock.
absl::StatusOr<std::vector<Batched>> Batch(const Scope& scope, const Outputs& results, const Outputs& examples,
                                           const std::vector<Batched>& batches);

}  // namespace nabla

#endif  // NABLA_GRADIENTS_BATCHING_H_
