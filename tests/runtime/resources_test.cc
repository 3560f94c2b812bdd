#include "nabla/runtime/resources.h"

#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace nabla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::shared_ptr<Resource> MakeVariable() { return std::make_shared<Variable>(); }

TEST(VariableTest, UninitializedReadNamesTheVariable) {
  Variable variable;
  const absl::Status status = variable.Read("layer/w").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("'layer/w'"));
}

TEST(VariableTest, AValueThatWasReadNeverChanges) {
  Variable variable;
  variable.Assign(Tensor::Of<float>({8}, {1, 2, 3, 4, 5, 6, 7, 8}));
  const Tensor read = *variable.Read("v");
  {
    std::unique_lock<std::shared_mutex> lock(variable.mutex());
    ASSERT_TRUE(variable.MakeExclusive().ok());
    variable.mutable_value().data<float>()[0] = 100;
  }
  EXPECT_EQ(read.data<float>()[0], 1);
  EXPECT_EQ(variable.Read("v")->data<float>()[0], 100);
}

TEST(VariableTest, AnUnsharedValueIsNotCopied) {
  Variable variable;
  variable.Assign(Tensor::Of<float>({8}, {1, 2, 3, 4, 5, 6, 7, 8}));
  std::unique_lock<std::shared_mutex> lock(variable.mutex());
  const void* bytes = variable.value().raw_data();
  ASSERT_TRUE(variable.MakeExclusive().ok());
  EXPECT_EQ(variable.value().raw_data(), bytes);
}

TEST(VariableTest, MakeExclusiveCopiesStrings) {
  Variable variable;
  variable.Assign(Tensor::Vector<std::string>({"a", "b"}));
  const Tensor read = *variable.Read("v");
  std::unique_lock<std::shared_mutex> lock(variable.mutex());
  ASSERT_TRUE(variable.MakeExclusive().ok());
  variable.mutable_value().data<std::string>()[0] = "changed";
  EXPECT_EQ(read.data<std::string>()[0], "a");
  EXPECT_EQ(variable.value().data<std::string>()[1], "b");
}

TEST(VariableTest, ConcurrentUpdatesAreAllCounted) {
  Variable variable;
  variable.Assign(Tensor::Of<int64_t>({4}, {0, 0, 0, 0}));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 500; ++round) {
        {
          std::unique_lock<std::shared_mutex> lock(variable.mutex());
          ASSERT_TRUE(variable.MakeExclusive().ok());
          for (int64_t& element : variable.mutable_value().flat<int64_t>()) ++element;
        }
        const Tensor seen = *variable.Read("v");
        // All elements were raised under one lock.
        EXPECT_EQ(seen.data<int64_t>()[0], seen.data<int64_t>()[3]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(variable.Read("v")->data<int64_t>()[0], 2000);
}

TEST(ResourceContainerTest, CreatesOnce) {
  ResourceContainer container;
  EXPECT_EQ(container.Lookup("", "v"), nullptr);
  const auto first = container.LookupOrCreate("", "v", MakeVariable);
  EXPECT_EQ(container.LookupOrCreate("", "v", MakeVariable), first);
  EXPECT_EQ(container.Lookup("", "v"), first);
  EXPECT_NE(container.LookupOrCreate("other", "v", MakeVariable), first);
  EXPECT_THAT(container.Names(), ElementsAre("v", "other/v"));
}

TEST(ResourceContainerTest, RemoveKeepsWhatIsStillHeld) {
  ResourceContainer container;
  const auto variable = container.LookupOrCreate("", "v", MakeVariable);
  EXPECT_TRUE(container.Remove("", "v").ok());
  EXPECT_EQ(container.Remove("", "v").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(container.Lookup("", "v"), nullptr);
  EXPECT_EQ(variable->TypeName(), "Variable");
  EXPECT_NE(container.LookupOrCreate("", "v", MakeVariable), variable);
  container.Clear();
  EXPECT_TRUE(container.Names().empty());
}

class Clock : public Resource {
 public:
  absl::string_view TypeName() const override { return "Clock"; }
};

TEST(VariableFromHandleTest, ChecksWhatTheHandleIs) {
  auto variable = std::make_shared<Variable>();
  const Tensor handle = Tensor::Scalar(ResourceHandle("", "v", variable));
  EXPECT_EQ(*VariableFromHandle(handle), variable.get());

  EXPECT_THAT(std::string(VariableFromHandle(Tensor::Scalar(1.0f)).status().message()), HasSubstr("float"));
  EXPECT_THAT(std::string(VariableFromHandle(Tensor::Scalar(ResourceHandle())).status().message()),
              HasSubstr("empty handle"));
  const Tensor clock = Tensor::Scalar(ResourceHandle("", "c", std::make_shared<Clock>()));
  EXPECT_THAT(std::string(VariableFromHandle(clock).status().message()), HasSubstr("'c' is a Clock"));
  EXPECT_EQ(VariableFromHandle(Tensor(DType::kResource, Shape({0}))).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace nabla
