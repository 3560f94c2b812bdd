#include "nabla/runtime/session.h"

#include <algorithm>
#include <cstdlib>
#include <list>
#include <mutex>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "nabla/graph/logging.h"
#include "nabla/graph/status_macros.h"
#include "nabla/runtime/deadline.h"
#include "nabla/runtime/denormals.h"
#include "nabla/runtime/executor.h"
#include "nabla/runtime/plan.h"
#include "nabla/runtime/resources.h"
#include "nabla/runtime/thread_pool.h"
#include "nabla/runtime/trace.h"

namespace nabla {
namespace {

// Plans kept; the one that was not used for longest goes first.
constexpr size_t kMaxCachedPlans = 64;

// What a plan is looked up by: feeds, fetches and targets as numbers. (The graph's edits are checked beside.)
using Signature = absl::InlinedVector<uint64_t, 16>;

template <typename Range, typename GetOutput>
void AppendTensors(const Range& range, const GetOutput& get, Signature* signature) {
  signature->push_back(range.size());
  for (const auto& element : range) {
    const Output output = get(element);
    signature->push_back(reinterpret_cast<uintptr_t>(output.node()));
    signature->push_back(static_cast<uint64_t>(output.index()));
  }
}

void AppendNodes(const std::vector<Node*>& nodes, Signature* signature) {
  for (const Node* node : nodes) signature->push_back(reinterpret_cast<uintptr_t>(node));
}

bool VerifyPasses() {
  static const bool verify = [] {
    const char* text = std::getenv("NABLA_VERIFY_PASSES");
    return text != nullptr && *text != '\0' && *text != '0';
  }();
  return verify;
}

}  // namespace

class Session::Callable {
 public:
  explicit Callable(PlanRequest request) : request(std::move(request)) {}
  const PlanRequest request;
  std::mutex mutex;
  uint64_t edits = 0;                  // of the graph that `executor` was compiled from
  std::shared_ptr<Executor> executor;  // nullptr: not compiled yet
};

struct Session::Impl {
  Impl(Graph* graph, SessionOptions session_options)
      : graph(graph),
        options(std::move(session_options)),
        num_threads(options.num_threads > 0 ? std::min(options.num_threads, ThreadPool::kMaxThreads)
                                            : ThreadPool::NumCores()) {
    if (num_threads > 1) pool = std::make_unique<ThreadPool>(num_threads, options.flush_denormals);
  }

  absl::StatusOr<std::shared_ptr<Executor>> Compile(const PlanRequest& request, Trace* trace) {
    const ScopedDenormals denormals(options.flush_denormals);  // constants are folded here
    PlanOptions plan_options;
    plan_options.passes.disabled = options.disabled_passes;
    plan_options.passes.dump = options.dump_passes;
    plan_options.passes.verify = options.dump_passes != nullptr || VerifyPasses();
    plan_options.environment.pool = pool.get();
    std::vector<PassRecord> passes;
    NABLA_ASSIGN_OR_RETURN(std::shared_ptr<const Plan> plan, Plan::Compile(*graph, request, plan_options, &passes));
    if (trace != nullptr) trace->AddPasses(passes);
    for (const PassRecord& pass : passes) {
      NABLA_LOG(DEBUG) << "pass " << pass.name << ": " << pass.nodes_before << " -> " << pass.nodes_after << " nodes, "
                       << absl::FormatDuration(pass.duration);
    }
    return std::make_shared<Executor>(std::move(plan));
  }

  // From the cache, or compiled by `make_request`'s description of it.
  template <typename MakeRequest>
  absl::StatusOr<std::shared_ptr<Executor>> Lookup(const Signature& signature, Trace* trace,
                                                   const MakeRequest& make_request) {
    const uint64_t edits = graph->edits();
    if (std::shared_ptr<Executor> executor = Find(signature, edits)) return executor;
    std::lock_guard<std::mutex> compile_lock(compile_mutex);
    if (std::shared_ptr<Executor> executor = Find(signature, edits)) return executor;
    // A change between here and the copying of the graph is compiled under the older count: it is then compiled once
    // more than it had to be, never once less.
    NABLA_ASSIGN_OR_RETURN(std::shared_ptr<Executor> executor, Compile(make_request(), trace));
    std::lock_guard<std::mutex> lock(mutex);
    auto it = by_signature.find(signature);
    if (it != by_signature.end()) {
      plans.erase(it->second);
      by_signature.erase(it);
    }
    plans.push_front({signature, edits, executor});
    by_signature[signature] = plans.begin();
    while (plans.size() > kMaxCachedPlans) {
      by_signature.erase(plans.back().signature);
      plans.pop_back();
    }
    return executor;
  }

  std::shared_ptr<Executor> Find(const Signature& signature, uint64_t edits) {
    std::lock_guard<std::mutex> lock(mutex);
    auto it = by_signature.find(signature);
    if (it == by_signature.end() || it->second->edits != edits) return nullptr;
    if (it->second != plans.begin()) plans.splice(plans.begin(), plans, it->second);
    return it->second->executor;
  }

