// Runs a fuzzer as an ordinary test: on the seeds named on the command line and
// on mutations of them. The random numbers are fixed, so a failure repeats, and
// an input under which the program dies is left behind in a file.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

constexpr int kMutations = 4000;
constexpr size_t kMaxSize = 1 << 16;

std::vector<std::string> seeds;

// What is being run, for the signal handler.
const char* current_data = nullptr;
size_t current_size = 0;
char crash_file[4096] = "";

void OnCrash(int signal) {
  const int file = open(crash_file, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file >= 0) {
    [[maybe_unused]] ssize_t written = write(file, current_data, current_size);
    close(file);
  }
  std::signal(signal, SIG_DFL);
  raise(signal);
}

void Feed(const std::string& input) {
  current_data = input.data();
  current_size = input.size();
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

// One to four small changes: a flipped bit, an odd byte, a piece cut out,
// repeated, or taken from another seed.
std::string Mutate(std::string s, std::mt19937& random) {
  auto below = [&](size_t n) { return n == 0 ? 0 : random() % n; };
  for (size_t n = 1 + below(4); n > 0; --n) {
    const size_t at = below(s.size());
    const size_t length = below(std::min<size_t>(s.size() - at, 64) + 1);
    switch (below(6)) {
      case 0:
        if (!s.empty()) s[at] ^= static_cast<char>(1 << below(8));
        break;
      case 1: {
        constexpr unsigned char kOdd[] = {0x00, 0x01, 0x7f, 0x80, 0xff, '-', '9', '"'};
        if (!s.empty()) s[at] = static_cast<char>(kOdd[below(std::size(kOdd))]);
        break;
      }
      case 2:
        s.erase(at, length);
        break;
      case 3:
        s.insert(at, s.substr(at, length));
        break;
      case 4: {
        const std::string& other = seeds[below(seeds.size())];
        const size_t from = below(other.size());
        s.insert(at, other.substr(from, below(256)));
        break;
      }
      case 5:
        s.insert(at, length, static_cast<char>(random()));
        break;
    }
  }
  if (s.size() > kMaxSize) s.resize(kMaxSize);
  return s;
}

TEST(Fuzz, Seeds) {
  Feed("");
  for (const std::string& seed : seeds) Feed(seed);
}

TEST(Fuzz, Mutations) {
  std::mt19937 random(20);
  if (seeds.empty()) seeds.push_back("");
  for (int i = 0; i < kMutations; ++i) {
    Feed(Mutate(seeds[random() % seeds.size()], random));
  }
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    if (!file) {
      std::fprintf(stderr, "cannot read seed %s\n", argv[i]);
      return 1;
    }
    seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  const char* folder = std::getenv("TEST_UNDECLARED_OUTPUTS_DIR");
  std::snprintf(crash_file, sizeof(crash_file), "%s/crash-input", folder != nullptr ? folder : ".");
  for (int s : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS, SIGILL}) {
    std::signal(s, OnCrash);
  }
  return RUN_ALL_TESTS();
}
