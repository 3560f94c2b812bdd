// The optimizers' steps against loops over doubles, and against TensorFlow (tests/golden/training.txt).
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "nabla/graph/scope.h"
#include "nabla/ops/ops.h"
#include "nabla/runtime/dtype_switch.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/session.h"

namespace nabla {
namespace {

using Values = std::vector<double>;

std::vector<double> Numbers(std::istringstream& words) {
  std::vector<double> values;
  for (std::string word; words >> word;) values.push_back(std::strtod(word.c_str(), nullptr));
  return values;
}

Shape ParseShape(const std::string& text) {
  Shape shape = Shape::Scalar();
  if (text == "-") return shape;
  for (absl::string_view dim : absl::StrSplit(text, ',')) shape.AddDim(std::atoll(std::string(dim).c_str()));
  return shape;
}

Tensor FromDoubles(DType dtype, const Shape& shape, const Values& values) {
  Tensor tensor(dtype, shape);
  const absl::Status status = SwitchReal(dtype, [&](auto zero) {
    using T = decltype(zero);
    for (size_t i = 0; i < values.size(); ++i) tensor.data<T>()[i] = T(static_cast<ComputeType<T>>(values[i]));
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok());
  return tensor;
}

Values ToDoubles(const Tensor& tensor) {
  Values values;
  const absl::Status status = SwitchFloating(tensor.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (const T& v : tensor.flat<T>()) values.push_back(static_cast<double>(static_cast<ComputeType<T>>(v)));
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok());
  return values;
}

// A step over doubles of one element: arrays are the variable and its slots there.
void NaiveStep(const std::string& op, const std::map<std::string, bool>& attrs, const std::map<std::string, double>& in,
               const std::vector<double*>& arrays, double g) {
  const auto flag = [&](const char* name) { return attrs.count(name) > 0 && attrs.at(name); };
  double& var = *arrays[0];
  // What penalties l1 |x| and l2 x^2 / 2 leave of x.
  const auto shrunk = [&](double x, double rate) {
    const double size = std::max(std::abs(x) - rate * in.at("l1"), 0.0);
    return std::copysign(size, x) / (1 + rate * in.at("l2"));
  };
  if (op == "ResourceApplyGradientDescent") {
    var -= in.at("alpha") * g;
  } else if (absl::EndsWith(op, "KerasMomentum")) {
    double& accum = *arrays[1];
    accum = in.at("momentum") * accum - in.at("lr") * g;
    var += flag("use_nesterov") ? in.at("momentum") * accum - in.at("lr") * g : accum;
  } else if (absl::EndsWith(op, "Momentum")) {
    double& accum = *arrays[1];
    accum = in.at("momentum") * accum + g;
    var -= in.at("lr") * (flag("use_nesterov") ? g + in.at("momentum") * accum : accum);
  } else if (absl::EndsWith(op, "ProximalGradientDescent")) {
    var = shrunk(var - in.at("alpha") * g, in.at("alpha"));
  } else if (absl::EndsWith(op, "ProximalAdagrad")) {
    double& accum = *arrays[1];
    accum += g * g;
    const double rate = in.at("lr") / std::sqrt(accum);
    var = shrunk(var - rate * g, rate);
  } else if (absl::EndsWith(op, "Adagrad") || absl::EndsWith(op, "AdagradV2")) {
    double& accum = *arrays[1];
    if (flag("update_slots")) accum += g * g;
    var -= in.at("lr") * g / (std::sqrt(accum) + (in.count("epsilon") > 0 ? in.at("epsilon") : 0));
  } else if (absl::EndsWith(op, "Adadelta")) {
    double &accum = *arrays[1], &accum_update = *arrays[2];
    const double rho = in.at("rho"), epsilon = in.at("epsilon");
    accum = rho * accum + (1 - rho) * g * g;
    const double update = std::sqrt((accum_update + epsilon) / (accum + epsilon)) * g;
    accum_update = rho * accum_update + (1 - rho) * update * update;
    var -= in.at("lr") * update;
  } else if (absl::EndsWith(op, "RMSProp")) {
    const bool centered = absl::EndsWith(op, "CenteredRMSProp");
    double &ms = *arrays[centered ? 2 : 1], &mom = *arrays[centered ? 3 : 2];
    const double rho = in.at("rho");
    ms = rho * ms + (1 - rho) * g * g;
    double variance = ms;
    if (centered) {
      double& mg = *arrays[1];
      mg = rho * mg + (1 - rho) * g;
      variance -= mg * mg;
    }
    mom = in.at("momentum") * mom + in.at("lr") * g / std::sqrt(variance + in.at("epsilon"));
    var -= mom;
  } else if (op == "ResourceApplyAdam" || op == "ResourceApplyAdamWithAmsgrad") {
    double &m = *arrays[1], &v = *arrays[2];
    const double beta1 = in.at("beta1"), beta2 = in.at("beta2");
    m = beta1 * m + (1 - beta1) * g;
    v = beta2 * v + (1 - beta2) * g * g;
    const double second = arrays.size() == 4 ? *arrays[3] = std::max(*arrays[3], v) : v;
    const double rate = in.at("lr") * std::sqrt(1 - in.at("beta2_power")) / (1 - in.at("beta1_power"));
    var -= rate * (flag("use_nesterov") ? beta1 * m + (1 - beta1) * g : m) / (std::sqrt(second) + in.at("epsilon"));
  } else if (op == "ResourceApplyAdaMax") {
    double &m = *arrays[1], &v = *arrays[2];
    m = in.at("beta1") * m + (1 - in.at("beta1")) * g;
    v = std::max(in.at("beta2") * v, std::abs(g));
    var -= in.at("lr") / (1 - in.at("beta1_power")) * m / (v + in.at("epsilon"));
  } else if (absl::EndsWith(op, "Ftrl") || absl::EndsWith(op, "FtrlV2")) {
    double &accum = *arrays[1], &linear = *arrays[2];
    const double lr = in.at("lr"), power = -in.at("lr_power"), scale = flag("multiply_linear_by_lr") ? lr : 1;
    const double shrinkage = in.count("l2_shrinkage") > 0 ? in.at("l2_shrinkage") : 0;
    const double sigma = (std::pow(accum + g * g, power) - std::pow(accum, power)) / lr;
    accum += g * g;
    linear += scale * (g + 2 * shrinkage * var - sigma * var);
    const double unscaled = linear / scale, l1 = in.at("l1");
    var = std::abs(unscaled) > l1
              ? (std::copysign(l1, unscaled) - unscaled) / (std::pow(accum, power) / lr + 2 * in.at("l2"))
              : 0;
  } else {
    ADD_FAILURE() << "no reference for " << op;
  }
}

void ExpectClose(const Values& got, const Values& want, double tolerance, const char* whose) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_NEAR(got[i], want[i], tolerance * std::max(1.0, std::abs(want[i]))) << whose << ", element " << i;
  }
}

double Tolerance(DType dtype) {
  switch (dtype) {
    case DType::kDouble:
      return 1e-12;
    case DType::kFloat:
      return 2e-6;
    case DType::kHalf:
      return 4e-3;
    default:
      return 3e-2;
  }
}

// One case of the file, fed line by line.
class TrainingRun {
 public:
  TrainingRun(std::string op, DType dtype) : op_(std::move(op)), dtype_(dtype) {}

