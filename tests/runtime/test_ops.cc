#include "nabla/tests/runtime/test_ops.h"

#include <chrono>
#include <mutex>

#include "nabla/graph/check.h"
#include "nabla/graph/shape_inference.h"
#include "nabla/ops/registration.h"
#include "nabla/runtime/kernel.h"
#include "nabla/runtime/resources.h"

namespace nabla::testing {
namespace {

std::mutex tags_mutex;
std::vector<std::string>& MutableTags() {
  static auto* tags = new std::vector<std::string>;
  return *tags;
}

void SpinFor(std::chrono::microseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

template <typename Fn>
absl::Status Elementwise(KernelContext& ctx, const Fn& fn) {
  const Tensor& a = ctx.input(0);
  const Tensor& b = ctx.input(ctx.num_inputs() - 1);
  if (a.shape() != b.shape()) return absl::InvalidArgumentError("shapes differ");
  if (a.dtype() != DType::kFloat) return UnsupportedDType(a.dtype());
  absl::StatusOr<Tensor*> y = ctx.num_inputs() > 1 ? ctx.ForwardOrAllocateOutput({0, 1}, 0, a.shape())
                                                   : ctx.ForwardOrAllocateOutput({0}, 0, a.shape());
  if (!y.ok()) return y.status();
  if ((*y)->SharesBufferWith(a) || (*y)->SharesBufferWith(b)) NumForwarded().fetch_add(1);
  float* out = (*y)->data<float>();
  const float* p = a.data<float>();
  const float* q = b.data<float>();
  for (int64_t i = 0; i < a.num_elements(); ++i) out[i] = fn(p[i], q[i]);
  return absl::OkStatus();
}

absl::Status Forward(KernelContext& ctx) {
  ctx.SetOutput(0, ctx.input(0));
  return absl::OkStatus();
}

// What Shape, Reshape and Fill read.
Shape ShapeFromTensor(const Tensor& dims) {
  Shape shape = Shape::Scalar();
  for (const int32_t dim : dims.flat<int32_t>()) shape.AddDim(dim);
  return shape;
}

void RegisterSpecs(OpRegistry& registry) {
  for (const char* name : {"TestBlock", "TestForgetful", "TestNoKernel"}) {
    registry.Add(name).Input("x: float").Output("y: float").Shape(UnchangedShape);
  }
  registry.Add("TestSpin").Input("x: float").Output("y: float").Attr("microseconds: int").Shape(UnchangedShape);
  registry.Add("TestLoop").Input("x: float").Output("y: float").Attr("parts: int").Shape(UnchangedShape);
  registry.Add("TestFail").Input("x: float").Output("y: float").Attr("message: string").Shape(UnchangedShape);
  registry.Add("TestCount").Input("x: float").Output("y: float").Stateful().Shape(UnchangedShape);
  registry.Add("TestOrder").Input("x: float").Output("y: float").Attr("tag: string").Stateful().Shape(UnchangedShape);
  registry.Add("TestTwo").Input("x: float").Output("y: float").Output("z: float").Shape(UnchangedShape);
}

void RegisterArithmetic(KernelRegistry& registry) {
  registry.Add("Add", [](KernelContext& ctx) { return Elementwise(ctx, [](float a, float b) { return a + b; }); });
  registry.Add("Sub", [](KernelContext& ctx) { return Elementwise(ctx, [](float a, float b) { return a - b; }); });
  registry.Add("Mul", [](KernelContext& ctx) { return Elementwise(ctx, [](float a, float b) { return a * b; }); });
  registry.Add("Neg", [](KernelContext& ctx) { return Elementwise(ctx, [](float a, float) { return -a; }); });
  registry.Add("AddN", [](KernelContext& ctx) { return Elementwise(ctx, [](float a, float b) { return a + b; }); });
  registry.Add("Identity", Forward);
  registry.Add("NoOp", [](KernelContext&) { return absl::OkStatus(); });
  registry.Add("Shape", [](KernelContext& ctx) {
    Tensor shape(DType::kInt32, Shape({ctx.input(0).rank()}));
    for (int i = 0; i < ctx.input(0).rank(); ++i) shape.data<int32_t>()[i] = static_cast<int32_t>(ctx.input(0).dim(i));
    ctx.SetOutput(0, std::move(shape));
    return absl::OkStatus();
  });
  registry.Add("Reshape", [](KernelContext& ctx) {
    ctx.SetOutput(0, ctx.input(0).Reshaped(ShapeFromTensor(ctx.input(1))));
    return absl::OkStatus();
  });
  registry.Add("Fill", [](KernelContext& ctx) -> absl::Status {
    NABLA_ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, ShapeFromTensor(ctx.input(0))));
    for (float& element : y->flat<float>()) element = ctx.input(1).scalar<float>();
    return absl::OkStatus();
  });
}

void RegisterVariables(KernelRegistry& registry) {
  registry.Add("VarHandleOp", [](KernelContext& ctx) {
    const std::string& name = ctx.node().GetAttr<std::string>("shared_name");
    auto resource = ctx.resources().LookupOrCreate("", name, [] { return std::make_shared<Variable>(); });
    ctx.SetOutput(0, Tensor::Scalar(ResourceHandle("", name, std::move(resource))));
    return absl::OkStatus();
  });
  registry.Add("ReadVariableOp", [](KernelContext& ctx) -> absl::Status {
    NABLA_ASSIGN_OR_RETURN(Variable * variable, VariableFromHandle(ctx.input(0)));
    NABLA_ASSIGN_OR_RETURN(Tensor value, variable->Read(ctx.input(0).scalar<ResourceHandle>().name()));
    ctx.SetOutput(0, std::move(value));
    return absl::OkStatus();
  });
  registry.Add("AssignVariableOp", [](KernelContext& ctx) -> absl::Status {
    NABLA_ASSIGN_OR_RETURN(Variable * variable, VariableFromHandle(ctx.input(0)));
    variable->Assign(ctx.input(1));
    return absl::OkStatus();
  });
  registry.Add("AssignAddVariableOp", [](KernelContext& ctx) -> absl::Status {
    NABLA_ASSIGN_OR_RETURN(Variable * variable, VariableFromHandle(ctx.input(0)));
    std::unique_lock<std::shared_mutex> lock(variable->mutex());
    NABLA_RETURN_IF_ERROR(variable->MakeExclusive());
    Tensor& value = variable->mutable_value();
    if (!value.valid()) return absl::FailedPreconditionError("uninitialized");
    for (int64_t i = 0; i < value.num_elements(); ++i) value.data<float>()[i] += ctx.input(1).data<float>()[i];
    return absl::OkStatus();
  });
}

void RegisterTestKernels(KernelRegistry& registry) {
  registry.Add("TestSpin", [](KernelContext& ctx) {
    SpinFor(std::chrono::microseconds(ctx.node().GetAttr<int64_t>("microseconds")));
    return Forward(ctx);
  });
  registry.Add("TestLoop", [](KernelContext& ctx) {
    const int64_t parts = ctx.node().GetAttr<int64_t>("parts");
    ctx.StoppableParallelFor(parts, 100'000, [](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) SpinFor(std::chrono::microseconds(100));
      NumLooped().fetch_add(static_cast<int>(end - begin));
    });
    return Forward(ctx);
  });
  registry.Add("TestBlock", [](KernelContext& ctx) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!ctx.cancelled() && std::chrono::steady_clock::now() < end) SpinFor(std::chrono::microseconds(50));
    return Forward(ctx);
  });
  registry.Add("TestFail", [](KernelContext& ctx) {
    return absl::Status(absl::StatusCode::kInternal, ctx.node().GetAttr<std::string>("message"));
  });
  registry.Add("TestCount", [](KernelContext& ctx) {
    NumCounted().fetch_add(1);
    return Forward(ctx);
  });
  registry.Add("TestOrder", [](KernelContext& ctx) {
    std::lock_guard<std::mutex> lock(tags_mutex);
    MutableTags().push_back(ctx.node().GetAttr<std::string>("tag"));
    return Forward(ctx);
  });
  registry.Add("TestForgetful", [](KernelContext&) { return absl::OkStatus(); });
  registry.Add("TestTwo", [](KernelContext& ctx) -> absl::Status {
    ctx.SetOutput(0, ctx.input(0));
    NABLA_ASSIGN_OR_RETURN(Tensor * z, ctx.AllocateOutput(1, ctx.input(0).shape()));
    for (int64_t i = 0; i < z->num_elements(); ++i) z->data<float>()[i] = -ctx.input(0).data<float>()[i];
    return absl::OkStatus();
  });
}

}  // namespace

