// The names of a graph: finds nodes by name, and makes names unique the way TensorFlow does, so that a program gets
// the node names it would get there: a taken "MatMul" becomes "MatMul_1", and "matmul" collides with "MatMul".
//
// Thread-compatible; the Graph locks.
#ifndef NABLA_GRAPH_NAME_TABLE_H_
#define NABLA_GRAPH_NAME_TABLE_H_

#include <cstddef>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"

namespace nabla {

class Node;

class NameTable {
 public:
  NameTable();
  ~NameTable();

  // nullptr if there is none. Case matters.
  Node* Find(absl::string_view name) const;
  // Requires that no node has its name.
  void Insert(Node* node);
  void Erase(Node* node);
  // A name that no node gets from Unique any more.
  void ReserveScope(absl::string_view name);
  // `name`, or the first of name_1, name_2, … that no node or scope has, whatever its case.
  std::string Unique(absl::string_view name) const;

 private:
  // Looked up in spite of case.
  struct AnyCase {
    absl::string_view name;
  };
  // All hash alike whatever the case, so that one table answers both kinds of question.
  struct Hash {
    using is_transparent = void;
    size_t operator()(absl::string_view name) const;
    size_t operator()(AnyCase key) const { return (*this)(key.name); }
    size_t operator()(const Node* node) const;
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const Node* a, const Node* b) const { return a == b; }
    bool operator()(const Node* a, absl::string_view b) const;
    bool operator()(const Node* a, AnyCase b) const;
    bool operator()(absl::string_view a, absl::string_view b) const { return a == b; }
    bool operator()(absl::string_view a, AnyCase b) const;
  };
  bool IsTaken(absl::string_view name) const;

  absl::flat_hash_set<Node*, Hash, Equal> nodes_;
  absl::flat_hash_set<std::string, Hash, Equal> scopes_;
  // By lower-case name that was asked for again: the least suffix that may be free.
  mutable absl::flat_hash_map<std::string, int> next_suffix_;
};

}  // namespace nabla

#endif  // NABLA_GRAPH_NAME_TABLE_H_
