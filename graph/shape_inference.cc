#include "nabla/graph/shape_inference.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "nabla/graph/constant_value.h"

namespace nabla {
namespace {

// "input 0" alone says little to whoever knows the op by its documentation.
std::string InputLabel(const ShapeContext& c, int i) {
  const std::vector<ArgSpec>& formals = c.spec().inputs();
  for (int formal = 0; formal <= i && formal < static_cast<int>(formals.size()); ++formal) {
    if (formals[formal].IsList()) break;
    if (formal == i) return absl::StrCat("input '", formals[formal].name, "'");
  }
  return absl::StrCat("input ", i);
}

}  // namespace

ShapeContext::ShapeContext(const OpSpec& spec, const AttrMap& attrs, absl::Span<const nabla::Output> inputs,
                           int num_outputs, const Graph* graph)
    : spec_(spec), attrs_(attrs), inputs_(inputs), graph_(graph), outputs_(num_outputs) {}

const Shape& ShapeContext::input(int i) const {
  static const Shape* const unknown = new Shape;
  return inputs_[i] ? inputs_[i].shape() : *unknown;
}

DType ShapeContext::input_dtype(int i) const { return inputs_[i] ? inputs_[i].dtype() : DType::kInvalid; }

absl::optional<Tensor> ShapeContext::InputValue(int i) const {
  if (!inputs_[i]) return absl::nullopt;
  return ConstantValue(inputs_[i]);
}

Shape ShapeContext::InputAsShape(int i) const {
  if (!inputs_[i]) return Shape();
  return ConstantValueAsShape(inputs_[i]);
}

absl::StatusOr<Shape> ShapeContext::InputOfRank(int i, int rank) const {
  const Shape& shape = input(i);
  if (!shape.has_rank()) return Shape::UnknownOfRank(rank);
  if (shape.rank() == rank) return shape;
  return absl::InvalidArgumentError(
      absl::StrCat(InputLabel(*this, i), " has shape ", shape.ToString(), ", expected rank ", rank));
}

absl::StatusOr<Shape> ShapeContext::InputOfRankAtLeast(int i, int rank) const {
  const Shape& shape = input(i);
  if (!shape.has_rank() || shape.rank() >= rank) return shape;
  return absl::InvalidArgumentError(
      absl::StrCat(InputLabel(*this, i), " has shape ", shape.ToString(), ", expected rank at least ", rank));
}

absl::StatusOr<int> ShapeContext::ResolveAxis(int64_t axis, int rank) {
  if (axis >= -int64_t{rank} && axis < rank) return static_cast<int>(axis < 0 ? axis + rank : axis);
  return absl::InvalidArgumentError(
      absl::StrCat("axis ", axis, " is out of range, expected one in [", -rank, ", ", rank, ")"));
}

absl::StatusOr<int64_t> ShapeContext::MergeDims(int64_t a, int64_t b) {
  if (a == kUnknownDim || a == b) return b;
  if (b == kUnknownDim) return a;
  return absl::InvalidArgumentError(absl::StrCat("dimensions ", a, " and ", b, " differ, expected equal ones"));
}

void ShapeContext::MissingAttr(absl::string_view name) const {
  const std::string text = absl::StrCat("nabla: the shape rule of op ", spec_.name(), " asks for attr '", name,
                                        "', which is missing or of another kind\n");
  std::fputs(text.c_str(), stderr);
  std::abort();
}

absl::Status ScalarShape(ShapeContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) c.SetOutput(i, Shape::Scalar());
  return absl::OkStatus();
}

absl::Status UnchangedShape(ShapeContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) c.SetOutput(i, c.input(0));
  return absl::OkStatus();
}

absl::Status BroadcastBinaryShape(ShapeContext& c) {
  NABLA_ASSIGN_OR_RETURN(Shape shape, BroadcastShapes(c.input(0), c.input(1)));
  c.SetOutput(0, std::move(shape));
  return absl::OkStatus();
}

absl::Status UnknownShape(ShapeContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) c.SetOutput(i, Shape());
  return absl::OkStatus();
}

absl::Status NoOutputsShape(ShapeContext&) { return absl::OkStatus(); }

absl::Status MergedInputsShape(ShapeContext& c) {
  Shape merged;
  for (int i = 0; i < c.num_inputs(); ++i) {
    absl::StatusOr<Shape> both = merged.MergeWith(c.input(i));
    if (!both.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("input ", i, " has shape ", c.input(i).ToString(), ", expected ",
                                                     merged.ToString(), " like the inputs before it"));
    }
    merged = *std::move(both);
  }
  c.SetOutput(0, std::move(merged));
  return absl::OkStatus();
}

absl::Status ReductionShape(ShapeContext& c) {
  const bool keep_dims = c.attr<bool>("keep_dims");
  const Shape& data = c.input(0);
  if (c.input(1).has_rank() && c.input(1).rank() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(InputLabel(c, 1), " has shape ", c.input(1).ToString(),
                                                   ", expected a scalar or a vector of axes"));
  }
  const absl::optional<Tensor> axes = c.InputValue(1);
  const bool axes_are_integers = axes.has_value() && (axes->dtype() == DType::kInt32 || axes->dtype() == DType::kInt64);
  if (!data.has_rank()) return absl::OkStatus();  // the output's shape is unknown already
  const int rank = data.rank();
  if (!axes_are_integers) {
    // As many dimensions as there are axes go, unless one is named twice.
    if (keep_dims) c.SetOutput(0, Shape::UnknownOfRank(rank));
    return absl::OkStatus();
  }
  std::vector<bool> reduced(rank, false);
  for (int64_t i = 0; i < axes->num_elements(); ++i) {
    const int64_t axis = axes->dtype() == DType::kInt32 ? axes->flat<int32_t>()[i] : axes->flat<int64_t>()[i];
    NABLA_ASSIGN_OR_RETURN(const int resolved, ShapeContext::ResolveAxis(axis, rank));
    reduced[resolved] = true;
  }
  Shape output = Shape::Scalar();
  for (int i = 0; i < rank; ++i) {
    if (!reduced[i]) {
      output.AddDim(data.dim(i));
    } else if (keep_dims) {
      output.AddDim(1);
    }
  }
  c.SetOutput(0, std::move(output));
  return absl::OkStatus();
}

}  // namespace nabla
