// The part of import that is the same for every format: from node records to nodes of a graph.
//
// Records are collected first, since a file may name a node before it stands there, each as small as can be: inputs
// become indices as soon as their nodes are known. Then everything is checked and added in an order in which each node
// comes after its inputs (file order where that is one). What has been added is taken back if anything fails.
#ifndef NABLA_GRAPH_GRAPH_IMPORTER_H_
#define NABLA_GRAPH_GRAPH_IMPORTER_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "nabla/graph/graph.h"
#include "nabla/graph/graph_def_reader.h"
#include "nabla/graph/import.h"
#include "nabla/graph/node_record.h"

namespace nabla {

class GraphImporter {
 public:
  // Both outlive the importer.
  GraphImporter(const ImportOptions& options, Graph* graph);
  ~GraphImporter();

  // Takes what it needs out of the record. Errors name the node.
  absl::Status AddRecord(NodeRecord* record);
  // After the last record, once. On an error the graph is as it was.
  absl::Status Finish(GraphDefRest rest, ImportResult* result);

 private:
  // An op, as records name it.
  struct OpInfo {
    std::string name;
    int first_node = 0;
    bool is_merge = false;
    bool is_next_iteration = false;
    const OpSpec* spec = nullptr;
  };
  // Where an input comes from: a node of the file, a tensor of the graph, or a name not looked up yet.
  enum class Origin : uint8_t { kRecord, kGraph, kName };
  struct InputRef {
    Origin origin;
    int32_t at;     // record, index into mapped_ or index into names_
    int32_t index;  // output, kControlSlot for a control edge
  };
  struct Record {
    std::string name;
    AttrMap attrs;
    int32_t op = 0;
    int32_t device = 0;
    uint32_t first_input = 0;  // index into inputs_
    uint32_t num_inputs = 0;   // data inputs, which come first
    uint32_t num_control = 0;
    int32_t num_outputs_used = 0;
  };

  absl::Status CheckVersions(const VersionDef& versions) const;
  absl::Status AddFunctions(FunctionDefLibrary&& library);
  absl::Status ResolveOp(OpInfo* op);
  absl::Status ResolveNames();
  absl::Status ApplyInputMap();
  absl::Status CountOpaqueOutputs();
  absl::Status Order();
  absl::Status DescribeCycle(const std::vector<int32_t>& waiting) const;
  absl::Status AddNodes();
  absl::Status AddNode(int record);
  // As if the op were not known; `why` is the error of its spec. For lenient imports.
  absl::StatusOr<Node*> AddContradicting(int record, NodeDesc desc, const absl::Status& why);
  absl::Status CheckReferences(int record, const NodeDesc& desc) const;
  absl::Status AddBackEdges();
  absl::Status LookUpResults(ImportResult* result) const;
  void MergeVersions(const VersionDef& versions);
  void TakeBack();

  bool IsBackEdge(int consumer, const InputRef& input) const;
  // Origin::kName if there is no such node (so far).
  InputRef Parse(absl::string_view input) const;
  // The record's own way to write input `i`.
  std::string InputName(const InputRef& input) const;
  // "node 'a' (op Add)".
  std::string Where(int record) const;
  void PrefixReferences(const OpInfo& op, AttrMap* attrs) const;

  const ImportOptions& options_;
  Graph* graph_;
  std::string prefix_;  // with the slash, made unique

  std::deque<Record> records_;  // does not move its elements, whose names are keys below
  std::vector<InputRef> inputs_;
  std::vector<std::string> names_;  // of inputs that were not known when they were read
  absl::flat_hash_map<absl::string_view, int32_t> by_name_;
  std::vector<OpInfo> ops_;
  absl::flat_hash_map<std::string, int32_t> op_index_;
  std::vector<std::string> devices_;
  absl::flat_hash_map<std::string, int32_t> device_index_;
  absl::flat_hash_map<int32_t, ForeignFields> foreign_;
  std::vector<Output> mapped_;

  std::vector<int32_t> order_;                  // empty if file order is one
  std::vector<Node*> nodes_;                    // by record; nullptr until added
  int64_t outputs_left_ = 0;                    // how many outputs the nodes may have, all together
  std::map<std::string, int32_t> unsupported_;  // "op Foo" or "attr x of op Bar" -> the first record that has it

  // For TakeBack.
  int first_id_ = 0;
  uint64_t version_ = 0;
  std::vector<std::string> local_specs_;
};

}  // namespace nabla

#endif  // NABLA_GRAPH_GRAPH_IMPORTER_H_
