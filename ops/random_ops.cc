// Random numbers. The stateful ops draw from a stream of their own per node and session, seeded by seed and seed2 (by
// chance if both are 0); the stateless ones are functions of their seed.
#include <vector>

#include "absl/strings/str_cat.h"
#include "nabla/graph/shape_inference.h"
#include "nabla/ops/registration.h"
#include "nabla/ops/rule_util.h"

namespace nabla {
namespace {

constexpr char kFloating[] = "dtype: {half, bfloat16, float, double}";
constexpr char kFloatingDefault[] = "dtype: {half, bfloat16, float, double} = float";

// Output 0 has the shape that input 0 tells.
absl::Status SetShapeFromInput(ShapeContext& c) {
  NABLA_RETURN_IF_ERROR(c.InputOfRank(0, 1).status());
  if (const absl::optional<std::vector<int64_t>> dims = ConstantInts(c, 0)) {
    for (int64_t dim : *dims) {
      if (dim < -1) return absl::InvalidArgumentError(absl::StrCat("a dimension must not be negative, but is ", dim));
    }
  }
  return SetCheckedOutput(c, 0, c.InputAsShape(0));
}

absl::Status CheckScalars(const ShapeContext& c, int begin, int end) {
  for (int i = begin; i < end; ++i) NABLA_RETURN_IF_ERROR(c.InputOfRank(i, 0).status());
  return absl::OkStatus();
}

// Input i: a vector of two.
absl::Status CheckSeed(const ShapeContext& c, int i) {
  NABLA_ASSIGN_OR_RETURN(Shape seed, c.InputOfRank(i, 1));
  if (seed.dim(0) != kUnknownDim && seed.dim(0) != 2) {
    return absl::InvalidArgumentError(absl::StrCat("the seed must have shape [2], but has ", seed.ToString()));
  }
  return absl::OkStatus();
}

// Inputs key [1], counter [words] and alg [], from input i on.
absl::Status CheckKeyCounterAlg(const ShapeContext& c, int i) {
  NABLA_ASSIGN_OR_RETURN(Shape key, c.InputOfRank(i, 1));
  if (key.dim(0) != kUnknownDim && key.dim(0) != 1) {
    return absl::InvalidArgumentError(absl::StrCat("the key must have shape [1], but has ", key.ToString()));
  }
  NABLA_RETURN_IF_ERROR(c.InputOfRank(i + 1, 1).status());
  return c.InputOfRank(i + 2, 0).status();
}

absl::Status RandomShape(ShapeContext& c) {
  NABLA_RETURN_IF_ERROR(CheckScalars(c, 1, c.num_inputs()));
  return SetShapeFromInput(c);
}

absl::Status StatelessShape(ShapeContext& c) {
  NABLA_RETURN_IF_ERROR(CheckSeed(c, 1));
  NABLA_RETURN_IF_ERROR(CheckScalars(c, 2, c.num_inputs()));
  return SetShapeFromInput(c);
}

absl::Status StatelessV2Shape(ShapeContext& c) {
  NABLA_RETURN_IF_ERROR(CheckKeyCounterAlg(c, 1));
  NABLA_RETURN_IF_ERROR(CheckScalars(c, 4, c.num_inputs()));
  return SetShapeFromInput(c);
}

absl::Status StatelessShuffleShape(ShapeContext& c) {
  NABLA_RETURN_IF_ERROR(CheckKeyCounterAlg(c, 1));
  c.SetOutput(0, c.input(0));
  return absl::OkStatus();
}

absl::Status KeyCounterShape(ShapeContext& c) {
  NABLA_RETURN_IF_ERROR(CheckSeed(c, 0));
  c.SetOutput(0, Shape({1}));
  c.SetOutput(1, Shape({2}));
  return absl::OkStatus();
}

void RegisterStateful(OpRegistry& registry) {
  const auto floating = [&registry](const char* name, const char* doc) {
    registry.Add(name)
        .Input("shape: T")
        .Output("output: dtype")
        .Attr("seed: int = 0")
        .Attr("seed2: int = 0")
        .Attr(kFloating)
        .Attr("T: {int32, int64}")
        .Doc(doc)
        .Stateful()
        .Shape(RandomShape);
  };
  floating("RandomUniform",
           "Numbers from [0, 1), evenly distributed, of the given shape. seed, seed2: 0, 0 seeds by chance. Not "
           "differentiable.");
  floating("RandomStandardNormal",
           "Numbers from the normal distribution of mean 0 and deviation 1, of the given shape. seed, seed2: as for "
           "RandomUniform. Not differentiable.");
  floating("TruncatedNormal",
           "Numbers from the normal distribution of mean 0 and deviation 1, drawn again while outside [-2, 2], of the "
           "given shape. seed, seed2: as for RandomUniform. Not differentiable.");
  registry.Add("RandomUniformInt")
      .Input("shape: T")
      .Input("minval: Tout")
      .Input("maxval: Tout")
      .Output("output: Tout")
      .Attr("seed: int = 0")
      .Attr("seed2: int = 0")
      .Attr("Tout: {int32, int64}")
      .Attr("T: {int32, int64}")
      .Doc(
          "Integers from [minval, maxval), scalars, of the given shape; evenly distributed but for a bias below 2^-32 "
          "(2^-64 for int64) times the range. seed, seed2: as for RandomUniform. Not differentiable.")
      .Stateful()
      .Shape(RandomShape);
  registry.Add("RandomShuffle")
      .Input("value: T")
      .Output("output: T")
      .Attr("seed: int = 0")
      .Attr("seed2: int = 0")
      .Attr("T: type")
      .Doc("The rows of value (along axis 0) in random order. seed, seed2: as for RandomUniform. Not differentiable.")
      .Stateful()
      .Shape(UnchangedShape);
}

void RegisterStateless(OpRegistry& registry) {
  const auto floating = [&registry](const char* name, const char* doc) {
    registry.Add(name)
        .Input("shape: T")
        .Input("seed: Tseed")
        .Output("output: dtype")
        .Attr(kFloatingDefault)
        .Attr("T: {int32, int64} = int32")
        .Attr("Tseed: {int32, int64} = int64")
        .Doc(doc)
        .Shape(StatelessShape);
  };
  floating("StatelessRandomUniform",
           "Numbers from [0, 1), evenly distributed, of the given shape: a function of the seed, two integers. Not "
           "differentiable.");
  floating("StatelessRandomNormal",
           "Numbers from the normal distribution of mean 0 and deviation 1, of the given shape: a function of the "
           "seed, two integers. Not differentiable.");
  floating("StatelessTruncatedNormal",
           "Numbers from the normal distribution of mean 0 and deviation 1 within [-2, 2], of the given shape: a "
           "function of the seed, two integers. Not differentiable.");
  registry.Add("StatelessRandomUniformInt")
      .Input("shape: T")
      .Input("seed: Tseed")
      .Input("minval: dtype")
      .Input("maxval: dtype")
      .Output("output: dtype")
      .Attr("dtype: {int32, int64}")
      .Attr("T: {int32, int64}")
      .Attr("Tseed: {int32, int64} = int64")
      .Doc(
          "Integers from [minval, maxval), scalars, of the given shape: a function of the seed, two integers. Not "
          "differentiable.")
      .Shape(StatelessShape);
  registry.Add("StatelessRandomUniformFullInt")
      .Input("shape: T")
      .Input("seed: Tseed")
      .Output("output: dtype")
      .Attr("dtype: {int32, int64, uint32, uint64} = uint64")
      .Attr("T: {int32, int64} = int32")
      .Attr("Tseed: {int32, int64, uint32, uint64} = int64")
      .Doc("Any integers of their type, of the given shape: a function of the seed, two integers. Not differentiable.")
      .Shape(StatelessShape);
}

// The forms whose generator state is given: key [1], counter [2 or 1] and alg, 1 for Philox and 2 for ThreeFry.
void RegisterStatelessV2(OpRegistry& registry) {
  const auto floating = [&registry](const char* name, const char* doc) {
    registry.Add(name)
        .Input("shape: Tshape")
        .Input("key: uint64")
        .Input("counter: uint64")
        .Input("alg: int32")
        .Output("output: dtype")
        .Attr(kFloatingDefault)
        .Attr("Tshape: {int32, int64} = int32")
        .Doc(doc)
        .Shape(StatelessV2Shape);
  };
  floating("StatelessRandomUniformV2",
           "Numbers from [0, 1), evenly distributed, of the given shape: a function of key [1], counter [2] and the "
           "algorithm (1: Philox, 2: ThreeFry, 3: chosen by the library). Not differentiable.");
  floating("StatelessRandomNormalV2",
           "Numbers from the normal distribution of mean 0 and deviation 1, of the given shape. key, counter, alg: as "
           "for StatelessRandomUniformV2. Not differentiable.");
  floating("StatelessTruncatedNormalV2",
           "Numbers from the normal distribution of mean 0 and deviation 1 within [-2, 2], of the given shape. key, "
           "counter, alg: as for StatelessRandomUniformV2. Not differentiable.");
  registry.Add("StatelessRandomUniformIntV2")
      .Input("shape: Tshape")
      .Input("key: uint64")
      .Input("counter: uint64")
      .Input("alg: int32")
      .Input("minval: dtype")
      .Input("maxval: dtype")
      .Output("output: dtype")
      .Attr("dtype: {int32, int64, uint32, uint64}")
      .Attr("Tshape: {int32, int64} = int32")
      .Doc(
          "Integers from [minval, maxval), scalars, of the given shape. key, counter, alg: as for "
          "StatelessRandomUniformV2. Not differentiable.")
      .Shape(StatelessV2Shape);
  registry.Add("StatelessRandomUniformFullIntV2")
      .Input("shape: Tshape")
      .Input("key: uint64")
      .Input("counter: uint64")
      .Input("alg: int32")
      .Output("output: dtype")
      .Attr("dtype: {int32, int64, uint32, uint64} = uint64")
      .Attr("Tshape: {int32, int64} = int32")
      .Doc(
          "Any integers of their type, of the given shape. key, counter, alg: as for StatelessRandomUniformV2. Not "
          "differentiable.")
      .Shape(StatelessV2Shape);
  registry.Add("StatelessRandomGetKeyCounter")
      .Input("seed: Tseed")
      .Output("key: uint64")
      .Output("counter: uint64")
      .Attr("Tseed: {int32, int64} = int64")
      .Doc("Two seed integers scrambled into Philox's key [1] and counter [2]. Not differentiable.")
      .Shape(KeyCounterShape);
  registry.Add("StatelessRandomGetAlg")
      .Output("alg: int32")
      .Doc("The number of the algorithm that this library prefers: 1, Philox. Not differentiable.")
      .Stateful()
      .Shape(ScalarShape);
  registry.Add("StatelessShuffle")
      .Input("value: T")
      .Input("key: uint64")
      .Input("counter: uint64")
      .Input("alg: int32")
      .Output("output: T")
      .Attr("T: type")
      .Doc(
          "The rows of value (along axis 0) in random order. key, counter, alg: as for StatelessRandomUniformV2. Not "
          "differentiable.")
      .Shape(StatelessShuffleShape);
}

}  // namespace

void RegisterRandomOps(OpRegistry& registry) {
  RegisterStateful(registry);
  RegisterStateless(registry);
  RegisterStatelessV2(registry);
}

}  // namespace nabla
