// Optimizers: 20 steps against TensorFlow (tests/golden/optimizers.txt), slots, lazy sparse steps, what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include "nabla/gradients/optimizers.h"
#include "nabla/gradients/rule.h"
#include "nabla/gradients/schedule.h"
#include "nabla/graph/export.h"
#include "nabla/graph/import.h"
#include "nabla/ops/ops.h"
#include "nabla/ops/variable.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/session.h"

namespace nabla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Numbers = std::vector<double>;
using MakeOptimizer = std::unique_ptr<Optimizer> (*)();

template <typename T, typename Options>
std::unique_ptr<Optimizer> New(const Options& options) {
  return std::make_unique<T>(options);
}

// By the names in the golden file.
std::unique_ptr<Optimizer> GoldenOptimizer(const std::string& name) {
  if (name == "GradientDescent") return New<GradientDescentOptimizer, GradientDescentOptions>({.learning_rate = 0.3});
  if (name == "Momentum") return New<MomentumOptimizer, MomentumOptions>({.learning_rate = 0.1, .momentum = 0.9});
  if (name == "Nesterov") return New<MomentumOptimizer, MomentumOptions>({.learning_rate = 0.1, .use_nesterov = true});
  if (name == "Adagrad") return New<AdagradOptimizer, AdagradOptions>({.learning_rate = 0.2});
  if (name == "Adadelta") {
    return New<AdadeltaOptimizer, AdadeltaOptions>({.learning_rate = 5.0, .rho = 0.9, .epsilon = 1e-4});
  }
  if (name == "RMSProp") return New<RMSPropOptimizer, RMSPropOptions>({.learning_rate = 0.05});
  if (name == "RMSPropMomentum") {
    return New<RMSPropOptimizer, RMSPropOptions>(
        {.learning_rate = 0.02, .decay = 0.8, .momentum = 0.5, .epsilon = 1e-3});
  }
  if (name == "RMSPropCentered") {
    return New<RMSPropOptimizer, RMSPropOptions>({.learning_rate = 0.05, .momentum = 0.3, .centered = true});
  }
  if (name == "Adam") return New<AdamOptimizer, AdamOptions>({.learning_rate = 0.05});
  if (name == "AdamBetas") {
    return New<AdamOptimizer, AdamOptions>({.learning_rate = 0.05, .beta1 = 0.8, .beta2 = 0.95, .epsilon = 0.01});
  }
  if (name == "Ftrl") return New<FtrlOptimizer, FtrlOptions>({.learning_rate = 0.3});
  if (name == "FtrlPenalties") {
    return New<FtrlOptimizer, FtrlOptions>({.learning_rate = 0.3,
                                            .learning_rate_power = -0.4,
                                            .l1_regularization_strength = 0.01,
                                            .l2_regularization_strength = 0.02,
                                            .l2_shrinkage_regularization_strength = 0.03});
  }
  if (name == "AdamW") return New<AdamWOptimizer, AdamWOptions>({});
  if (name == "AdamWBetas") {
    return New<AdamWOptimizer, AdamWOptions>(
        {.learning_rate = 0.05, .weight_decay = 0.1, .beta1 = 0.875, .beta2 = 0.9921875});
  }
  if (name == "AdamaxBetas") {
    return New<AdamaxOptimizer, AdamaxOptions>({.learning_rate = 0.05, .beta1 = 0.875, .beta2 = 0.9921875});
  }
  if (name == "Adamax") return New<AdamaxOptimizer, AdamaxOptions>({});
  return nullptr;
}

Tensor TensorOf(DType dtype, const Shape& shape, const Numbers& numbers) {
  Tensor tensor(dtype, shape);
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (dtype == DType::kDouble) tensor.data<double>()[i] = numbers[i];
    if (dtype == DType::kFloat) tensor.data<float>()[i] = static_cast<float>(numbers[i]);
    if (dtype == DType::kInt32) tensor.data<int32_t>()[i] = static_cast<int32_t>(numbers[i]);
  }
  return tensor;
}

void Append(const Tensor& tensor, Numbers* numbers) {
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    numbers->push_back(tensor.dtype() == DType::kDouble ? tensor.data<double>()[i] : tensor.data<float>()[i]);
  }
}

