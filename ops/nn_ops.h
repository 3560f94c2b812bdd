// The parts of the neural network family, one file each; RegisterNnOps calls them.
#ifndef NABLA_OPS_NN_OPS_H_
#define NABLA_OPS_NN_OPS_H_

#include "nabla/graph/op_spec.h"

namespace nabla {

void RegisterNnActivationOps(OpRegistry& registry);  // Relu and its kin, with their gradients' ops

}  // namespace nabla

#endif  // NABLA_OPS_NN_OPS_H_
