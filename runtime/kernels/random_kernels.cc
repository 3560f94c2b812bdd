// Random numbers: stateless ones, whose seed is an input, and stateful ones, whose generator lives in the session and
// moves on from run to run. Both draw from Philox in an order fixed by the element's position, so the numbers do not
// depend on the number of threads.
#include <cmath>
#include <cstring>
#include <mutex>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nabla/runtime/dtype_switch.h"
#include "nabla/runtime/kernels/arguments.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/kernels/philox.h"
#include "nabla/runtime/resources.h"

namespace nabla {
namespace {

// ---- words to numbers ----

// Random bits as the mantissa of a number in [1, 2), less 1.
float UniformFloat(uint32_t word) {
  const uint32_t bits = 127u << 23 | (word & 0x7fffffu);
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value - 1.0f;
}

double UniformDouble(uint32_t high, uint32_t low) {
  const uint64_t bits = uint64_t{1023} << 52 | uint64_t{high & 0xfffffu} << 32 | low;
  double value;
  std::memcpy(&value, &bits, sizeof(value));
  return value - 1.0;
}

// G. E. P. Box, M. E. Muller, 1958: two independent normal numbers of two uniform ones. The bound keeps the logarithm
// finite.
template <typename T>
void BoxMuller(T u1, T u2, T* normal) {
  const T angle = static_cast<T>(2 * M_PI * u2);
  const T radius = std::sqrt(T(-2) * std::log(std::max(u1, T(1.0e-7))));
  normal[0] = std::sin(angle) * radius;
  normal[1] = std::cos(angle) * radius;
}

// A distribution fills groups of kGroup elements, each from blocks of its own: Draw(generator, out), the generator
// standing at the group's first block. kBlocks is how many blocks lie between the first blocks of two groups.

template <typename T>
struct Uniform {
  static constexpr int kGroup = std::is_same_v<T, double> ? 2 : 4;
  static constexpr int kBlocks = 1;
  void Draw(Philox generator, T* out) const {
    const Philox::Block words = generator.Next();
    for (int i = 0; i < kGroup; ++i) {
      if constexpr (std::is_same_v<T, double>) {
        out[i] = UniformDouble(words[2 * i], words[2 * i + 1]);
      } else if constexpr (std::is_same_v<T, float>) {
        out[i] = UniformFloat(words[i]);
      } else if constexpr (std::is_same_v<T, Half>) {
        out[i] = Half(static_cast<float>(Half::FromBits(15u << 10 | (words[i] & 0x3ffu))) - 1.0f);
      } else {
        out[i] = BFloat16(static_cast<float>(BFloat16::FromBits(127u << 7 | (words[i] & 0x7fu))) - 1.0f);
      }
    }
  }
};

template <typename T>
struct Normal {
  static constexpr int kGroup = std::is_same_v<T, double> ? 2 : 4;
  static constexpr int kBlocks = 1;
  void Draw(Philox generator, T* out) const {
    const Philox::Block words = generator.Next();
    if constexpr (std::is_same_v<T, double>) {
      BoxMuller(UniformDouble(words[0], words[1]), UniformDouble(words[2], words[3]), out);
    } else {
      float normal[4];
      BoxMuller(UniformFloat(words[0]), UniformFloat(words[1]), normal);
      BoxMuller(UniformFloat(words[2]), UniformFloat(words[3]), normal + 2);
      for (int i = 0; i < 4; ++i) out[i] = T(normal[i]);
    }
  }
};

// Normal numbers, those beyond two standard deviations drawn again. A group has 256 words per element in reserve.
template <typename T>
struct TruncatedNormal {
  static constexpr int kGroup = std::is_same_v<T, double> ? 2 : 4;
  static constexpr int kBlocks = kGroup * 256 / 4;
  void Draw(Philox generator, T* out) const {
    using C = ComputeType<T>;
    PhiloxWords next(generator);
    for (int filled = 0; filled < kGroup;) {
      C normal[2];
      if constexpr (std::is_same_v<T, double>) {
        const uint32_t a = next(), b = next(), c = next(), d = next();
        BoxMuller(UniformDouble(a, b), UniformDouble(c, d), normal);
      } else {
        const uint32_t a = next(), b = next();
        BoxMuller(UniformFloat(a), UniformFloat(b), normal);
      }
      for (int i = 0; i < 2 && filled < kGroup; ++i) {
        if (std::abs(normal[i]) < C(2)) out[filled++] = T(normal[i]);
      }
    }
  }
};

// Integers in [low, low + range); all that there are if the range is 0.
template <typename T>
struct UniformInt {
  using U = std::make_unsigned_t<T>;
  static constexpr int kGroup = sizeof(T) == 8 ? 2 : 4;
  static constexpr int kBlocks = 1;
  void Draw(Philox generator, T* out) const {
    const Philox::Block words = generator.Next();
    for (int i = 0; i < kGroup; ++i) {
      U raw;
      if constexpr (sizeof(T) == 8) {
        raw = words[2 * i] | uint64_t{words[2 * i + 1]} << 32;
      } else {
        raw = words[i];
      }
      out[i] = static_cast<T>(static_cast<U>(low) + (range == 0 ? raw : raw % range));
    }
  }
  T low;
  U range;
};

template <typename T, typename Distribution>
void Fill(KernelContext& ctx, const Philox& generator, const Distribution& distribution, Tensor* output) {
  constexpr int kGroup = Distribution::kGroup;
  const int64_t n = output->num_elements();
  T* out = output->data<T>();
  ctx.ParallelFor((n + kGroup - 1) / kGroup, 40, [&](int64_t begin, int64_t end) {
    Philox at = generator;
    at.Skip(static_cast<uint64_t>(begin) * Distribution::kBlocks);
    for (int64_t group = begin; group < end; ++group) {
      const int64_t first = group * kGroup;
      if (first + kGroup <= n) {
        distribution.Draw(at, out + first);
      } else {
        T last[kGroup];
        distribution.Draw(at, last);
        std::copy_n(last, n - first, out + first);
      }
      at.Skip(Distribution::kBlocks);
    }
  });
}

enum class Kind { kUniform, kNormal, kTruncatedNormal };

absl::Status FillFloating(KernelContext& ctx, Kind kind, const Philox& generator, Tensor* output) {
  return SwitchFloating(output->dtype(), [&](auto zero) -> absl::Status {
    using T = decltype(zero);
    switch (kind) {
      case Kind::kUniform:
        Fill<T>(ctx, generator, Uniform<T>(), output);
        break;
      case Kind::kNormal:
        Fill<T>(ctx, generator, Normal<T>(), output);
        break;
      case Kind::kTruncatedNormal:
        Fill<T>(ctx, generator, TruncatedNormal<T>(), output);
        break;
    }
    return absl::OkStatus();
  });
}

absl::Status FillInteger(KernelContext& ctx, const Tensor& low, const Tensor& high, const Philox& generator,
                         Tensor* output) {
  if (low.num_elements() != 1 || high.num_elements() != 1) {
    return absl::InvalidArgumentError(absl::StrCat("minval and maxval must be scalars, got shapes ",
                                                   low.shape().ToString(), " and ", high.shape().ToString()));
  }
  return SwitchInteger(output->dtype(), [&](auto zero) -> absl::Status {
    using T = decltype(zero);
    if constexpr (sizeof(T) < 4) {
      return UnsupportedDType(output->dtype());
    } else {
      using U = std::make_unsigned_t<T>;
      const T lo = *low.data<T>(), hi = *high.data<T>();
      if (output->num_elements() == 0) return absl::OkStatus();
      if (lo >= hi) {
        return absl::InvalidArgumentError(absl::StrCat("minval must be below maxval, got ", lo, " and ", hi));
      }
      Fill<T>(ctx, generator, UniformInt<T>{lo, static_cast<U>(static_cast<U>(hi) - static_cast<U>(lo))}, output);
      return absl::OkStatus();
    }
  });
}

absl::Status FillFullInteger(KernelContext& ctx, const Philox& generator, Tensor* output) {
  return SwitchInteger(output->dtype(), [&](auto zero) -> absl::Status {
    using T = decltype(zero);
    if constexpr (sizeof(T) < 4) {
      return UnsupportedDType(output->dtype());
    } else {
      Fill<T>(ctx, generator, UniformInt<T>{0, 0}, output);
      return absl::OkStatus();
    }
  });
}

absl::StatusOr<Tensor*> AllocateOfShapeInput(KernelContext& ctx) {
  NABLA_ASSIGN_OR_RETURN(Shape shape, ShapeFromVector(ctx.input(0), "shape"));
  return ctx.AllocateOutput(0, shape);
}

// ---- where the generator comes from ----

absl::StatusOr<Philox> FromSeedInput(const Tensor& seed) {
  if (seed.dtype() != DType::kInt32 && seed.dtype() != DType::kInt64) {
    return absl::InvalidArgumentError(
        absl::StrCat("seed must be of type int32 or int64, is of type ", DTypeName(seed.dtype())));
  }
  NABLA_ASSIGN_OR_RETURN(Integers values, IntegerVector(seed, "seed"));
  if (values.size() != 2) {
    return absl::InvalidArgumentError(absl::StrCat("seed must have two elements, got ", values.size()));
  }
  return Philox::FromStatelessSeed(static_cast<uint64_t>(values[0]), static_cast<uint64_t>(values[1]));
}

// Inputs `first`: key, counter, algorithm.
absl::StatusOr<Philox> FromKeyInputs(KernelContext& ctx, int first) {
  const Tensor& key = ctx.input(first);
  const Tensor& counter = ctx.input(first + 1);
  if (key.num_elements() != 1 || counter.num_elements() < 2) {
    return absl::InvalidArgumentError(absl::StrCat("key must have one element and counter two, got shapes ",
                                                   key.shape().ToString(), " and ", counter.shape().ToString()));
  }
  NABLA_ASSIGN_OR_RETURN(int64_t algorithm, IntegerScalar(ctx.input(first + 2), "alg"));
  constexpr int64_t kPhilox = 1, kAuto = 3;
  if (algorithm != kPhilox && algorithm != kAuto) {
    return absl::UnimplementedError(absl::StrCat("alg ", algorithm, " is not supported, only 1 (Philox) and 3 (any)"));
  }
  const uint64_t* words = counter.data<uint64_t>();
  return Philox::FromKeyCounter(*key.data<uint64_t>(), words[0], words[1]);
}

// A stateful op's generator. Thread-safe.
class GeneratorResource : public Resource {
 public:
  explicit GeneratorResource(Philox generator) : generator_(generator) {}
  absl::string_view TypeName() const override { return "RandomGenerator"; }
  // A generator for the caller alone, this one moving on by `blocks`.
  Philox Reserve(uint64_t blocks) {
    std::lock_guard<std::mutex> lock(mutex_);
    Philox reserved = generator_;
    generator_.Skip(blocks);
    return reserved;
  }

