#include "nabla/runtime/plan.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "nabla/graph/status_macros.h"
#include "nabla/runtime/cost.h"
#include "nabla/runtime/frame_planner.h"
#include "nabla/runtime/resources.h"
#include "nabla/runtime/subgraph.h"
#include "nabla/runtime/task_graph.h"

namespace nabla {
namespace {

// A constant that waits for up to so many steps hands them to its readers instead of being a step itself.
constexpr size_t kMaxInheritedPredecessors = 4;

// A step that is there only to be waited for.
class NothingKernel : public Kernel {
 public:
  absl::Status Compute(KernelContext&) const override { return absl::OkStatus(); }
};

absl::Status EvaluateNode(const PlanOptions& options, Node* node, absl::Span<const Tensor> inputs,
                          std::vector<Tensor>* outputs) {
  NABLA_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, options.kernels->Create(*node));
  // Nothing may reach the session's state from here.
  ResourceContainer scratch;
  KernelContext::Environment environment = options.environment;
  environment.resources = &scratch;
  std::vector<Tensor*> pointers;
  for (const Tensor& input : inputs) pointers.push_back(const_cast<Tensor*>(&input));
  outputs->assign(node->num_outputs(), Tensor());
  KernelContext context(environment, node, pointers.data(), static_cast<int>(pointers.size()), outputs->data(),
                        node->num_outputs(), /*exclusive_inputs=*/0);
  return kernel->Compute(context);
}

}  // namespace

class Plan::Builder {
 public:
  Builder(Plan* plan, const PlanOptions& options, const Compilation& compilation)
      : plan_(*plan), options_(options), compilation_(compilation), places_(compilation.graph->num_node_ids()) {}

  absl::Status Run() {
    for (const Output& feed : compilation_.feeds) {
      if (feed) places_[feed.node()->id()].is_feed = true;
    }
    for (size_t i = 0; i < compilation_.order.size(); ++i) {
      const uint64_t exclusive = compilation_.exclusive_inputs.empty() ? 0 : compilation_.exclusive_inputs[i];
      NABLA_RETURN_IF_ERROR(AddNode(compilation_.order[i], exclusive));
    }
    PlaceFeedsAndFetches();
    FindReaders();
    FindReleases();
    LinkSuccessors();
    DecideParallel();
    if (!plan_.parallel_) ReuseSlots();
    return absl::OkStatus();
  }

 private:
  using Predecessors = absl::InlinedVector<int32_t, 4>;

  // Where a node went.
  struct Place {
    bool is_feed = false;
    bool is_constant = false;
    int32_t step = -1;
    int32_t first = -1;      // slot of output 0, or the constant's index
    Predecessors inherited;  // of a constant without a step: the steps that it waits for
  };

