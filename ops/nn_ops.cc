#include "nabla/ops/nn_ops.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "nabla/graph/shape_inference.h"
#include "nabla/ops/registration.h"
#include "nabla/ops/rule_util.h"

namespace nabla {
namespace {

// The axis of the channels in a tensor of that rank.
int ChannelAxis(bool nchw, int rank) { return nchw ? 1 : rank - 1; }

bool IsNchw(const ShapeContext& c) {
  const std::string* format = c.find_attr<std::string>("data_format");
  return format != nullptr && *format == "NCHW";
}

absl::Status BiasAddShape(ShapeContext& c) {
  NABLA_ASSIGN_OR_RETURN(Shape value, c.InputOfRankAtLeast(0, IsNchw(c) ? 3 : 2));
  NABLA_ASSIGN_OR_RETURN(Shape bias, c.InputOfRank(1, 1));
  if (!value.has_rank()) return absl::OkStatus();
  const int axis = ChannelAxis(IsNchw(c), value.rank());
  const int64_t channels = value.dim(axis);
  if (channels != kUnknownDim && bias.dim(0) != kUnknownDim && channels != bias.dim(0)) {
    return absl::InvalidArgumentError(absl::StrCat("the bias has ", bias.dim(0), " elements, but dimension ", axis,
                                                   " of the value ", value.ToString(), " is ", channels));
  }
  if (channels == kUnknownDim) value.set_dim(axis, bias.dim(0));
  c.SetOutput(0, value);
  return absl::OkStatus();
}

absl::Status BiasAddGradShape(ShapeContext& c) {
  NABLA_ASSIGN_OR_RETURN(Shape gradient, c.InputOfRankAtLeast(0, IsNchw(c) ? 3 : 2));
  if (!gradient.has_rank()) {
    c.SetOutput(0, Shape({kUnknownDim}));
  } else {
    c.SetOutput(0, Shape({gradient.dim(ChannelAxis(IsNchw(c), gradient.rank()))}));
  }
  return absl::OkStatus();
}

absl::Status AtLeastVectorShape(ShapeContext& c) {
  NABLA_ASSIGN_OR_RETURN(Shape input, c.InputOfRankAtLeast(0, 1));
  c.SetOutput(0, input);
  return absl::OkStatus();
}

// Two [batch, classes], broadcast against each other.
absl::Status CrossEntropyShape(ShapeContext& c) {
  const auto matrix_if_unknown = [](const Shape& s) { return s.has_rank() ? s : Shape::UnknownOfRank(2); };
  NABLA_ASSIGN_OR_RETURN(Shape both, BroadcastShapes(matrix_if_unknown(c.input(0)), matrix_if_unknown(c.input(1))));
  if (both.rank() != 2) {
    return absl::InvalidArgumentError(absl::StrCat("features and labels must be [batch, classes], but are ",
                                                   c.input(0).ToString(), " and ", c.input(1).ToString()));
  }
  c.SetOutput(0, Shape({both.dim(0)}));
  c.SetOutput(1, both);
  return absl::OkStatus();
}

absl::Status SparseCrossEntropyShape(ShapeContext& c) {
  NABLA_ASSIGN_OR_RETURN(Shape features, c.InputOfRank(0, 2));
  NABLA_ASSIGN_OR_RETURN(Shape labels, c.InputOfRank(1, 1));
  NABLA_ASSIGN_OR_RETURN(int64_t batch, c.MergeDims(features.dim(0), labels.dim(0)));
  c.SetOutput(0, Shape({batch}));
  c.SetOutput(1, Shape({batch, features.dim(1)}));
  return absl::OkStatus();
}

absl::Status InTopKShape(ShapeContext& c) {
  NABLA_ASSIGN_OR_RETURN(Shape predictions, c.InputOfRank(0, 2));
  NABLA_ASSIGN_OR_RETURN(Shape targets, c.InputOfRank(1, 1));
  if (c.num_inputs() > 2) NABLA_RETURN_IF_ERROR(c.InputOfRank(2, 0).status());
  NABLA_ASSIGN_OR_RETURN(int64_t batch, c.MergeDims(predictions.dim(0), targets.dim(0)));
  c.SetOutput(0, Shape({batch}));
  return absl::OkStatus();
}

void RegisterBiases(OpRegistry& registry) {
  constexpr char kFormat[] = "data_format: {'NHWC', 'NCHW'} = 'NHWC'";
  registry.Add("BiasAdd")
      .Input("value: T")
      .Input("bias: T")
      .Output("output: T")
      .Attr("T: numbertype")
      .Attr(kFormat)
      .Doc(
          "value plus a vector along its channel axis: the last one, or axis 1 with data_format NCHW.\n"
          "Gradients: dy, BiasAddGrad(dy).")
      .Shape(BiasAddShape);
  registry.Add("BiasAddGrad")
      .Input("out_backprop: T")
      .Output("output: T")
      .Attr("T: numbertype")
      .Attr(kFormat)
      .Doc(
          "The sum over all axes but the channels (the last one, or axis 1 with data_format NCHW): BiasAdd's gradient "
          "with respect to its bias. Gradient: dy broadcast to the input.")
      .Shape(BiasAddGradShape);
  registry.Add("BiasAddV1")
      .Input("value: T")
      .Input("bias: T")
      .Output("output: T")
      .Attr("T: numbertype")
      .Doc("value plus a vector along its last axis. Gradients: dy, dy summed over the other axes.")
      .Shape(BiasAddShape);
}

void RegisterSoftmax(OpRegistry& registry) {
  constexpr char kFloating[] = "T: {half, bfloat16, float, double}";
  registry.Add("Softmax")
      .Input("logits: T")
      .Output("softmax: T")
      .Attr(kFloating)
      .Doc("e^x / sum(e^x) along the last axis, without overflow. Gradient: (dy - sum(dy y)) y.")
      .Shape(AtLeastVectorShape);
  registry.Add("LogSoftmax")
      .Input("logits: T")
      .Output("logsoftmax: T")
      .Attr(kFloating)
      .Doc("x - log(sum(e^x)) along the last axis, without overflow. Gradient: dy - sum(dy) e^y.")
      .Shape(AtLeastVectorShape);
  registry.Add("SoftmaxCrossEntropyWithLogits")
      .Input("features: T")
      .Input("labels: T")
      .Output("loss: T")
      .Output("backprop: T")
      .Attr(kFloating)
      .Doc(
          "features and labels [batch, classes], broadcast against each other. loss [batch] is "
          "-sum(labels log(softmax(features))); backprop [batch, classes] is softmax(features) - labels.\n"
          "Gradients: dloss backprop (and what comes to backprop, through softmax), -dloss log(softmax(features)).")
      .Shape(CrossEntropyShape);
  registry.Add("SparseSoftmaxCrossEntropyWithLogits")
      .Input("features: T")
      .Input("labels: Tlabels")
      .Output("loss: T")
      .Output("backprop: T")
      .Attr(kFloating)
      .Attr("Tlabels: {int32, int64} = int64")
      .Doc(
          "features [batch, classes] and labels [batch], each the index of a class. loss [batch] is "
          "-log(softmax(features)[label]); backprop [batch, classes] is softmax(features), less 1 at the label.\n"
          "Gradient: dloss backprop (and what comes to backprop, through softmax); none for labels.")
      .Shape(SparseCrossEntropyShape);
}

}  // namespace

void RegisterNnOps(OpRegistry& registry) {
  RegisterNnActivationOps(registry);
  RegisterBiases(registry);
  RegisterSoftmax(registry);
  registry.Add("L2Loss")
      .Input("t: T")
      .Output("output: T")
      .Attr("T: {half, bfloat16, float, double}")
      .Doc("sum(t^2) / 2, a scalar. Gradient: t dy.")
      .Shape(ScalarShape);
  registry.Add("InTopK")
      .Input("predictions: float")
      .Input("targets: T")
      .Output("precision: bool")
      .Attr("k: int")
      .Attr("T: {int32, int64} = int32")
      .Doc(
          "Whether the target class is among the k best of each row of predictions [batch, classes]: [batch]. Classes "
          "tied with the k-th count as among them; a row whose target is out of range or whose prediction for it is "
          "not finite gives false. Not differentiable.")
      .Shape(InTopKShape);
  registry.Add("InTopKV2")
      .Input("predictions: float")
      .Input("targets: T")
      .Input("k: T")
      .Output("precision: bool")
      .Attr("T: {int32, int64} = int32")
      .Doc("InTopK whose k is a scalar tensor. Not differentiable.")
      .Shape(InTopKShape);
}

}  // namespace nabla
