#include "nabla/examples/corpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"

namespace nabla::examples {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// An empty folder.
std::string Folder(const std::string& name) {
  const std::string path = absl::StrCat(getenv("TEST_TMPDIR"), "/", name);
  std::filesystem::remove_all(path);
  std::filesystem::create_directories(path);
  return path;
}

TEST(CorpusTest, ReadsTextsByNameAndKeepsTheirEnds) {
  const std::string folder = Folder("texts");
  std::ofstream(folder + "/second") << "cad";
  std::ofstream(folder + "/first") << "abbac";
  std::filesystem::create_symlink(folder + "/first", folder + "/link");
  const absl::StatusOr<Corpus> corpus = ReadCorpus(folder, 0.4);
  ASSERT_TRUE(corpus.ok()) << corpus.status();
  EXPECT_EQ(corpus->characters, "abcd");
  EXPECT_THAT(corpus->train, ElementsAre(0, 1, 1, 2));       // abb, c
  EXPECT_THAT(corpus->validation, ElementsAre(0, 2, 0, 3));  // ac, ad
  const absl::StatusOr<Corpus> less = ReadCorpus(folder, 0.5, 2);
  ASSERT_TRUE(less.ok()) << less.status();
  EXPECT_EQ(less->characters, "abc");
  EXPECT_THAT(less->train, ElementsAre(0, 2));
  EXPECT_THAT(less->validation, ElementsAre(1, 0));
}

TEST(CorpusTest, SaysWhatIsWrong) {
  EXPECT_EQ(ReadCorpus("/nonexistent", 0.1).status().code(), absl::StatusCode::kNotFound);
  const absl::Status empty = ReadCorpus(Folder("empty"), 0.1).status();
  EXPECT_EQ(empty.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(empty.message()), HasSubstr("empty"));
}

}  // namespace
}  // namespace nabla::examples