  void Handle(const std::string& kind, std::istringstream& words) {
    std::string name, dtype, dims;
    if (kind == "attr") {
      words >> name;
      attrs_[name] = Numbers(words)[0] != 0;
    } else if (kind == "var") {
      words >> dims;
      shape_ = ParseShape(dims);
      state_.push_back(Numbers(words));
      initial_.push_back(FromDoubles(dtype_, shape_, state_.back()));
    } else if (kind == "input") {
      words >> name >> dtype >> dims;
      inputs_[name] = FromDoubles(*ParseDType(dtype), ParseShape(dims), Numbers(words));
    } else if (kind == "step") {
      Step();
      next_ = 0;
    } else if (kind == "after") {
      const double tolerance = Tolerance(dtype_);
      const Values got = ToDoubles(values_[next_]);
      ExpectClose(got, Numbers(words), tolerance, "TensorFlow");
      ExpectClose(got, state_[next_], tolerance * 2, "reference");
      ++next_;
    }
  }

 private:
  void Build() {
    std::vector<Node*> assigns;
    NodeBuilder builder(scope_.Named("step"), op_);
    for (const auto& [name, value] : attrs_) builder.Attr(name, value);
    size_t resource = 0;
    for (const ArgSpec& arg : graph_.FindSpec(op_)->inputs()) {
      if (arg.dtype == DType::kResource) {
        Output handle = NodeBuilder(scope_.Named(arg.name), "VarHandleOp")
                            .Attr("dtype", dtype_)
                            .Attr("shape", shape_)
                            .FinishOutput();
        Output value = ops::Const(scope_, initial_[resource++]);
        assigns.push_back(NodeBuilder(scope_, "AssignVariableOp").Input(handle).Input(value).Finish());
        reads_.push_back(NodeBuilder(scope_, "ReadVariableOp").Input(handle).Attr("dtype", dtype_).FinishOutput());
        builder.Input(handle);
      } else {
        const Output fed = NodeBuilder(scope_.Named(arg.name), "Placeholder")
                               .Attr("dtype", inputs_.at(arg.name).dtype())
                               .FinishOutput();
        placeholders_[arg.name] = fed;
        builder.Input(fed);
      }
    }
    step_ = builder.Finish();
    ASSERT_TRUE(scope_.ok()) << scope_.status();
    const absl::Status status = session_.Run({}, {}, assigns, nullptr);
    ASSERT_TRUE(status.ok()) << status;
  }

