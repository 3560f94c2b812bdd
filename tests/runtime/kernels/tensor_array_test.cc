// TensorArrays and stacks; values and what is refused as in TensorFlow 2.21.
#include <functional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nabla/ops/ops.h"
#include "nabla/ops/registration.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/resources.h"
#include "nabla/runtime/session.h"

namespace nabla {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TensorArrayTest : public ::testing::Test {
 protected:
  TensorArrayTest() : scope_(&graph_) {
    RegisterAllOps();
    RegisterAllKernels();
  }

  ops::TensorArrayV3Outputs Array(int size, const ops::TensorArrayV3Attrs& attrs = {}) {
    return ops::TensorArrayV3(scope_.Named("array"), size, DType::kFloat, attrs);
  }
  Output Vector(std::vector<float> values) { return ops::Const(scope_, Tensor::Vector<float>(values)); }
  Output Write(const ops::TensorArrayV3Outputs& array, int index, Output value, Output flow) {
    return ops::TensorArrayWriteV3(scope_, array.handle, index, value, flow);
  }
  Output Read(Output handle, int index, Output flow) {
    return ops::TensorArrayReadV3(scope_, handle, index, flow, DType::kFloat);
  }
  Output Size(Output handle, Output flow) { return ops::TensorArraySizeV3(scope_, handle, flow); }

  std::vector<Tensor> Run(const Outputs& fetches) {
    EXPECT_TRUE(scope_.ok()) << scope_.status();
    Session session(&graph_);
    std::vector<Tensor> out;
    const absl::Status status = session.Run({}, fetches, &out);
    EXPECT_TRUE(status.ok()) << status;
    if (!status.ok()) out.assign(fetches.size(), Tensor::Vector<float>({}));
    return out;
  }
  std::string Error(const Outputs& fetches) {
    EXPECT_TRUE(scope_.ok()) << scope_.status();
    Session session(&graph_);
    std::vector<Tensor> out;
    const absl::Status status = session.Run({}, fetches, &out);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return std::string(status.message());
  }

