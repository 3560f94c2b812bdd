// One op in a graph of its own, run through a session as a program would.
#ifndef NABLA_TESTS_BENCHMARKS_OP_BENCH_H_
#define NABLA_TESTS_BENCHMARKS_OP_BENCH_H_

#include <memory>
#include <string>
#include <vector>

#include "nabla/graph/attr.h"
#include "nabla/graph/check.h"
#include "nabla/graph/graph.h"
#include "nabla/graph/tensor.h"
#include "nabla/ops/registration.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/session.h"

namespace nabla {

class OpBench {
 public:
  OpBench(const std::string& op, std::vector<Tensor> inputs, AttrMap attrs, int threads) : inputs_(std::move(inputs)) {
    RegisterAllOps();
    RegisterAllKernels();
    NodeDesc desc;
    desc.name = "measured";
    desc.op = op;
    desc.attrs = std::move(attrs);
    desc.attrs.Set("T", inputs_[0].dtype());
    for (const Tensor& input : inputs_) {
      NodeDesc placeholder;
      placeholder.name = graph_.UniqueName("input");
      placeholder.op = "Placeholder";
      placeholder.attrs.Set("dtype", input.dtype());
      desc.inputs.push_back(Add(std::move(placeholder)));
    }
    const Outputs feeds = desc.inputs;
    const Output result = Add(std::move(desc));
    SessionOptions options;
    options.num_threads = threads;
    session_ = std::make_unique<Session>(&graph_, options);
    absl::StatusOr<std::shared_ptr<Session::Callable>> callable = session_->MakeCallable(feeds, {result}, {});
    NABLA_CHECK(callable.ok());
    callable_ = *std::move(callable);
  }

  const Tensor& Run() {
    const absl::Status status = session_->RunCallable(*callable_, inputs_, &outputs_);
    NABLA_CHECK(status.ok());
    return outputs_[0];
  }

 private:
  Output Add(NodeDesc desc) {
    absl::StatusOr<Node*> node = graph_.AddNode(std::move(desc));
    NABLA_CHECK(node.ok());
    return (*node)->output(0);
  }

  Graph graph_;
  std::vector<Tensor> inputs_;
  std::vector<Tensor> outputs_;
  std::unique_ptr<Session> session_;
  std::shared_ptr<Session::Callable> callable_;
};

}  // namespace nabla

#endif  // NABLA_TESTS_BENCHMARKS_OP_BENCH_H_
