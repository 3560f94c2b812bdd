// Random numbers: bit for bit TensorFlow's. Every check runs in a session of its own, so the stateful ops' first
// numbers are compared; later ones are in tests/runtime/kernels/random_kernels_test.cc.
#include <numeric>

#include "absl/strings/str_cat.h"
#include "nabla/tests/cases/op_case.h"

namespace nabla {
namespace {

constexpr DType kFloating[] = {DType::kFloat, DType::kDouble, DType::kHalf, DType::kBFloat16};

using Attrs = std::vector<std::pair<const char*, Attr>>;

void Add(const char* op, std::string name, Attrs attrs, std::vector<CaseInput> inputs, bool big,
         std::vector<OpCase>* rows) {
  rows->push_back({op,
                   {.name = std::move(name),
                    .attrs = std::move(attrs),
                    .inputs = std::move(inputs),
                    .narrow = false,
                    .golden_tolerance = 0,
                    .big = big}});
}

CaseInput Rows(int64_t rows) {
  std::vector<double> values(rows * 2);
  std::iota(values.begin(), values.end(), 0);
  return IntsOf({rows, 2}, values);
}

}  // namespace

std::vector<OpCase> RandomCases() {
  std::vector<OpCase> rows;
  const CaseInput seed = Fed(Ints({7, -3}, DType::kInt64)), key = Fed(Ints({123456789}, DType::kUInt64)),
                  counter = Fed(Ints({1, 987654321}, DType::kUInt64)), alg = Int(1);
  for (DType dtype : kFloating) {
    for (int64_t count : {1, 3, 8, 21, 30001}) {
      const std::string name = absl::StrCat(DTypeName(dtype), "_", count);
      const bool big = count > 100;
      const CaseInput shape = Ints({static_cast<double>(count)});
      for (const auto& [op, v2] : {std::make_pair("StatelessRandomUniform", "StatelessRandomUniformV2"),
                                   std::make_pair("StatelessRandomNormal", "StatelessRandomNormalV2"),
                                   std::make_pair("StatelessTruncatedNormal", "StatelessTruncatedNormalV2")}) {
        Add(op, name, {{"dtype", dtype}}, {shape, seed}, big, &rows);
        if (count == 8 || count == 21) Add(v2, name, {{"dtype", dtype}}, {shape, key, counter, alg}, false, &rows);
      }
      for (const char* op : {"RandomUniform", "RandomStandardNormal", "TruncatedNormal"}) {
        Add(op, name, {{"dtype", dtype}, {"seed", 5}, {"seed2", 6}}, {shape}, big, &rows);
      }
    }
  }
  const CaseInput cube = Ints({2, 3, 5});
  for (DType dtype : {DType::kInt32, DType::kInt64}) {
    const std::string name(DTypeName(dtype));
    const CaseInput low = Fed(Int(-5, dtype)), high = Fed(Int(100000, dtype));
    Add("StatelessRandomUniformInt", name, {}, {cube, seed, low, high}, false, &rows);
    Add("StatelessRandomUniformIntV2", name, {}, {cube, key, counter, alg, low, high}, false, &rows);
    Add("RandomUniformInt", name, {{"seed", 5}, {"seed2", 6}}, {cube, low, high}, false, &rows);
    Add("RandomUniformInt", name + "_big", {{"seed", 5}, {"seed2", 6}}, {Ints({30001}), low, high}, true, &rows);
  }
  for (DType dtype : {DType::kUInt32, DType::kUInt64}) {
    Add("StatelessRandomUniformIntV2", std::string(DTypeName(dtype)), {},
        {cube, key, counter, alg, Fed(Int(5, dtype)), Fed(Int(100000, dtype))}, false, &rows);
    rows.back().spec.golden = false;  // TensorFlow has no kernel for it
  }
  for (DType dtype : {DType::kInt32, DType::kInt64, DType::kUInt32, DType::kUInt64}) {
    const std::string name(DTypeName(dtype));
    Add("StatelessRandomUniformFullInt", name, {{"dtype", dtype}}, {cube, seed}, false, &rows);
    Add("StatelessRandomUniformFullIntV2", name, {{"dtype", dtype}}, {cube, key, counter, alg}, false, &rows);
  }
  Add("StatelessRandomUniform", "int32_seed", {{"dtype", DType::kFloat}}, {cube, Fed(Ints({7, -3}))}, false, &rows);
  Add("StatelessRandomUniform", "empty", {{"dtype", DType::kFloat}}, {Ints({2, 0}), seed}, false, &rows);
  Add("StatelessRandomGetKeyCounter", "", {}, {seed}, false, &rows);
  Add("StatelessRandomGetAlg", "", {}, {}, false, &rows);
  for (int64_t count : {1, 2, 10, 37}) {
    Add("RandomShuffle", absl::StrCat(count), {{"seed", 5}, {"seed2", 6}}, {Fed(Rows(count))}, false, &rows);
    Add("StatelessShuffle", absl::StrCat(count), {}, {Fed(Rows(count)), key, counter, alg}, false, &rows);
  }
  return rows;
}

}  // namespace nabla
