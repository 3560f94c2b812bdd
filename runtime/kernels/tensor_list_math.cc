#include "nabla/runtime/kernels/tensor_list_math.h"

#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "nabla/runtime/kernels/copy.h"
#include "nabla/runtime/kernels/tensor_list_util.h"
#include "nabla/runtime/kernels/tensor_sum.h"
#include "nabla/runtime/tensor_list.h"

namespace nabla {
namespace {

using Value = std::shared_ptr<const VariantValue>;

// What is done element by element to lists of lists of lists … recurs so deep.
constexpr int kMaxNesting = 100;

absl::Status CheckNesting(int depth) {
  if (depth <= kMaxNesting) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("lists are nested more than ", kMaxNesting, " deep"));
}

absl::Status CheckList(const Variant& variant) {
  if (variant.get<TensorList>() != nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("a variant is a ", variant.value()->TypeName(), ", not a TensorList"));
}

class Adder {
 public:
  explicit Adder(KernelContext& ctx) : ctx_(ctx) {}

  // *mine += theirs, for tensors of variants of one shape, where `mine` is exclusively the caller's.
  absl::Status AddTensors(Tensor* mine, const Tensor& theirs, int depth) {
    Variant* sums = mine->data<Variant>();
    const Variant* terms = theirs.data<Variant>();
    for (int64_t i = 0; i < mine->num_elements(); ++i) NABLA_RETURN_IF_ERROR(Add(&sums[i], terms[i], depth));
    return absl::OkStatus();
  }

 private:
  absl::Status Add(Variant* mine, const Variant& theirs, int depth) {
    NABLA_RETURN_IF_ERROR(CheckNesting(depth));
    if (theirs.empty()) return absl::OkStatus();
    NABLA_RETURN_IF_ERROR(CheckList(theirs));
    if (mine->empty()) {
      *mine = theirs;
      return absl::OkStatus();
    }
    NABLA_RETURN_IF_ERROR(CheckList(*mine));
    // Inside of lists, one list may occur very often.
    if (depth == 0 || mine->value().use_count() == 1) return AddLists(mine, *theirs.get<TensorList>(), depth);
    const std::pair<Value, Value> pair(mine->value(), theirs.value());
    auto found = sums_.find(pair);
    if (found == sums_.end()) {
      NABLA_RETURN_IF_ERROR(AddLists(mine, *theirs.get<TensorList>(), depth));
      sums_.emplace(pair, *mine);
    } else {
      *mine = found->second;
    }
    return absl::OkStatus();
  }

  absl::Status AddLists(Variant* mine, const TensorList& theirs, int depth) {
    TensorList* sum = TensorList::TakeOrCopy(mine);
    const DType dtype = sum->element_dtype();
    if (theirs.element_dtype() != dtype) {
      return absl::InvalidArgumentError(absl::StrCat("a list of ", DTypeName(dtype),
                                                     " elements cannot be added to one of ",
                                                     DTypeName(theirs.element_dtype()), " elements"));
    }
    if (theirs.size() != sum->size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("lists of ", sum->size(), " and ", theirs.size(), " elements cannot be added"));
    }
    if (!theirs.element_shape().IsCompatibleWith(sum->element_shape())) {
      return absl::InvalidArgumentError(absl::StrCat("lists of element shapes ", sum->element_shape().ToString(),
                                                     " and ", theirs.element_shape().ToString(), " cannot be added"));
    }
    const TensorSum loop(dtype);
    if (dtype != DType::kVariant && !loop.supported()) return UnsupportedDType(dtype);
    return sum->Combine(theirs, [&](Tensor* a, const Tensor& b) -> absl::Status {
      if (a->shape() != b.shape()) {
        return absl::InvalidArgumentError(absl::StrCat("elements of shapes ", a->shape().ToString(), " and ",
                                                       b.shape().ToString(), " cannot be added"));
      }
      if (dtype == DType::kVariant) {
        if (!a->IsExclusive()) *a = a->Clone();
        return AddTensors(a, b, depth + 1);
      }
      Tensor y;
      if (a->IsExclusive()) {
        y = *a;
      } else {
        NABLA_ASSIGN_OR_RETURN(y, ctx_.AllocateTemp(dtype, a->shape()));
      }
      const char* inputs[] = {static_cast<const char*>(a->raw_data()), static_cast<const char*>(b.raw_data())};
      loop.Run(ctx_, inputs, y.num_elements(), static_cast<char*>(y.raw_data()));
      *a = std::move(y);
      return absl::OkStatus();
    });
  }

  KernelContext& ctx_;
  absl::flat_hash_map<std::pair<Value, Value>, Variant> sums_;  // the values are kept, so that no address is used twice
};

class Zeroer {
 public:
  explicit Zeroer(KernelContext& ctx) : ctx_(ctx) {}

  absl::StatusOr<Tensor> Tensors(const Tensor& like, int depth) {
    NABLA_RETURN_IF_ERROR(CheckNesting(depth));
    NABLA_ASSIGN_OR_RETURN(Tensor zeros, ctx_.AllocateTemp(DType::kVariant, like.shape()));
    for (int64_t i = 0; i < like.num_elements(); ++i) {
      const Variant& variant = like.data<Variant>()[i];
      if (variant.empty()) continue;
      NABLA_RETURN_IF_ERROR(CheckList(variant));
      // One list may occur very often.
      auto found = zeros_.find(variant.value());
      if (found == zeros_.end()) {
        NABLA_ASSIGN_OR_RETURN(Variant made, List(*variant.get<TensorList>(), depth));
        found = zeros_.emplace(variant.value(), std::move(made)).first;
      }
      zeros.data<Variant>()[i] = found->second;
    }
    return zeros;
  }

 private:
  absl::StatusOr<Variant> List(const TensorList& like, int depth) {
    TensorList zeros = like;
    Tensor last;  // elements of one shape share their zeros
    NABLA_RETURN_IF_ERROR(like.ForEachSet([&](int64_t i, const Tensor& element) -> absl::Status {
      if (element.dtype() == DType::kVariant) {
        NABLA_ASSIGN_OR_RETURN(last, Tensors(element, depth + 1));
      } else if (!last.valid() || last.shape() != element.shape()) {
        NABLA_ASSIGN_OR_RETURN(last, ZeroTensor(ctx_, element.dtype(), element.shape()));
      }
      zeros.Set(i, last);
      return absl::OkStatus();
    }));
    return TensorList::Wrap(std::move(zeros));
  }

  KernelContext& ctx_;
  absl::flat_hash_map<Value, Variant> zeros_;
};

}  // namespace

absl::Status AddVariants(KernelContext& ctx) {
  Adder adder(ctx);
  Tensor sum = TakeVariants(ctx, 0);
  for (int i = 1; i < ctx.num_inputs(); ++i) NABLA_RETURN_IF_ERROR(adder.AddTensors(&sum, ctx.input(i), 0));
  ctx.SetOutput(0, std::move(sum));
  return absl::OkStatus();
}

absl::Status ZerosLikeVariants(KernelContext& ctx) {
  NABLA_ASSIGN_OR_RETURN(Tensor zeros, Zeroer(ctx).Tensors(ctx.input(0), 0));
  ctx.SetOutput(0, std::move(zeros));
  return absl::OkStatus();
}

}  // namespace nabla