 private:
  std::mutex mutex_;
  Philox generator_;
};

class StatefulKernel : public Kernel {
 public:
  explicit StatefulKernel(const KernelInit& init)
      : name_(init.node().name()), seed_(init.attr<int64_t>("seed")), seed2_(init.attr<int64_t>("seed2")) {}

 protected:
  absl::StatusOr<Philox> Reserve(KernelContext& ctx, uint64_t blocks) const {
    std::shared_ptr<Resource> resource = ctx.resources().LookupOrCreate(kContainer, name_, [&] {
      uint64_t seed = static_cast<uint64_t>(seed_), seed2 = static_cast<uint64_t>(seed2_);
      if (seed == 0 && seed2 == 0) {  // no seed: other numbers in every session
        std::random_device device;
        seed = uint64_t{device()} << 32 | device();
        seed2 = uint64_t{device()} << 32 | device();
      }
      return std::make_shared<GeneratorResource>(Philox::FromSeeds(seed, seed2));
    });
    // A graph can name a variable so.
    auto* generator = dynamic_cast<GeneratorResource*>(resource.get());
    if (generator == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("resource '", name_, "' in container '", kContainer, "' is a ",
                                                     resource->TypeName(), ", expected a random generator"));
    }
    return generator->Reserve(blocks);
  }
  // 256 blocks for each element, however many are used.
  absl::StatusOr<Philox> ReserveFor(KernelContext& ctx, const Tensor& output) const {
    return Reserve(ctx, static_cast<uint64_t>(output.num_elements()) * 256);
  }

