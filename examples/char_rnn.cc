// Trains a recurrent network to foretell the next character of texts (by default the licences that every Debian system
// has), and writes a graph that writes such texts.
//
// The network is a loop over characters, built by ops::Scan; training differentiates it. A step of training sees a
// stretch of each of several places of the text, and goes on in the next step from the state that it has reached there:
// gradients flow back to the beginning of the stretch (truncated backpropagation through time; R. Williams and J. Peng,
// 1990). The trained network, in a loop that draws each character and feeds it back, is written as one GraphDef file.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nabla/examples/corpus.h"
#include "nabla/examples/ngram.h"
#include "nabla/examples/progress.h"
#include "nabla/examples/variable_values.h"
#include "nabla/nabla.h"

ABSL_FLAG(std::string, data, "/usr/share/common-licenses", "folder of texts");
ABSL_FLAG(std::string, out, "out/char_rnn", "folder to write train.pb and sample.pb to");
ABSL_FLAG(int, units, 256, "units of the network's state");
ABSL_FLAG(int, epochs, 16, "times to go through the text");
ABSL_FLAG(int, batch, 32, "places of the text that a step looks at");
ABSL_FLAG(int, stretch, 64, "characters that a step goes on at each place");
ABSL_FLAG(double, learning_rate, 0.004, "Adam's learning rate in the beginning; it falls to 0");
ABSL_FLAG(double, clip_norm, 1.0, "longest gradient, over all parameters");
ABSL_FLAG(int, sample, 600, "characters to write in the end");
ABSL_FLAG(int, threads, 0, "threads to run on; 0: one per core");
ABSL_FLAG(bool, quick, false, "a run of seconds: 64 units, two epochs, the first 2,000 characters of each text");

namespace nabla::examples {
namespace {

// The parameters, in the order in which they are made.
struct Parameters {
  Output inputs;     // [characters, 3 units]: what each character adds to the gates and the candidate
  Output recurrent;  // [units, 3 units]: what the state adds
  Output weights;    // [units, characters]: from the state to logits
  Output bias;       // [characters]

