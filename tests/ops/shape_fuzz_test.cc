// Every shape rule survives any input: nodes of every op with random dtypes, shapes (unknown, empty and huge ones
// included), constant values and attrs are either refused with a one-line error or get well-formed output shapes.
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "nabla/graph/graph.h"
#include "nabla/graph/status_macros.h"
#include "nabla/ops/registration.h"

namespace nabla {
namespace {

constexpr int kTrialsPerOp = 300;

class RandomNode {
 public:
  RandomNode(const OpSpec& spec, uint64_t seed) : spec_(spec), random_(seed) {}

  // Adds a node with all its inputs to a graph of its own.
  absl::StatusOr<Node*> Add(Graph* graph) {
    NodeDesc desc;
    desc.name = "fuzzed";
    desc.op = spec_.name();
    for (const AttrSpec& attr : spec_.attrs()) desc.attrs.Set(attr.name, RandomAttr(attr));
    DTypes dtypes;
    NABLA_RETURN_IF_ERROR(ArgDTypes(spec_.inputs(), desc.attrs, &dtypes));
    for (DType dtype : dtypes) {
      absl::StatusOr<Node*> input = AddInput(graph, dtype);
      if (!input.ok()) return input.status();
      desc.inputs.emplace_back(*input, 0);
    }
    return graph->AddNode(std::move(desc));
  }

 private:
  int64_t Pick(int64_t count) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(count)); }
  template <typename T>
  T PickFrom(std::initializer_list<T> values) {
    return values.begin()[Pick(static_cast<int64_t>(values.size()))];
  }

  int64_t RandomInt() {
    if (Pick(4) != 0) return Pick(6) - 2;
    return PickFrom<int64_t>({std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(), 1 << 20,
                              int64_t{1} << 31, int64_t{1} << 62, -(int64_t{1} << 40)});
  }

  int64_t RandomDim() {
    if (Pick(12) == 0) return PickFrom<int64_t>({int64_t{1} << 31, int64_t{1} << 40, 1000});
    return PickFrom<int64_t>({kUnknownDim, 0, 1, 1, 2, 2, 3, 4, 6});
  }

  Shape RandomShape() {
    if (mode_ == 1 && Pick(8) != 0) return Shape::Scalar();
    if (mode_ == 2 && Pick(8) != 0) return Shape();
    if (Pick(8) == 0) return Shape();
    Shape::Dims dims(Pick(8) == 0 ? Pick(9) : Pick(4));
    for (int64_t& dim : dims) dim = RandomDim();
    absl::StatusOr<Shape> shape = Shape::FromDims(dims, /*allow_unknown=*/true);
    return shape.ok() ? *shape : Shape::Scalar();
  }

  Tensor RandomTensor(DType dtype) {
    Shape shape = Shape::Scalar();
    for (int64_t rank = PickFrom<int64_t>({0, 0, 1, 1, 1, 2}); rank > 0; --rank) shape.AddDim(Pick(4));
    Tensor tensor = Tensor::Zeros(dtype, shape);
    for (int64_t i = 0; i < tensor.num_elements(); ++i) {
      if (dtype == DType::kInt32) tensor.data<int32_t>()[i] = static_cast<int32_t>(RandomInt());
      if (dtype == DType::kInt64) tensor.data<int64_t>()[i] = RandomInt();
      if (dtype == DType::kFloat) tensor.data<float>()[i] = static_cast<float>(RandomInt());
      if (dtype == DType::kDouble) tensor.data<double>()[i] = static_cast<double>(RandomInt());
    }
    return tensor;
  }

  DType RandomDType(const AttrSpec& attr) {
    if (!attr.allowed_types.empty()) return attr.allowed_types[Pick(static_cast<int64_t>(attr.allowed_types.size()))];
    return PickFrom({DType::kFloat, DType::kInt32, DType::kInt64, DType::kDouble, DType::kBool, DType::kString,
                     DType::kResource, DType::kVariant, DType::kComplex64, DType::kQInt8});
  }

  template <typename T, typename Make>
  std::vector<T> RandomList(Make make) {
    std::vector<T> list;
    for (int64_t count = Pick(5); count > 0; --count) list.push_back(make());
    return list;
  }

