#include "nabla/graph/scope.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "nabla/graph/check.h"
#include "nabla/graph/scope_state.h"

namespace nabla {
namespace {

std::string Join(const std::string& prefix, absl::string_view name) {
  return prefix.empty() ? std::string(name) : absl::StrCat(prefix, "/", name);
}

std::vector<Scope>& ScopesOfThisThread() {
  static thread_local std::vector<Scope> scopes;
  return scopes;
}

void AddOnce(Node* node, std::vector<Node*>* nodes) {
  if (node != nullptr && std::find(nodes->begin(), nodes->end(), node) == nodes->end()) nodes->push_back(node);
}

constexpr char kClassAttr[] = "_class";

}  // namespace

void ScopeErrors::Record(const absl::Status& status) {
  if (status.ok()) return;
  if (graph_ != nullptr) {
    graph_->RecordError(status);
    return;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  if (status_.ok()) status_ = status;
}

absl::Status ScopeErrors::Get() const {
  if (graph_ != nullptr) return graph_->status();
  const std::lock_guard<std::mutex> lock(mutex_);
  return status_;
}

Scope::Scope(Graph* graph) : state_(std::make_shared<State>(graph, std::make_shared<ScopeErrors>(nullptr))) {}

Scope Scope::Sub(absl::string_view name) const {
  name = absl::StripSuffix(name, "/");
  if (name.empty()) return *this;
  auto state = std::make_shared<State>(*state_);
  state->chosen_name.clear();
  state->prefix = Join(state_->prefix, name);
  if (IsValidNodeName(state->prefix)) {
    state->prefix = graph()->UniqueScopeName(state->prefix);
  } else {
    RecordError(absl::InvalidArgumentError(
        absl::StrCat("malformed scope name '", state->prefix, "', expected letters, digits and any of _ . / - >")));
  }
  return Scope(std::move(state));
}

Scope Scope::Absolute(absl::string_view full_name) const {
  auto state = std::make_shared<State>(*state_);
  state->chosen_name.clear();
  state->prefix = std::string(absl::StripSuffix(full_name, "/"));
  return Scope(std::move(state));
}

Scope Scope::Named(absl::string_view name) const {
  auto state = std::make_shared<State>(*state_);
  state->chosen_name = std::string(name);
  state->chosen_name_used = false;
  return Scope(std::move(state));
}

Scope Scope::WithControl(std::vector<Node*> nodes) const {
  auto state = std::make_shared<State>(*state_);
  for (Node* node : nodes) AddOnce(node, &state->control);
  return Scope(std::move(state));
}

Scope Scope::WithControl(const std::vector<Output>& outputs) const {
  auto state = std::make_shared<State>(*state_);
  for (const Output& output : outputs) AddOnce(output.node(), &state->control);
  return Scope(std::move(state));
}

Scope Scope::WithoutControl() const {
  auto state = std::make_shared<State>(*state_);
  state->control.clear();
  return Scope(std::move(state));
}

Scope Scope::WithDevice(absl::string_view device) const {
  auto state = std::make_shared<State>(*state_);
  state->device = std::string(device);
  return Scope(std::move(state));
}

Scope Scope::WithColocation(const Node* node) const {
  if (node == nullptr) return *this;
  auto state = std::make_shared<State>(*state_);
  state->attrs.Set(kClassAttr, std::vector<std::string>{absl::StrCat("loc:@", node->name())});
  state->device = node->device();
  return Scope(std::move(state));
}

Scope Scope::WithoutColocation() const {
  auto state = std::make_shared<State>(*state_);
  state->attrs.Erase(kClassAttr);
  return Scope(std::move(state));
}

Scope Scope::WithAttr(absl::string_view name, Attr value) const {
  auto state = std::make_shared<State>(*state_);
  state->attrs.Set(name, std::move(value));
  return Scope(std::move(state));
}

Scope Scope::WithCapture(std::shared_ptr<Capture> capture) const {
  auto state = std::make_shared<State>(*state_);
  state->captures.push_back(std::move(capture));
  return Scope(std::move(state));
}

Graph* Scope::graph() const { return state_->graph; }

bool Scope::Accepts(const Graph* graph) const {
  return graph == state_->graph ||
         std::any_of(state_->captures.begin(), state_->captures.end(),
                     [graph](const std::shared_ptr<Capture>& capture) { return capture->Captures(graph); });
}

const std::string& Scope::name() const { return state_->prefix; }

const std::vector<Node*>& Scope::control() const { return state_->control; }

bool Scope::ok() const { return status().ok(); }

absl::Status Scope::status() const { return state_->errors->Get(); }

void Scope::RecordError(const absl::Status& status) const { state_->errors->Record(status); }

std::string Scope::NodeName(absl::string_view base) const { return graph()->UniqueName(Join(state_->prefix, base)); }

Scope Scope::Current(Graph* graph) {
  const std::vector<Scope>& scopes = ScopesOfThisThread();
  for (auto it = scopes.rbegin(); it != scopes.rend(); ++it) {
    if (it->Accepts(graph)) return *it;
  }
  return Scope(std::make_shared<State>(graph, std::make_shared<ScopeErrors>(graph)));
}

ScopeGuard::ScopeGuard(const Scope& scope) { ScopesOfThisThread().push_back(scope); }

ScopeGuard::~ScopeGuard() {
  NABLA_CHECK(!ScopesOfThisThread().empty());
  ScopesOfThisThread().pop_back();
}

Input::Input(std::initializer_list<int64_t> values) : value_(Tensor::Vector<int64_t>(values)), weak_(true) {}

Input::Input(const std::vector<int64_t>& values)
    : value_(Tensor::Vector<int64_t>(absl::MakeConstSpan(values))), weak_(true) {}

Input::Input(const Shape& shape) : value_(Tensor::Vector<int64_t>(shape.dims())), weak_(true) {}

}  // namespace nabla
