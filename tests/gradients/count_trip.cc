#include "nabla/tests/gradients/count_trip.h"

#include <utility>

#include "nabla/gradients/rule.h"
#include "nabla/graph/check.h"
#include "nabla/graph/op_spec.h"
#include "nabla/graph/shape_inference.h"
#include "nabla/runtime/kernel.h"

namespace nabla::testing {

std::atomic<int64_t>& NumTrips() {
  static std::atomic<int64_t> count{0};
  return count;
}

void RegisterCountTrip() {
  static const bool done = [] {
    OpRegistry::Global()
        .Add("CountTrip")
        .Input("x: T")
        .Output("y: T")
        .Attr("T: type")
        .Shape([](ShapeContext& c) -> absl::Status {
          c.SetOutput(0, c.input(0));
          return absl::OkStatus();
        });
    KernelRegistry::Global().Add("CountTrip", [](KernelContext& ctx) {
      ++NumTrips();
      Tensor x = ctx.TakeInput(0);
      ctx.SetOutput(0, x.valid() ? std::move(x) : ctx.input(0));
      return absl::OkStatus();
    });
    GradientRegistry::Global().Add("CountTrip", [](RuleContext& c) -> Grads { return {c.grad(0)}; });
    return true;
  }();
  NABLA_CHECK(done);
}

Output CountTrip(const Scope& scope, Output x) { return NodeBuilder(scope, "CountTrip").Input(x).FinishOutput(); }

}  // namespace nabla::testing
