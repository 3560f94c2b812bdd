// Activation functions, element by element, and the ops that are their gradients.
#include "nabla/graph/shape_inference.h"
#include "nabla/ops/nn_ops.h"

namespace nabla {
namespace {

constexpr char kFloating[] = "T: {half, bfloat16, float, double}";

void Activation(OpRegistry& registry, const char* name, const char* types, const char* doc) {
  registry.Add(name).Input("features: T").Output("activations: T").Attr(types).Doc(doc).Shape(UnchangedShape);
}

// `known` is what the derivative is worked out from: the function's argument ("features") or value ("outputs").
void ActivationGrad(OpRegistry& registry, const char* name, const char* known, const char* types, const char* doc) {
  registry.Add(name)
      .Input("gradients: T")
      .Input(known)
      .Output("backprops: T")
      .Attr(types)
      .Doc(doc)
      .Shape(MergedInputsShape);
}

}  // namespace

void RegisterNnActivationOps(OpRegistry& registry) {
  Activation(registry, "Relu",
             "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, qint8}",
             "max(x, 0); NaN stays NaN. Gradient: dy where x > 0, as ReluGrad.");
  Activation(registry, "Relu6", "T: realnumbertype", "min(max(x, 0), 6). Gradient: dy where 0 < x < 6, as Relu6Grad.");
  Activation(registry, "Elu", kFloating, "x where x > 0, else e^x - 1. Gradient: as EluGrad.");
  Activation(registry, "Selu", kFloating,
             "scale x where x > 0, else scale alpha (e^x - 1), with scale = 1.0507009873554805 and alpha = "
             "1.6732632423543772. Gradient: as SeluGrad.");
  Activation(registry, "Softplus", kFloating,
             "log(e^x + 1), without overflow. Gradient: dy / (1 + e^-x), as "
             "SoftplusGrad.");
  Activation(registry, "Softsign", kFloating, "x / (|x| + 1). Gradient: dy / (|x| + 1)^2, as SoftsignGrad.");
  registry.Add("LeakyRelu")
      .Input("features: T")
      .Output("activations: T")
      .Attr("alpha: float = 0.2")
      .Attr("T: {half, bfloat16, float, double} = float")
      .Doc("x where x > 0, else alpha x. Gradient: dy or alpha dy, as LeakyReluGrad.")
      .Shape(UnchangedShape);

  ActivationGrad(registry, "ReluGrad", "features: T", "T: realnumbertype",
                 "gradients where features > 0, else 0. features may be Relu's argument or its value.");
  ActivationGrad(registry, "Relu6Grad", "features: T", "T: realnumbertype",
                 "gradients where 0 < features < 6, else 0. features may be Relu6's argument or its value.");
  ActivationGrad(registry, "EluGrad", "outputs: T", kFloating,
                 "gradients where outputs > 0, else gradients (outputs + 1), where outputs is Elu's value.");
  ActivationGrad(registry, "SeluGrad", "outputs: T", kFloating,
                 "scale gradients where outputs > 0, else gradients (outputs + scale alpha), where outputs is Selu's "
                 "value.");
  ActivationGrad(registry, "SoftplusGrad", "features: T", kFloating,
                 "gradients / (1 + e^-features), where features is Softplus's argument.");
  ActivationGrad(registry, "SoftsignGrad", "features: T", kFloating,
                 "gradients / (|features| + 1)^2, where features is Softsign's argument.");
  registry.Add("LeakyReluGrad")
      .Input("gradients: T")
      .Input("features: T")
      .Output("backprops: T")
      .Attr("alpha: float = 0.2")
      .Attr("T: {half, bfloat16, float, double} = float")
      .Doc("gradients where features > 0, else alpha gradients, where features is LeakyRelu's argument.")
      .Shape(MergedInputsShape);
}

}  // namespace nabla
