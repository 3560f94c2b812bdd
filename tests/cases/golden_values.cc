#include "nabla/tests/cases/golden_values.h"

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "absl/strings/str_split.h"
#include "nabla/graph/check.h"
#include "nabla/tests/cases/op_case.h"

namespace nabla {
namespace {

// "double 2,3 1 2 3 4 5 6"; the shape of a scalar is "-".
Tensor ParseTensor(std::istringstream& words) {
  std::string dtype_name, dims, word;
  words >> dtype_name >> dims;
  if (dtype_name == "none") return Tensor();
  const DType dtype = ParseDType(dtype_name).value_or(DType::kInvalid);
  NABLA_CHECK(dtype != DType::kInvalid);
  Shape shape = Shape::Scalar();
  if (dims != "-") {
    for (absl::string_view dim : absl::StrSplit(dims, ',')) shape.AddDim(std::atoll(std::string(dim).c_str()));
  }
  if (dtype == DType::kString) {
    std::vector<std::string> strings;
    while (words >> word) strings.push_back(word);
    return Tensor::Of<std::string>(shape, strings);
  }
  std::vector<double> values;
  while (words >> word) values.push_back(std::strtod(word.c_str(), nullptr));
  return FromDoubles(dtype, shape, values);
}

std::map<std::string, GoldenValues> ReadAll() {
  std::map<std::string, GoldenValues> all;
  std::ifstream file("tests/golden/op_values.txt");
  std::string line;
  GoldenValues* current = nullptr;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string kind, name;
    words >> kind;
    if (kind == "case") {
      words >> name;
      current = &all[name];
    } else if (kind == "in") {
      current->inputs.push_back(ParseTensor(words));
    } else if (kind == "out") {
      current->outputs.push_back(ParseTensor(words));
    } else if (kind == "grad") {
      current->has_gradients = true;
      current->gradients.push_back(ParseTensor(words));
    }
  }
  return all;
}

}  // namespace

const GoldenValues* FindGoldenValues(const std::string& row) {
  static const auto* const all = new std::map<std::string, GoldenValues>(ReadAll());
  const auto found = all->find(row);
  return found == all->end() ? nullptr : &found->second;
}

}  // namespace nabla