  void Step() {
    if (step_ == nullptr) Build();
    Feeds feeds;
    std::map<std::string, double> scalars;
    for (const auto& [name, value] : inputs_) {
      feeds.push_back({placeholders_.at(name), value});
      if (value.rank() == 0) scalars[name] = ToDoubles(value)[0];
    }
    absl::Status status = session_.Run(feeds, {}, {step_}, nullptr);
    ASSERT_TRUE(status.ok()) << status;
    status = session_.Run({}, reads_, &values_);
    ASSERT_TRUE(status.ok()) << status;

    const Values grad = ToDoubles(inputs_.count("grad") > 0 ? inputs_["grad"] : inputs_["delta"]);
    const int64_t width = shape_.dim(1);
    for (size_t i = 0; i < grad.size(); ++i) {
      size_t at = i;
      if (inputs_.count("indices") > 0) {
        const Tensor& indices = inputs_["indices"];
        const auto row = static_cast<int64_t>(i) / width;
        const int64_t target =
            indices.dtype() == DType::kInt32 ? indices.data<int32_t>()[row] : indices.data<int64_t>()[row];
        at = static_cast<size_t>(target * width) + i % static_cast<size_t>(width);
      }
      std::vector<double*> arrays;
      for (Values& slot : state_) arrays.push_back(&slot[at]);
      NaiveStep(op_, attrs_, scalars, arrays, grad[i]);
    }
  }

  const std::string op_;
  const DType dtype_;
  Shape shape_;
  std::map<std::string, bool> attrs_;
  std::vector<Values> state_;  // the reference's
  std::vector<Tensor> initial_;
  std::map<std::string, Tensor> inputs_;
  std::map<std::string, Output> placeholders_;
  Graph graph_;
  Scope scope_{&graph_};
  Session session_{&graph_, {1}};
  Outputs reads_;
  Node* step_ = nullptr;
  std::vector<Tensor> values_;
  size_t next_ = 0;
};

TEST(TrainingKernelsTest, StepLikeTensorFlowAndTheFormulas) {
  RegisterAllOps();
  RegisterAllKernels();
  std::ifstream file("tests/golden/training.txt");
  std::unique_ptr<TrainingRun> run;
  int cases = 0;
  std::string line, kind, name, op, dtype;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    words >> kind;
    if (kind == "#") continue;
    if (kind == "case") {
      words >> name >> op >> dtype;
      run = std::make_unique<TrainingRun>(op, *ParseDType(dtype));
      ++cases;
      continue;
    }
    SCOPED_TRACE(name);
    run->Handle(kind, words);
    if (HasFatalFailure()) return;
  }
  EXPECT_GE(cases, 115);
}

