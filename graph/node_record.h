// A node as a file describes it: the common ground of the readers of the different formats and the importer.
#ifndef NABLA_GRAPH_NODE_RECORD_H_
#define NABLA_GRAPH_NODE_RECORD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "nabla/graph/attr.h"
#include "nabla/graph/graph.h"

namespace nabla {

class AttrValue;
class NodeDef;
class TensorProto;

struct NodeRecord {
  std::string name;
  std::string op;
  std::vector<std::string> inputs;  // as written: "a", "a:1", "^a"
  std::string device;
  AttrMap attrs;
  ForeignFields foreign;
};

// What an import may still allocate for constants whose file form is much smaller than they are.
struct ExpansionBudget {
  int64_t bytes_left = 0;
  // ResourceExhausted if expanding the tensor, or a tensor inside the attr, would take more than is left.
  absl::Status Charge(const TensorProto& tensor);
  absl::Status Charge(const AttrValue& attr, int depth = 0);
};

// From a message; moves constants' bytes out of it. Errors do not name the node.
absl::Status NodeRecordFromProto(NodeDef&& def, ExpansionBudget* budget, NodeRecord* record);

}  // namespace nabla

#endif  // NABLA_GRAPH_NODE_RECORD_H_
