#include "nabla/tests/graph/small_ops.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "nabla/graph/shape_inference.h"
#include "nabla/graph/strided_slice.h"

namespace nabla {
namespace {

absl::Status ConstShape(ShapeContext& c) {
  c.SetOutput(0, c.attr<Tensor>("value").shape());
  return absl::OkStatus();
}

absl::Status PlaceholderShape(ShapeContext& c) {
  c.SetOutput(0, c.attr<Shape>("shape"));
  return absl::OkStatus();
}

absl::Status ShapeOpShape(ShapeContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) {
    c.SetOutput(i, Shape({c.input(i).has_rank() ? c.input(i).rank() : kUnknownDim}));
  }
  return absl::OkStatus();
}

absl::Status ReshapeShape(ShapeContext& c) {
  c.SetOutput(0, c.InputAsShape(1));
  return absl::OkStatus();
}

absl::Status StridedSliceShape(ShapeContext& c) {
  const absl::optional<Tensor> begin = c.InputValue(1);
  const absl::optional<Tensor> end = c.InputValue(2);
  const absl::optional<Tensor> strides = c.InputValue(3);
  if (!c.input(0).has_rank() || !begin.has_value() || !end.has_value() || !strides.has_value()) {
    return absl::OkStatus();
  }
  const auto values = [](const Tensor& t) {
    return std::vector<int64_t>(t.flat<int32_t>().begin(), t.flat<int32_t>().end());
  };
  const StridedSliceMasks masks{c.attr<int64_t>("begin_mask"), c.attr<int64_t>("end_mask"), 0, 0,
                                c.attr<int64_t>("shrink_axis_mask")};
  NABLA_ASSIGN_OR_RETURN(ResolvedSlice slice,
                         ResolveStridedSlice(c.input(0), values(*begin), values(*end), values(*strides), masks));
  c.SetOutput(0, slice.output);
  return absl::OkStatus();
}

absl::Status PackShape(ShapeContext& c) {
  if (!c.input(0).has_rank()) return absl::OkStatus();
  Shape shape = c.input(0);
  const int64_t axis = c.attr<int64_t>("axis");
  shape.InsertDim(static_cast<int>(axis < 0 ? axis + shape.rank() + 1 : axis), c.num_inputs());
  c.SetOutput(0, shape);
  return absl::OkStatus();
}

absl::Status MatMulShape(ShapeContext& c) {
  NABLA_ASSIGN_OR_RETURN(Shape a, c.InputOfRank(0, 2));
  NABLA_ASSIGN_OR_RETURN(Shape b, c.InputOfRank(1, 2));
  const bool transpose_a = c.attr<bool>("transpose_a");
  const bool transpose_b = c.attr<bool>("transpose_b");
  NABLA_RETURN_IF_ERROR(ShapeContext::MergeDims(a.dim(transpose_a ? 0 : 1), b.dim(transpose_b ? 1 : 0)).status());
  c.SetOutput(0, Shape({a.dim(transpose_a ? 1 : 0), b.dim(transpose_b ? 0 : 1)}));
  return absl::OkStatus();
}

absl::Status IdentityNShape(ShapeContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) c.SetOutput(i, c.input(i));
  return absl::OkStatus();
}