  explicit Parameters(const Outputs& all) : inputs(all[0]), recurrent(all[1]), weights(all[2]), bias(all[3]) {}
};

// One step of gated recurrent units (K. Cho et al., 2014; the reset gate acts on what the state adds, so that one
// product does for all). state: [n, units]; input: [n, 3 units], rows of Parameters::inputs.
Output NextState(const Scope& scope, const Parameters& p, Output state, Output input) {
  const Outputs from_input = ops::Split(scope, 1, input, 3);
  const Outputs from_state = ops::Split(scope, 1, ops::MatMul(scope, state, p.recurrent), 3);
  Output reset = ops::Sigmoid(scope, from_input[0] + from_state[0]);
  Output keep = ops::Sigmoid(scope, from_input[1] + from_state[1]);
  Output candidate = ops::Tanh(scope, from_input[2] + reset * from_state[2]);
  return candidate + keep * (state - candidate);
}

// states: [n, units]; result: [n, characters], whose softmax are the probabilities of the next character.
Output Logits(const Scope& scope, const Parameters& p, Output states) {
  return ops::BiasAdd(scope, ops::MatMul(scope, states, p.weights), p.bias);
}

struct Training {
  Output characters, next, state;  // int32 [length, n] twice, float [n, units]
  Output loss, last_state;
  Outputs variables;
  Node* initialize = nullptr;
  Node* step = nullptr;
};

absl::StatusOr<Training> BuildTraining(const Scope& scope, int64_t characters, int64_t units, int64_t steps) {
  Training t;
  t.characters = ops::Placeholder(scope.Named("characters"), DType::kInt32, {.shape = {kUnknownDim, kUnknownDim}});
  t.next = ops::Placeholder(scope.Named("next"), DType::kInt32, {.shape = {kUnknownDim, kUnknownDim}});
  t.state = ops::Placeholder(scope.Named("state"), DType::kFloat, {.shape = {kUnknownDim, units}});
  const auto variable = [&](const char* name, const Shape& shape, double deviation) {
    const int64_t seed = static_cast<int64_t>(t.variables.size());
    t.variables.push_back(
        ops::NewVariable(scope, name, ops::StatelessTruncatedNormal(scope, shape, {1, seed}) * deviation));
  };
  const double scale = 1 / std::sqrt(static_cast<double>(units));
  variable("inputs", {characters, 3 * units}, 0.1);
  variable("recurrent", {units, 3 * units}, scale);
  variable("weights", {units, characters}, scale);
  variable("bias", {characters}, 0);
  Outputs values;
  for (Output handle : t.variables) values.push_back(ops::ReadVariable(scope, handle));
  const Parameters p(values);

  Output inputs = ops::GatherV2(scope, p.inputs, t.characters, 0);  // [length, n, 3 units]
  ops::ScanResult scan =
      ops::Scan(scope, {t.state}, {inputs}, [&](const Scope& body, const Outputs& state, const Outputs& input) {
        Output next = NextState(body, p, state[0], input[0]);
        return ops::ScanStep{{next}, {next}};
      });
  NABLA_RETURN_IF_ERROR(scope.status());
  t.last_state = ops::Identity(scope.Named("last_state"), scan.state[0]);
  Output logits = Logits(scope, p, ops::Reshape(scope, scan.results[0], {-1, units}));
  Output losses = ops::SparseSoftmaxCrossEntropyWithLogits(scope, logits, ops::Reshape(scope, t.next, {-1})).loss;
  t.loss = ops::Mean(scope.Named("loss"), losses, 0);

  Output step = ops::NewVariable(scope, "step", 0, {.dtype = DType::kInt64, .trainable = false});
  Output rate = CosineDecay(scope, absl::GetFlag(FLAGS_learning_rate), ops::ReadVariable(scope, step),
                            static_cast<double>(steps));
  AdamOptimizer adam({.learning_rate = rate});
  NABLA_ASSIGN_OR_RETURN(VariableGradients gradients, adam.ComputeGradients(scope, t.loss));
  Grads unclipped;
  for (const VariableGradient& g : gradients) unclipped.push_back(g.gradient);
  const Grads clipped = ClipByGlobalNorm(scope, unclipped, absl::GetFlag(FLAGS_clip_norm)).gradients;
  for (size_t i = 0; i < gradients.size(); ++i) gradients[i].gradient = clipped[i];
  NABLA_ASSIGN_OR_RETURN(Node * apply, adam.ApplyGradients(scope, gradients, step));
  t.step = ops::NoOp(scope.Named("train").WithControl({apply}));
  t.initialize = ops::InitializeVariables(scope.Named("initialize"));
  NABLA_RETURN_IF_ERROR(scope.status());
  return t;
}

// Columns of `length` characters of the text from each of `places` on, and the characters that follow each.
Feeds Stretch(const Training& t, const std::vector<int32_t>& text, const std::vector<int64_t>& places, int64_t length,
              const Tensor& state) {
  const int64_t n = static_cast<int64_t>(places.size());
  Tensor characters(DType::kInt32, {length, n}), next(DType::kInt32, {length, n});
  for (int64_t i = 0; i < length; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      characters.data<int32_t>()[i * n + j] = text[places[j] + i];
      next.data<int32_t>()[i * n + j] = text[places[j] + i + 1];
    }
  }
  return {{t.characters, characters}, {t.next, next}, {t.state, state}};
}

Tensor ZeroState(int64_t n, int64_t units) {
  Tensor state(DType::kFloat, {n, units});
  std::fill(state.data<float>(), state.data<float>() + n * units, 0.0f);
  return state;
}

// Bits per character of a text that is read from its beginning to its end.
absl::StatusOr<double> BitsPerCharacter(const Training& t, Session& session, const std::vector<int32_t>& text,
                                        int64_t units) {
  Tensor state = ZeroState(1, units);
  double total = 0;
  const int64_t n = static_cast<int64_t>(text.size()) - 1;
  for (int64_t at = 0; at < n; at += 4096) {
    const int64_t length = std::min<int64_t>(4096, n - at);
    std::vector<Tensor> fetched;
    NABLA_RETURN_IF_ERROR(session.Run(Stretch(t, text, {at}, length, state), {t.loss, t.last_state}, &fetched));
    total += fetched[0].scalar<float>() * static_cast<double>(length);
    state = fetched[1];
  }
  return total / static_cast<double>(n) / std::log(2.0);
}

// How the text is cut: `batch` places that lie `apart`, from which an epoch goes on in `steps` stretches of `length`.
struct Cut {
  int64_t batch, length, apart, steps;
};

absl::StatusOr<Cut> CutText(const std::vector<int32_t>& text) {
  Cut cut = {absl::GetFlag(FLAGS_batch), absl::GetFlag(FLAGS_stretch), 0, 0};
  cut.apart = static_cast<int64_t>(text.size()) / cut.batch;
  // Each epoch begins elsewhere in the first stretch, and the last character is only foretold.
  cut.steps = (cut.apart - 1) / cut.length - 1;
  if (cut.steps > 0) return cut;
  return absl::InvalidArgumentError(absl::StrCat("the text has ", text.size(), " characters, too few for --batch ",
                                                 cut.batch, " and --stretch ", cut.length));
}

absl::StatusOr<double> Train(const Training& t, Session& session, const Corpus& corpus, const Cut& cut, int64_t units,
                             int64_t epochs) {
  NABLA_RETURN_IF_ERROR(session.Run({}, {}, {t.initialize}, nullptr));
  std::mt19937_64 random(1);  // a fixed seed: every run trains the same network
  Progress progress(epochs, cut.steps, "characters");
  double bits = 0;
  for (int64_t epoch = 1; epoch <= epochs; ++epoch) {
    std::vector<int64_t> places;
    const int64_t start = static_cast<int64_t>(random() % static_cast<uint64_t>(cut.length));
    for (int64_t i = 0; i < cut.batch; ++i) places.push_back(i * cut.apart + start);
    Tensor state = ZeroState(cut.batch, units);
    double total = 0;
    for (int64_t step = 1; step <= cut.steps; ++step) {
      std::vector<Tensor> fetched;
      NABLA_RETURN_IF_ERROR(
          session.Run(Stretch(t, corpus.train, places, cut.length, state), {t.loss, t.last_state}, {t.step}, &fetched));
      const double loss = fetched[0].scalar<float>();
      total += loss;
      state = fetched[1];
      for (int64_t& place : places) place += cut.length;
      progress.Step(epoch, step, loss, cut.batch * cut.length);
    }
    NABLA_ASSIGN_OR_RETURN(bits, BitsPerCharacter(t, session, corpus.validation, units));
    progress.EndEpoch(epoch, total / static_cast<double>(cut.steps),
                      absl::StrFormat("validation %.3f bits per character", bits));
  }
  return bits;
}

// A graph that writes text: from `seed` (two integers), `length` and `temperature` (1 if it is not fed; less makes the
// likely likelier) to `text`, bytes. Each trip of its loop draws one character and feeds it to the next.
absl::Status WriteSampler(const std::vector<Tensor>& values, const std::string& characters, const std::string& path) {
  Graph graph;
  const Scope scope(&graph);
  Outputs constants;
  for (const Tensor& value : values) constants.push_back(ops::Const(scope, value));
  const Parameters p(constants);
  const int64_t units = values[1].dim(0);
  Output seed = ops::Placeholder(scope.Named("seed"), DType::kInt32, {.shape = {2}});
  Output length = ops::Placeholder(scope.Named("length"), DType::kInt32, {.shape = Shape::Scalar()});
  Output temperature = ops::PlaceholderWithDefault(scope.Named("temperature"), 1.0f, Shape::Scalar());
  Output draws = ops::StatelessRandomUniform(scope, ops::Reshape(scope, length, {1}), seed);
  // As if after the end of a line.
  const size_t newline = characters.find('\n');
  Output first = ops::Const(scope, {newline == std::string::npos ? 0 : static_cast<int32_t>(newline)});
  const auto body = [&](const Scope& s, const Outputs& last, const Outputs& draw) {
    Output state = NextState(s, p, last[0], ops::GatherV2(s, p.inputs, last[1], 0));
    Output probabilities = ops::Softmax(s, Logits(s, p, state) / temperature);
    // The first character up to which the probabilities add up to more than the draw.
    Output below = ops::LessEqual(s, ops::Cumsum(s, probabilities, 1), draw[0]);
    Output number = ops::Sum(s, ops::Cast(s, below, DType::kInt32), 1);
    number = ops::Minimum(s, number, static_cast<int32_t>(characters.size()) - 1);
    return ops::ScanStep{{state, number}, {number}};
  };
  Output zeros = ops::Const(scope, 0, DType::kFloat, {1, units});
  ops::ScanResult scan = ops::Scan(scope, {zeros, first}, {draws}, body);
  NABLA_RETURN_IF_ERROR(scope.status());
  Tensor bytes(DType::kUInt8, {static_cast<int64_t>(characters.size())});
  std::copy(characters.begin(), characters.end(), bytes.data<uint8_t>());
  ops::GatherV2(scope.Named("text"), bytes, ops::Reshape(scope, scan.results[0], {-1}), 0);
  NABLA_RETURN_IF_ERROR(scope.status());
  return ExportGraphFile(graph, {}, path);
}

// Reads the file as any program would that has nothing but it.
absl::StatusOr<std::string> Sample(const std::string& path, int32_t length) {
  Graph graph;
  NABLA_RETURN_IF_ERROR(ImportGraphDefFile(path, {}, &graph));
  Session session(&graph, {.num_threads = 1});
  std::vector<Tensor> text;
  NABLA_RETURN_IF_ERROR(session.Run({{graph.FindNode("seed")->output(0), Tensor::Vector<int32_t>({1, 2})},
                                     {graph.FindNode("length")->output(0), Tensor::Scalar(length)}},
                                    {graph.FindNode("text")->output(0)}, &text));
  return std::string(text[0].flat<uint8_t>().begin(), text[0].flat<uint8_t>().end());
}

absl::Status Main() {
  Initialize();
  for (const auto* flag : {&FLAGS_units, &FLAGS_epochs, &FLAGS_batch, &FLAGS_stretch}) {
    if (absl::GetFlag(*flag) < 1) {
      return absl::InvalidArgumentError("--units, --epochs, --batch and --stretch must be at least 1");
    }
  }
  if (absl::GetFlag(FLAGS_sample) < 0) return absl::InvalidArgumentError("--sample must not be negative");
  const bool quick = absl::GetFlag(FLAGS_quick);
  const int64_t units = quick ? 64 : absl::GetFlag(FLAGS_units), epochs = quick ? 2 : absl::GetFlag(FLAGS_epochs);
  const std::string out = absl::GetFlag(FLAGS_out);
  NABLA_ASSIGN_OR_RETURN(const Corpus corpus, ReadCorpus(absl::GetFlag(FLAGS_data), 0.1, quick ? 2000 : INT64_MAX));
  NABLA_ASSIGN_OR_RETURN(const Cut cut, CutText(corpus.train));
  std::error_code error;
  std::filesystem::create_directories(out, error);
  if (error) return absl::InvalidArgumentError(absl::StrCat(out, ": cannot be made: ", error.message()));

  Graph graph;
  const Scope scope(&graph);
  const int num_characters = static_cast<int>(corpus.characters.size());
  NABLA_ASSIGN_OR_RETURN(const Training training, BuildTraining(scope, num_characters, units, epochs * cut.steps));
  NABLA_RETURN_IF_ERROR(ExportGraphFile(graph, {}, out + "/train.pb"));
  Session session(&graph, {.num_threads = absl::GetFlag(FLAGS_threads)});
  NABLA_ASSIGN_OR_RETURN(const double bits, Train(training, session, corpus, cut, units, epochs));
  const double trigram = NgramModel(3, num_characters, corpus.train).BitsPerSymbol(corpus.validation);
  std::printf("bits per character on the last tenth of each text: %.3f (a trigram model: %.3f)\n", bits, trigram);

  NABLA_ASSIGN_OR_RETURN(const std::vector<Tensor> values, VariableValues(session, training.variables));
  NABLA_RETURN_IF_ERROR(WriteSampler(values, corpus.characters, out + "/sample.pb"));
  NABLA_ASSIGN_OR_RETURN(const std::string text, Sample(out + "/sample.pb", absl::GetFlag(FLAGS_sample)));
  std::printf("wrote train.pb and sample.pb to %s; the latter writes:\n%s\n", out.c_str(), text.c_str());
  return absl::OkStatus();
}

}  // namespace
}  // namespace nabla::examples

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage(
      "trains a recurrent network on texts, character by character, and writes a graph that writes such texts.\n"
      "  char_rnn --out DIR");
  absl::ParseCommandLine(argc, argv);
  const absl::Status status = nabla::examples::Main();
  if (!status.ok()) {
    std::fprintf(stderr, "char_rnn: error: %s\n", std::string(status.message()).c_str());
    return 1;
  }
  return 0;
}