  Attr RandomAttr(const AttrSpec& attr) {
    if (attr.default_value.has_value() && !attr.inferred_from_inputs && Pick(2) == 0) return *attr.default_value;
    const auto text = [&]() -> std::string {
      if (attr.allowed_strings.empty()) return PickFrom<const char*>({"", "a", "a/b"});
      return attr.allowed_strings[Pick(static_cast<int64_t>(attr.allowed_strings.size()))];
    };
    switch (attr.kind) {
      case Attr::Kind::kString:
        return text();
      case Attr::Kind::kInt:
        return attr.inferred_from_inputs ? Pick(5) : RandomInt();
      case Attr::Kind::kFloat:
        return static_cast<float>(RandomInt());
      case Attr::Kind::kBool:
        return Pick(2) == 0;
      case Attr::Kind::kType:
        return RandomDType(attr);
      case Attr::Kind::kShape:
        return RandomShape();
      case Attr::Kind::kTensor:
        return RandomTensor(PickFrom({DType::kFloat, DType::kInt32, DType::kInt64}));
      case Attr::Kind::kFunc:
        return FunctionRef{text(), nullptr};  // of which the graph has none
      case Attr::Kind::kListString:
        return RandomList<std::string>(text);
      case Attr::Kind::kListInt:
        return RandomList<int64_t>([&] { return RandomInt(); });
      case Attr::Kind::kListFloat:
        return RandomList<float>([&] { return static_cast<float>(RandomInt()); });
      case Attr::Kind::kListBool:
        return RandomList<bool>([&] { return Pick(2) == 0; });
      case Attr::Kind::kListType:
        return RandomList<DType>([&] { return RandomDType(attr); });
      case Attr::Kind::kListShape:
        return RandomList<Shape>([&] { return RandomShape(); });
      case Attr::Kind::kListFunc:
        return RandomList<FunctionRef>([&] { return FunctionRef{text(), nullptr}; });
      default:
        return Attr::EmptyList();
    }
  }

  absl::StatusOr<Node*> AddInput(Graph* graph, DType dtype) {
    NodeDesc desc;
    desc.name = graph->UniqueName("input");
    desc.attrs.Set("dtype", dtype);
    const bool numeric = dtype == DType::kInt32 || dtype == DType::kInt64 || dtype == DType::kFloat ||
                         dtype == DType::kDouble || dtype == DType::kBool;
    if (numeric && Pick(2) == 0) {
      desc.op = "Const";
      desc.attrs.Set("value", RandomTensor(dtype));
    } else {
      desc.op = "Placeholder";
      desc.attrs.Set("shape", RandomShape());
    }
    return graph->AddNode(std::move(desc));
  }

  const OpSpec& spec_;
  std::mt19937_64 random_;
  int64_t mode_ = Pick(4);  // mostly 1: scalars, 2: unknown shapes
};

TEST(ShapeFuzz, EveryRuleRefusesOrAnswersWell) {
  RegisterAllOps();
  uint64_t seed = 1;
  for (const OpSpec* spec : OpRegistry::Global().All()) {
    int added = 0;
    for (int trial = 0; trial < kTrialsPerOp; ++trial) {
      ++seed;
      Graph graph;
      absl::StatusOr<Node*> node = RandomNode(*spec, seed).Add(&graph);
      if (!node.ok()) {
        EXPECT_NE(node.status().code(), absl::StatusCode::kInternal) << spec->name() << " " << node.status();
        EXPECT_EQ(node.status().message().find('\n'), absl::string_view::npos) << node.status();
        continue;
      }
      ++added;
      for (int i = 0; i < (*node)->num_outputs(); ++i) {
        const Shape& shape = (*node)->output_shape(i);
        if (!shape.has_rank()) continue;
        EXPECT_TRUE(Shape::FromDims(shape.dims(), /*allow_unknown=*/true).ok())
            << spec->name() << " seed " << seed << ": " << shape.ToString();
      }
    }
    // References come only from imported graphs, which have the ops that make them.
    bool takes_ref = false;
    for (const ArgSpec& input : spec->inputs()) takes_ref = takes_ref || input.is_ref;
    EXPECT_TRUE(takes_ref || added > 0) << "no random " << spec->name() << " was ever accepted";
  }
}

}  // namespace
}  // namespace nabla