void Register(OpRegistry& registry) {
  registry.SetFamily("small_ops");
  registry.Add("Const").Output("output: dtype").Attr("value: tensor").Attr("dtype: type").Shape(ConstShape);
  registry.Add("Placeholder")
      .Output("output: dtype")
      .Attr("dtype: type")
      .Attr("shape: shape = <unknown>")
      .Shape(PlaceholderShape);
  registry.Add("NoOp").Shape(NoOutputsShape);
  registry.Add("Identity").Input("input: T").Output("output: T").Attr("T: type").Shape(UnchangedShape);
  registry.Add("IdentityN").Input("input: T").Output("output: T").Attr("T: list(type) >= 1").Shape(IdentityNShape);
  for (const char* op : {"Add", "Sub", "Mul", "FloorDiv", "FloorMod", "Maximum", "Minimum"}) {
    registry.Add(op)
        .Input("x: T")
        .Input("y: T")
        .Output("z: T")
        .Attr("T: {half, bfloat16, float, double, int8, uint8, int32, int64, complex64}")
        .Doc("Elementwise, with broadcasting.")
        .Shape(BroadcastBinaryShape);
  }
  registry.Add("Sqrt").Input("x: T").Output("y: T").Attr("T: {float, double}").Shape(UnchangedShape);
  registry.Add("MatMul")
      .Input("a: T")
      .Input("b: T")
      .Output("product: T")
      .Attr("transpose_a: bool = false")
      .Attr("transpose_b: bool = false")
      .Attr("T: {float, double, int32}")
      .Doc("Matrix product.")
      .Shape(MatMulShape);
  registry.Add("AddN")
      .Input("inputs: N * T")
      .Output("sum: T")
      .Attr("N: int >= 1")
      .Attr("T: numbertype")
      .Shape(MergedInputsShape);
  for (const char* op : {"Sum", "Prod", "Max"}) {
    registry.Add(op)
        .Input("input: T")
        .Input("reduction_indices: Tidx")
        .Output("output: T")
        .Attr("keep_dims: bool = false")
        .Attr("T: numbertype")
        .Attr("Tidx: {int32, int64} = DT_INT32")
        .Shape(ReductionShape);
  }
  registry.Add("Range")
      .Input("start: Tidx")
      .Input("limit: Tidx")
      .Input("delta: Tidx")
      .Output("output: Tidx")
      .Attr("Tidx: {float, int32, int64} = DT_INT32");
  registry.Add("Reshape")
      .Input("tensor: T")
      .Input("shape: Tshape")
      .Output("output: T")
      .Attr("T: type")
      .Attr("Tshape: {int32, int64} = DT_INT32")
      .Shape(ReshapeShape);
  registry.Add("Shape")
      .Input("input: T")
      .Output("output: out_type")
      .Attr("T: type")
      .Attr("out_type: {int32, int64} = DT_INT32")
      .Shape(ShapeOpShape);
  registry.Add("Size")
      .Input("input: T")
      .Output("output: out_type")
      .Attr("T: type")
      .Attr("out_type: {int32, int64} = DT_INT32")
      .Shape(ScalarShape);
  registry.Add("Cast").Input("x: SrcT").Output("y: DstT").Attr("SrcT: type").Attr("DstT: type").Shape(UnchangedShape);
  registry.Add("StridedSlice")
      .Input("input: T")
      .Input("begin: Index")
      .Input("end: Index")
      .Input("strides: Index")
      .Output("output: T")
      .Attr("T: type")
      .Attr("Index: {int32, int64}")
      .Attr("begin_mask: int = 0")
      .Attr("end_mask: int = 0")
      .Attr("shrink_axis_mask: int = 0")
      .Shape(StridedSliceShape);
  registry.Add("Pack")
      .Input("values: N * T")
      .Output("output: T")
      .Attr("N: int >= 1")
      .Attr("T: type")
      .Attr("axis: int = 0")
      .Shape(PackShape);
  registry.Add("ConcatV2")
      .Input("values: N * T")
      .Input("axis: Tidx")
      .Output("output: T")
      .Attr("N: int >= 2")
      .Attr("T: type")
      .Attr("Tidx: {int32, int64} = DT_INT32");
  registry.Add("GatherV2")
      .Input("params: Tparams")
      .Input("indices: Tindices")
      .Input("axis: Taxis")
      .Output("output: Tparams")
      .Attr("batch_dims: int = 0")
      .Attr("Tparams: type")
      .Attr("Tindices: {int32, int64}")
      .Attr("Taxis: {int32, int64}");
  registry.Add("Fill")
      .Input("dims: index_type")
      .Input("value: T")
      .Output("output: T")
      .Attr("T: type")
      .Attr("index_type: {int32, int64} = DT_INT32");
  registry.Add("LeakyRelu")
      .Input("features: T")
      .Output("activations: T")
      .Attr("alpha: float = 0.2")
      .Attr("T: {float, double}")
      .Shape(UnchangedShape);
  registry.Add("Split")
      .Input("split_dim: int32")
      .Input("value: T")
      .Output("output: num_split * T")
      .Attr("num_split: int >= 1")
      .Attr("T: type");
  registry.Add("Variable").Output("ref: Ref(dtype)").Attr("dtype: type").Stateful();
  registry.Add("Assign").Input("ref: Ref(T)").Input("value: T").Output("output_ref: Ref(T)").Attr("T: type");
  registry.Add("Enter")
      .Input("data: T")
      .Output("output: T")
      .Attr("T: type")
      .Attr("frame_name: string")
      .Attr("is_constant: bool = false")
      .Shape(UnchangedShape);
  registry.Add("Merge")
      .Input("inputs: N * T")
      .Output("output: T")
      .Output("value_index: int32")
      .Attr("T: type")
      .Attr("N: int >= 1");
  registry.Add("Switch")
      .Input("data: T")
      .Input("pred: bool")
      .Output("output_false: T")
      .Output("output_true: T")
      .Attr("T: type");
  registry.Add("NextIteration").Input("data: T").Output("output: T").Attr("T: type").Shape(UnchangedShape);
}

}  // namespace

const OpRegistry& SmallOps() {
  static const OpRegistry* const registry = [] {
    auto* made = new OpRegistry;
    Register(*made);
    const absl::Status status = made->Validate();
    if (!status.ok()) {
      std::fprintf(stderr, "%s\n", status.ToString().c_str());
      std::abort();
    }
    return made;
  }();
  return *registry;
}

Node* AddNodeOrDie(Graph& graph, NodeDesc desc) {
  absl::StatusOr<Node*> node = graph.AddNode(std::move(desc));
  if (!node.ok()) {
    std::fprintf(stderr, "%s\n", node.status().ToString().c_str());
    std::abort();
  }
  return *node;
}

Output AddConst(Graph& graph, const std::string& name, Tensor value) {
  NodeDesc desc{.name = name, .op = "Const"};
  desc.attrs.Set("dtype", value.dtype());
  desc.attrs.Set("value", std::move(value));
  return AddNodeOrDie(graph, std::move(desc))->output(0);
}

Output AddPlaceholder(Graph& graph, const std::string& name, DType dtype, Shape shape) {
  NodeDesc desc{.name = name, .op = "Placeholder"};
  desc.attrs.Set("dtype", dtype);
  desc.attrs.Set("shape", std::move(shape));
  return AddNodeOrDie(graph, std::move(desc))->output(0);
}

}  // namespace nabla
