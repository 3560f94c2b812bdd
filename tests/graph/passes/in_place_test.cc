#include "nabla/graph/passes/in_place.h"

#include "gmock/gmock.h"
#include "nabla/tests/graph/passes/pass_fixture.h"

namespace nabla {
namespace {

class InPlaceTest : public PassTest {
 protected:
  uint64_t Exclusive(Output output) {
    compilation_.order = graph_.TopologicalOrder();
    EXPECT_TRUE(InPlace(compilation_).ok());
    for (size_t i = 0; i < compilation_.order.size(); ++i) {
      if (compilation_.order[i] == output.node()) return compilation_.exclusive_inputs[i];
    }
    ADD_FAILURE();
    return 0;
  }
};

TEST_F(InPlaceTest, OnlyTheLastReader) {
  const Output x = Placeholder("x", Shape({2}));
  compilation_.feeds = {x};
  const Output a = Call("a", "Neg", {x});
  const Output b = Call("b", "Neg", {a});
  const Output c = Call("c", "Add", {a, b});
  EXPECT_EQ(Exclusive(a), 0u);  // a feed is the caller's
  EXPECT_EQ(Exclusive(b), 0u);  // c reads a later
  EXPECT_EQ(Exclusive(c), 3u);
}

TEST_F(InPlaceTest, NotFetchesNorConstantsNorTensorsReadTwice) {
  const Output c = Constant("c", Tensor::Vector<float>({1, 2}));
  const Output a = Call("a", "Neg", {c});
  const Output b = Call("b", "Neg", {a});
  const Output square = Call("square", "Mul", {b, b});
  const Output d = Call("d", "Add", {square, c});
  compilation_.fetches = {a};
  EXPECT_EQ(Exclusive(a), 0u);
  EXPECT_EQ(Exclusive(b), 0u);
  EXPECT_EQ(Exclusive(square), 0u);
  EXPECT_EQ(Exclusive(d), 1u);
}

TEST_F(InPlaceTest, OnlyTheFirst64Inputs) {
  const Output x = Placeholder("x", Shape({2}));
  Outputs inputs;
  for (int i = 0; i < 70; ++i) inputs.push_back(testing::Call(scope_, "Neg", {x}));
  const Output sum = Call("sum", "AddN", inputs);
  EXPECT_EQ(Exclusive(sum), ~uint64_t{0});
}

TEST_F(InPlaceTest, EachOutputForItself) {
  const Output x = Placeholder("x", Shape({2}));
  Node* two = Call("two", "TestTwo", {x}).node();
  const Output a = Call("a", "Neg", {two->output(0)});
  const Output b = Call("b", "Add", {two->output(0), two->output(1)});
  EXPECT_EQ(Exclusive(a), 0u);
  EXPECT_EQ(Exclusive(b), 3u);
}

}  // namespace
}  // namespace nabla