 private:
  static constexpr absl::string_view kContainer = "_random";

  const std::string name_;
  const int64_t seed_, seed2_;
};

template <Kind kKind>
class RandomKernel : public StatefulKernel {
 public:
  using StatefulKernel::StatefulKernel;
  absl::Status Compute(KernelContext& ctx) const override {
    NABLA_ASSIGN_OR_RETURN(Tensor * output, AllocateOfShapeInput(ctx));
    NABLA_ASSIGN_OR_RETURN(Philox generator, ReserveFor(ctx, *output));
    return FillFloating(ctx, kKind, generator, output);
  }
};

class RandomUniformIntKernel : public StatefulKernel {
 public:
  using StatefulKernel::StatefulKernel;
  absl::Status Compute(KernelContext& ctx) const override {
    NABLA_ASSIGN_OR_RETURN(Tensor * output, AllocateOfShapeInput(ctx));
    NABLA_ASSIGN_OR_RETURN(Philox generator, ReserveFor(ctx, *output));
    return FillInteger(ctx, ctx.input(1), ctx.input(2), generator, output);
  }
};

template <Kind kKind>
absl::Status StatelessCompute(KernelContext& ctx) {
  NABLA_ASSIGN_OR_RETURN(Tensor * output, AllocateOfShapeInput(ctx));
  NABLA_ASSIGN_OR_RETURN(Philox generator, FromSeedInput(ctx.input(1)));
  return FillFloating(ctx, kKind, generator, output);
}

absl::Status StatelessIntCompute(KernelContext& ctx) {
  NABLA_ASSIGN_OR_RETURN(Tensor * output, AllocateOfShapeInput(ctx));
  NABLA_ASSIGN_OR_RETURN(Philox generator, FromSeedInput(ctx.input(1)));
  return FillInteger(ctx, ctx.input(2), ctx.input(3), generator, output);
}

template <Kind kKind>
absl::Status StatelessV2Compute(KernelContext& ctx) {
  NABLA_ASSIGN_OR_RETURN(Tensor * output, AllocateOfShapeInput(ctx));
  NABLA_ASSIGN_OR_RETURN(Philox generator, FromKeyInputs(ctx, 1));
  return FillFloating(ctx, kKind, generator, output);
}

absl::Status StatelessIntV2Compute(KernelContext& ctx) {
  NABLA_ASSIGN_OR_RETURN(Tensor * output, AllocateOfShapeInput(ctx));
  NABLA_ASSIGN_OR_RETURN(Philox generator, FromKeyInputs(ctx, 1));
  return FillInteger(ctx, ctx.input(4), ctx.input(5), generator, output);
}

absl::Status StatelessFullIntCompute(KernelContext& ctx) {
  NABLA_ASSIGN_OR_RETURN(Tensor * output, AllocateOfShapeInput(ctx));
  NABLA_ASSIGN_OR_RETURN(Philox generator, FromSeedInput(ctx.input(1)));
  return FillFullInteger(ctx, generator, output);
}

absl::Status StatelessFullIntV2Compute(KernelContext& ctx) {
  NABLA_ASSIGN_OR_RETURN(Tensor * output, AllocateOfShapeInput(ctx));
  NABLA_ASSIGN_OR_RETURN(Philox generator, FromKeyInputs(ctx, 1));
  return FillFullInteger(ctx, generator, output);
}

absl::Status GetKeyCounterCompute(KernelContext& ctx) {
  NABLA_ASSIGN_OR_RETURN(Philox generator, FromSeedInput(ctx.input(0)));
  const Philox::Key& key = generator.key();
  const Philox::Block& counter = generator.counter();
  NABLA_ASSIGN_OR_RETURN(Tensor * key_out, ctx.AllocateOutput(0, {1}));
  NABLA_ASSIGN_OR_RETURN(Tensor * counter_out, ctx.AllocateOutput(1, {2}));
  key_out->data<uint64_t>()[0] = key[0] | uint64_t{key[1]} << 32;
  counter_out->data<uint64_t>()[0] = counter[0] | uint64_t{counter[1]} << 32;
  counter_out->data<uint64_t>()[1] = counter[2] | uint64_t{counter[3]} << 32;
  return absl::OkStatus();
}

absl::Status GetAlgCompute(KernelContext& ctx) {
  ctx.SetOutput(0, Tensor::Scalar<int32_t>(1));  // Philox
  return absl::OkStatus();
}

// ---- shuffling the rows ----

absl::Status ShuffleRows(KernelContext& ctx, const Tensor& value, PhiloxWords next) {
  if (value.rank() == 0 || value.dim(0) <= 1 || value.num_elements() == 0) {
    ctx.SetOutput(0, value);
    return absl::OkStatus();
  }
  const int64_t rows = value.dim(0), row_size = value.num_elements() / rows;
  if (rows > UINT32_MAX) {
    return absl::UnimplementedError(absl::StrCat("cannot shuffle ", rows, " rows, at most ", UINT32_MAX));
  }
  std::vector<int64_t> order(rows);
  std::iota(order.begin(), order.end(), 0);
  // R. Durstenfeld's shuffle, from the front.
  for (int64_t i = 0; i + 1 < rows; ++i) {
    std::swap(order[i], order[i + static_cast<int64_t>(next() % static_cast<uint32_t>(rows - i))]);
  }
  NABLA_ASSIGN_OR_RETURN(Tensor * output, ctx.AllocateOutput(0, value.shape()));
  return SwitchMovable(value.dtype(), [&](auto zero) -> absl::Status {
    using T = decltype(zero);
    for (int64_t i = 0; i < rows; ++i) {
      std::copy_n(value.data<T>() + order[i] * row_size, row_size, output->data<T>() + i * row_size);
    }
    return absl::OkStatus();
  });
}

class RandomShuffleKernel : public StatefulKernel {
 public:
  using StatefulKernel::StatefulKernel;
  absl::Status Compute(KernelContext& ctx) const override {
    const Tensor& value = ctx.input(0);
    const int64_t words = value.rank() == 0 || value.num_elements() == 0 ? 0 : value.dim(0) - 1;
    NABLA_ASSIGN_OR_RETURN(Philox generator, Reserve(ctx, static_cast<uint64_t>(words + 3) / 4));
    return ShuffleRows(ctx, value, PhiloxWords(generator));
  }
};

absl::Status StatelessShuffleCompute(KernelContext& ctx) {
  NABLA_ASSIGN_OR_RETURN(Philox generator, FromKeyInputs(ctx, 1));
  return ShuffleRows(ctx, ctx.input(0), PhiloxWords(generator));
}

}  // namespace

