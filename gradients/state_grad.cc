// Gradients of variables, and the ops of state and chance through which nothing
// flows back.
#include "nabla/gradients/registration.h"
#include "nabla/gradients/rule_util.h"
#include "nabla/graph/resource_handle.h"

namespace nabla {
namespace {

// The gradient of a variable's value is that of its handle; slices stay slices.
Grads ReadVariableGrad(RuleContext& c) { return {c.gradient(0)}; }

Input VariableShapeOperand(RuleContext& c) {
  Shape shape = FindResource(c.input(0)).shape;
  if (shape.IsFullyDefined()) return shape;
  return ops::VariableShape(c.scope(), c.input(0));
}

Grads ResourceGatherGrad(RuleContext& c) {
  const Scope& scope = c.scope();
  if (c.attr<int64_t>("batch_dims") != 0) {
    return c.Fail(absl::UnimplementedError("only batch_dims = 0 can be differentiated"));
  }
  Output indices = c.input(1), dy = c.grad(0);
  Input shape = VariableShapeOperand(c);
  IndexedSlices slices;
  slices.dense_shape = shape.is_constant() ? ops::Const(scope, shape) : shape.output();
  if (indices.shape().rank() == 1) {
    slices.values = dy;
    slices.indices = indices;
    return {slices, Gradient()};
  }
  slices.indices = ops::Reshape(scope, indices, {-1});
  Output rows = ops::Size(scope, indices);
  Output row_shape = SliceRows(slices.dense_shape, 1, INT64_MAX);
  Output values_shape = ops::ConcatV2(scope, {ops::ExpandDims(scope, rows, 0), row_shape}, 0);
  slices.values = ops::Reshape(scope, dy, values_shape);
  return {slices, Gradient()};
}

Grads ResourceGatherNdGrad(RuleContext& c) {
  return {ops::ScatterNd(c.scope(), c.input(1), c.grad(0),
                         ops::Cast(c.scope(), ops::VariableShape(c.scope(), c.input(0)), c.input(1).dtype())),
          Gradient()};
}

}  // namespace

void RegisterStateGradients(GradientRegistry& registry) {
  registry.Add("ReadVariableOp", ReadVariableGrad);
  registry.Add("ResourceGather", ResourceGatherGrad);
  registry.Add("ResourceGatherNd", ResourceGatherNdGrad);
  registry.NotDifferentiable({"VarHandleOp", "AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp",
                              "VarIsInitializedOp", "VariableShape", "DestroyResourceOp", "ControlTrigger", "Abort"});
  registry.NotDifferentiable({"ResourceScatterAdd", "ResourceScatterSub", "ResourceScatterMul", "ResourceScatterDiv",
                              "ResourceScatterMin", "ResourceScatterMax", "ResourceScatterUpdate",
                              "ResourceScatterNdUpdate", "ResourceScatterNdAdd", "ResourceScatterNdSub",
                              "ResourceScatterNdMin", "ResourceScatterNdMax"});
  registry.NotDifferentiable({"ResourceApplyGradientDescent",
                              "ResourceApplyProximalGradientDescent",
                              "ResourceApplyMomentum",
                              "ResourceApplyKerasMomentum",
                              "ResourceApplyAdagrad",
                              "ResourceApplyAdagradV2",
                              "ResourceApplyProximalAdagrad",
                              "ResourceApplyAdadelta",
                              "ResourceApplyRMSProp",
                              "ResourceApplyCenteredRMSProp",
                              "ResourceApplyAdam",
                              "ResourceApplyAdamWithAmsgrad",
                              "ResourceApplyAdaMax",
                              "ResourceApplyFtrl",
                              "ResourceApplyFtrlV2",
                              "ResourceSparseApplyProximalGradientDescent",
                              "ResourceSparseApplyMomentum",
                              "ResourceSparseApplyKerasMomentum",
                              "ResourceSparseApplyAdagrad",
                              "ResourceSparseApplyAdagradV2",
                              "ResourceSparseApplyProximalAdagrad",
                              "ResourceSparseApplyAdadelta",
                              "ResourceSparseApplyRMSProp",
                              "ResourceSparseApplyCenteredRMSProp",
                              "ResourceSparseApplyFtrl",
                              "ResourceSparseApplyFtrlV2"});
  registry.NotDifferentiable({"RandomUniform", "RandomUniformInt", "RandomStandardNormal", "TruncatedNormal",
                              "RandomShuffle", "StatelessRandomUniform", "StatelessRandomNormal",
                              "StatelessTruncatedNormal", "StatelessRandomUniformInt", "StatelessRandomUniformV2",
                              "StatelessRandomNormalV2", "StatelessTruncatedNormalV2", "StatelessRandomUniformIntV2",
                              "StatelessRandomGetKeyCounter", "StatelessRandomGetAlg", "StatelessShuffle"});
}

}  // namespace nabla
