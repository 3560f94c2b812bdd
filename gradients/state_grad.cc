// Gradients of variables, and the ops of state and chance through which nothing
// flows back.
#include "nabla/gradients/registration.h"

namespace nabla {
namespace {

// The gradient of a variable's value is that of its handle; slices stay slices.
Grads ReadVariableGrad(RuleContext& c) { return {c.gradient(0)}; }

}  // namespace

void RegisterStateGradients(GradientRegistry& registry) {
  registry.Add("ReadVariableOp", ReadVariableGrad);
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
                              "StatelessRandomUniformFullInt", "StatelessRandomUniformFullIntV2",
                              "StatelessRandomGetKeyCounter", "StatelessRandomGetAlg", "StatelessShuffle"});
}

}  // namespace nabla
