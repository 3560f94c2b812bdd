// Trains a small network to tell ten kinds of clothes apart (Fashion-MNIST), and writes it to files.
//
// The steps are those of any training program: describe the network once, as a function from images and parameters to
// logits; append its gradients; let an optimizer use them; run the resulting graph over batches. The graph with
// everything in it, and the trained network alone, are written as GraphDef files.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nabla/examples/idx.h"
#include "nabla/examples/progress.h"
#include "nabla/examples/variable_values.h"
#include "nabla/nabla.h"

ABSL_FLAG(std::string, data, "/usr/share/datasets/fashion-mnist", "folder of the four IDX files");
ABSL_FLAG(std::string, out, "out/fashion_mnist", "folder to write train.pb, frozen.pb and the test images to");
ABSL_FLAG(int, epochs, 5, "times to go through the training images");
ABSL_FLAG(int, batch, 128, "images per step");
ABSL_FLAG(double, learning_rate, 0.001, "Adam's learning rate");
ABSL_FLAG(int, threads, 0, "threads to run on; 0: one per core");

namespace nabla::examples {
namespace {

constexpr int64_t kPixels = 28 * 28;
const std::vector<int64_t> kLayerSizes = {kPixels, 256, 128, 10};

struct DataSet {
  Tensor images;  // uint8 [n, 28, 28]
  Tensor labels;  // int32 [n]
};

absl::StatusOr<DataSet> ReadDataSet(const std::string& folder, const std::string& name) {
  DataSet data;
  NABLA_ASSIGN_OR_RETURN(data.images, ReadIdx(absl::StrCat(folder, "/", name, "-images-idx3-ubyte.gz")));
  NABLA_ASSIGN_OR_RETURN(Tensor labels, ReadIdx(absl::StrCat(folder, "/", name, "-labels-idx1-ubyte.gz")));
  if (data.images.rank() != 3 || data.images.dim(1) * data.images.dim(2) != kPixels || labels.rank() != 1 ||
      labels.dim(0) != data.images.dim(0)) {
    return absl::InvalidArgumentError(absl::StrCat(folder, "/", name, ": images ", data.images.shape().ToString(),
                                                   " and labels ", labels.shape().ToString(),
                                                   ", expected [n,28,28] and [n]"));
  }
  data.labels = Tensor(DType::kInt32, labels.shape());
  std::copy(labels.flat<uint8_t>().begin(), labels.flat<uint8_t>().end(), data.labels.data<int32_t>());
  return data;
}

// Weights and biases, one pair per layer: read from variables while training, constants in the frozen graph.
using Parameters = std::vector<std::pair<Output, Output>>;

// The network: dense layers with ReLU in between. images: uint8 [n,28,28]; result: float [n,10].
Output Logits(const Scope& scope, Output images, const Parameters& parameters) {
  Output x = ops::Reshape(scope, ops::Cast(scope, images, DType::kFloat) / 255.0, {-1, kPixels});
  for (size_t i = 0; i < parameters.size(); ++i) {
    Scope layer = scope.Sub(absl::StrCat("layer", i + 1));
    x = ops::BiasAdd(layer, ops::MatMul(layer, x, parameters[i].first), parameters[i].second);
    if (i + 1 < parameters.size()) x = ops::Relu(layer, x);
  }
  return x;
}

// The share of images whose largest logit is their label's.
Output Accuracy(const Scope& scope, Output logits, Output labels) {
  Output predictions = ops::ArgMax(scope.Named("predictions"), logits, 1, {.output_type = DType::kInt32});
  Output correct = ops::Cast(scope, ops::Equal(scope, predictions, labels), DType::kFloat);
  return ops::Mean(scope.Named("accuracy"), correct, 0);
}

struct Training {
  Output images, labels, loss, accuracy;
  Outputs variables;  // weights and biases in turn
  Node* initialize = nullptr;
  Node* step = nullptr;
};

absl::StatusOr<Training> BuildTraining(const Scope& scope, double learning_rate) {
  Training t;
  t.images = ops::Placeholder(scope.Named("images"), DType::kUInt8, {.shape = {kUnknownDim, 28, 28}});
  t.labels = ops::Placeholder(scope.Named("labels"), DType::kInt32, {.shape = {kUnknownDim}});
  Parameters parameters;
  for (size_t i = 0; i + 1 < kLayerSizes.size(); ++i) {
    Shape shape = {kLayerSizes[i], kLayerSizes[i + 1]};
    // He et al. (2015): a deviation that keeps the activations' scale through ReLU layers.
    double deviation = std::sqrt(2.0 / static_cast<double>(kLayerSizes[i]));
    Output random = ops::StatelessTruncatedNormal(scope, shape, {1, static_cast<int64_t>(i)}) * deviation;
    Output zeros = ops::Const(scope, 0.0, DType::kFloat, {kLayerSizes[i + 1]});
    Output weights = ops::NewVariable(scope, absl::StrCat("weights", i + 1), random);
    Output bias = ops::NewVariable(scope, absl::StrCat("bias", i + 1), zeros);
    parameters.emplace_back(ops::ReadVariable(scope, weights), ops::ReadVariable(scope, bias));
    t.variables.push_back(weights);
    t.variables.push_back(bias);
  }
  Output logits = Logits(scope, t.images, parameters);
  Output losses = ops::SparseSoftmaxCrossEntropyWithLogits(scope, logits, t.labels).loss;
  t.loss = ops::Mean(scope.Named("loss"), losses, 0);
  t.accuracy = Accuracy(scope, logits, t.labels);
  AdamOptimizer adam({.learning_rate = learning_rate, .epsilon = 1e-7});
  NABLA_ASSIGN_OR_RETURN(Node * step, adam.Minimize(scope, t.loss));
  t.step = ops::NoOp(scope.Named("train").WithControl({step}));
  t.initialize = ops::InitializeVariables(scope.Named("initialize"));
  NABLA_RETURN_IF_ERROR(scope.status());
  return t;
}

// The images and labels at order[begin, end).
Feeds Batch(const Training& t, const DataSet& data, const std::vector<int64_t>& order, int64_t begin, int64_t end) {
  Tensor images(DType::kUInt8, {end - begin, 28, 28});
  Tensor labels(DType::kInt32, {end - begin});
  for (int64_t i = begin; i < end; ++i) {
    std::memcpy(images.data<uint8_t>() + (i - begin) * kPixels, data.images.data<uint8_t>() + order[i] * kPixels,
                kPixels);
    labels.data<int32_t>()[i - begin] = data.labels.data<int32_t>()[order[i]];
  }
  return {{t.images, images}, {t.labels, labels}};
}

absl::StatusOr<double> Train(const Training& t, Session& session, const DataSet& train, const DataSet& test) {
  NABLA_RETURN_IF_ERROR(session.Run({}, {}, {t.initialize}, nullptr));
  int64_t n = train.images.dim(0), batch = std::max(1, absl::GetFlag(FLAGS_batch));
  int64_t epochs = absl::GetFlag(FLAGS_epochs), steps = (n + batch - 1) / batch;
  std::vector<int64_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::mt19937_64 random(1);  // a fixed seed: every run trains the same network
  Progress progress(epochs, steps, "images");
  double accuracy = 0;
  for (int64_t epoch = 1; epoch <= epochs; ++epoch) {
    std::shuffle(order.begin(), order.end(), random);
    double total = 0;
    for (int64_t step = 0; step < steps; ++step) {
      int64_t begin = step * batch, end = std::min(n, begin + batch);
      std::vector<Tensor> fetched;
      NABLA_RETURN_IF_ERROR(session.Run(Batch(t, train, order, begin, end), {t.loss}, {t.step}, &fetched));
      double loss = fetched[0].scalar<float>();
      total += loss;
      progress.Step(epoch, step + 1, loss, end - begin);
    }
    std::vector<Tensor> fetched;
    NABLA_RETURN_IF_ERROR(session.Run({{t.images, test.images}, {t.labels, test.labels}}, {t.accuracy}, &fetched));
    accuracy = fetched[0].scalar<float>();
    progress.EndEpoch(epoch, total / static_cast<double>(steps),
                      absl::StrFormat("test accuracy %.2f%%", 100 * accuracy));
  }
  return accuracy;
}

// The network with the variables' values as constants: all that is needed to use it.
absl::Status WriteFrozen(const Training& t, Session& session, const std::string& path) {
  NABLA_ASSIGN_OR_RETURN(const std::vector<Tensor> values, VariableValues(session, t.variables));
  Graph graph;
  Scope scope(&graph);
  Parameters parameters;
  for (size_t i = 0; i < values.size(); i += 2) {
    parameters.emplace_back(ops::Const(scope.Named(absl::StrCat("weights", i / 2 + 1)), values[i]),
                            ops::Const(scope.Named(absl::StrCat("bias", i / 2 + 1)), values[i + 1]));
  }
  Output images = ops::Placeholder(scope.Named("images"), DType::kUInt8, {.shape = {kUnknownDim, 28, 28}});
  Output labels = ops::Placeholder(scope.Named("labels"), DType::kInt32, {.shape = {kUnknownDim}});
  Output logits = Logits(scope, images, parameters);
  ops::Softmax(scope.Named("probabilities"), logits);
  Accuracy(scope, logits, labels);
  NABLA_RETURN_IF_ERROR(scope.status());
  return ExportGraphFile(graph, {}, path);
}

absl::Status Main() {
  Initialize();
  std::string data = absl::GetFlag(FLAGS_data), out = absl::GetFlag(FLAGS_out);
  if (absl::GetFlag(FLAGS_epochs) < 1 || absl::GetFlag(FLAGS_batch) < 1) {
    return absl::InvalidArgumentError("--epochs and --batch must be at least 1");
  }
  NABLA_ASSIGN_OR_RETURN(DataSet train, ReadDataSet(data, "train"));
  NABLA_ASSIGN_OR_RETURN(DataSet test, ReadDataSet(data, "t10k"));
  std::error_code error;
  std::filesystem::create_directories(out, error);
  if (error) return absl::InvalidArgumentError(absl::StrCat(out, ": cannot be made: ", error.message()));

  Graph graph;
  Scope scope(&graph);
  NABLA_ASSIGN_OR_RETURN(Training training, BuildTraining(scope, absl::GetFlag(FLAGS_learning_rate)));
  NABLA_RETURN_IF_ERROR(ExportGraphFile(graph, {}, out + "/train.pb"));
  Session session(&graph, {.num_threads = absl::GetFlag(FLAGS_threads)});
  NABLA_ASSIGN_OR_RETURN(double accuracy, Train(training, session, train, test));
  NABLA_RETURN_IF_ERROR(WriteFrozen(training, session, out + "/frozen.pb"));
  NABLA_RETURN_IF_ERROR(WriteNpy(out + "/test_images.npy", test.images));
  NABLA_RETURN_IF_ERROR(WriteNpy(out + "/test_labels.npy", test.labels));
  std::printf("test accuracy %.4f\nwrote train.pb, frozen.pb, test_images.npy and test_labels.npy to %s\n", accuracy,
              out.c_str());
  return absl::OkStatus();
}

}  // namespace
}  // namespace nabla::examples

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage(
      "trains a 784-256-128-10 network on Fashion-MNIST and writes it as GraphDef files.\n"
      "  fashion_mnist --out DIR");
  absl::ParseCommandLine(argc, argv);
  absl::Status status = nabla::examples::Main();
  if (!status.ok()) {
    std::fprintf(stderr, "fashion_mnist: error: %s\n", std::string(status.message()).c_str());
    return 1;
  }
  return 0;
}
