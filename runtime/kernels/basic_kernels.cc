// Constants, inputs, ops that pass tensors on, and ops that look at them on the way.
#include <atomic>
#include <cmath>
#include <cstdio>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "nabla/runtime/dtype_switch.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/kernels/summarize.h"

namespace nabla {
namespace {

class ConstKernel : public Kernel {
 public:
  explicit ConstKernel(const KernelInit& init) : value_(init.attr<Tensor>("value")) {
    if (value_.dtype() != init.output_dtype(0)) {
      init.Fail(absl::InvalidArgumentError(absl::StrCat("the value is of type ", DTypeName(value_.dtype()),
                                                        ", attr dtype is ", DTypeName(init.output_dtype(0)))));
    }
  }
  absl::Status Compute(KernelContext& ctx) const override {
    ctx.SetOutput(0, value_);
    return absl::OkStatus();
  }

 private:
  const Tensor value_;
};

absl::Status PassInput(KernelContext& ctx) {
  ctx.SetOutput(0, ctx.input(0));
  return absl::OkStatus();
}

absl::Status PassInputs(KernelContext& ctx) {
  for (int i = 0; i < ctx.num_inputs(); ++i) ctx.SetOutput(i, ctx.input(i));
  return absl::OkStatus();
}

absl::Status DoNothing(KernelContext&) { return absl::OkStatus(); }

// Reached only if the run did not feed it.
absl::Status MissingFeed(KernelContext& ctx) {
  const Shape* shape = ctx.node().attr<Shape>("shape");
  return absl::InvalidArgumentError(absl::StrCat("a value must be fed, of type ", DTypeName(ctx.output_dtype(0)),
                                                 " and shape ", shape == nullptr ? "<unknown>" : shape->ToString()));
}

absl::Status EnsureShapeCompute(KernelContext& ctx) {
  const Shape& wanted = ctx.node().GetAttr<Shape>("shape");
  if (!wanted.IsCompatibleWith(ctx.input(0).shape())) {
    return absl::InvalidArgumentError(
        absl::StrCat("the input has shape ", ctx.input(0).shape().ToString(), ", expected ", wanted.ToString()));
  }
  return PassInput(ctx);
}

absl::Status CheckNumericsCompute(KernelContext& ctx) {
  const Tensor& input = ctx.input(0);
  std::atomic<bool> nan{false}, inf{false};
  NABLA_RETURN_IF_ERROR(SwitchFloating(input.dtype(), [&](auto zero) -> absl::Status {
    using T = decltype(zero);
    using C = ComputeType<T>;
    const T* x = input.data<T>();
    ctx.ParallelFor(input.num_elements(), 0.3, [&](int64_t begin, int64_t end) {
      bool any_nan = false, any_inf = false;
      for (int64_t i = begin; i < end; ++i) {
        const C value = static_cast<C>(x[i]);
        any_nan |= std::isnan(value);
        any_inf |= std::isinf(value);
      }
      if (any_nan) nan = true;
      if (any_inf) inf = true;
    });
    return absl::OkStatus();
  }));
  if (nan || inf) {
    return absl::InvalidArgumentError(absl::StrCat(ctx.node().GetAttr<std::string>("message"), " : Tensor had ",
                                                   inf ? "Inf" : "", inf && nan ? " and " : "", nan ? "NaN" : "",
                                                   " values"));
  }
  return PassInput(ctx);
}

absl::Status AssertCompute(KernelContext& ctx) {
  const Tensor& condition = ctx.input(0);
  if (condition.rank() != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("condition must be a scalar, has shape ", condition.shape().ToString()));
  }
  if (condition.scalar<bool>()) return absl::OkStatus();
  const int64_t summarize = ctx.node().GetAttr<int64_t>("summarize");
  std::string message = "assertion failed:";
  for (int i = 1; i < ctx.num_inputs(); ++i) {
    absl::StrAppend(&message, " [", Summarize(ctx.input(i), summarize), "]");
  }
  return absl::InvalidArgumentError(message);
}

class PrintKernel : public Kernel {
 public:
  explicit PrintKernel(const KernelInit& init)
      : message_(init.attr<std::string>("message")),
        first_n_(init.attr<int64_t>("first_n")),
        summarize_(init.attr<int64_t>("summarize")) {}
  absl::Status Compute(KernelContext& ctx) const override {
    if (first_n_ < 0 || printed_.fetch_add(1, std::memory_order_relaxed) < first_n_) {
      std::string line = message_;
      for (int i = 1; i < ctx.num_inputs(); ++i) {
        absl::StrAppend(&line, "[", Summarize(ctx.input(i), summarize_), "]");
      }
      line.push_back('\n');
      std::fwrite(line.data(), 1, line.size(), stderr);  // one call, so that lines of several threads don't mix
    }
    return PassInput(ctx);
  }

 private:
  const std::string message_;
  const int64_t first_n_;
  const int64_t summarize_;
  mutable std::atomic<int64_t> printed_{0};
};

class PrintV2Kernel : public Kernel {
 public:
  explicit PrintV2Kernel(const KernelInit& init) : end_(init.attr<std::string>("end")) {
    const std::string& stream = init.attr<std::string>("output_stream");
    to_stdout_ = stream == "stdout";
    if (!to_stdout_ && stream != "stderr" && stream != "log(info)" && stream != "log(warning)" &&
        stream != "log(error)") {
      init.Fail(absl::InvalidArgumentError(
          absl::StrCat("output_stream is '", stream, "', must be stdout, stderr, log(info), log(warning) or log(error)",
                       absl::StartsWith(stream, "file://") ? "; graphs may not write files" : "")));
    }
  }
  absl::Status Compute(KernelContext& ctx) const override {
    const Tensor& input = ctx.input(0);
    if (input.rank() != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("input must be a scalar string, has shape ", input.shape().ToString()));
    }
    const std::string text = absl::StrCat(input.scalar<std::string>(), end_);
    std::FILE* const stream = to_stdout_ ? stdout : stderr;
    std::fwrite(text.data(), 1, text.size(), stream);
    std::fflush(stream);
    return absl::OkStatus();
  }

 private:
  const std::string end_;
  bool to_stdout_ = false;
};

}  // namespace

void RegisterBasicKernels(KernelRegistry& registry) {
  registry.Add<ConstKernel>("Const");
  registry.Add("Placeholder", MissingFeed);
  registry.Add("PlaceholderV2", MissingFeed);
  registry.Add("PlaceholderWithDefault", PassInput);
  for (const char* op : {"Identity", "Snapshot", "StopGradient", "PreventGradient", "GuaranteeConst"}) {
    registry.Add(op, PassInput);
  }
  registry.Add("IdentityN", PassInputs);
  registry.Add("NoOp", DoNothing);
  registry.Add("EnsureShape", EnsureShapeCompute);
  registry.Add("CheckNumerics", CheckNumericsCompute);
  registry.Add("Assert", AssertCompute);
  registry.Add<PrintKernel>("Print");
  registry.Add<PrintV2Kernel>("PrintV2");
}

}  // namespace nabla