// loss = mean((x w + b + table[ids] - target)^2), as in make_optimizers.py.
class Model {
 public:
  using Values = std::map<std::string, Numbers>;

  Model(DType dtype, const Values& values) : dtype_(dtype) {
    const auto constant = [&](const char* name, const Shape& shape) {
      return ops::Const(scope_, TensorOf(dtype, shape, values.at(name)));
    };
    for (const auto& [name, shape] : {std::pair("w", Shape({3, 2})), {"b", Shape({2})}, {"table", Shape({6, 2})}}) {
      variables_.push_back(ops::NewVariable(scope_, name, constant(name, shape)));
    }
    ids_ = ops::Placeholder(scope_.Named("ids"), DType::kInt32, {.shape = {kUnknownDim}});
    const ScopeGuard guard(scope_);
    const Output y = ops::MatMul(scope_, constant("x", {4, 3}), ops::ReadVariable(scope_, variables_[0])) +
                     ops::ReadVariable(scope_, variables_[1]) + ops::ResourceGather(scope_, table(), ids_, dtype);
    loss_ = ops::Mean(scope_.Named("loss"), ops::Square(scope_, y - constant("target", {4, 2})), {0, 1});
  }

  void Train(Optimizer& optimizer, Output global_step = {}) {
    const absl::StatusOr<Node*> train = optimizer.Minimize(scope_, loss_, {}, global_step);
    ASSERT_TRUE(train.ok()) << train.status();
    train_ = *train;
    Start();
  }
  void Start() {
    Node* const initialize = ops::InitializeVariables(scope_);
    for (Output variable : variables_) reads_.push_back(ops::ReadVariable(scope_, variable));
    ASSERT_TRUE(scope_.ok()) << scope_.status();
    const absl::Status status = session_.Run({}, {}, {initialize}, nullptr);
    ASSERT_TRUE(status.ok()) << status;
  }
  void Step(const Numbers& ids) {
    const absl::Status status =
        session_.Run({{ids_, TensorOf(DType::kInt32, {static_cast<int64_t>(ids.size())}, ids)}}, {}, {train_}, nullptr);
    ASSERT_TRUE(status.ok()) << status;
  }
  Numbers State() { return Fetch(reads_); }
  Numbers Fetch(const Outputs& outputs) {
    std::vector<Tensor> values;
    const absl::Status status = session_.Run({}, outputs, &values);
    EXPECT_TRUE(status.ok()) << status;
    Numbers numbers;
    for (const Tensor& value : values) Append(value, &numbers);
    return numbers;
  }

  Graph& graph() { return graph_; }
  const Scope& scope() const { return scope_; }
  Session& session() { return session_; }
  DType dtype() const { return dtype_; }
  Output table() const { return variables_[2]; }
  const Outputs& variables() const { return variables_; }
  Output loss() const { return loss_; }
  Node* train() const { return train_; }

 private:
  const DType dtype_;
  Graph graph_;
  Scope scope_{&graph_};
  Session session_{&graph_, {1}};
  Outputs variables_, reads_;
  Output ids_, loss_;
  Node* train_ = nullptr;
};

struct Golden {
  Model::Values values;
  std::vector<Numbers> ids;
  struct Run {
    std::string optimizer, dtype;
    std::map<size_t, Numbers> after;
  };
  std::vector<Run> runs;
};

const Golden& ReadGolden() {
  static const Golden* const golden = [] {
    auto* g = new Golden;
    std::ifstream file("tests/golden/optimizers.txt");
    for (std::string line, kind; std::getline(file, line);) {
      std::istringstream words(line);
      words >> kind;
      if (kind == "#" || kind == "schedule") continue;
      if (kind == "optimizer") {
        g->runs.emplace_back();
        words >> g->runs.back().optimizer >> g->runs.back().dtype;
        continue;
      }
      size_t step = 0;
      if (kind == "ids" || kind == "after") words >> step;
      Numbers numbers;
      for (double number; words >> number;) numbers.push_back(number);
      if (kind == "ids") {
        g->ids.push_back(numbers);
      } else if (kind == "after") {
        g->runs.back().after[step] = numbers;
      } else {
        g->values[kind] = numbers;
      }
    }
    return g;
  }();
  return *golden;
}

class OptimizersTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    RegisterAllOps();
    RegisterAllKernels();
    RegisterAllGradients();
  }
};

TEST_F(OptimizersTest, TwentyStepsAreTensorFlows) {
  const Golden& golden = ReadGolden();
  ASSERT_EQ(golden.ids.size(), 20u);
  ASSERT_EQ(golden.runs.size(), 28u);
  for (const Golden::Run& run : golden.runs) {
    SCOPED_TRACE(run.optimizer + " " + run.dtype);
    Model model(*ParseDType(run.dtype), golden.values);
    const std::unique_ptr<Optimizer> optimizer = GoldenOptimizer(run.optimizer);
    model.Train(*optimizer);
    for (size_t step = 0; step < golden.ids.size(); ++step) {
      model.Step(golden.ids[step]);
      if (HasFatalFailure()) return;
      const auto want = run.after.find(step);
      if (want == run.after.end()) continue;
      const Numbers got = model.State();
      ASSERT_EQ(got.size(), want->second.size());
      for (size_t i = 0; i < got.size(); ++i) {
        ASSERT_NEAR(got[i], want->second[i], 1e-6) << "step " << step << ", number " << i;
      }
    }
    EXPECT_GT(run.after.size(), 0u);
  }
}

TEST_F(OptimizersTest, ThreadsDoNotMatter) {
  const Golden& golden = ReadGolden();
  for (const char* name : {"Adam", "Momentum"}) {
    Model model(DType::kFloat, golden.values);
    const std::unique_ptr<Optimizer> optimizer = GoldenOptimizer(name);
    model.Train(*optimizer);
    Session threads(&model.graph(), {4});
    Node* const initialize = ops::InitializeVariables(model.scope());
    ASSERT_TRUE(threads.Run({}, {}, {initialize}, nullptr).ok());
    Outputs reads;
    for (Output variable : model.variables()) reads.push_back(ops::ReadVariable(model.scope(), variable));
    const Output ids = model.graph().FindNode("ids")->output(0);
    for (const Numbers& step : golden.ids) {
      model.Step(step);
      ASSERT_TRUE(threads.Run({{ids, TensorOf(DType::kInt32, {4}, step)}}, {}, {model.train()}, nullptr).ok());
    }
    std::vector<Tensor> values;
    ASSERT_TRUE(threads.Run({}, reads, &values).ok());
    Numbers got;
    for (const Tensor& value : values) Append(value, &got);
    EXPECT_EQ(got, model.State()) << name;
  }
}

// Slots and steps have TensorFlow's names, and every variable an initialiser.
TEST_F(OptimizersTest, NodesAreNamedLikeTensorFlows) {
  const std::map<std::string, std::vector<std::string>> slots = {
      {"Momentum", {"w/Momentum"}},
      {"Adagrad", {"w/Adagrad"}},
      {"Adadelta", {"w/Adadelta", "w/Adadelta_1"}},
      {"RMSPropCentered", {"w/RMSProp", "w/RMSProp_1", "w/RMSProp_2"}},
      {"Adam", {"w/Adam", "w/Adam_1", "beta1_power", "beta2_power"}},
      {"Ftrl", {"w/Ftrl", "w/Ftrl_1"}},
      {"AdamW", {"w/AdamW", "w/AdamW_1", "AdamW/iterations"}},
  };
  for (const auto& [name, nodes] : slots) {
    Model model(DType::kFloat, ReadGolden().values);
    const std::unique_ptr<Optimizer> optimizer = GoldenOptimizer(name);
    model.Train(*optimizer);
    EXPECT_EQ(model.train()->name(), optimizer->name());
    EXPECT_EQ(ops::TrainableVariables(model.graph()), model.variables());
    for (const std::string& node : nodes) {
      const Node* const found = model.graph().FindNode(node);
      ASSERT_NE(found, nullptr) << node;
      EXPECT_EQ(found->op(), "VarHandleOp");
      EXPECT_EQ(*found->attr<std::string>("shared_name"), node);
      EXPECT_NE(ops::VariableInitializer(*found), nullptr);
    }
  }
  Model model(DType::kFloat, ReadGolden().values);
  RMSPropOptimizer rms({.centered = true, .name = "rms"});
  EXPECT_THAT(rms.SlotNames(), ElementsAre("rms", "mg", "momentum"));
  EXPECT_FALSE(rms.Slot(model.table(), "mg"));
  model.Train(rms);
  EXPECT_EQ(rms.Slot(model.table(), "mg").node()->name(), "table/rms_1");
  EXPECT_FALSE(rms.Slot(model.table(), "velocity"));
  EXPECT_NE(model.graph().FindNode("rms/update_w/ResourceApplyCenteredRMSProp"), nullptr);
  EXPECT_NE(model.graph().FindNode("rms/update_table/ResourceSparseApplyCenteredRMSProp"), nullptr);
}