  Graph graph_;
  Scope scope_;
};

TEST_F(TensorArrayTest, ElementsAreWrittenAndRead) {
  const auto array = Array(3);
  const Output flow = Write(array, 1, Vector({1, 2}), Write(array, 2, Vector({3}), array.flow));
  const std::vector<Tensor> out =
      Run({Read(array.handle, 1, flow), Read(array.handle, 2, flow), Size(array.handle, flow)});
  EXPECT_THAT(out[0].flat<float>(), ElementsAre(1, 2));
  EXPECT_THAT(out[1].flat<float>(), ElementsAre(3));
  EXPECT_EQ(out[2].scalar<int32_t>(), 3);
}

TEST_F(TensorArrayTest, ElementsNeverWrittenAreZerosIfTheirShapeIsKnown) {
  const auto known = Array(3, {.element_shape = Shape({2})});
  EXPECT_THAT(Run({Read(known.handle, 0, known.flow)})[0].flat<float>(), ElementsAre(0, 0));
  const auto unknown = Array(3);
  EXPECT_THAT(Error({Read(unknown.handle, 0, unknown.flow)}),
              AllOf(HasSubstr("element 0 of the tensor array 'array_1' was never written"), HasSubstr("<unknown>")));
}

TEST_F(TensorArrayTest, EachElementIsWrittenOnceAndReadOnce) {
  const auto array = Array(3);
  const Output once = Write(array, 0, Vector({1}), array.flow);
  EXPECT_THAT(Error({Write(array, 0, Vector({1}), once)}), HasSubstr("was written already"));
  const Output read = Read(array.handle, 0, once);
  const Output again = ops::TensorArrayReadV3(scope_.WithControl(Outputs{read}), array.handle, 0, once, DType::kFloat);
  EXPECT_THAT(Error({again}), HasSubstr("was read already"));
  const auto kept = Array(3, {.clear_after_read = false});
  const Output flow = Write(kept, 0, Vector({5}), kept.flow);
  const Output first = Read(kept.handle, 0, flow);
  const Output second = ops::TensorArrayReadV3(scope_.WithControl(Outputs{first}), kept.handle, 0, flow, DType::kFloat);
  EXPECT_THAT(Run({first, second})[1].flat<float>(), ElementsAre(5));
}

TEST_F(TensorArrayTest, IndicesAndShapesAreChecked) {
  const auto array = Array(3, {.identical_element_shapes = true});
  EXPECT_THAT(Error({Write(array, 3, Vector({1}), array.flow)}), HasSubstr("which has 3 elements"));
  EXPECT_THAT(Error({Write(array, -1, Vector({1}), array.flow)}), HasSubstr("no element -1"));
  EXPECT_THAT(Error({Read(array.handle, 3, array.flow)}), HasSubstr("which has 3 elements"));
  const Output flow = Write(array, 0, Vector({1, 2}), array.flow);
  EXPECT_THAT(Error({Write(array, 1, Vector({1, 2, 3}), flow)}), AllOf(HasSubstr("[2]"), HasSubstr("[3]")));
  const auto growing = Array(0, {.dynamic_size = true});
  EXPECT_EQ(Run({Size(growing.handle, Write(growing, 5, Vector({1}), growing.flow))})[0].scalar<int32_t>(), 6);
  EXPECT_THAT(Error({Size(Array(-1).handle, growing.flow)}), HasSubstr("size is -1"));
  const Output integer = ops::TensorArrayWriteV3(scope_, array.handle, 0, ops::Const(scope_, 1), array.flow);
  EXPECT_THAT(Error({integer}), AllOf(HasSubstr("int32"), HasSubstr("float")));
}

TEST_F(TensorArrayTest, ScatterAndGather) {
  const auto array = Array(3);
  const Output rows = ops::Const(scope_, Tensor::Of<float>({2, 2}, {1, 2, 3, 4}));
  const Output flow = ops::TensorArrayScatterV3(scope_, array.handle, {2, 0}, rows, array.flow);
  const Output gathered = ops::TensorArrayGatherV3(scope_, array.handle, {0, 2}, flow, DType::kFloat);
  const std::vector<Tensor> out = Run({gathered});
  EXPECT_EQ(out[0].shape(), Shape({2, 2}));
  EXPECT_THAT(out[0].flat<float>(), ElementsAre(3, 4, 1, 2));
  const auto none = Array(0);
  const Output nothing = ops::Const(scope_, Tensor(DType::kInt32, {0}));
  EXPECT_EQ(Run({ops::TensorArrayGatherV3(scope_, none.handle, nothing, none.flow, DType::kFloat,
                                          {.element_shape = Shape({3})})})[0]
                .shape(),
            Shape({0, 3}));
  EXPECT_THAT(Error({ops::TensorArrayGatherV3(scope_, none.handle, nothing, none.flow, DType::kFloat)}),
              HasSubstr("<unknown>"));
}

TEST_F(TensorArrayTest, SplitAndConcat) {
  const auto split = [&](const ops::TensorArrayV3Outputs& array) {
    return ops::TensorArraySplitV3(scope_, array.handle, Vector({1, 2, 3}),
                                   ops::Const(scope_, Tensor::Vector<int64_t>({1, 0, 2})), array.flow);
  };
  const auto array = Array(3);
  const auto concat = ops::TensorArrayConcatV3(scope_, array.handle, split(array), DType::kFloat);
  const std::vector<Tensor> out = Run({concat.value, concat.lengths});
  EXPECT_THAT(out[0].flat<float>(), ElementsAre(1, 2, 3));
  EXPECT_THAT(out[1].flat<int64_t>(), ElementsAre(1, 0, 2));
  EXPECT_THAT(Error({split(Array(2))}), AllOf(HasSubstr("has 2 elements"), HasSubstr("split in 3")));
  EXPECT_THAT(Error({split(Array(4))}), HasSubstr("has 4 elements"));
  const auto growing = Array(0, {.dynamic_size = true});
  EXPECT_EQ(Run({Size(growing.handle, split(growing))})[0].scalar<int32_t>(), 3);
}

TEST_F(TensorArrayTest, GradientsAddUp) {
  const auto array = Array(3);
  const Output flow = Write(array, 1, Vector({1, 2}), array.flow);
  const auto grad = ops::TensorArrayGradV3(scope_, array.handle, flow, "a");
  const auto same = ops::TensorArrayGradV3(scope_, array.handle, flow, "a");
  const auto other = ops::TensorArrayGradV3(scope_, array.handle, flow, "b");
  const Output g = ops::TensorArrayWriteV3(scope_, grad.grad_handle, 1, Vector({10, 20}), grad.flow_out);
  const Output h = ops::TensorArrayWriteV3(scope_, same.grad_handle, 1, Vector({1, 2}), g);
  const auto prefixed = ops::TensorArrayGradWithShape(scope_, array.handle, flow, {3}, "c");
  const std::vector<Tensor> out =
      Run({Read(grad.grad_handle, 1, h), Size(grad.grad_handle, h), Read(other.grad_handle, 1, other.flow_out),
           Read(prefixed.grad_handle, 1, prefixed.flow_out)});
  EXPECT_THAT(out[0].flat<float>(), ElementsAre(11, 22));
  EXPECT_EQ(out[1].scalar<int32_t>(), 3);
  EXPECT_THAT(out[2].flat<float>(), ElementsAre(0, 0)) << "never written, but as large as the element";
  EXPECT_EQ(out[3].shape(), Shape({3, 2}));
  EXPECT_THAT(Error({ops::TensorArrayWriteV3(scope_, grad.grad_handle, 1, Vector({1, 2, 3}), grad.flow_out)}),
              AllOf(HasSubstr("[2]"), HasSubstr("[3]")));
}

TEST_F(TensorArrayTest, EveryRunHasItsOwn) {
  const auto array = Array(1);
  const Output value = Read(array.handle, 0, Write(array, 0, Vector({7}), array.flow));
  ASSERT_TRUE(scope_.ok()) << scope_.status();
  Session session(&graph_);
  std::vector<Tensor> out;
  for (int run = 0; run < 3; ++run) ASSERT_TRUE(session.Run({}, {value}, &out).ok());
  EXPECT_TRUE(session.resources().Names().empty());
}

TEST_F(TensorArrayTest, ClosedArraysAndForeignHandles) {
  const auto array = Array(3);
  Node* close = ops::TensorArrayCloseV3(scope_, array.handle);
  EXPECT_THAT(Error({ops::TensorArrayWriteV3(scope_.WithControl({close}), array.handle, 0, Vector({1}), array.flow)}),
              HasSubstr("'array' is closed"));
  const Output stack = ops::StackV2(scope_, -1, DType::kFloat);
  EXPECT_THAT(Error({Read(stack, 0, array.flow)}), HasSubstr("not that of a tensor array"));
  EXPECT_THAT(Error({ops::StackPopV2(scope_, array.handle, DType::kFloat)}), HasSubstr("not that of a stack"));
}

TEST_F(TensorArrayTest, StacksGiveBackTheLastFirst) {
  const auto push = [&](Output handle, float value, const std::vector<Node*>& after) {
    return ops::StackPushV2(scope_.WithControl(after), handle, ops::Const(scope_, value));
  };
  const Output handle = ops::StackV2(scope_.Named("stack"), -1, DType::kFloat);
  const Output one = push(handle, 1, {}), two = push(handle, 2, {one.node()});
  const Output last = ops::StackPopV2(scope_.WithControl({two.node()}), handle, DType::kFloat);
  const Output first = ops::StackPopV2(scope_.WithControl({last.node()}), handle, DType::kFloat);
  const std::vector<Tensor> out = Run({last, first, one});
  EXPECT_EQ(out[0].scalar<float>(), 2);
  EXPECT_EQ(out[1].scalar<float>(), 1);
  EXPECT_EQ(out[2].scalar<float>(), 1);
  EXPECT_THAT(Error({ops::StackPopV2(scope_.WithControl({first.node()}), handle, DType::kFloat)}),
              HasSubstr("the stack 'stack' is empty"));
  const Output small = ops::StackV2(scope_.Named("small"), 1, DType::kFloat);
  EXPECT_THAT(Error({push(small, 2, {push(small, 1, {}).node()})}), HasSubstr("is full: max_size is 1"));
  Node* close = ops::StackCloseV2(scope_.WithControl({push(small, 1, {}).node()}), small);
  EXPECT_THAT(Error({ops::StackPopV2(scope_.WithControl({close}), small, DType::kFloat)}),
              HasSubstr("'small' is closed"));
}

}  // namespace
}  // namespace nabla
