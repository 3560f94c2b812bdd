// nabla grad: appends gradients to a graph and writes it.
#include <cstdint>
#include <cstdio>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "nabla/gradients/gradients.h"
#include "nabla/graph/export.h"
#include "nabla/graph/import.h"
#include "nabla/graph/status_macros.h"
#include "nabla/tools/command.h"

namespace nabla::tools {
namespace {

// "12", "64M": a positive number; K, M and G stand for powers of 1024.
bool ParseCount(absl::string_view text, int64_t* count) {
  int shift = 0;
  if (absl::ConsumeSuffix(&text, "K")) shift = 10;
  if (shift == 0 && absl::ConsumeSuffix(&text, "M")) shift = 20;
  if (shift == 0 && absl::ConsumeSuffix(&text, "G")) shift = 30;
  if (!absl::SimpleAtoi(text, count) || *count < 1 || *count > (INT64_MAX >> shift)) return false;
  *count <<= shift;
  return true;
}

absl::StatusOr<LoopGradientOptions> ParseCheckpoint(absl::string_view text) {
  LoopGradientOptions options;
  absl::string_view count = text;
  if (text == "none") return options;
  if (text == "sqrt") {
    options.checkpoint = Checkpoint::kSqrt;
    return options;
  }
  if (absl::ConsumePrefix(&count, "every=") && ParseCount(count, &options.every_k)) {
    options.checkpoint = Checkpoint::kEveryK;
    return options;
  }
  if (absl::ConsumePrefix(&count, "budget=") && ParseCount(count, &options.budget_bytes)) {
    options.checkpoint = Checkpoint::kBudgetBytes;
    return options;
  }
  return UsageError(
      absl::StrCat("--loop-checkpoint ", text, ": expected none, sqrt, every=K or budget=BYTES, numbers above 0"));
}

// All but those that name tensors.
absl::StatusOr<GradientOptions> ParseOptions(const GradFlags& flags) {
  GradientOptions options;
  if (!IsValidNodeName(flags.name)) {
    return UsageError(
        absl::StrCat("--name ", flags.name,
                     ": expected a node's name: letters, digits, _ and ., behind the first character also / \\ > -"));
  }
  options.name = flags.name;
  if (flags.aggregation == "add_n") {
    options.aggregation = AggregationMethod::kAddN;
  } else if (flags.aggregation == "tree") {
    options.aggregation = AggregationMethod::kTree;
  } else if (flags.aggregation == "accumulate_n") {
    options.aggregation = AggregationMethod::kAccumulateN;
  } else {
    return UsageError(absl::StrCat("--aggregation ", flags.aggregation, ": expected add_n, tree or accumulate_n"));
  }
  if (flags.unconnected != "none" && flags.unconnected != "zero") {
    return UsageError(absl::StrCat("--unconnected ", flags.unconnected, ": expected none or zero"));
  }
  options.unconnected = flags.unconnected == "zero" ? UnconnectedGradients::kZero : UnconnectedGradients::kNone;
  NABLA_ASSIGN_OR_RETURN(options.loops, ParseCheckpoint(flags.loop_checkpoint));
  return options;
}

}  // namespace

absl::Status GradCommand(const GradFlags& flags) {
  NABLA_RETURN_IF_ERROR(CheckOut(flags.out));
  NABLA_ASSIGN_OR_RETURN(GradientOptions options, ParseOptions(flags));
  Graph graph;
  NABLA_RETURN_IF_ERROR(ImportGraphDefFile(flags.graph, {}, &graph));
  NABLA_ASSIGN_OR_RETURN(Outputs ys, FindOutputs(graph, flags.ys));
  NABLA_ASSIGN_OR_RETURN(Outputs xs, FindOutputs(graph, flags.xs));
  NABLA_ASSIGN_OR_RETURN(options.stop_gradients, FindOutputs(graph, flags.stop));
  NABLA_ASSIGN_OR_RETURN(Outputs grad_ys, FindOutputs(graph, flags.grad_ys));
  options.grad_ys.assign(grad_ys.begin(), grad_ys.end());
  Scope scope(&graph);
  NABLA_ASSIGN_OR_RETURN(Grads grads, Gradients(scope, ys, xs, options));
  NABLA_RETURN_IF_ERROR(ExportGraphFile(graph, {}, flags.out));
  const std::vector<std::string> reasons = Reasons(ys, xs, grads, options.stop_gradients);
  for (size_t i = 0; i < xs.size(); ++i) {
    std::string result;
    if (grads[i].is_dense()) {
      result = grads[i].dense().name();
    } else if (grads[i].is_slices()) {
      const IndexedSlices& slices = grads[i].slices();
      result = absl::StrCat("slices values=", slices.values.name(), " indices=", slices.indices.name());
      if (slices.dense_shape) absl::StrAppend(&result, " dense_shape=", slices.dense_shape.name());
    } else {
      result = absl::StrCat("none: ", reasons[i]);
    }
    std::printf("%s -> %s\n", flags.xs[i].c_str(), result.c_str());
  }
  return absl::OkStatus();
}

}  // namespace nabla::tools