TEST_F(OptimizersTest, CountStepsAndTakeSchedules) {
  Model model(DType::kDouble, ReadGolden().values);
  const Output step = ops::NewVariable(model.scope(), "global_step", 0, {.dtype = DType::kInt64, .trainable = false});
  // A float schedule, cast for the variables: 0 in the first step, 1 in the second.
  const Output rate = PiecewiseConstant(model.scope(), ops::ReadVariable(model.scope(), step), {0, 1}, {0.0, 1.0, 0.0});
  GradientDescentOptimizer descent({.learning_rate = rate});
  model.Train(descent, step);
  EXPECT_EQ(model.train()->op(), "AssignAddVariableOp");
  const Numbers before = model.State();
  model.Step({0, 1, 1, 2});
  EXPECT_EQ(model.State(), before);
  model.Step({0, 1, 1, 2});
  const Numbers after = model.State();
  EXPECT_NE(after, before);
  model.Step({0, 1, 1, 2});
  EXPECT_EQ(model.State(), after);
}

// A graph that was written to a file trains like the one that wrote it.
TEST_F(OptimizersTest, StepsSurviveTheFile) {
  Model model(DType::kFloat, ReadGolden().values);
  AdamOptimizer adam({.learning_rate = 0.05, .lazy = true});
  model.Train(adam);
  std::string bytes;
  ASSERT_TRUE(ExportGraphDefString(model.graph(), {}, &bytes).ok());
  Graph copy;
  ASSERT_TRUE(ImportGraphDefString(bytes, {}, &copy).ok());
  Session session(&copy, {1});
  EXPECT_EQ(ops::TrainableVariables(copy).size(), 3u);
  const Scope scope(&copy);
  ASSERT_TRUE(session.Run({}, {}, {ops::InitializeVariables(scope)}, nullptr).ok());
  const Feeds feeds = {{copy.FindNode("ids")->output(0), TensorOf(DType::kInt32, {4}, {3, 1, 3, 0})}};
  std::vector<Tensor> values;
  ASSERT_TRUE(session.Run(feeds, {}, {copy.FindNode("Adam")}, nullptr).ok());
  ASSERT_TRUE(session.Run({}, {ops::ReadVariable(scope, copy.FindNode("table")->output(0))}, &values).ok());
  Numbers got;
  Append(values[0], &got);
  model.Step({3, 1, 3, 0});
  EXPECT_EQ(got, model.Fetch({ops::ReadVariable(model.scope(), model.table())}));
}

struct LazyPair {
  const char* name;
  MakeOptimizer lazy, plain;
};
template <typename T, typename Options, bool lazy>
std::unique_ptr<Optimizer> NewAdam() {
  Options options;
  options.learning_rate = 0.05;
  options.lazy = lazy;
  return std::make_unique<T>(options);
}
constexpr LazyPair kLazyPairs[] = {
    {"Adam", NewAdam<AdamOptimizer, AdamOptions, true>, NewAdam<AdamOptimizer, AdamOptions, false>},
    {"AdamW", NewAdam<AdamWOptimizer, AdamWOptions, true>, NewAdam<AdamWOptimizer, AdamWOptions, false>},
    {"Adamax", NewAdam<AdamaxOptimizer, AdamaxOptions, true>, NewAdam<AdamaxOptimizer, AdamaxOptions, false>},
};