// ---- what is refused ----

class TrainingErrorsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    RegisterAllOps();
    RegisterAllKernels();
  }

  Output Variable(const char* name, const Tensor& value) {
    Output handle = ops::VarHandleOp(scope_.Named(name), value.dtype(), Shape());
    if (value.num_elements() > 0) {
      Node* assign = NodeBuilder(scope_, "AssignVariableOp").Input(handle).Input(value).Finish();
      EXPECT_TRUE(session_.Run({}, {}, {assign}, nullptr).ok());
    }
    return handle;
  }

  std::string ErrorOf(NodeBuilder builder) {
    Node* const node = builder.Finish();
    EXPECT_TRUE(scope_.ok()) << scope_.status();
    return std::string(session_.Run({}, {}, {node}, nullptr).message());
  }

  Graph graph_;
  Scope scope_{&graph_};
  Session session_{&graph_, {1}};
};

TEST_F(TrainingErrorsTest, DeclaredShapesAreCheckedWhenTheGraphIsBuilt) {
  const auto error = [](const Shape& slot, const Tensor& grad, absl::optional<Tensor> indices) {
    Graph graph;
    Scope scope(&graph);
    const Tensor rate = Tensor::Scalar(0.1f);
    NodeBuilder builder(scope.Named("step"), indices ? "ResourceSparseApplyMomentum" : "ResourceApplyMomentum");
    builder.Input(ops::VarHandleOp(scope, DType::kFloat, {4, 2})).Input(ops::VarHandleOp(scope, DType::kFloat, slot));
    builder.Input(rate).Input(grad);
    if (indices) builder.Input(*indices);
    Node* const node = builder.Input(rate).Finish();
    EXPECT_EQ(node != nullptr, scope.ok());
    return std::string(scope.status().message());
  };
  const Tensor dense = Tensor::Zeros(DType::kFloat, {4, 2}), rows = Tensor::Zeros(DType::kFloat, {3, 2});
  const Tensor ids = Tensor::Vector<int32_t>({0, 3, 3});
  EXPECT_EQ(error({4, 2}, dense, absl::nullopt), "");
  EXPECT_EQ(error({4, 2}, rows, ids), "");
  EXPECT_EQ(error(Shape(), rows, ids), "");
  EXPECT_TRUE(absl::StrContains(error({4}, dense, absl::nullopt), "input 'accum' has shape [4], the variable [4,2]"));
  EXPECT_TRUE(
      absl::StrContains(error({4, 2}, rows, absl::nullopt), "input 'grad' has shape [3,2], the variable [4,2]"));
  EXPECT_FALSE(error({4, 2}, dense, ids).empty());
  EXPECT_TRUE(
      absl::StrContains(error({4, 2}, Tensor::Zeros(DType::kFloat, {3, 1}), ids), "input 'grad' has shape [3,1]"));
}

