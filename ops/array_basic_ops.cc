// Constants, inputs, and ops that pass tensors on.
#include "absl/strings/str_cat.h"
#include "nabla/ops/array_ops.h"
#include "nabla/ops/rule_util.h"

namespace nabla {
namespace {

absl::Status ConstShape(ShapeContext& c) {
  const Tensor& value = c.attr<Tensor>("value");
  const DType dtype = c.attr<DType>("dtype");
  if (value.dtype() != dtype) {
    return absl::InvalidArgumentError(
        absl::StrCat("attr dtype is ", DTypeName(dtype), ", but the value's is ", DTypeName(value.dtype())));
  }
  c.SetOutput(0, value.shape());
  return absl::OkStatus();
}

absl::Status PlaceholderShape(ShapeContext& c) {
  c.SetOutput(0, c.attr<Shape>("shape"));
  return absl::OkStatus();
}

absl::Status PlaceholderWithDefaultShape(ShapeContext& c) {
  const Shape& declared = c.attr<Shape>("shape");
  if (!declared.IsCompatibleWith(c.input(0))) {
    return absl::InvalidArgumentError(absl::StrCat("the default has shape ", c.input(0).ToString(),
                                                   ", which attr shape = ", declared.ToString(), " excludes"));
  }
  // A fed value need not have the default's shape.
  c.SetOutput(0, declared);
  return absl::OkStatus();
}

absl::Status IdentityNShape(ShapeContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) c.SetOutput(i, c.input(i));
  return absl::OkStatus();
}

absl::Status EnsureShapeShape(ShapeContext& c) {
  const Shape& wanted = c.attr<Shape>("shape");
  absl::StatusOr<Shape> merged = c.input(0).MergeWith(wanted);
  if (!merged.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the input's shape ", c.input(0).ToString(), " is not ", wanted.ToString()));
  }
  c.SetOutput(0, *std::move(merged));
  return absl::OkStatus();
}

absl::Status AssertShape(ShapeContext& c) { return c.InputOfRank(0, 0).status(); }

}  // namespace

void RegisterBasicArrayOps(OpRegistry& registry) {
  registry.Add("Const")
      .Output("output: dtype")
      .Attr("value: tensor")
      .Attr("dtype: type")
      .Doc(R"(A tensor whose value is part of the graph.

value: what the output is, of type `dtype`.
No gradient: it depends on nothing.)")
      .Shape(ConstShape);

  registry.Add("Placeholder")
      .Output("output: dtype")
      .Attr("dtype: type")
      .Attr("shape: shape = <unknown>")
      .Doc(R"(A tensor that every run must feed.

dtype: the type that is fed.
shape: what a fed tensor must be compatible with; unknown accepts everything.)")
      .Shape(PlaceholderShape);

  registry.Add("PlaceholderV2")
      .Output("output: dtype")
      .Attr("dtype: type")
      .Attr("shape: shape")
      .Doc("A tensor that every run must feed: Placeholder with a shape that must be given. Old files contain it.")
      .Shape(PlaceholderShape);

  registry.Add("PlaceholderWithDefault")
      .Input("input: dtype")
      .Output("output: dtype")
      .Attr("dtype: type")
      .Attr("shape: shape")
      .Doc(R"(A tensor that a run may feed; `input` if it does not.

shape: what both the default and a fed tensor must be compatible with.
Gradient: passes to `input` unchanged.)")
      .Shape(PlaceholderWithDefaultShape);

  registry.Add("Identity")
      .Input("input: T")
      .Output("output: T")
      .Attr("T: type")
      .Doc("The input itself; no bytes are copied. Gradient: passes unchanged.")
      .Shape(UnchangedShape);

  registry.Add("IdentityN")
      .Input("input: T")
      .Output("output: T")
      .Attr("T: list(type) >= 1")
      .Doc(R"(Several tensors of any types, each output being the input of the same place.

All of them are there before any output is used. Gradient: passes each unchanged.)")
      .Shape(IdentityNShape);

  registry.Add("Snapshot")
      .Input("input: T")
      .Output("output: T")
      .Attr("T: type")
      .Doc("The input as it is when this op runs. Gradient: passes unchanged.")
      .Shape(UnchangedShape);

  registry.Add("GuaranteeConst")
      .Input("input: T")
      .Output("output: T")
      .Attr("T: type")
      .Doc("The input, with a promise of the graph's author that it is the same in every run. No gradient.")
      .Stateful()
      .Shape(UnchangedShape);

  registry.Add("NoOp").Doc("Does nothing: a place to tie control edges to.").Shape(NoOutputsShape);

  registry.Add("StopGradient")
      .Input("input: T")
      .Output("output: T")
      .Attr("T: type")
      .Doc("The input itself, which gradients take for a constant: nothing flows back through it.")
      .Shape(UnchangedShape);

  registry.Add("PreventGradient")
      .Input("input: T")
      .Output("output: T")
      .Attr("T: type")
      .Attr("message: string = ''")
      .Doc(R"(The input itself; asking for a gradient through it is an error.

message: the reason, for that error.)")
      .Shape(UnchangedShape);

  registry.Add("CheckNumerics")
      .Input("tensor: T")
      .Output("output: T")
      .Attr("T: {bfloat16, half, float, double}")
      .Attr("message: string")
      .Doc(R"(The input itself; the run fails if an element is NaN or infinite.

message: begins the error.
Gradient: passes through, checked in the same way.)")
      .Stateful()
      .Shape(UnchangedShape);

  registry.Add("EnsureShape")
      .Input("input: T")
      .Output("output: T")
      .Attr("shape: shape")
      .Attr("T: type")
      .Doc(R"(The input itself; the run fails if its shape is not one that `shape` allows.

What is known of `shape` is known of the output. Gradient: passes unchanged.)")
      .Shape(EnsureShapeShape);

  registry.Add("Assert")
      .Input("condition: bool")
      .Input("data: T")
      .Attr("T: list(type) >= 1")
      .Attr("summarize: int = 3")
      .Doc(R"(Fails the run with the values of `data` if `condition`, a scalar, is false.

summarize: how many elements of each tensor the error shows; -1 for all.)")
      .Stateful()
      .Shape(AssertShape);

  registry.Add("Print")
      .Input("input: T")
      .Input("data: U")
      .Output("output: T")
      .Attr("T: type")
      .Attr("U: list(type) >= 0")
      .Attr("message: string = ''")
      .Attr("first_n: int = -1")
      .Attr("summarize: int = 3")
      .Doc(R"(The input itself; writes `message` and the values of `data` to stderr on the way.

first_n: writes only that many times; -1 for always.
summarize: how many elements of each tensor are shown; -1 for all.
Gradient: passes to `input` unchanged.)")
      .Stateful()
      .Shape(UnchangedShape);

  registry.Add("PrintV2")
      .Input("input: string")
      .Attr("output_stream: string = 'stderr'")
      .Attr("end: string = '\\n'")
      .Doc(R"(Writes a scalar string.

output_stream: stderr, stdout, or one of log(info), log(warning) and log(error), which are stderr too. A file (file://
  and a path) is refused: running somebody's graph must not write files.
end: what is written after the string.)")
      .Stateful()
      .Shape(AssertShape);
}

}  // namespace nabla