void ExpectNear(const Numbers& got, const Numbers& want, double tolerance, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], tolerance) << what << ", number " << i;
}

// Where every row occurs in every step, being lazy makes no difference.
TEST_F(OptimizersTest, LazyStepsAreTheUsualOnesOnRowsThatOccur) {
  for (const LazyPair& pair : kLazyPairs) {
    std::vector<Numbers> states;
    for (const MakeOptimizer& make : {pair.lazy, pair.plain}) {
      Model::Values values = ReadGolden().values;
      for (const char* name : {"x", "target"}) {
        Numbers& rows = values[name];
        rows.insert(rows.end(), rows.begin(), rows.end());
      }
      Graph graph;
      const Scope scope(&graph);
      Session session(&graph, {1});
      const Output table = ops::NewVariable(scope, "table", TensorOf(DType::kDouble, {6, 2}, values["table"]));
      const Output ids = ops::Const(scope, Tensor::Vector<int32_t>({4, 0, 1, 2, 3, 5, 1, 1}));
      const Output rows = ops::ResourceGather(scope, table, ids, DType::kDouble);
      const Output target = ops::Const(scope, TensorOf(DType::kDouble, {8, 2}, values["target"]));
      const Output loss = ops::Sum(scope, ops::SquaredDifference(scope, rows, target), {0, 1});
      const std::unique_ptr<Optimizer> optimizer = make();
      const absl::StatusOr<Node*> train = optimizer->Minimize(scope, loss);
      ASSERT_TRUE(train.ok()) << train.status();
      ASSERT_TRUE(session.Run({}, {}, {ops::InitializeVariables(scope)}, nullptr).ok());
      for (int i = 0; i < 10; ++i) ASSERT_TRUE(session.Run({}, {}, {*train}, nullptr).ok());
      std::vector<Tensor> value;
      ASSERT_TRUE(session.Run({}, {ops::ReadVariable(scope, table)}, &value).ok());
      states.emplace_back();
      Append(value[0], &states.back());
    }
    ExpectNear(states[0], states[1], 1e-12, pair.name);
  }
}

// Rows that do not occur, and their slots, stay as they are, to the bit; dense ops on the table are not even there.
TEST_F(OptimizersTest, LazyStepsLeaveOtherRowsAlone) {
  for (const LazyPair& pair : kLazyPairs) {
    Model model(DType::kDouble, ReadGolden().values);
    const std::unique_ptr<Optimizer> optimizer = pair.lazy();
    model.Train(*optimizer);
    const auto table_and_slots = [&] {
      return model.Fetch({ops::ReadVariable(model.scope(), model.table()),
                          ops::ReadVariable(model.scope(), optimizer->Slot(model.table(), "m")),
                          ops::ReadVariable(model.scope(), optimizer->Slot(model.table(), "v"))});
    };
    model.Step({0, 1, 2, 3});
    const Numbers before = table_and_slots();
    model.Step({4, 1, 4, 1});
    const Numbers after = table_and_slots();
    ASSERT_EQ(after.size(), 36u);
    for (int array = 0; array < 3; ++array) {
      for (int row = 0; row < 6; ++row) {
        const bool occurs = row == 1 || row == 4;
        for (int column = 0; column < 2; ++column) {
          const int at = array * 12 + row * 2 + column;
          EXPECT_EQ(before[at] != after[at], occurs) << pair.name << " array " << array << " row " << row;
        }
      }
    }
    for (const Node* node : model.graph().Nodes()) {
      if (node->name().find("update_table") == std::string::npos) continue;
      EXPECT_NE(node->op(), "ResourceApplyAdam");
      EXPECT_NE(node->op(), "ResourceApplyAdaMax");
    }
  }
}

