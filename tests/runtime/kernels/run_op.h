// Runs one op's kernel on given tensors, without a session.
#ifndef NABLA_TESTS_RUNTIME_KERNELS_RUN_OP_H_
#define NABLA_TESTS_RUNTIME_KERNELS_RUN_OP_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nabla/graph/attr.h"
#include "nabla/graph/shape.h"
#include "nabla/graph/tensor.h"

namespace nabla {

struct RunOpOptions {
  int threads = 1;
  // Let the kernel write into the inputs' buffers.
  bool in_place = false;
  // What the graph knows of the outputs' shapes, beside what follows from attrs; nothing if empty.
  std::vector<Shape> output_shapes;
};

// The outputs. Type attrs of single inputs are found by themselves if they are named T; others must be given.
// Registers all ops and kernels at the first call. Errors of building the node are the kernel's as far as tests care.
absl::StatusOr<std::vector<Tensor>> RunOp(const std::string& op, const std::vector<Tensor>& inputs,
                                          const AttrMap& attrs = {}, const RunOpOptions& options = {});

// Its only output; fails the test if there is an error.
Tensor RunOp1(const std::string& op, const std::vector<Tensor>& inputs, const AttrMap& attrs = {},
              const RunOpOptions& options = {});

// AttrMap from a list, in one expression.
AttrMap Attrs(std::initializer_list<std::pair<const char*, Attr>> attrs);

}  // namespace nabla

#endif  // NABLA_TESTS_RUNTIME_KERNELS_RUN_OP_H_
