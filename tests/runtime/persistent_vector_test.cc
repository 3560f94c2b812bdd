#include "nabla/runtime/persistent_vector.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace nabla {
namespace {

// An element that can be counted.
using Element = std::shared_ptr<int>;
Element Make(int value) { return std::make_shared<int>(value); }

void ExpectEqual(const PersistentVector<Element>& got, const std::vector<Element>& want) {
  ASSERT_EQ(got.size(), static_cast<int64_t>(want.size()));
  for (size_t i = 0; i < want.size(); ++i) ASSERT_EQ(got[i], want[i]) << i;
  // What is visited is what is set, in order, and nothing behind the end.
  size_t next = 0;
  const absl::Status status = got.ForEach([&](int64_t i, const Element& element) -> absl::Status {
    if (element == nullptr) return absl::OkStatus();
    while (next < want.size() && want[next] == nullptr) ++next;
    EXPECT_EQ(i, static_cast<int64_t>(next));
    EXPECT_EQ(element, next < want.size() ? want[next] : nullptr);
    ++next;
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok());
  while (next < want.size() && want[next] == nullptr) ++next;
  EXPECT_EQ(next, want.size());
}

TEST(PersistentVector, PushesAndPops) {
  PersistentVector<Element> vector;
  std::vector<Element> want;
  // More than 8 * 16 * 16 elements: three levels above the leaves.
  for (int i = 0; i < 2500; ++i) {
    vector.push_back(Make(i));
    want.push_back(vector[i]);
  }
  ExpectEqual(vector, want);
  while (!want.empty()) {
    ASSERT_EQ(vector.pop_back(), want.back());
    want.pop_back();
    if (want.size() % 97 == 0) ExpectEqual(vector, want);
  }
  ExpectEqual(vector, {});
}

TEST(PersistentVector, DropsWhatIsPopped) {
  const Element element = Make(1);
  PersistentVector<Element> vector;
  for (int i = 0; i < 2000; ++i) vector.push_back(element);
  EXPECT_EQ(element.use_count(), 2001);
  PersistentVector<Element> copy = vector;
  EXPECT_EQ(element.use_count(), 2001);  // shared
  vector.Resize(40);
  copy.Resize(33);
  EXPECT_LE(element.use_count(), 1 + 40 + 33);
  vector.Resize(0);
  EXPECT_LE(element.use_count(), 1 + 33);
  copy = vector;
  EXPECT_EQ(element.use_count(), 1);
}

TEST(PersistentVector, UnsetElementsTakeNoMemory) {
  PersistentVector<Element> vector;
  vector.Resize((int64_t{1} << 31) - 1);
  EXPECT_EQ(vector[12345678], nullptr);
  vector.Mutable(2'000'000'000) = Make(5);
  vector.Mutable(3) = Make(4);
  EXPECT_EQ(*vector[2'000'000'000], 5);
  EXPECT_EQ(vector[2'000'000'001], nullptr);
  int64_t sum = 0;
  EXPECT_TRUE(vector
                  .ForEach([&](int64_t i, const Element& element) -> absl::Status {
                    if (element != nullptr) sum += i;
                    return absl::OkStatus();
                  })
                  .ok());
  EXPECT_EQ(sum, 2'000'000'003);
  EXPECT_EQ(vector.pop_back(), nullptr);
  vector.Resize(4);
  EXPECT_EQ(*vector.pop_back(), 4);
  vector.Resize(3000);
  EXPECT_EQ(vector[3], nullptr) << "an element that was dropped came back";
}

// Many copies that go different ways, each beside a vector that shares nothing.
TEST(PersistentVector, CopiesDoNotSeeEachOther) {
  std::mt19937 random(7);
  const auto pick = [&](size_t n) { return static_cast<size_t>(random() % n); };
  std::vector<PersistentVector<Element>> vectors(1);
  std::vector<std::vector<Element>> wants(1);
  for (int trial = 0; trial < 30000; ++trial) {
    const size_t at = pick(vectors.size());
    PersistentVector<Element>& vector = vectors[at];
    std::vector<Element>& want = wants[at];
    switch (pick(want.empty() ? 3 : 6)) {
      case 0: {
        if (vectors.size() < 6) {
          vectors.push_back(PersistentVector<Element>(vectors[at]));
          wants.push_back(std::vector<Element>(wants[at]));
        } else {
          const size_t other = pick(vectors.size());
          vectors[other] = vectors[at];
          wants[other] = wants[at];
        }
        break;
      }
      case 1: {
        for (size_t count = pick(80); count > 0; --count) {
          want.push_back(Make(trial));
          vector.push_back(want.back());
        }
        break;
      }
      case 2: {
        const size_t size = pick(5) == 0 ? pick(1 + 2 * want.size()) : want.size() + pick(1200) * (pick(20) == 0);
        want.resize(size);
        vector.Resize(static_cast<int64_t>(size));
        break;
      }
      case 3: {
        for (size_t count = pick(1 + std::min<size_t>(want.size(), 70)); count > 0; --count) {
          ASSERT_EQ(vector.pop_back(), want.back());
          want.pop_back();
        }
        break;
      }
      default: {
        const size_t i = pick(want.size());
        want[i] = Make(trial);
        vector.Mutable(static_cast<int64_t>(i)) = want[i];
      }
    }
    if (trial % 100 == 0) ExpectEqual(vector, want);
  }
  for (size_t i = 0; i < vectors.size(); ++i) ExpectEqual(vectors[i], wants[i]);
}

TEST(PersistentVector, CombinesSharingWhatOneSideLacks) {
  PersistentVector<Element> a, b;
  a.Resize(100'000);
  b.Resize(100'000);
  for (int i = 0; i < 5000; ++i) a.Mutable(i) = Make(i);
  const Element only_b = Make(70);
  b.Mutable(70'000) = only_b;
  b.Mutable(17) = Make(1000);
  const PersistentVector<Element> before = a;
  int combined = 0;
  const absl::Status status = a.Combine(b, [&](Element* mine, const Element& theirs) -> absl::Status {
    if (theirs == nullptr) return absl::OkStatus();
    ++combined;
    *mine = Make(**mine + *theirs);
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(combined, 1);
  EXPECT_EQ(*a[17], 1017);
  EXPECT_EQ(*before[17], 17);
  EXPECT_EQ(a[70'000], only_b);
  EXPECT_EQ(only_b.use_count(), 2) << "the node was copied rather than shared";
  EXPECT_EQ(a[16], before[16]);
  EXPECT_EQ(before[70'000], nullptr);
}

TEST(PersistentVector, StopsAtTheFirstError) {
  PersistentVector<Element> vector;
  for (int i = 0; i < 100; ++i) vector.push_back(Make(i));
  int seen = 0;
  const absl::Status status = vector.ForEach([&](int64_t i, const Element&) -> absl::Status {
    ++seen;
    return i == 40 ? absl::InvalidArgumentError("no") : absl::OkStatus();
  });
  EXPECT_EQ(status.message(), "no");
  EXPECT_EQ(seen, 41);
}

// For ThreadSanitizer above all: each thread pops and pushes on its own copy of one vector, and drops it at once.
TEST(PersistentVector, ThreadsChangeCopies) {
  PersistentVector<int> shared;
  for (int i = 0; i < 3000; ++i) shared.push_back(i);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&wrong, mine = shared, t]() mutable {
      for (int round = 0; round < 50; ++round) {
        PersistentVector<int> copy = mine;
        for (int i = 0; i < 60; ++i) wrong += copy.pop_back() != 2999 - i;
        for (int i = 0; i < 90; ++i) copy.push_back(t);
        wrong += copy[3029] != t || copy[100] != 100;
        if (round % 10 == 9) copy.Mutable(1) = round;
      }
    });
  }
  shared = {};
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace nabla
