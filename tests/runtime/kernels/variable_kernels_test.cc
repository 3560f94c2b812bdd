// Variables: reading, assigning, updating from several threads, rows, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "nabla/gradients/gradients.h"
#include "nabla/gradients/rule.h"
#include "nabla/graph/scope.h"
#include "nabla/ops/ops.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/session.h"

namespace nabla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class VariableKernelsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    RegisterAllOps();
    RegisterAllKernels();
    RegisterAllGradients();
  }

  Output Handle(const char* name, DType dtype = DType::kFloat, Shape shape = Shape()) {
    return ops::VarHandleOp(scope_.Named(name), dtype, shape);
  }
  Output Read(Output handle, DType dtype = DType::kFloat) { return ops::ReadVariableOp(scope_, handle, dtype); }
  Node* Do(const char* op, Output handle, Input value) {
    return NodeBuilder(scope_, op).Input(handle).Input(value).Finish();
  }
  Node* Scatter(const char* op, Output handle, Input indices, Input updates) {
    return NodeBuilder(scope_, op).Input(handle).Input(indices).Input(updates).Finish();
  }

  void Run(const std::vector<Node*>& targets) {
    ASSERT_TRUE(scope_.ok()) << scope_.status();
    const absl::Status status = session_.Run({}, {}, targets, nullptr);
    ASSERT_TRUE(status.ok()) << status;
  }
  absl::Status Error(const std::vector<Node*>& targets, const Feeds& feeds = {}) {
    EXPECT_TRUE(scope_.ok()) << scope_.status();
    return session_.Run(feeds, {}, targets, nullptr);
  }
  std::string Message(Node* target, const Feeds& feeds = {}) { return std::string(Error({target}, feeds).message()); }
  Tensor Fetch(Output output) {
    std::vector<Tensor> values;
    EXPECT_TRUE(scope_.ok()) << scope_.status();
    const absl::Status status = session_.Run({}, {output}, &values);
    EXPECT_TRUE(status.ok()) << status;
    return status.ok() ? values[0] : Tensor::Zeros(DType::kFloat, {1});
  }
  std::vector<float> Floats(Output output) {
    const Tensor value = Fetch(output);
    return std::vector<float>(value.flat<float>().begin(), value.flat<float>().end());
  }

  static Tensor Matrix() { return Tensor::Of<float>({3, 2}, {1, 2, 3, 4, 5, 6}); }

  Graph graph_;
  Scope scope_{&graph_};
  Session session_{&graph_, {3}};
};

TEST_F(VariableKernelsTest, AssignAddSubtractRead) {
  Output v = Handle("v");
  Run({Do("AssignVariableOp", v, Tensor::Vector<float>({1, 2}))});
  Run({Do("AssignAddVariableOp", v, Tensor::Vector<float>({10, 20}))});
  Run({Do("AssignSubVariableOp", v, Tensor::Vector<float>({1, 1}))});
  EXPECT_THAT(Floats(Read(v)), ElementsAre(10, 21));
}

TEST_F(VariableKernelsTest, IntegersWrapAround) {
  Output v = Handle("v", DType::kInt8);
  Run({Do("AssignVariableOp", v, Tensor::Scalar<int8_t>(127))});
  Run({Do("AssignAddVariableOp", v, Tensor::Scalar<int8_t>(1))});
  EXPECT_EQ(Fetch(Read(v, DType::kInt8)).scalar<int8_t>(), -128);
}

TEST_F(VariableKernelsTest, HandlesOfOneNameAreOneVariable) {
  Output a = ops::VarHandleOp(scope_, DType::kFloat, Shape(), {.shared_name = "shared"});
  Output b = ops::VarHandleOp(scope_, DType::kFloat, Shape(), {.shared_name = "shared"});
  Output other = ops::VarHandleOp(scope_, DType::kFloat, Shape(), {.container = "c", .shared_name = "shared"});
  Run({Do("AssignVariableOp", a, Tensor::Scalar(3.0f))});
  EXPECT_THAT(Floats(Read(b)), ElementsAre(3));
  EXPECT_FALSE(Fetch(ops::VarIsInitializedOp(scope_, other)).scalar<bool>());
}

