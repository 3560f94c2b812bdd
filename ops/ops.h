// Every operation's builder (ops::MatMul(scope, a, b, {.transpose_a = true}), …) and the registration of their specs.
#ifndef NABLA_OPS_OPS_H_
#define NABLA_OPS_OPS_H_

#include "nabla/graph/op_spec.h"
#include "nabla/ops/builders.h"   // generated from the specs
#include "nabla/ops/const.h"      // Const, which takes a value
#include "nabla/ops/operators.h"  // a + b
#include "nabla/ops/registration.h"

#endif  // NABLA_OPS_OPS_H_
