// A function in the form that calls need: its nodes in an order in which each comes after its inputs, its constants as
// Tensors that all instances share. FunctionLibrary::Body makes it once; graph/function_instance.h adds its nodes to a
// graph.
#ifndef NABLA_GRAPH_FUNCTION_BODY_H_
#define NABLA_GRAPH_FUNCTION_BODY_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nabla/graph/graph.h"
#include "nabla/graph/node_record.h"

namespace nabla {

class FunctionDef;

// A tensor of the body, or several: "node:output:1", "node:output", "argument".
struct BodyTensor {
  bool is_argument = false;
  int at = 0;          // formal argument, or index into FunctionBody::nodes
  std::string output;  // the node's formal output
  int index = kAll;    // which of the tensors that an argument or output is, if that is a list
  static constexpr int kAll = -1;
};

struct BodyNode {
  std::string name;
  std::string op;
  std::string device;
  AttrMap attrs;  // with placeholders for the function's attrs
  std::vector<BodyTensor> inputs;
  std::vector<BodyTensor> control_inputs;  // only is_argument and at
};

// Immutable once made.
struct FunctionBody {
  const OpSpec* spec = nullptr;  // the signature
  std::vector<BodyNode> nodes;
  std::vector<BodyTensor> results;  // one for each formal output
  // Of what the signature names as control outputs; has_effects says whether it names any.
  std::vector<int> effects;
  bool has_effects = false;
  // The functions and ops that the body's nodes have as op or name in attrs, one entry for each occurrence.
  std::vector<std::string> callees;
  // Inputs and control inputs of nodes: those that are whole lists of arguments, and all others.
  int64_t num_list_edges = 0;
  int64_t num_edges = 0;

  // How many edges the body has at most in a graph where it is called with so many inputs, all of which a node may take
  // as one list.
  int64_t MaxEdges(int num_inputs) const { return num_edges + num_list_edges * num_inputs; }
};

// InvalidArgument, naming the node of the body. What SetSpec sets is left to the caller.
absl::StatusOr<FunctionBody> ParseFunctionBody(const FunctionDef& function, ExpansionBudget* budget);
// Sets the signature, and counts the edges by it.
void SetSpec(const OpSpec* spec, FunctionBody* body);

}  // namespace nabla

#endif  // NABLA_GRAPH_FUNCTION_BODY_H_
