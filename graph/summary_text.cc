// The summary for people.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "nabla/graph/error_text.h"
#include "nabla/graph/summary.h"

namespace nabla {
namespace {

std::string Bytes(int64_t bytes) {
  if (bytes < 10 << 10) return absl::StrCat(bytes, " bytes");
  if (bytes < 10 << 20) return absl::StrFormat("%.1f KiB", bytes / 1024.0);
  if (bytes < int64_t{10} << 30) return absl::StrFormat("%.1f MiB", bytes / (1024.0 * 1024.0));
  return absl::StrFormat("%.1f GiB", bytes / (1024.0 * 1024.0 * 1024.0));
}

std::string Type(DType dtype, const Shape& shape) {
  return absl::StrCat(dtype == DType::kInvalid ? "unknown type" : DTypeName(dtype), " ",
                      shape.has_rank() ? shape.ToString() : "of unknown shape");
}

// "frames (3)" and its lines, of which at most `max_items` are shown.
class Section {
 public:
  Section(std::string* text, absl::string_view title, size_t count, size_t max_items)
      : text_(text), left_(std::min(count, max_items)), more_(count - left_) {
    if (count > 0) absl::StrAppend(text_, title, " (", count, ")\n");
  }
  // False when no more is to be shown.
  bool Line(absl::string_view line) {
    if (left_ == 0) return false;
    absl::StrAppend(text_, "  ", line, "\n");
    --left_;
    return true;
  }
  ~Section() {
    if (more_ > 0) absl::StrAppend(text_, "  ... and ", more_, " more\n");
  }

 private:
  std::string* text_;
  size_t left_;
  size_t more_;
};

std::string FrameText(const GraphSummary::FrameInfo& frame) {
  std::string text = OneLine(frame.name);
  if (!frame.parent.empty()) absl::StrAppend(&text, " inside ", OneLine(frame.parent));
  absl::StrAppend(&text, ": ", frame.variables.size(), frame.variables.size() == 1 ? " variable, " : " variables, ",
                  frame.invariants.size(), frame.invariants.size() == 1 ? " invariant, " : " invariants, ",
                  frame.num_body_nodes, " body nodes, ",
                  frame.trip_condition.empty() ? "no condition" : absl::StrCat("while ", frame.trip_condition));
  if (frame.parallel_iterations > 0) absl::StrAppend(&text, ", ", frame.parallel_iterations, " iterations at once");
  return text;
}

// A line for each, at most `max_items`.
void AppendTensors(const std::vector<GraphSummary::TensorInfo>& tensors, absl::string_view what, size_t max_items,
                   std::string* text) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (i == max_items) {
      absl::StrAppend(text, "    ... and ", tensors.size() - i, " more\n");
      return;
    }
    absl::StrAppend(text, "    ", what, " ", tensors[i].name, ": ", Type(tensors[i].dtype, tensors[i].shape), "\n");
  }
}

}  // namespace

std::string GraphSummary::ToString(size_t max_items) const {
  std::string text =
      absl::StrCat("nodes ", num_nodes, ", edges ", num_edges, ", producer version ", versions.producer, "\n");
  {
    Section section(&text, "inputs", inputs.size(), max_items);
    for (const TensorInfo& input : inputs) {
      section.Line(absl::StrCat(input.name, ": ", Type(input.dtype, input.shape),
                                input.op == "PlaceholderWithDefault" ? ", has a default" : ""));
    }
  }
  {
    Section section(&text, "likely outputs", outputs.size(), max_items);
    for (const TensorInfo& output : outputs) {
      section.Line(absl::StrCat(output.name, ": ", Type(output.dtype, output.shape), ", by ", output.op));
    }
  }
  {
    Section section(&text, "targets", targets.size(), max_items);
    for (const std::string& target : targets) section.Line(target);
  }
  if (!ops.empty()) {
    const std::string counts = absl::StrJoin(ops, " ", [](std::string* out, const std::pair<std::string, int>& op) {
      absl::StrAppend(out, op.first, ":", op.second);
    });
    absl::StrAppend(&text, "ops (", ops.size(), ")\n  ", counts, "\n");
  }
  if (num_constants > 0) {
    absl::StrAppend(&text, "constants ", num_constants, ", ", Bytes(constant_bytes), "\n");
  }
  if (!parameters.empty()) {
    absl::StrAppend(&text, "parameters ", parameter_elements(), ", ", Bytes(parameter_bytes()), "\n");
    std::vector<const Parameter*> largest;
    for (const Parameter& parameter : parameters) largest.push_back(&parameter);
    std::stable_sort(largest.begin(), largest.end(),
                     [](const Parameter* a, const Parameter* b) { return a->bytes > b->bytes; });
    Section section(&text, "  tensors, largest first", largest.size(), max_items);
    for (const Parameter* parameter : largest) {
      if (!section.Line(absl::StrCat("  ", parameter->name, ": ", Type(parameter->dtype, parameter->shape),
                                     parameter->is_variable ? ", variable" : ""))) {
        break;
      }
    }
  }
  {
    Section section(&text, "functions", functions.size(), max_items);
    for (const Function& function : functions) {
      section.Line(absl::StrCat(function.signature, ", ", function.num_nodes, " nodes",
                                function.gradient.empty() ? "" : ", gradient ", OneLine(function.gradient)));
    }
  }
  {
    Section section(&text, "frames", frames.size(), max_items);
    for (const FrameInfo& frame : frames) {
      if (!section.Line(FrameText(frame))) break;
      AppendTensors(frame.variables, "variable", max_items, &text);
      AppendTensors(frame.invariants, "invariant", max_items, &text);
    }
  }
  {
    Section section(&text, "conditionals", conditionals.size(), max_items);
    for (const ConditionalInfo& conditional : conditionals) {
      section.Line(absl::StrCat("on ", conditional.predicate, ": ", conditional.num_switches,
                                conditional.num_switches == 1 ? " switch" : " switches"));
    }
  }
  {
    Section section(&text, "malformed control flow", control_flow_problems.size(), max_items);
    for (const std::string& problem : control_flow_problems) section.Line(problem);
  }
  {
    Section section(&text, "unsupported", unsupported.size(), max_items);
    for (const std::string& what : unsupported) section.Line(what);
  }
  return text;
}

}  // namespace nabla
