// Specs that no registry has: of functions, which a graph brings along, and of ops that nobody knows.
#ifndef NABLA_GRAPH_FOREIGN_SPEC_H_
#define NABLA_GRAPH_FOREIGN_SPEC_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nabla/graph/op_spec.h"

namespace nabla {

class OpDef;  // nabla/proto/op_def.pb.h

class ForeignSpec {
 public:
  // The spec of a node that calls a function with this signature. InvalidArgument,
  // naming the argument or attr, if the signature contradicts itself.
  static absl::StatusOr<std::unique_ptr<OpSpec>> FromSignature(const OpDef& signature);
  // OpSpec::is_opaque. `doc` says why, for an op that is known.
  static std::unique_ptr<OpSpec> Opaque(absl::string_view op, absl::string_view doc = "");
};

}  // namespace nabla

#endif  // NABLA_GRAPH_FOREIGN_SPEC_H_
