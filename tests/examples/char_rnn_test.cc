// The example as a user runs it: it learns, and the graph that it writes is sampled by the command-line tool.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "nabla/nabla.h"

namespace nabla {
namespace {

using ::testing::HasSubstr;

std::string Path(const std::string& name) { return absl::StrCat(getenv("TEST_TMPDIR"), "/", name); }

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The exit status; what the program writes is in Path("stdout") and Path("stderr").
int Execute(const std::string& command) {
  const int status = std::system(absl::StrCat(command, " >", Path("stdout"), " 2>", Path("stderr")).c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// The number after the last `mark` in `text`.
double NumberAfter(const std::string& text, const std::string& mark) {
  const size_t at = text.rfind(mark);
  return at == std::string::npos ? NAN : std::strtod(text.c_str() + at + mark.size(), nullptr);
}

// A text of few words, of which a network soon knows more than what letters there are.
void WriteTexts(const std::string& folder) {
  std::filesystem::create_directories(folder);
  for (const char* name : {"a", "b"}) {
    std::ofstream file(absl::StrCat(folder, "/", name));
    for (int i = 0; i < 60; ++i) file << (i % 3 == 0 ? "the quick brown fox\n" : "jumps over the dog\n");
  }
}

TEST(CharRnnTest, LearnsAndWritesAGraphThatSamples) {
  WriteTexts(Path("texts"));
  ASSERT_EQ(Execute(absl::StrCat("examples/char_rnn --data ", Path("texts"), " --out ", Path("model"),
                                 " --units 24 --epochs 6 --batch 4 --stretch 16 --learning_rate 0.02 --sample 50")),
            0)
      << ReadFile(Path("stderr"));
  const std::string progress = ReadFile(Path("stderr")), printed = ReadFile(Path("stdout"));
  // Where there is no terminal, whole lines.
  EXPECT_FALSE(absl::StrContains(progress, "\r"));
  EXPECT_THAT(progress, HasSubstr("characters/s"));
  const double first = NumberAfter(progress, "epoch 1/6  mean loss "),
               last = NumberAfter(progress, "epoch 6/6  mean loss ");
  EXPECT_LT(last, 0.8 * first) << progress;
  // Far less than knowing nothing.
  EXPECT_LT(NumberAfter(printed, "of each text: "), 3.5) << printed;
  EXPECT_GT(NumberAfter(printed, "a trigram model: "), 0) << printed;

  const std::string text = printed.substr(printed.find("writes:\n") + 8, 50);
  ASSERT_EQ(Execute(absl::StrCat("tools/nabla run ", Path("model/sample.pb"),
                                 " --feed seed=[1,2] --feed length=50 --fetch text --out ", Path("sampled"))),
            0)
      << ReadFile(Path("stderr"));
  Initialize();
  const absl::StatusOr<Tensor> sampled = ReadNpy(Path("sampled/text.npy"));
  ASSERT_TRUE(sampled.ok()) << sampled.status();
  EXPECT_EQ(std::string(sampled->flat<uint8_t>().begin(), sampled->flat<uint8_t>().end()), text);
  // Less heat, another seed, another text; none is a text too.
  ASSERT_EQ(Execute(absl::StrCat("tools/nabla run ", Path("model/sample.pb"),
                                 " --feed seed=[3,4] --feed length=0 --feed temperature=0.5 --fetch text")),
            0)
      << ReadFile(Path("stderr"));
  EXPECT_THAT(ReadFile(Path("stdout")), HasSubstr("text: uint8 [0]"));
}

TEST(CharRnnTest, SaysWhatIsWrong) {
  EXPECT_EQ(Execute("examples/char_rnn --data /nonexistent"), 1);
  EXPECT_THAT(ReadFile(Path("stderr")), HasSubstr("char_rnn: error: /nonexistent"));
  WriteTexts(Path("texts"));
  EXPECT_EQ(Execute(absl::StrCat("examples/char_rnn --data ", Path("texts"), " --batch 500")), 1);
  EXPECT_THAT(ReadFile(Path("stderr")), HasSubstr("too few for --batch 500"));
}

}  // namespace
}  // namespace nabla
