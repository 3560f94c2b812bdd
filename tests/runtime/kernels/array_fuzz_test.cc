// Kernels that move elements, on arguments that make sense or don't: nothing crashes, errors are of the expected kinds,
// and the shape rules (which see the arguments as constants) neither refuse what runs nor promise other shapes.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nabla/graph/graph.h"
#include "nabla/graph/status_macros.h"
#include "nabla/ops/registration.h"
#include "nabla/runtime/tensor_list.h"
#include "nabla/tests/runtime/kernels/run_op.h"

namespace nabla {
namespace {

constexpr int kTrialsPerOp = 1500;

class RandomCall {
 public:
  RandomCall(const OpSpec& spec, uint64_t seed) : spec_(spec), random_(seed) {
    for (const AttrSpec& attr : spec.attrs()) attrs_.Set(attr.name, RandomAttr(attr));
    DTypes dtypes;
    status_ = ArgDTypes(spec.inputs(), attrs_, &dtypes);
    rank_ = Pick(4);
    for (size_t i = 0; i < dtypes.size(); ++i) {
      // Few random shapes are those of a list's elements.
      const bool any = i < spec.inputs().size() && spec.inputs()[i].name == "element_shape" && Pick(2) == 0;
      inputs_.push_back(any ? AnyShape(dtypes[i]) : RandomTensor(dtypes[i]));
    }
  }

  const absl::Status& status() const { return status_; }
  const AttrMap& attrs() const { return attrs_; }
  const std::vector<Tensor>& inputs() const { return inputs_; }

  // The op with its inputs as constants: what the shape rule says.
  absl::StatusOr<std::vector<Shape>> InferShapes() const {
    Graph graph;
    NodeDesc desc;
    desc.name = "tested";
    desc.op = spec_.name();
    desc.attrs = attrs_;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      NodeDesc constant;
      constant.name = absl::StrCat("input", i);
      constant.op = "Const";
      constant.attrs.Set("dtype", inputs_[i].dtype());
      constant.attrs.Set("value", inputs_[i]);
      NABLA_ASSIGN_OR_RETURN(Node* const node, graph.AddNode(std::move(constant)));
      desc.inputs.push_back(node->output(0));
    }
    NABLA_ASSIGN_OR_RETURN(Node* const node, graph.AddNode(std::move(desc)));
    std::vector<Shape> shapes;
    shapes.reserve(node->num_outputs());
    for (int i = 0; i < node->num_outputs(); ++i) shapes.push_back(node->output_shape(i));
    return shapes;
  }

  std::string ToString() const {
    std::string text = spec_.name();
    for (const auto& [name, value] : attrs_) absl::StrAppend(&text, " ", name, "=", value.ToString());
    for (const Tensor& input : inputs_) absl::StrAppend(&text, "\n  ", input.ToString(40));
    return text;
  }

 private:
  int64_t Pick(int64_t count) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(count)); }

  // Mostly a number that may be an axis or a size. The large ones are so large that no machine can allocate them.
  int64_t RandomInt() {
    constexpr int64_t kExtremes[] = {std::numeric_limits<int64_t>::min(),
                                     std::numeric_limits<int64_t>::max(),
                                     int64_t{1} << 62,
                                     -(int64_t{1} << 62),
                                     int64_t{1} << 50,
                                     -(int64_t{1} << 50)};
    return Pick(60) == 0 ? kExtremes[Pick(6)] : Pick(3) == 0 ? Pick(7) - 2 : Pick(3);
  }

  Attr RandomAttr(const AttrSpec& attr) {
    switch (attr.kind) {
      case Attr::Kind::kType: {
        const bool of_values = attr.name == "T" || attr.name == "Tparams" || attr.name == "element_dtype";
        const DType usual = of_values ? DType::kFloat : DType::kInt64;
        const std::vector<DType>& allowed = attr.allowed_types;
        if (allowed.empty() || std::count(allowed.begin(), allowed.end(), usual) > 0) {
          return usual == DType::kFloat && allowed.empty() && Pick(8) == 0 ? DType::kString : usual;
        }
        return allowed[0];
      }
      case Attr::Kind::kInt:
        return attr.minimum.has_value() ? *attr.minimum + Pick(3) : Pick(3) == 0 ? Pick(9) - 3 : int64_t{0};
      case Attr::Kind::kListInt:
        return Pick(2) == 0 ? std::vector<int64_t>() : std::vector<int64_t>{Pick(5) - 2};
      case Attr::Kind::kShape:
        return Shape({Pick(3), kUnknownDim});
      case Attr::Kind::kBool:
        return Pick(2) == 0;
      default:
        return *attr.default_value;
    }
  }

  static Tensor AnyShape(DType dtype) {
    return dtype == DType::kInt64 ? Tensor::Scalar<int64_t>(-1) : Tensor::Scalar<int32_t>(-1);
  }

  // Most of them could be of one kind.
  Variant RandomList() {
    const DType dtype = Pick(20) == 0 ? DType::kString : DType::kFloat;
    Shape known;
    if (Pick(3) == 0) known = Shape::UnknownOfRank(static_cast<int>(rank_));
    TensorList list(dtype, std::move(known));
    const Tensor element = RandomTensor(dtype);
    for (int64_t count = Pick(4); count > 0; --count) {
      Tensor next = Pick(8) == 0 ? RandomTensor(dtype) : element;
      list.PushBack(Pick(5) == 0 || !list.element_shape().IsCompatibleWith(next.shape()) ? Tensor() : next);
    }
    return Pick(30) == 0 ? Variant() : TensorList::Wrap(std::move(list));
  }

  Tensor RandomTensor(DType dtype) {
    Shape shape = Shape::Scalar();
    if (dtype == DType::kVariant) {
      if (Pick(10) == 0 || spec_.name() == "TensorListPushBackBatch") shape.AddDim(Pick(4));
    } else if (dtype == DType::kFloat || dtype == DType::kString) {
      // Ranks that often agree.
      const int64_t rank = Pick(5) == 0 ? Pick(4) : rank_;
      for (int64_t i = 0; i < rank; ++i) shape.AddDim(Pick(8) == 0 ? 0 : 1 + Pick(3));
    } else {
      const int64_t rank = Pick(6) == 0 ? 2 : Pick(3) == 0 ? 0 : 1;
      for (int64_t i = 0; i < rank; ++i) shape.AddDim(Pick(4) == 0 ? Pick(4) : i == 1 ? 2 : rank_);
    }
    Tensor tensor(dtype, shape);
    for (int64_t i = 0; i < tensor.num_elements(); ++i) {
      switch (dtype) {
        case DType::kFloat:
          tensor.data<float>()[i] = static_cast<float>(Pick(5)) - 2;
          break;
        case DType::kString:
          tensor.data<std::string>()[i] = absl::StrCat("s", Pick(3));
          break;
        case DType::kInt64:
          tensor.data<int64_t>()[i] = RandomInt();
          break;
        case DType::kInt32:
          tensor.data<int32_t>()[i] = static_cast<int32_t>(Pick(6) - 2);
          break;
        case DType::kVariant:
          tensor.data<Variant>()[i] = RandomList();
          break;
        case DType::kBool:
          tensor.data<bool>()[i] = Pick(2) == 0;
          break;
        default:
          ADD_FAILURE() << DTypeName(dtype);
      }
    }
    return tensor;
  }

  const OpSpec& spec_;
  std::mt19937_64 random_;
  AttrMap attrs_;
  absl::Status status_;
  int64_t rank_ = 0;
  std::vector<Tensor> inputs_;
};

