#include "nabla/graph/name_table.h"

#include <algorithm>

#include "absl/hash/hash.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "nabla/graph/graph.h"

namespace nabla {

NameTable::NameTable() = default;
NameTable::~NameTable() = default;

size_t NameTable::Hash::operator()(absl::string_view name) const {
  // Setting this bit maps both cases of a letter to one byte; that it merges a few other characters is harmless.
  constexpr char kFold = 0x20;
  char folded[128];
  size_t hash = name.size();
  while (!name.empty()) {
    const size_t n = std::min(name.size(), sizeof(folded));
    for (size_t i = 0; i < n; ++i) folded[i] = static_cast<char>(name[i] | kFold);
    hash = absl::HashOf(hash, absl::string_view(folded, n));
    name.remove_prefix(n);
  }
  return hash;
}

size_t NameTable::Hash::operator()(const Node* node) const { return (*this)(absl::string_view(node->name())); }

bool NameTable::Equal::operator()(const Node* a, absl::string_view b) const { return a->name() == b; }

bool NameTable::Equal::operator()(const Node* a, AnyCase b) const { return absl::EqualsIgnoreCase(a->name(), b.name); }

bool NameTable::Equal::operator()(absl::string_view a, AnyCase b) const { return absl::EqualsIgnoreCase(a, b.name); }

Node* NameTable::Find(absl::string_view name) const {
  const auto it = nodes_.find(name);
  return it == nodes_.end() ? nullptr : *it;
}

void NameTable::Insert(Node* node) { nodes_.insert(node); }

void NameTable::Erase(Node* node) { nodes_.erase(node); }

void NameTable::ReserveScope(absl::string_view name) {
  scopes_.lazy_emplace(AnyCase{name}, [&](const auto& construct) { construct(name); });
}

bool NameTable::IsTaken(absl::string_view name) const {
  // Both tables hash alike, and hashing a long name is most of the work.
  const size_t hash = Hash()(name);
  return nodes_.find(AnyCase{name}, hash) != nodes_.end() || scopes_.find(AnyCase{name}, hash) != scopes_.end();
}

std::string NameTable::Unique(absl::string_view name) const {
  if (!IsTaken(name)) return std::string(name);
  int& suffix = next_suffix_.try_emplace(absl::AsciiStrToLower(name), 1).first->second;
  while (true) {
    std::string candidate = absl::StrCat(name, "_", suffix);
    if (!IsTaken(candidate)) return candidate;
    ++suffix;
  }
}

}  // namespace nabla
