// One row per op and variation: what to run it on and what must come out. The checks (checks.h) do the rest.
//
//   {"Tanh", {.inputs = {In({2, 3})}, .reference = Map(std::tanh)}},
//   {"Sum", {.name = "rows", .inputs = {In({2, 3}), Ints({1})}, .reference = Reduced(Add, {1})}},
//
// Values are made in double, from the row's name alone, as multiples of 1/64: those below 4 are exact in every
// floating type, so results of narrow types can be compared with the results in double.
#ifndef NABLA_TESTS_CASES_OP_CASE_H_
#define NABLA_TESTS_CASES_OP_CASE_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "nabla/gradients/gradient.h"
#include "nabla/graph/graph.h"
#include "nabla/graph/scope.h"
#include "nabla/graph/tensor.h"
#include "nabla/runtime/session.h"

namespace nabla {

// A tensor as the naive references see it. A complex element is two doubles, as in memory.
struct Doubles {
  Shape shape;
  std::vector<double> values;
};

using Reference = std::function<std::vector<Doubles>(const std::vector<Doubles>& inputs)>;

// Builds a row's graph on its inputs, where the op alone has no tensors to compare (lists, say).
using BuildCaseGraph = std::function<Outputs(const Scope& scope, const Outputs& inputs)>;

// One input. Made by the functions below.
struct CaseInput {
  Shape shape;
  std::vector<double> values;        // empty: drawn from [low, high]
  std::vector<std::string> strings;  // dtype string
  double low = -2, high = 2;
  double gap = 0.125;             // drawn values are at least that far from 0
  bool distinct = false;          // drawn values are at least 1/16 from each other
  DType dtype = DType::kInvalid;  // kInvalid: the type that the row is run in
  bool constant = false;          // a Const in every check: an axis, a shape
};

// Numbers of the row's type, in which it may be differentiated.
CaseInput In(Shape shape, double low = -2, double high = 2);
CaseInput Distinct(Shape shape);
CaseInput Values(Shape shape, std::vector<double> values);
// Fixed: indices, axes, shapes. A vector; Int is a scalar.
CaseInput Ints(std::vector<double> values, DType dtype = DType::kInt32);
CaseInput Int(double value, DType dtype = DType::kInt32);
CaseInput IntsOf(Shape shape, std::vector<double> values, DType dtype = DType::kInt32);
CaseInput Bools(Shape shape, std::vector<double> values);
CaseInput Strings(Shape shape, std::vector<std::string> values);
// The same input, but fed where the check feeds (not known when shapes are inferred).
CaseInput Fed(CaseInput input);

struct CaseSpec {
  std::string name;  // after the op's, where it has several rows
  std::vector<std::pair<const char*, Attr>> attrs;
  std::vector<CaseInput> inputs;
  BuildCaseGraph build;          // absent: one node of the op, with attrs
  Reference reference;           // absent: TensorFlow's numbers alone
  DType dtype = DType::kDouble;  // what the row is in
  bool integers = false;         // whole numbers in, whole numbers out: run in int32 and int64, too
  bool narrow = true;            // run in float, half and bfloat16 where the op knows them
  double narrow_tolerance = 1;   // a factor for ill-conditioned functions
  bool dynamic_shape = false;    // the output's shape depends on values
  bool gradient = true;          // check gradients
  bool second_order = true;      // and those of gradients
  bool at_kink = false;          // differences say nothing here: only TensorFlow's gradients
  bool golden = true;            // compare with TensorFlow's numbers
  double golden_tolerance = 1;   // a factor; 0: bit for bit
  bool golden_gradient = true;   // and its gradients
  bool big = false;              // enough elements to be cut into parts: only checks that need that
};

struct OpCase {
  std::string op;
  CaseSpec spec;
  // "Sum_rows": also the name of its tests.
  std::string Name() const;
};

// The families' rows; AllCases is all of them.
std::vector<OpCase> MathUnaryCases();
std::vector<OpCase> MathBinaryCases();
std::vector<OpCase> ReductionCases();
std::vector<OpCase> MatMulCases();
std::vector<OpCase> ArrayCases();
std::vector<OpCase> SliceCases();
std::vector<OpCase> GatherCases();
std::vector<OpCase> NnCases();
std::vector<OpCase> RandomCases();
std::vector<OpCase> TensorListCases();
const std::vector<OpCase>& AllCases();

// How the inputs get into the graph.
enum class Feeding {
  kConstants,     // Const nodes
  kStaticShape,   // placeholders
  kKnownRank,     // placeholders whose dimensions are unknown
  kUnknownShape,  // placeholders of unknown rank
};

// A row as a graph: Const or Placeholder nodes "x0", "x1", … (or "constant1" if it is a constant), and the node
// "case", which is the op's or hands on the outputs of the graph that the row builds.
struct BuiltCase {
  std::unique_ptr<Graph> graph = std::make_unique<Graph>();
  Scope scope{graph.get()};
  Outputs inputs;
  std::vector<Tensor> values;  // of the inputs
  Outputs fed;                 // those that are placeholders
  std::vector<Tensor> fed_values;
  std::vector<int> differentiable;  // indices of inputs
  Node* node = nullptr;             // the row's
  Outputs outputs;
  // After Differentiate:
  Grads gradients;          // of Sum(output * weights), one per differentiable input
  Outputs dense_gradients;  // made dense; none where the gradient is none

  Feeds feeds() const;
  // Of the outputs and then the dense gradients that are not none.
  Outputs fetches() const;
};

// The values of the inputs, with the row's own type replaced by `dtype`.
std::vector<Tensor> CaseValues(const OpCase& row, DType dtype);
absl::StatusOr<BuiltCase> BuildCase(const OpCase& row, DType dtype, Feeding feeding);
// Appends the gradients; `outputs` are the values of built.outputs, for their shapes.
absl::Status Differentiate(const std::vector<Tensor>& outputs, BuiltCase* built);

// Whether the checks differentiate the row: its op has a rule, and an input that is not fixed is of a type that can.
bool IsDifferentiated(const OpCase& row);
// The row in its own type, with gradients if IsDifferentiated.
absl::StatusOr<BuiltCase> BuildDifferentiated(const OpCase& row, Feeding feeding);
// Runs the row's node and what is fetched.
absl::StatusOr<std::vector<Tensor>> RunCase(BuiltCase& built, const Outputs& fetches, SessionOptions options = {1});

// The weight of element j of output (or input) k: it depends on nothing else, so that TensorFlow's side can repeat it.
double CaseWeight(int64_t k, int64_t j);
// A tensor of these weights, of `like`'s type and shape.
Tensor WeightsLike(const Tensor& like, int64_t k);

// Numbers and bools as doubles (complex: two each).
std::vector<double> ToDoubles(const Tensor& tensor);
Tensor FromDoubles(DType dtype, const Shape& shape, const std::vector<double>& values);

}  // namespace nabla

#endif  // NABLA_TESTS_CASES_OP_CASE_H_