TEST_F(TrainingErrorsTest, NameTheVariable) {
  const Tensor two = Tensor::Of<float>({2}, {1, 2}), three = Tensor::Of<float>({3}, {1, 2, 3});
  const Tensor rate = Tensor::Scalar(0.1f);
  Output fresh = Variable("fresh", Tensor(DType::kFloat, {0})), w = Variable("w", two), slot = Variable("slot", three);
  EXPECT_TRUE(absl::StrContains(
      ErrorOf(NodeBuilder(scope_, "ResourceApplyGradientDescent").Input(fresh).Input(rate).Input(two)),
      "'fresh' is uninitialized"));
  EXPECT_TRUE(
      absl::StrContains(ErrorOf(NodeBuilder(scope_, "ResourceApplyGradientDescent").Input(w).Input(rate).Input(three)),
                        "the gradient has shape [3], the variable [2]"));
  EXPECT_TRUE(absl::StrContains(
      ErrorOf(NodeBuilder(scope_, "ResourceApplyMomentum").Input(w).Input(slot).Input(rate).Input(two).Input(rate)),
      "slot 'slot'"));
  EXPECT_TRUE(absl::StrContains(
      ErrorOf(NodeBuilder(scope_, "ResourceApplyMomentum").Input(w).Input(w).Input(rate).Input(two).Input(rate)),
      "the same variable 'w'"));
  EXPECT_TRUE(absl::StrContains(ErrorOf(NodeBuilder(scope_, "ResourceApplyGradientDescent")
                                            .Input(w)
                                            .Input(Tensor::Scalar(0.1))
                                            .Input(Tensor::Of<double>({2}, {1, 2}))),
                                "the gradient is of type double, the variable of type float"));
}

TEST_F(TrainingErrorsTest, BadIndicesLeaveTheVariableAsItWas) {
  const Tensor rows = Tensor::Of<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  Output w = Variable("w", rows), accum = Variable("accum", rows);
  const Tensor rate = Tensor::Scalar(0.1f), grad = Tensor::Of<float>({2, 2}, {1, 1, 1, 1});
  for (int32_t bad : {3, -1}) {
    const std::string error = ErrorOf(NodeBuilder(scope_, "ResourceSparseApplyAdagrad")
                                          .Input(w)
                                          .Input(accum)
                                          .Input(rate)
                                          .Input(grad)
                                          .Input(Tensor::Vector<int32_t>({0, bad})));
    EXPECT_TRUE(absl::StrContains(error, absl::StrCat(bad))) << error;
  }
  std::vector<Tensor> values;
  ASSERT_TRUE(session_.Run({}, {ops::ReadVariableOp(scope_, w, DType::kFloat)}, &values).ok());
  EXPECT_TRUE(BitwiseEqual(values[0], rows));
}

// A step in parts, and rows whose order counts: the same bits for any number of threads.
TEST_F(TrainingErrorsTest, ThreadsDoNotMatter) {
  constexpr int64_t kRows = 997, kColumns = 101;
  Tensor first(DType::kFloat, {kRows, kColumns}), ones(DType::kFloat, {kRows, kColumns});
  for (int64_t i = 0; i < first.num_elements(); ++i) {
    first.data<float>()[i] = std::sin(static_cast<float>(i));
    ones.data<float>()[i] = 1;
  }
  Graph graph;
  Scope scope(&graph);
  Output w = ops::VarHandleOp(scope, DType::kFloat, Shape());
  Output m = ops::VarHandleOp(scope, DType::kFloat, Shape());
  Output v = ops::VarHandleOp(scope, DType::kFloat, Shape());
  std::vector<Node*> assigns;
  for (Output handle : {w, m, v}) {
    const Tensor& value = handle == w ? first : ones;
    assigns.push_back(NodeBuilder(scope, "AssignVariableOp").Input(handle).Input(value).Finish());
  }
  NodeBuilder step(scope, "ResourceApplyAdam");
  step.Input(w).Input(m).Input(v);
  for (float scalar : {0.9f, 0.999f, 0.01f, 0.9f, 0.999f, 1e-7f}) step.Input(Tensor::Scalar(scalar));
  Node* const adam = step.Input(first).Finish();
  Output read = ops::ReadVariableOp(scope, w, DType::kFloat);
  ASSERT_TRUE(scope.ok()) << scope.status();
  std::vector<Tensor> results;
  for (int threads : {1, 3}) {
    Session session(&graph, {threads});
    std::vector<Tensor> values;
    ASSERT_TRUE(session.Run({}, {}, assigns, nullptr).ok());
    ASSERT_TRUE(session.Run({}, {}, {adam}, nullptr).ok());
    ASSERT_TRUE(session.Run({}, {read}, &values).ok());
    results.push_back(values[0]);
  }
  EXPECT_TRUE(BitwiseEqual(results[0], results[1]));
}

}  // namespace
}  // namespace nabla
