// What there is to know about a graph at a glance: what `nabla show` prints.
//
//   std::cout << Summarize(graph).ToString();
//
// Works on any graph, those with unknown ops included.
#ifndef NABLA_GRAPH_SUMMARY_H_
#define NABLA_GRAPH_SUMMARY_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "nabla/graph/graph.h"

namespace nabla {

struct SummaryOptions {
  // Constants of at least this many floating-point elements count as parameters, as do variables of any size.
  int64_t min_parameter_elements = 16;
};

struct GraphSummary {
  struct TensorInfo {
    std::string name;  // "node", "node:1"
    std::string op;
    DType dtype = DType::kInvalid;
    Shape shape;
  };
  struct Parameter {
    std::string name;
    bool is_variable = false;
    DType dtype = DType::kInvalid;
    Shape shape;
    int64_t elements = 0;  // 0 if the shape is not known
    int64_t bytes = 0;
  };
  struct Function {
    std::string signature;  // "f(x: float, y: T) -> (z: T)"
    int num_nodes = 0;
    std::string gradient;  // the function that is its gradient, or ""
  };
  struct FrameInfo {
    std::string name;
    std::string parent;                 // "" if it stands in no other
    std::string trip_condition;         // the node whose value goes into LoopCond, or ""
    std::vector<TensorInfo> variables;  // by their Enters, with the shapes that they have in all iterations
    std::vector<TensorInfo> invariants;
    int num_body_nodes = 0;
    int64_t parallel_iterations = 0;
  };
  struct ConditionalInfo {
    std::string predicate;
    int num_switches = 0;
  };

  int num_nodes = 0;
  int64_t num_edges = 0;
  GraphVersions versions;
  std::vector<TensorInfo> inputs;                // placeholders, by id
  std::vector<TensorInfo> outputs;               // of nodes that are no constants and that nothing consumes, by id
  std::vector<std::string> targets;              // nodes without outputs that nothing waits for
  std::vector<std::pair<std::string, int>> ops;  // how many nodes of each, most frequent first
  std::vector<Parameter> parameters;             // by id
  int num_constants = 0;
  int64_t constant_bytes = 0;
  std::vector<Function> functions;  // by name
  std::vector<FrameInfo> frames;    // outer ones first
  std::vector<ConditionalInfo> conditionals;
  std::vector<std::string> control_flow_problems;
  std::vector<std::string> unsupported;  // "op Foo (3 nodes, first: a/b)", "attr x of op Bar (node c)"

  int64_t parameter_elements() const;
  int64_t parameter_bytes() const;

  // Several lines; of long lists at most `max_items` each.
  std::string ToString(size_t max_items = 20) const;
};

// Thread safety: locks the graph.
GraphSummary Summarize(const Graph& graph, const SummaryOptions& options = {});

}  // namespace nabla

#endif  // NABLA_GRAPH_SUMMARY_H_
