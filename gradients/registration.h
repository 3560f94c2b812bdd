// The families of rules, each in gradients/<family>_grad.cc. A new family:
// declare it here and call it in registration.cc.
#ifndef NABLA_GRADIENTS_REGISTRATION_H_
#define NABLA_GRADIENTS_REGISTRATION_H_

#include "nabla/gradients/rule.h"

namespace nabla {

void RegisterArrayGradients(GradientRegistry& registry);        // identities, shapes, slicing, padding
void RegisterElementwiseGradients(GradientRegistry& registry);  // of one and of two arguments
void RegisterFunctionGradients(GradientRegistry& registry);     // calls, SymbolicGradient
void RegisterGatherGradients(GradientRegistry& registry);       // Gather… ScatterNd, segments
void RegisterJoinGradients(GradientRegistry& registry);         // concatenation, packing, splitting
void RegisterMatMulGradients(GradientRegistry& registry);
void RegisterNnGradients(GradientRegistry& registry);
void RegisterReductionGradients(GradientRegistry& registry);
void RegisterSecondOrderGradients(GradientRegistry& registry);  // of the ops that other rules emit (TanhGrad, …)
void RegisterStateGradients(GradientRegistry& registry);        // variables, optimizers, random numbers
void RegisterTensorArrayGradients(GradientRegistry& registry);
void RegisterTensorListGradients(GradientRegistry& registry);

}  // namespace nabla

#endif  // NABLA_GRADIENTS_REGISTRATION_H_
