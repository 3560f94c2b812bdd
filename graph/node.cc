#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "nabla/graph/graph.h"

namespace nabla {

std::string Output::name() const { return absl::StrCat(node_->name(), ":", index_); }

const std::string& Node::device() const {
  const std::unique_lock<std::recursive_mutex> lock = graph_->Lock();
  return graph_->devices_[device_];
}

std::vector<Node*> Node::control_inputs() const {
  std::vector<Node*> nodes;
  nodes.reserve(control_inputs_.size());
  for (const std::unique_ptr<Edge>& edge : control_inputs_) nodes.push_back(edge->source);
  return nodes;
}

std::string Node::ToString() const {
  std::string text = absl::StrCat(name_, " = ", op());
  const char* separator = "[";
  for (const auto& [name, value] : attrs_) {
    absl::StrAppend(&text, separator, name, "=", value.ToString());
    separator = ", ";
  }
  if (!attrs_.empty()) text += "]";
  text += "(";
  separator = "";
  for (int i = 0; i < num_inputs_; ++i) {
    const Output source = input(i);
    absl::StrAppend(&text, separator, source ? source.name() : "<none>");
    separator = ", ";
  }
  for (const std::unique_ptr<Edge>& edge : control_inputs_) {
    absl::StrAppend(&text, separator, "^", edge->source->name());
    separator = ", ";
  }
  text += ")";
  separator = " -> ";
  for (const OutputInfo& info : outputs_) {
    absl::StrAppend(&text, separator, DTypeName(info.dtype), " ", info.shape.ToString());
    separator = ", ";
  }
  if (!device().empty()) absl::StrAppend(&text, " on ", device());
  return text;
}

void Node::MissingAttr(absl::string_view name) const {
  const Attr* other = attrs_.Find(name);
  const std::string text =
      absl::StrCat("nabla: node '", name_, "' (op ", op(), "): attr '", name, "' is ",
                   other == nullptr ? "missing" : absl::StrCat("of another kind, ", other->KindName()), "\n");
  std::fputs(text.c_str(), stderr);
  std::abort();
}

}  // namespace nabla