  // Checks the feeds and runs the plan.
  absl::Status Execute(Executor& executor, absl::Span<const Tensor* const> feeds, std::vector<Tensor>* outputs,
                       const RunOptions& run_options) {
    for (size_t i = 0; i < feeds.size(); ++i) {
      NABLA_RETURN_IF_ERROR(executor.plan().CheckFeed(static_cast<int>(i), *feeds[i]));
    }
    const ScopedDenormals denormals(options.flush_denormals);
    DeadlineWatcher::Timer timer(&deadlines, run_options.deadline);
    KernelContext::Environment environment;
    environment.pool = pool.get();
    environment.resources = &resources;
    environment.cancelled = run_options.cancellation == nullptr ? nullptr : run_options.cancellation->flag();
    environment.expired = timer.flag();
    environment.trace = run_options.trace;
    if (run_options.trace == nullptr) return executor.Run(feeds, environment, outputs);
    const Trace::Clock::time_point start = Trace::Clock::now();
    absl::Status status = executor.Run(feeds, environment, outputs);
    run_options.trace->AddRun(start, Trace::Clock::now());
    return status;
  }

  struct CachedPlan {
    Signature signature;
    uint64_t edits;
    std::shared_ptr<Executor> executor;
  };

  Graph* const graph;
  const SessionOptions options;
  const int num_threads;
  ResourceContainer resources;
  std::mutex compile_mutex;
  std::mutex mutex;
  std::list<CachedPlan> plans;  // the last used one first
  absl::flat_hash_map<Signature, std::list<CachedPlan>::iterator> by_signature;
  DeadlineWatcher deadlines;
  std::unique_ptr<ThreadPool> pool;  // nullptr: one thread. Goes first, with its threads
};

Session::Session(Graph* graph, SessionOptions options) : impl_(std::make_unique<Impl>(graph, std::move(options))) {}
Session::~Session() = default;

absl::Status Session::Run(const Feeds& feeds, const Outputs& fetches, std::vector<Tensor>* outputs) {
  return Run(feeds, fetches, {}, outputs, {});
}

absl::Status Session::Run(const Feeds& feeds, const Outputs& fetches, const std::vector<Node*>& targets,
                          std::vector<Tensor>* outputs, const RunOptions& options) {
  Signature signature;
  AppendTensors(
      feeds, [](const auto& feed) { return feed.first; }, &signature);
  AppendTensors(
      fetches, [](const Output& fetch) { return fetch; }, &signature);
  AppendNodes(targets, &signature);
  NABLA_ASSIGN_OR_RETURN(std::shared_ptr<Executor> executor, impl_->Lookup(signature, options.trace, [&] {
    PlanRequest request;
    for (const auto& [output, value] : feeds) request.feeds.push_back(output);
    request.fetches = fetches;
    request.targets = targets;
    return request;
  }));
  absl::InlinedVector<const Tensor*, 8> values;
  for (const auto& [output, value] : feeds) values.push_back(&value);
  return impl_->Execute(*executor, values, outputs, options);
}

absl::StatusOr<std::shared_ptr<Session::Callable>> Session::MakeCallable(const Outputs& feeds, const Outputs& fetches,
                                                                         const std::vector<Node*>& targets) {
  auto callable = std::make_shared<Callable>(PlanRequest{feeds, fetches, targets});
  callable->edits = impl_->graph->edits();
  NABLA_ASSIGN_OR_RETURN(callable->executor, impl_->Compile(callable->request, nullptr));
  return callable;
}

absl::Status Session::RunCallable(Callable& callable, absl::Span<const Tensor> feed_values,
                                  std::vector<Tensor>* outputs, const RunOptions& options) {
  if (feed_values.size() != callable.request.feeds.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the callable takes ", callable.request.feeds.size(), " feeds, got ", feed_values.size()));
  }
  std::shared_ptr<Executor> executor;
  {
    std::lock_guard<std::mutex> lock(callable.mutex);
    const uint64_t edits = impl_->graph->edits();
    if (callable.executor == nullptr || callable.edits != edits) {
      NABLA_ASSIGN_OR_RETURN(callable.executor, impl_->Compile(callable.request, options.trace));
      callable.edits = edits;
    }
    executor = callable.executor;
  }
  absl::InlinedVector<const Tensor*, 8> values;
  for (const Tensor& value : feed_values) values.push_back(&value);
  return impl_->Execute(*executor, values, outputs, options);
}

absl::Status Session::RunSteps(
    int64_t steps, const std::function<Feeds(int64_t step)>& feeds_of_step, const Outputs& fetches,
    const std::vector<Node*>& targets,
    const std::function<bool(int64_t step, const std::vector<Tensor>& fetched)>& after_step) {
  std::vector<Tensor> fetched;
  for (int64_t step = 0; step < steps; ++step) {
    const Feeds feeds = feeds_of_step ? feeds_of_step(step) : Feeds();
    NABLA_RETURN_IF_ERROR(Run(feeds, fetches, targets, &fetched));
    if (after_step && !after_step(step, fetched)) break;
  }
  return absl::OkStatus();
}

ResourceContainer& Session::resources() { return impl_->resources; }
Graph* Session::graph() const { return impl_->graph; }
int Session::num_threads() const { return impl_->num_threads; }

}  // namespace nabla
