// Activations, biases, softmax and losses.
#include <algorithm>
#include <cmath>

#include "nabla/tests/cases/op_case.h"
#include "nabla/tests/cases/reference.h"

namespace nabla {
namespace {

constexpr double kSeluScale = 1.0507009873554805, kSeluAlpha = 1.6732632423543772;
constexpr double kLeak = 0.25;

double Relu(double x) { return std::max(x, 0.0); }
double Relu6(double x) { return std::min(std::max(x, 0.0), 6.0); }
double Elu(double x) { return x > 0 ? x : std::expm1(x); }
double Selu(double x) { return kSeluScale * (x > 0 ? x : kSeluAlpha * std::expm1(x)); }
double Softplus(double x) { return std::log1p(std::exp(x)); }
double Softsign(double x) { return x / (std::fabs(x) + 1); }
double LeakyRelu(double x) { return x > 0 ? x : kLeak * x; }

std::vector<double> Softmax(const std::vector<double>& row) {
  std::vector<double> result;
  double sum = 0;
  for (double x : row) sum += std::exp(x);
  for (double x : row) result.push_back(std::exp(x) / sum);
  return result;
}

std::vector<double> LogSoftmax(const std::vector<double>& row) {
  std::vector<double> result = Softmax(row);
  for (double& y : result) y = std::log(y);
  return result;
}

void AddActivations(std::vector<OpCase>* rows) {
  for (const auto& [op, fn] : std::vector<std::pair<const char*, double (*)(double)>>{{"Relu", Relu},
                                                                                      {"Relu6", Relu6},
                                                                                      {"Elu", Elu},
                                                                                      {"Selu", Selu},
                                                                                      {"Softplus", Softplus},
                                                                                      {"Softsign", Softsign},
                                                                                      {"LeakyRelu", LeakyRelu}}) {
    const bool leaky = fn == LeakyRelu;
    std::vector<std::pair<const char*, Attr>> attrs;
    if (leaky) attrs.push_back({"alpha", static_cast<float>(kLeak)});
    const CaseInput x = fn == Relu6 ? Values({2, 3}, {-1, 0.5, 3, 5.5, 7, -0.25}) : In({2, 3});
    rows->push_back({op, {.attrs = attrs, .inputs = {x}, .reference = Map(fn)}});
    rows->push_back({op, {.name = "at_zero", .attrs = attrs, .inputs = {Values({4}, {0, 6, -1, 1})}, .at_kink = true}});
    rows->push_back(
        {op, {.name = "big", .attrs = attrs, .inputs = {In({301, 203})}, .reference = Map(fn), .big = true}});
    // Where e^x overflows or vanishes.
    rows->push_back({op,
                     {.name = "far",
                      .attrs = attrs,
                      .inputs = {Values({4}, {-1000, -50, 50, 1000})},
                      .narrow = false,
                      .at_kink = true}});
    const std::string grad = std::string(op) + "Grad";
    // The argument, or for some the value.
    const CaseInput known = op == std::string("Relu6") ? x
                            : op == std::string("Elu") || op == std::string("Selu")
                                ? Values({2, 3}, {-0.75, -0.5, -0.25, 0.5, 1.5, 2})
                                : In({2, 3});
    const bool golden = fn != Softsign;  // TensorFlow has no gradient for SoftsignGrad
    rows->push_back({grad, {.attrs = attrs, .inputs = {In({2, 3}), known}, .golden_gradient = golden}});
    rows->push_back({grad,
                     {.name = "at_zero",
                      .attrs = attrs,
                      .inputs = {Values({4}, {1, 2, 3, 4}), Values({4}, {0, 6, -0.5, 1})},
                      .at_kink = true,
                      .golden_gradient = golden}});
    rows->push_back(
        {grad, {.name = "big", .attrs = attrs, .inputs = {In({301, 203}), In({301, 203}, -0.75, 0.75)}, .big = true}});
  }
  rows->push_back(
      {"Relu",
       {.name = "integers", .inputs = {In({2, 3})}, .reference = Map(Relu), .integers = true, .gradient = false}});
  rows->push_back({"Relu", {.name = "nan", .inputs = {Values({2}, {NAN, 1})}, .gradient = false}});
}

void AddBiases(std::vector<OpCase>* rows) {
  rows->push_back({"BiasAdd", {.inputs = {In({2, 3}), In({3})}, .integers = true}});
  rows->push_back(
      {"BiasAdd", {.name = "nhwc", .attrs = {{"data_format", "NHWC"}}, .inputs = {In({2, 2, 1, 3}), In({3})}}});
  rows->push_back(
      {"BiasAdd", {.name = "nchw", .attrs = {{"data_format", "NCHW"}}, .inputs = {In({2, 3, 1, 2}), In({3})}}});
  rows->push_back({"BiasAdd", {.name = "big", .inputs = {In({301, 203}), In({203})}, .big = true}});
  rows->push_back({"BiasAdd",
                   {.name = "big_nchw",
                    .attrs = {{"data_format", "NCHW"}},
                    .inputs = {In({31, 20, 9, 11}), In({20})},
                    .big = true}});
  rows->push_back({"BiasAddV1", {.inputs = {In({2, 2, 3}), In({3})}}});
  rows->push_back({"BiasAddGrad", {.inputs = {In({2, 3})}}});
  rows->push_back({"BiasAddGrad", {.name = "nhwc", .inputs = {In({2, 2, 1, 3})}}});
  rows->push_back({"BiasAddGrad", {.name = "nchw", .attrs = {{"data_format", "NCHW"}}, .inputs = {In({2, 3, 1, 2})}}});
  rows->push_back({"BiasAddGrad", {.name = "big", .inputs = {In({301, 203})}, .big = true}});
}

void AddSoftmax(std::vector<OpCase>* rows) {
  rows->push_back({"Softmax", {.inputs = {In({2, 3})}, .reference = Rows(Softmax)}});
  rows->push_back({"Softmax", {.name = "cube", .inputs = {In({2, 2, 3})}, .reference = Rows(Softmax)}});
  rows->push_back({"Softmax", {.name = "vector", .inputs = {In({4})}, .reference = Rows(Softmax)}});
  rows->push_back(
      {"Softmax",
       {.name = "far", .inputs = {Values({2, 2}, {1000, 999, -1000, 1000})}, .narrow = false, .at_kink = true}});
  rows->push_back({"Softmax", {.name = "big", .inputs = {In({301, 203})}, .reference = Rows(Softmax), .big = true}});
  rows->push_back({"LogSoftmax", {.inputs = {In({2, 3})}, .reference = Rows(LogSoftmax)}});
  rows->push_back({"LogSoftmax", {.name = "cube", .inputs = {In({2, 2, 3})}, .reference = Rows(LogSoftmax)}});
  rows->push_back(
      {"LogSoftmax",
       {.name = "far", .inputs = {Values({2, 2}, {1000, 999, -1000, 1000})}, .narrow = false, .at_kink = true}});
  rows->push_back(
      {"LogSoftmax", {.name = "big", .inputs = {In({301, 203})}, .reference = Rows(LogSoftmax), .big = true}});

  // The labels add up to 1, as the op takes for granted. TensorFlow's gradient leaves out what comes to the labels
  // through the second output.
  const CaseInput two_labels = Values({2, 3}, {0.25, 0.5, 0.25, 0.125, 0.125, 0.75});
  const char* const dense = "SoftmaxCrossEntropyWithLogits";
  rows->push_back({dense, {.inputs = {In({2, 3}), two_labels}, .golden_gradient = false}});
  rows->push_back({dense,
                   {.name = "shared_labels",
                    .inputs = {In({3, 4}), Values({1, 4}, {0.25, 0.5, 0.125, 0.125})},
                    .golden_gradient = false}});
  rows->push_back(
      {dense,
       {.name = "shared_features",
        .inputs = {In({1, 4}), Values({3, 4}, {0.25, 0.5, 0.125, 0.125, 0.5, 0.25, 0.125, 0.125, 1, 0, 0, 0})},
        .golden_gradient = false}});
  rows->push_back({dense, {.name = "big", .inputs = {In({301, 203}), In({301, 203}, 0.125, 1)}, .big = true}});
  const char* const sparse = "SparseSoftmaxCrossEntropyWithLogits";
  rows->push_back({sparse, {.inputs = {In({2, 3}), Fed(Ints({2, 0}))}}});
  rows->push_back({sparse, {.name = "int64", .inputs = {In({3, 2}), Fed(Ints({1, 0, 1}, DType::kInt64))}}});
  std::vector<double> labels(301);
  for (size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<double>(i * 7 % 203);
  rows->push_back({sparse, {.name = "big", .inputs = {In({301, 203}), Fed(Ints(labels))}, .big = true}});

  CaseInput predictions = Values({3, 4}, {0.5, 0.25, 1, 0.75, 0.5, 0.5, 0.5, 0.25, 1, 2, 3, 4});
  predictions.dtype = DType::kFloat;
  rows->push_back({"InTopK", {.attrs = {{"k", 2}}, .inputs = {predictions, Fed(Ints({3, 1, 0}))}}});
  rows->push_back({"InTopKV2", {.inputs = {predictions, Fed(Ints({0, 3, 3})), Int(1)}}});
}

}  // namespace

std::vector<OpCase> NnCases() {
  std::vector<OpCase> rows;
  AddActivations(&rows);
  AddBiases(&rows);
  AddSoftmax(&rows);
  return rows;
}

}  // namespace nabla