void RegisterTestOps() {
  static const bool done = [] {
    RegisterAllOps();
    RegisterSpecs(OpRegistry::Global());
    RegisterArithmetic(KernelRegistry::Global());
    RegisterVariables(KernelRegistry::Global());
    RegisterTestKernels(KernelRegistry::Global());
    return true;
  }();
  NABLA_CHECK(done);
}

std::atomic<int>& NumCounted() {
  static std::atomic<int> count{0};
  return count;
}

std::atomic<int>& NumLooped() {
  static std::atomic<int> count{0};
  return count;
}

std::atomic<int>& NumForwarded() {
  static std::atomic<int> count{0};
  return count;
}

std::vector<std::string> Tags() {
  std::lock_guard<std::mutex> lock(tags_mutex);
  return MutableTags();
}

void ClearTags() {
  std::lock_guard<std::mutex> lock(tags_mutex);
  MutableTags().clear();
}

Node* CallNode(const Scope& scope, const std::string& op, const Outputs& inputs, AttrMap attrs) {
  NodeBuilder builder(scope, op);
  const OpSpec* spec = OpRegistry::Global().Find(op);
  if (spec != nullptr && spec->inputs().size() == 1 && spec->inputs()[0].IsList()) {
    builder.InputList(inputs);
  } else {
    for (const Output& input : inputs) builder.Input(input);
  }
  for (const auto& [name, value] : attrs) builder.Attr(name, value);
  Node* node = builder.Finish();
  if (node == nullptr) std::fprintf(stderr, "%s\n", scope.status().ToString().c_str());
  NABLA_CHECK(node != nullptr);
  return node;
}

Output Call(const Scope& scope, const std::string& op, const Outputs& inputs, AttrMap attrs) {
  return CallNode(scope, op, inputs, std::move(attrs))->output(0);
}

AttrMap Attrs(std::vector<std::pair<std::string, Attr>> attrs) {
  AttrMap map;
  for (auto& [name, value] : attrs) map.Set(name, std::move(value));
  return map;
}

Output Placeholder(const Scope& scope, const std::string& name, const Shape& shape, DType dtype) {
  return Call(scope.Named(name), "Placeholder", {}, Attrs({{"dtype", dtype}, {"shape", shape}}));
}

Output Constant(const Scope& scope, Tensor value) {
  const DType dtype = value.dtype();
  return Call(scope, "Const", {}, Attrs({{"dtype", dtype}, {"value", std::move(value)}}));
}

std::vector<float> Floats(const Tensor& tensor) {
  NABLA_CHECK(tensor.dtype() == DType::kFloat);
  return std::vector<float>(tensor.data<float>(), tensor.data<float>() + tensor.num_elements());
}

}  // namespace nabla::testing