// Two steps of one optimizer share their slots.
TEST_F(OptimizersTest, KeepOneSetOfSlots) {
  Model model(DType::kFloat, ReadGolden().values);
  MomentumOptimizer momentum;
  model.Train(momentum);
  const Output slot = momentum.Slot(model.table(), "momentum");
  const int variables = static_cast<int>(ops::Variables(model.graph()).size());
  const absl::StatusOr<Node*> second = momentum.Minimize(model.scope(), model.loss(), {model.table()});
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ((*second)->name(), "Momentum_1");
  EXPECT_EQ(momentum.Slot(model.table(), "momentum"), slot);
  EXPECT_EQ(ops::Variables(model.graph()).size(), variables);
}

// The shape of the variable is known in the run only.
TEST_F(OptimizersTest, SlotsOfUnknownShape) {
  Graph graph;
  const Scope scope(&graph);
  Session session(&graph, {1});
  const Output w = ops::NewVariable(scope, "w", Tensor::Vector<float>({1, 2}), {.shape = Shape()});
  const Output loss = ops::Sum(scope, ops::Square(scope, ops::ReadVariable(scope, w)), 0);
  AdagradOptimizer adagrad({.learning_rate = 1, .initial_accumulator_value = 5});
  const absl::StatusOr<Node*> train = adagrad.Minimize(scope, loss);
  ASSERT_TRUE(train.ok()) << train.status();
  ASSERT_TRUE(session.Run({}, {}, {ops::InitializeVariables(scope)}, nullptr).ok());
  ASSERT_TRUE(session.Run({}, {}, {*train}, nullptr).ok());
  std::vector<Tensor> value;
  ASSERT_TRUE(session.Run({}, {ops::ReadVariable(scope, w)}, &value).ok());
  // The gradient is 2 w; 1 - 2 / sqrt(5 + 4), 2 - 4 / sqrt(5 + 16).
  EXPECT_NEAR(value[0].data<float>()[0], 1.0 / 3, 1e-6);
  EXPECT_NEAR(value[0].data<float>()[1], 2 - 4 / std::sqrt(21.0), 1e-6);
}

TEST_F(OptimizersTest, RefuseWhatTheyCannotTrain) {
  Graph graph, other;
  const Scope scope(&graph), elsewhere(&other);
  const Output w = ops::NewVariable(scope, "w", 1.0), unused = ops::NewVariable(scope, "unused", 1.0);
  const Output foreign = ops::NewVariable(elsewhere, "foreign", 1.0);
  const Output value = ops::ReadVariable(scope, w);
  const Output loss = ops::Square(scope, value);
  const auto error = [](const auto& result) { return std::string(result.status().message()); };
  GradientDescentOptimizer descent;
  EXPECT_THAT(error(descent.Minimize(scope, loss, {unused})), HasSubstr("no gradient for any variable: unused"));
  EXPECT_THAT(error(descent.ApplyGradients(scope, {})), HasSubstr("no gradient for any variable"));
  EXPECT_THAT(error(descent.ApplyGradients(scope, {{value, w}, {value, w}})), HasSubstr("'w' occurs twice"));
  EXPECT_THAT(error(descent.ApplyGradients(scope, {{value, value}})), HasSubstr("is not the handle of a variable"));
  EXPECT_THAT(error(descent.ApplyGradients(scope, {{value, foreign}})), HasSubstr("'foreign' is not the handle"));
  EXPECT_THAT(error(descent.ApplyGradients(scope, {{value, w}}, value)), HasSubstr("global_step"));
  EXPECT_THAT(error(descent.ApplyGradients(scope, {{ops::Cast(scope, value, DType::kDouble), w}})),
              HasSubstr("is of type double, the variable of type float"));
  EXPECT_EQ(graph.FindNode("GradientDescent"), nullptr);
  ASSERT_TRUE(descent.Minimize(scope, loss).ok());
  const Output foreign_loss = ops::Square(elsewhere, ops::ReadVariable(elsewhere, foreign));
  EXPECT_THAT(error(descent.Minimize(elsewhere, foreign_loss)), HasSubstr("another graph"));
  Graph empty;
  const Scope nothing(&empty);
  EXPECT_THAT(error(AdamOptimizer().Minimize(nothing, ops::Const(nothing, 1.0))), HasSubstr("no variables to train"));
  EXPECT_TRUE(scope.ok()) << scope.status();
}

}  // namespace
}  // namespace nabla