void RegisterRandomKernels(KernelRegistry& registry) {
  registry.Add<RandomKernel<Kind::kUniform>>("RandomUniform");
  registry.Add<RandomKernel<Kind::kNormal>>("RandomStandardNormal");
  registry.Add<RandomKernel<Kind::kTruncatedNormal>>("TruncatedNormal");
  registry.Add<RandomUniformIntKernel>("RandomUniformInt");
  registry.Add<RandomShuffleKernel>("RandomShuffle");
  registry.Add("StatelessRandomUniform", StatelessCompute<Kind::kUniform>);
  registry.Add("StatelessRandomNormal", StatelessCompute<Kind::kNormal>);
  registry.Add("StatelessTruncatedNormal", StatelessCompute<Kind::kTruncatedNormal>);
  registry.Add("StatelessRandomUniformInt", StatelessIntCompute);
  registry.Add("StatelessRandomUniformFullInt", StatelessFullIntCompute);
  registry.Add("StatelessRandomUniformV2", StatelessV2Compute<Kind::kUniform>);
  registry.Add("StatelessRandomNormalV2", StatelessV2Compute<Kind::kNormal>);
  registry.Add("StatelessTruncatedNormalV2", StatelessV2Compute<Kind::kTruncatedNormal>);
  registry.Add("StatelessRandomUniformIntV2", StatelessIntV2Compute);
  registry.Add("StatelessRandomUniformFullIntV2", StatelessFullIntV2Compute);
  registry.Add("StatelessRandomGetKeyCounter", GetKeyCounterCompute);
  registry.Add("StatelessRandomGetAlg", GetAlgCompute);
  registry.Add("StatelessShuffle", StatelessShuffleCompute);
}

}  // namespace nabla