  absl::Status AddNode(Node* node, uint64_t exclusive_inputs) {
    Place& place = places_[node->id()];
    if (place.is_feed) {
      place.first = AddSlots(1);
      return absl::OkStatus();
    }
    Predecessors predecessors = PredecessorsOf(*node);
    if (node->op() == "Const") {
      const Tensor& value = node->GetAttr<Tensor>("value");
      if (value.dtype() != node->output_dtype(0)) {
        return NodeError(*node, absl::InvalidArgumentError(
                                    absl::StrCat("the value is of type ", DTypeName(value.dtype()),
                                                 ", but the attr dtype says ", DTypeName(node->output_dtype(0)))));
      }
      place.is_constant = true;
      place.first = static_cast<int32_t>(plan_.constants_.size());
      plan_.constants_.push_back(value);
      if (predecessors.size() <= kMaxInheritedPredecessors) {
        place.inherited = std::move(predecessors);
      } else {
        place.step = AddStep(std::make_unique<NothingKernel>(), node, 0, std::move(predecessors));
      }
      return absl::OkStatus();
    }
    NABLA_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, options_.kernels->Create(*node));
    place.step = AddStep(std::move(kernel), node, exclusive_inputs, std::move(predecessors));
    Step& step = plan_.steps_.back();
    step.first_input = static_cast<int32_t>(plan_.input_sources_.size());
    step.num_inputs = node->num_inputs();
    for (int i = 0; i < node->num_inputs(); ++i) {
      const Output input = node->input(i);
      const Place& source = places_[input.node()->id()];
      plan_.input_sources_.push_back(source.is_constant ? ~source.first : source.first + input.index());
    }
    step.num_outputs = node->num_outputs();
    step.first_output = place.first = AddSlots(node->num_outputs());
    step.output_dtype = node->num_outputs() > 0 ? BaseDType(node->output_dtype(0)) : DType::kInvalid;
    return absl::OkStatus();
  }

  int32_t AddSlots(int count) {
    const int32_t first = static_cast<int32_t>(plan_.slot_readers_.size());
    plan_.slot_readers_.resize(first + count);
    return first;
  }

  int32_t AddStep(std::unique_ptr<Kernel> kernel, Node* node, uint64_t exclusive_inputs, Predecessors predecessors) {
    Step step = {};
    step.kernel = kernel.get();
    step.node = node;
    step.exclusive_inputs = exclusive_inputs;
    plan_.kernels_.push_back(std::move(kernel));
    plan_.steps_.push_back(step);
    predecessors_.push_back(std::move(predecessors));
    return static_cast<int32_t>(plan_.steps_.size()) - 1;
  }

  // The steps that the node waits for, each once, in order.
  Predecessors PredecessorsOf(const Node& node) const {
    Predecessors steps;
    auto add = [&](const Node* source) {
      const Place& place = places_[source->id()];
      if (place.step >= 0) {
        steps.push_back(place.step);
      } else {
        steps.insert(steps.end(), place.inherited.begin(), place.inherited.end());
      }
    };
    for (int i = 0; i < node.num_inputs(); ++i) add(node.input(i).node());
    for (const Node* control : node.control_inputs()) add(control);
    std::sort(steps.begin(), steps.end());
    steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
    return steps;
  }

  void PlaceFeedsAndFetches() {
    for (const Output& feed : compilation_.feeds) {
      Feed entry;
      entry.slot = feed ? places_[feed.node()->id()].first : -1;
      plan_.feeds_.push_back(std::move(entry));
    }
    for (const Output& output : compilation_.fetches) {
      Fetch fetch = {Fetch::Kind::kFeed, true, -1};  // a fed tensor: Compile fills in which
      if (output) {
        const Place& place = places_[output.node()->id()];
        fetch.kind = place.is_constant ? Fetch::Kind::kConstant : Fetch::Kind::kSlot;
        fetch.index = place.first + (place.is_constant ? 0 : output.index());
      }
      for (Fetch& earlier : plan_.fetches_) {
        if (earlier.kind == Fetch::Kind::kSlot && fetch.kind == earlier.kind && earlier.index == fetch.index) {
          earlier.last = false;
        }
      }
      plan_.fetches_.push_back(fetch);
    }
  }

  // Each step's slots once, and each slot's readers.
  void FindReaders() {
    std::vector<int32_t> last_seen(plan_.slot_readers_.size(), -1);
    plan_.parallel_steps_.resize(plan_.steps_.size());
    for (size_t i = 0; i < plan_.steps_.size(); ++i) {
      const Step& step = plan_.steps_[i];
      ParallelStep& parallel = plan_.parallel_steps_[i];
      parallel.first_read = static_cast<int32_t>(plan_.reads_.size());
      for (int j = 0; j < step.num_inputs; ++j) {
        const int32_t slot = plan_.input_sources_[step.first_input + j];
        if (slot < 0 || last_seen[slot] == static_cast<int32_t>(i)) continue;
        last_seen[slot] = static_cast<int32_t>(i);
        plan_.reads_.push_back(slot);
        ++plan_.slot_readers_[slot];
      }
      parallel.num_reads = static_cast<int32_t>(plan_.reads_.size()) - parallel.first_read;
    }
    for (const Fetch& fetch : plan_.fetches_) {
      if (fetch.kind == Fetch::Kind::kSlot) plan_.slot_readers_[fetch.index] = kKept;
    }
    for (size_t i = 0; i < plan_.steps_.size(); ++i) {
      const Step& step = plan_.steps_[i];
      for (int j = 0; j < std::min(step.num_inputs, 64); ++j) {
        const int32_t slot = plan_.input_sources_[step.first_input + j];
        if (slot >= 0 && plan_.slot_readers_[slot] == 1) {
          plan_.parallel_steps_[i].single_reader_inputs |= step.exclusive_inputs & uint64_t{1} << j;
        }
      }
    }
  }

  // After which step each slot is not needed any more: its last reader, or its producer if it has none.
  void FindReleases() {
    std::vector<int32_t> last(plan_.slot_readers_.size(), -1);
    for (size_t i = 0; i < plan_.steps_.size(); ++i) {
      const Step& step = plan_.steps_[i];
      for (int j = 0; j < step.num_outputs; ++j) last[step.first_output + j] = static_cast<int32_t>(i);
      const ParallelStep& parallel = plan_.parallel_steps_[i];
      for (int j = 0; j < parallel.num_reads; ++j)
        last[plan_.reads_[parallel.first_read + j]] = static_cast<int32_t>(i);
    }
    std::vector<int32_t> counts(plan_.steps_.size());
    for (size_t slot = 0; slot < last.size(); ++slot) {
      if (last[slot] >= 0 && plan_.slot_readers_[slot] != kKept) ++counts[last[slot]];
    }
    int32_t total = 0;
    for (size_t i = 0; i < plan_.steps_.size(); ++i) {
      plan_.steps_[i].first_release = total;
      total += counts[i];
    }
    plan_.releases_.resize(total);
    for (size_t slot = 0; slot < last.size(); ++slot) {
      if (last[slot] < 0 || plan_.slot_readers_[slot] == kKept) continue;
      Step& step = plan_.steps_[last[slot]];
      plan_.releases_[step.first_release + step.num_releases++] = static_cast<int32_t>(slot);
    }
  }

  void LinkSuccessors() {
    for (const Predecessors& predecessors : predecessors_) {
      for (const int32_t p : predecessors) ++plan_.parallel_steps_[p].num_successors;
    }
    int32_t total = 0;
    for (ParallelStep& step : plan_.parallel_steps_) {
      step.first_successor = total;
      total += step.num_successors;
      step.num_successors = 0;
    }
    plan_.successors_.resize(total);
    for (size_t i = 0; i < predecessors_.size(); ++i) {
      plan_.parallel_steps_[i].pending = static_cast<int32_t>(predecessors_[i].size());
      if (predecessors_[i].empty()) plan_.roots_.push_back(static_cast<int32_t>(i));
      for (const int32_t p : predecessors_[i]) {
        ParallelStep& from = plan_.parallel_steps_[p];
        plan_.successors_[from.first_successor + from.num_successors++] = static_cast<int32_t>(i);
      }
    }
  }

  // Compares one thread's time with that of the longest path.
  void DecideParallel() {
    double total = 0, longest = 0;
    int expensive = 0;
    std::vector<double> end(plan_.steps_.size());
    for (size_t i = 0; i < plan_.steps_.size(); ++i) {
      const double cost = EstimateCost(*plan_.steps_[i].node);
      plan_.parallel_steps_[i].expensive = cost >= kExpensiveNanoseconds;
      expensive += plan_.parallel_steps_[i].expensive ? 1 : 0;
      double begin = 0;
      for (const int32_t p : predecessors_[i]) begin = std::max(begin, end[p]);
      end[i] = begin + cost;
      total += cost;
      longest = std::max(longest, end[i]);
    }
    const KernelContext::Environment& environment = options_.environment;
    plan_.parallel_ = environment.pool != nullptr && expensive >= 2 && longest < total * kWorthwhileFraction;
  }

  // Where steps only ever run in order, a tensor may live where another one has died: the slots of a long plan stay in
  // the cache. Outputs of one step must lie side by side, so only single ones move in.
  void ReuseSlots() {
    std::vector<int32_t> moved(plan_.slot_readers_.size(), -1);
    std::vector<int32_t> free;
    int32_t num_slots = 0;
    for (Feed& feed : plan_.feeds_) {
      if (feed.slot >= 0) feed.slot = moved[feed.slot] = num_slots++;
    }
    for (Step& step : plan_.steps_) {
      if (step.num_outputs == 1 && !free.empty()) {
        moved[step.first_output] = free.back();
        free.pop_back();
      } else {
        for (int32_t i = 0; i < step.num_outputs; ++i) moved[step.first_output + i] = num_slots++;
      }
      if (step.num_outputs > 0) step.first_output = moved[step.first_output];
      for (int32_t i = 0; i < step.num_releases; ++i) {
        int32_t& slot = plan_.releases_[step.first_release + i];
        slot = moved[slot];
        free.push_back(slot);
      }
    }
    for (int32_t& source : plan_.input_sources_) {
      if (source >= 0) source = moved[source];
    }
    for (Fetch& fetch : plan_.fetches_) {
      if (fetch.kind == Fetch::Kind::kSlot) fetch.index = moved[fetch.index];
    }
    plan_.slot_readers_.assign(num_slots, 0);
  }

  Plan& plan_;
  const PlanOptions& options_;
  const Compilation& compilation_;
  std::vector<Place> places_;               // by node id
  std::vector<Predecessors> predecessors_;  // by step
};

