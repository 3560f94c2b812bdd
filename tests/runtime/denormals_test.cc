// Numbers too small for full precision: zero in a session, as in TensorFlow's, unless it is told to keep them.
#include "nabla/runtime/denormals.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "nabla/ops/ops.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/session.h"
#include "nabla/tests/runtime/test_ops.h"

namespace nabla {
namespace {

constexpr float kTiny = 1e-39f;

// So that the compiler does not compute it.
float Half(float x) {
  volatile float half = 0.5f;
  return x * half;
}

TEST(DenormalsTest, TheModeIsOfTheThreadAndOfTheScope) {
  EXPECT_GT(Half(kTiny), 0);
  {
    const ScopedDenormals flush(true);
    EXPECT_EQ(Half(kTiny), 0);
    std::thread([] {
      const ScopedDenormals keep(false);
      EXPECT_GT(Half(kTiny), 0);
    }).join();
    {
      const ScopedDenormals keep(false);
      EXPECT_GT(Half(kTiny), 0);
    }
    EXPECT_EQ(Half(kTiny), 0);
  }
  EXPECT_GT(Half(kTiny), 0);
}

class SessionDenormalsTest : public ::testing::TestWithParam<int> {
 protected:
  SessionDenormalsTest() : scope_(&graph_) {
    RegisterAllOps();
    RegisterAllKernels();
  }

  std::vector<Tensor> Run(bool flush, const Feeds& feeds, const Outputs& fetches) {
    EXPECT_TRUE(scope_.ok()) << scope_.status();
    SessionOptions options;
    EXPECT_TRUE(options.flush_denormals);
    options.num_threads = GetParam();
    options.flush_denormals = flush;
    Session session(&graph_, options);
    std::vector<Tensor> out;
    const absl::Status status = session.Run(feeds, fetches, &out);
    EXPECT_TRUE(status.ok()) << status;
    return out;
  }

  Graph graph_;
  Scope scope_;
};

INSTANTIATE_TEST_SUITE_P(Threads, SessionDenormalsTest, ::testing::Values(1, 2, 8));

// Long enough for every thread to take part.
TEST_P(SessionDenormalsTest, EveryThreadDoesAsItIsTold) {
  constexpr int64_t kSize = 3'000'000;
  const Output x = ops::Placeholder(scope_, DType::kFloat, {.shape = {kSize}});
  const Output y = ops::Mul(scope_, x, ops::Const(scope_, 0.5f));
  // What nobody computes with is not changed.
  const Output same = ops::Identity(scope_, x);
  Tensor tiny(DType::kFloat, {kSize});
  std::fill_n(tiny.data<float>(), kSize, kTiny);
  for (const bool flush : {true, false}) {
    const std::vector<Tensor> out = Run(flush, {{x, tiny}}, {y, same});
    ASSERT_EQ(out.size(), 2);
    const auto all = [](const Tensor& tensor, float value) {
      const auto values = tensor.flat<float>();
      return std::all_of(values.begin(), values.end(), [&](float v) { return v == value; });
    };
    EXPECT_TRUE(all(out[0], flush ? 0 : kTiny / 2)) << flush;
    EXPECT_TRUE(all(out[1], kTiny)) << flush;
  }
  EXPECT_GT(Half(kTiny), 0) << "the caller's mode is set back";
}

TEST_P(SessionDenormalsTest, ConstantsAreFoldedInTheSameWay) {
  const Output y = ops::Mul(scope_, ops::Const(scope_, kTiny), ops::Const(scope_, 0.5f));
  EXPECT_EQ(Run(true, {}, {y})[0].flat<float>()[0], 0);
  EXPECT_EQ(Run(false, {}, {y})[0].flat<float>()[0], kTiny / 2);
}

// Each function gives for such a number what it gives for it or for zero, no matter how it is computed.
template <typename T>
void CheckFunctions(const std::function<std::vector<Tensor>(bool, const Feeds&, const Outputs&)>& run,
                    const Scope& scope, DType dtype) {
  std::vector<T> tiny, zeros;
  for (T x = std::numeric_limits<T>::denorm_min(); x < std::numeric_limits<T>::min(); x *= 1.37 + x) {
    x = std::max(x, std::nextafter(x, T(1)));
    tiny.insert(tiny.end(), {x, -x});
    zeros.insert(zeros.end(), {T(0), -T(0)});
  }
  const auto size = static_cast<int64_t>(tiny.size());
  const Output x = ops::Placeholder(scope, dtype, {.shape = {size}});
  const std::vector<std::string> names = {"Abs",      "Neg",      "Sign", "Square", "Sqrt", "Rsqrt", "Reciprocal",
                                          "Exp",      "Expm1",    "Log",  "Log1p",  "Sin",  "Cos",   "Tan",
                                          "Tanh",     "Sigmoid",  "Erf",  "Relu",   "Elu",  "Floor", "Ceil",
                                          "Softplus", "Softsign", "Rint", "Round"};
  Outputs ys;
  for (const std::string& name : names) ys.push_back(testing::Call(scope, name, {x}));
  const std::vector<Tensor> flushed = run(true, {{x, Tensor::Vector<T>(tiny)}}, ys);
  const std::vector<Tensor> kept = run(false, {{x, Tensor::Vector<T>(tiny)}}, ys);
  const std::vector<Tensor> of_zero = run(false, {{x, Tensor::Vector<T>(zeros)}}, ys);
  const auto same = [](T a, T b) {
    return (std::isnan(a) && std::isnan(b)) || a == b || std::abs(a - b) <= 1e-5 * std::abs(b);
  };
  for (size_t f = 0; f < names.size(); ++f) {
    for (int64_t i = 0; i < size; ++i) {
      const T got = flushed[f].flat<T>()[i], exact = kept[f].flat<T>()[i], zero = of_zero[f].flat<T>()[i];
      ASSERT_TRUE(same(got, exact) || same(got, zero))
          << names[f] << "(" << tiny[i] << ") = " << got << ", not " << exact << " or " << zero;
    }
  }
}

TEST_P(SessionDenormalsTest, FunctionsOfThem) {
  const auto run = [&](bool flush, const Feeds& feeds, const Outputs& fetches) { return Run(flush, feeds, fetches); };
  CheckFunctions<float>(run, scope_, DType::kFloat);
  CheckFunctions<double>(run, scope_, DType::kDouble);
}

}  // namespace
}  // namespace nabla