class ArrayFuzz : public ::testing::TestWithParam<const char*> {};

TEST_P(ArrayFuzz, KernelsSurviveAndAgreeWithShapeRules) {
  RegisterAllOps();
  const OpSpec* spec = OpRegistry::Global().Find(GetParam());
  ASSERT_NE(spec, nullptr);
  int succeeded = 0;
  absl::Status refusal;
  for (int trial = 0; trial < kTrialsPerOp; ++trial) {
    const RandomCall call(*spec, static_cast<uint64_t>(trial) + 1);
    ASSERT_TRUE(call.status().ok()) << call.status();
    SCOPED_TRACE(call.ToString());
    const auto shapes = call.InferShapes();
    RunOpOptions options;
    options.in_place = trial % 2 == 0;
    if (shapes.ok()) options.output_shapes = *shapes;
    const auto outputs = RunOp(spec->name(), call.inputs(), call.attrs(), options);
    if (!outputs.ok()) {
      const absl::StatusCode code = outputs.status().code();
      ASSERT_TRUE(code == absl::StatusCode::kInvalidArgument || code == absl::StatusCode::kResourceExhausted ||
                  code == absl::StatusCode::kUnimplemented)
          << outputs.status();
      ASSERT_EQ(outputs.status().message().find('\n'), std::string::npos) << outputs.status();
      refusal = outputs.status();
      continue;
    }
    ++succeeded;
    ASSERT_TRUE(shapes.ok()) << "runs, but is refused: " << shapes.status();
    for (size_t i = 0; i < outputs->size(); ++i) {
      ASSERT_TRUE((*shapes)[i].IsCompatibleWith((*outputs)[i].shape()))
          << "output " << i << " has " << (*outputs)[i].shape() << ", inferred " << (*shapes)[i];
    }
  }
  // Otherwise the arguments are too random to find anything.
  EXPECT_GE(succeeded, 5) << "the last refusal: " << refusal;
}

INSTANTIATE_TEST_SUITE_P(
    Ops, ArrayFuzz,
    ::testing::Values("Identity", "EnsureShape", "Shape", "ShapeN", "Size", "Rank", "Reshape", "ExpandDims", "Squeeze",
                      "Fill", "ZerosLike", "OnesLike", "BroadcastTo", "BroadcastArgs", "BroadcastGradientArgs", "Tile",
                      "Transpose", "ConjugateTranspose", "InvertPermutation", "Concat", "ConcatV2", "ConcatOffset",
                      "Pack", "Unpack", "Split", "SplitV", "Slice", "StridedSlice", "StridedSliceGrad", "Pad", "PadV2",
                      "Reverse", "ReverseV2", "Gather", "GatherV2", "GatherNd", "ScatterNd", "TensorScatterUpdate",
                      "TensorScatterAdd", "TensorScatterSub", "OneHot", "Where", "Unique", "UniqueV2",
                      "UnsortedSegmentSum", "EmptyTensorList", "TensorListReserve", "TensorListPushBack",
                      "TensorListPopBack", "TensorListPushBackBatch", "TensorListGetItem", "TensorListSetItem",
                      "TensorListStack", "TensorListFromTensor", "TensorListConcat", "TensorListConcatV2",
                      "TensorListConcatLists", "TensorListSplit", "TensorListGather",
                      // Not TensorListScatter(V2): random operands hardly ever agree in their lengths.
                      "TensorListScatterIntoExistingList", "TensorListLength", "TensorListResize",
                      "TensorListElementShape"),
    [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace nabla
