#include "nabla/runtime/cost.h"

#include <algorithm>
#include <string>

#include "absl/container/flat_hash_map.h"

namespace nabla {
namespace {

constexpr double kBase = 50;             // calling any kernel
constexpr double kUnknownDimSize = 128;  // a batch, say
constexpr double kFlopsPerNs = 150;      // of matrix products and convolutions
constexpr double kNsPerElement = 0.25;   // of one cheap arithmetic step, read and write

double NumElements(const Shape& shape) {
  if (!shape.has_rank()) return kUnknownDimSize * kUnknownDimSize;
  double elements = 1;
  for (const int64_t dim : shape.dims()) elements *= dim == kUnknownDim ? kUnknownDimSize : static_cast<double>(dim);
  return elements;
}

double Dim(const Shape& shape, int i) {
  if (i < 0 || i >= shape.rank() || shape.dim(i) == kUnknownDim) return kUnknownDimSize;
  return static_cast<double>(shape.dim(i));
}

// How many cheap steps an element takes, where it is not one; 0: nothing is computed, whatever the size.
double StepsPerElement(const std::string& op) {
  static const auto* steps = new absl::flat_hash_map<std::string, double>{
      {"Const", 0},
      {"Identity", 0},
      {"IdentityN", 0},
      {"NoOp", 0},
      {"Placeholder", 0},
      {"StopGradient", 0},
      {"PreventGradient", 0},
      {"Shape", 0},
      {"ShapeN", 0},
      {"Size", 0},
      {"Rank", 0},
      {"Reshape", 0},
      {"ExpandDims", 0},
      {"Squeeze", 0},
      {"VarHandleOp", 0},
      {"ReadVariableOp", 0},
      {"Bitcast", 0},
      {"VarIsInitializedOp", 0},
      {"AssignVariableOp", 0},
      {"PlaceholderWithDefault", 0},
      {"DestroyResourceOp", 0},
      {"BroadcastGradientArgs", 0},
      {"Exp", 2},
      {"Expm1", 4},
      {"Log", 3},
      {"Log1p", 4},
      {"Sin", 4},
      {"Cos", 4},
      {"Tan", 8},
      {"Tanh", 4},
      {"Sigmoid", 3},
      {"Erf", 5},
      {"Pow", 30},
      {"Softplus", 6},
      {"Elu", 3},
      {"Softmax", 8},
      {"LogSoftmax", 10},
      {"Transpose", 4},
      {"Where", 8},
      {"RandomUniform", 6},
      {"RandomStandardNormal", 30},
      {"TruncatedNormal", 40},
      {"StatelessRandomUniform", 6},
      {"StatelessRandomNormal", 30},
      {"SoftmaxCrossEntropyWithLogits", 30},
      {"SparseSoftmaxCrossEntropyWithLogits", 40},
      {"ResourceApplyAdam", 3},
      {"ResourceApplyMomentum", 1.5},
      {"ResourceApplyGradientDescent", 1},
  };
  auto it = steps->find(op);
  return it == steps->end() ? 1 : it->second;
}

}  // namespace

double EstimateCost(const Node& node) {
  const std::string& op = node.op();
  double output = 0, input = 0;
  for (int i = 0; i < node.num_outputs(); ++i) output += NumElements(node.output_shape(i));
  for (int i = 0; i < node.num_inputs(); ++i) input += NumElements(node.input(i).shape());
  if (op == "MatMul" || op == "BatchMatMul" || op == "BatchMatMulV2" || op == "BatchMatMulV3") {
    const Shape& a = node.input(0).shape();
    const bool* transposed = node.attr<bool>(op == "MatMul" ? "transpose_a" : "adj_x");
    const double depth = Dim(a, a.rank() - (transposed != nullptr && *transposed ? 2 : 1));
    return kBase + 2 * output * depth / kFlopsPerNs;
  }
  if (op.rfind("Conv", 0) == 0 || op.rfind("Depthwise", 0) == 0) {
    return kBase + 2 * std::max(output, input) * 64 / kFlopsPerNs;
  }
  return kBase + std::max(output, input) * StepsPerElement(op) * kNsPerElement;
}

}  // namespace nabla