TEST_F(VariableKernelsTest, LiveInOneSession) {
  Output v = Handle("v");
  Run({Do("AssignVariableOp", v, Tensor::Scalar(3.0f))});
  Output read = Read(v);
  Session other(&graph_);
  std::vector<Tensor> values;
  EXPECT_EQ(other.Run({}, {read}, &values).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(VariableKernelsTest, ReadingOneWithoutValueNamesIt) {
  Output v = Handle("weights");
  const absl::Status status = Error({Read(v).node()});
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("'weights'"));
  EXPECT_THAT(Message(Do("AssignAddVariableOp", v, 1.0f)), HasSubstr("'weights' is uninitialized"));
  EXPECT_FALSE(Fetch(ops::VarIsInitializedOp(scope_, v)).scalar<bool>());
}

TEST_F(VariableKernelsTest, DestroyedIsWithoutValue) {
  Output v = Handle("v");
  Run({Do("AssignVariableOp", v, Tensor::Scalar(1.0f))});
  Run({NodeBuilder(scope_, "DestroyResourceOp").Input(v).Finish()});
  EXPECT_FALSE(Fetch(ops::VarIsInitializedOp(scope_, v)).scalar<bool>());
}

TEST_F(VariableKernelsTest, TypesAndShapesMustAgree) {
  Output v = Handle("v"), wrong = ops::VarHandleOp(scope_, DType::kDouble, Shape(), {.shared_name = "v"});
  Run({Do("AssignVariableOp", v, Tensor::Vector<float>({1, 2}))});
  EXPECT_THAT(Message(Read(wrong, DType::kDouble).node()), HasSubstr("'v' is of type float"));
  EXPECT_THAT(Message(Do("AssignVariableOp", wrong, Tensor::Scalar(1.0))), HasSubstr("'v' is of type float"));
  EXPECT_THAT(Message(Do("AssignAddVariableOp", wrong, Tensor::Vector<double>({1, 2}))), HasSubstr("of type float"));
  EXPECT_THAT(Message(Do("AssignAddVariableOp", v, Tensor::Vector<float>({1, 2, 3}))),
              HasSubstr("has shape [2], updated with shape [3]"));
  Node* const validated = NodeBuilder(scope_, "AssignVariableOp")
                              .Input(v)
                              .Input(Tensor::Vector<float>({1, 2, 3}))
                              .Attr("validate_shape", true)
                              .Finish();
  EXPECT_THAT(Message(validated), HasSubstr("has shape [2], assigned a value of shape [3]"));
  EXPECT_THAT(Floats(Read(v)), ElementsAre(1, 2));
}

TEST_F(VariableKernelsTest, DeclaredShapesAreCheckedWhenTheGraphIsBuilt) {
  Output v = Handle("v", DType::kFloat, {2});
  Do("AssignVariableOp", v, Tensor::Vector<float>({1, 2, 3}));
  EXPECT_THAT(std::string(scope_.status().message()), HasSubstr("[3]"));
}

TEST_F(VariableKernelsTest, ScattersCombineRowsInOrder) {
  Output v = Handle("v");
  const Tensor rows = Tensor::Vector<int32_t>({2, 0, 2});
  const Tensor updates = Tensor::Of<float>({3, 2}, {2, 4, 10, 0.5, 4, -2});
  const struct {
    const char* op;
    std::vector<float> after;
  } cases[] = {
      {"ResourceScatterMul", {10, 1, 3, 4, 40, -48}},
      {"ResourceScatterDiv", {0.1f, 4, 3, 4, 0.625f, -0.75f}},
      {"ResourceScatterMin", {1, 0.5f, 3, 4, 2, -2}},
      {"ResourceScatterMax", {10, 2, 3, 4, 5, 6}},
  };
  for (const auto& c : cases) {
    Run({Do("AssignVariableOp", v, Matrix())});
    Run({Scatter(c.op, v, rows, updates)});
    EXPECT_EQ(Floats(Read(v)), c.after) << c.op;
  }
}

TEST_F(VariableKernelsTest, ScattersOfTuples) {
  Output v = Handle("v");
  const Tensor at = Tensor::Of<int64_t>({3, 2}, {2, 1, 0, 0, 2, 1});
  const Tensor updates = Tensor::Vector<float>({10, -20, 30});
  const struct {
    const char* op;
    std::vector<float> after;
  } cases[] = {
      {"ResourceScatterNdUpdate", {-20, 2, 3, 4, 5, 30}}, {"ResourceScatterNdAdd", {-19, 2, 3, 4, 5, 46}},
      {"ResourceScatterNdSub", {21, 2, 3, 4, 5, -34}},    {"ResourceScatterNdMin", {-20, 2, 3, 4, 5, 6}},
      {"ResourceScatterNdMax", {1, 2, 3, 4, 5, 30}},
  };
  for (const auto& c : cases) {
    Run({Do("AssignVariableOp", v, Matrix())});
    Run({Scatter(c.op, v, at, updates)});
    EXPECT_EQ(Floats(Read(v)), c.after) << c.op;
  }
}

TEST_F(VariableKernelsTest, ScattersRefuseWhatTheyCannotDo) {
  Output v = Handle("v"), n = Handle("n", DType::kInt32);
  Run({Do("AssignVariableOp", v, Matrix()), Do("AssignVariableOp", n, Tensor::Vector<int32_t>({7, 8}))});
  const Tensor far = Tensor::Of<int32_t>({1, 2}, {0, 2});
  EXPECT_THAT(Message(Scatter("ResourceScatterNdAdd", v, far, Tensor::Vector<float>({1}))), HasSubstr("[0, 2]"));
  Node* const ignoring = NodeBuilder(scope_, "ResourceScatterNdAdd")
                             .Input(v)
                             .Input(far)
                             .Input(Tensor::Vector<float>({1}))
                             .Attr("bad_indices_policy", "IGNORE")
                             .Finish();
  Run({ignoring});
  EXPECT_THAT(Floats(Read(v)), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(
      Message(Scatter("ResourceScatterDiv", n, Tensor::Vector<int32_t>({0, 1}), Tensor::Vector<int32_t>({2, 0}))),
      HasSubstr("integer 0"));
  EXPECT_THAT(Fetch(Read(n, DType::kInt32)).flat<int32_t>(), ElementsAre(7, 8));
  Output c = Handle("c", DType::kComplex64);
  Run({Do("AssignVariableOp", c, Tensor::Vector<std::complex<float>>({{1, 2}}))});
  EXPECT_THAT(Message(Scatter("ResourceScatterMax", c, Tensor::Vector<int32_t>({0}),
                              Tensor::Vector<std::complex<float>>({{1, 2}}))),
              HasSubstr("complex64"));
}

TEST_F(VariableKernelsTest, ShapeOfAVariable) {
  Output v = Handle("v");
  Run({Do("AssignVariableOp", v, Matrix())});
  const Tensor shape = Fetch(ops::VariableShape(scope_, v, {.out_type = DType::kInt64}));
  EXPECT_TRUE(BitwiseEqual(shape, Tensor::Vector<int64_t>({3, 2})));
}

// ---- order and threads ----

TEST_F(VariableKernelsTest, ControlEdgesOrderReadsAndWrites) {
  Output v = Handle("v");
  Run({Do("AssignVariableOp", v, Tensor::Scalar(1.0f))});
  Output before = Read(v);
  Node* const add = NodeBuilder(scope_.WithControl({before.node()}), "AssignAddVariableOp")
                        .Input(v)
                        .Input(Tensor::Scalar(1.0f))
                        .Finish();
  Output after = ops::ReadVariableOp(scope_.WithControl({add}), v, DType::kFloat);
  for (int i = 0; i < 200; ++i) {
    std::vector<Tensor> values;
    ASSERT_TRUE(session_.Run({}, {before, after}, &values).ok());
    EXPECT_EQ(values[0].scalar<float>(), 1 + i);
    EXPECT_EQ(values[1].scalar<float>(), 2 + i);
  }
}

TEST_F(VariableKernelsTest, AValueThatWasReadStays) {
  Output v = Handle("v");
  Run({Do("AssignVariableOp", v, Matrix())});
  const Tensor read = Fetch(Read(v));
  Run({Do("AssignAddVariableOp", v, Matrix())});
  Run({Scatter("ResourceScatterUpdate", v, Tensor::Vector<int32_t>({0}), Tensor::Of<float>({1, 2}, {9, 9}))});
  EXPECT_TRUE(BitwiseEqual(read, Matrix()));
}

TEST_F(VariableKernelsTest, ConcurrentUpdatesLoseNothing) {
  Output v = Handle("v");
  Run({Do("AssignVariableOp", v, Tensor::Of<float>({4, 2}, {0, 0, 0, 0, 0, 0, 0, 0}))});
  Node* const add = Do("AssignAddVariableOp", v, Tensor::Of<float>({4, 2}, {1, 1, 1, 1, 1, 1, 1, 1}));
  Node* const scatter = Scatter("ResourceScatterAdd", v, Tensor::Vector<int32_t>({0, 2, 0}),
                                Tensor::Of<float>({3, 2}, {1, 1, 1, 1, 1, 1}));
  ASSERT_TRUE(scope_.ok()) << scope_.status();
  constexpr int kThreads = 4, kRuns = 100;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kRuns; ++i) EXPECT_TRUE(session_.Run({}, {}, {add, scatter}, nullptr).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  const float n = kThreads * kRuns;
  EXPECT_THAT(Floats(Read(v)), ElementsAre(3 * n, 3 * n, n, n, 2 * n, 2 * n, n, n));
}

// ---- rows ----

TEST_F(VariableKernelsTest, ScattersCombineInTheOrderOfTheIndices) {
  Output v = Handle("v");
  const Tensor rows = Tensor::Vector<int64_t>({2, 0, 2}), updates = Tensor::Of<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  Run({Do("AssignVariableOp", v, Matrix())});
  Run({Scatter("ResourceScatterAdd", v, rows, updates)});
  EXPECT_THAT(Floats(Read(v)), ElementsAre(4, 6, 3, 4, 11, 14));
  Run({Scatter("ResourceScatterSub", v, rows, updates)});
  EXPECT_THAT(Floats(Read(v)), ElementsAre(1, 2, 3, 4, 5, 6));
  Run({Scatter("ResourceScatterUpdate", v, rows, updates)});
  EXPECT_THAT(Floats(Read(v)), ElementsAre(3, 4, 3, 4, 5, 6));
  Run({Scatter("ResourceScatterAdd", v, Tensor::Vector<int32_t>({1}), Tensor::Scalar(10.0f))});
  EXPECT_THAT(Floats(Read(v)), ElementsAre(3, 4, 13, 14, 5, 6));
}

TEST_F(VariableKernelsTest, GathersRowsAndTuples) {
  Output v = Handle("v");
  Run({Do("AssignVariableOp", v, Matrix())});
  EXPECT_THAT(Floats(ops::ResourceGather(scope_, v, Tensor::Vector<int32_t>({2, 0}), DType::kFloat)),
              ElementsAre(5, 6, 1, 2));
  EXPECT_THAT(
      Floats(ops::ResourceGather(scope_, v, Tensor::Of<int32_t>({3, 1}, {1, 0, 1}), DType::kFloat, {.batch_dims = 1})),
      ElementsAre(2, 3, 6));
  EXPECT_THAT(Floats(ops::ResourceGatherNd(scope_, v, Tensor::Of<int32_t>({2, 2}, {2, 1, 0, 0}), DType::kFloat)),
              ElementsAre(6, 1));
  EXPECT_THAT(Floats(ops::ResourceGatherNd(scope_, v, Tensor::Of<int64_t>({1, 1}, {1}), DType::kFloat)),
              ElementsAre(3, 4));
}

TEST_F(VariableKernelsTest, BadIndicesAreRefusedAndChangeNothing) {
  Output v = Handle("v");
  Run({Do("AssignVariableOp", v, Matrix())});
  for (int32_t bad : {-1, 3, 2147483647}) {
    const Tensor rows = Tensor::Vector<int32_t>({0, bad});
    const std::string text = std::to_string(bad);
    EXPECT_THAT(Message(ops::ResourceGather(scope_, v, rows, DType::kFloat).node()), HasSubstr(text));
    EXPECT_THAT(Message(ops::ResourceGatherNd(scope_, v, Tensor::Of<int32_t>({1, 2}, {0, bad}), DType::kFloat).node()),
                HasSubstr(text));
    for (const char* op : {"ResourceScatterAdd", "ResourceScatterSub", "ResourceScatterUpdate"}) {
      EXPECT_THAT(Message(Scatter(op, v, rows, Tensor::Of<float>({2, 2}, {1, 1, 1, 1}))), HasSubstr(text)) << op;
    }
  }
  EXPECT_THAT(
      Message(Scatter("ResourceScatterAdd", v, Tensor::Vector<int32_t>({0}), Tensor::Of<float>({1, 3}, {1, 1, 1}))),
      HasSubstr("[1,3]"));
  EXPECT_TRUE(BitwiseEqual(Fetch(Read(v)), Matrix()));
}

// ---- gradients ----

TEST_F(VariableKernelsTest, GradientsOfGathersAreThoseOfTheVariable) {
  Output v = Handle("v", DType::kFloat, {3, 2});
  Run({Do("AssignVariableOp", v, Matrix())});
  Output rows = ops::ResourceGather(scope_, v, Tensor::Vector<int32_t>({2, 0, 2}), DType::kFloat);
  absl::StatusOr<Grads> grads = Gradients(scope_, {rows * rows}, {v});
  ASSERT_TRUE(grads.ok()) << grads.status();
  EXPECT_TRUE((*grads)[0].is_slices());
  EXPECT_THAT(Floats(ToDense(scope_, (*grads)[0])), ElementsAre(2, 4, 0, 0, 20, 24));

  Output elements = ops::ResourceGatherNd(scope_, v, Tensor::Of<int32_t>({2, 2}, {2, 1, 2, 1}), DType::kFloat);
  grads = Gradients(scope_, {elements * 3.0}, {v});
  ASSERT_TRUE(grads.ok()) << grads.status();
  EXPECT_THAT(Floats(ToDense(scope_, (*grads)[0])), ElementsAre(0, 0, 0, 0, 0, 6));
}

}  // namespace
}  // namespace nabla