absl::StatusOr<std::shared_ptr<const Plan>> Plan::Compile(const Graph& graph, const PlanRequest& request,
                                                          const PlanOptions& options, std::vector<PassRecord>* passes) {
  std::shared_ptr<Plan> plan(new Plan);
  Compilation compilation;
  NABLA_RETURN_IF_ERROR(CopySubgraph(graph, request, &plan->graph_, &compilation));
  compilation.evaluate = [&options](Node* node, absl::Span<const Tensor> inputs, std::vector<Tensor>* outputs) {
    return EvaluateNode(options, node, inputs, outputs);
  };
  NABLA_RETURN_IF_ERROR(RunPasses(options.passes, compilation, passes));
  if (HasControlFlow(compilation)) {
    NABLA_RETURN_IF_ERROR(PlanFrames(plan.get(), *options.kernels, compilation, options.environment.pool != nullptr));
  } else {
    NABLA_RETURN_IF_ERROR(Builder(plan.get(), options, compilation).Run());
  }
  for (size_t i = 0; i < request.feeds.size(); ++i) {
    const Output& feed = request.feeds[i];
    plan->feeds_[i].name = feed.name();
    plan->feeds_[i].dtype = BaseDType(feed.dtype());
    plan->feeds_[i].shape = feed.shape();
    for (size_t j = 0; j < request.fetches.size(); ++j) {
      if (request.fetches[j] == feed) plan->fetches_[j].index = static_cast<int32_t>(i);
    }
  }
  return std::shared_ptr<const Plan>(std::move(plan));
}

absl::Status Plan::CheckFeed(int index, const Tensor& value) const {
  const Feed& feed = feeds_[index];
  if (value.dtype() == feed.dtype && feed.shape.Subsumes(value.shape())) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the feed of '", feed.name, "' is ",
      value.valid() ? absl::StrCat("of type ", DTypeName(value.dtype()), " and shape ", value.shape().ToString())
                    : "an invalid tensor",
      ", expected type ", DTypeName(feed.dtype), " and shape ", feed.shape.ToString()));
}

}  // namespace nabla
