#include "nabla/gradients/checkpoints.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "nabla/gradients/loop_variable.h"
#include "nabla/ops/ops.h"
#include "nabla/ops/while.h"

namespace nabla {
namespace {

Output Int32(const Scope& scope, int64_t value) {
  return ops::Const(scope, Tensor::Scalar<int32_t>(static_cast<int32_t>(std::min<int64_t>(value, 1 << 30))));
}

// A list of tensors like `value`.
Output NewList(const Scope& scope, const Shape& shape, DType dtype) {
  return ops::EmptyTensorList(scope, ListElementShape(shape), -1, dtype);
}

// The length of the first of segments that get shorter by one each and make up `trips`: the least L with
// L (L + 1) / 2 >= trips.
Output FirstOfShrinking(const Scope& scope, Output trips) {
  const Output n = ops::Cast(scope, trips, DType::kDouble);
  const Output root = ops::Sqrt(scope, ops::AddV2(scope, ops::Mul(scope, n, 8), 1));
  return ops::Cast(scope, ops::Ceil(scope, ops::Mul(scope, ops::Sub(scope, root, 1), 0.5)), DType::kInt32);
}

// How many of n segments to pass before the next value is kept, if c >= 1 can be kept from now on; 1 if n is. With c
// values, of which each is started from at most r times, beta(c, r) = (c + r)! / (c! r!) segments can be reversed; r is
// the least number for which that suffices.
Output BinomialStep(const Scope& scope, Output n, Output c) {
  n = ops::Cast(scope, n, DType::kInt64);
  c = ops::Cast(scope, c, DType::kInt64);
  const auto number = [&](int64_t value) { return ops::Const(scope, Tensor::Scalar<int64_t>(value)); };
  // r, beta(c, r), beta(c, r - 1), beta(c, r - 2)
  const Outputs found = ops::While(
      scope, {number(0), number(1), number(0), number(0)},
      [&](const Scope& s, const Outputs& v) { return ops::Less(s, v[1], n); },
      [&](const Scope& s, const Outputs& v) {
        const Output r = ops::AddV2(s, v[0], 1);
        const Output beta = ops::FloorDiv(s, ops::Mul(s, v[1], ops::AddV2(s, c, r)), r);
        return Outputs{r, beta, v[1], v[2]};
      },
      {.name = "binomial"});
  const Output step = ops::Maximum(scope, ops::Sub(scope, n, ops::Sub(scope, found[1], found[2])), found[3]);
  return ops::Cast(scope, ops::Maximum(scope, ops::Minimum(scope, step, ops::Sub(scope, n, 1)), 1), DType::kInt32);
}

// The numbers of the segments before which values are kept on the way from the first of `segments` to the last, that
// one included, if c values can be kept. A vector of int32.
Output BinomialDescent(const Scope& scope, Output segments, Output c) {
  const Outputs found = ops::While(
      scope, {Int32(scope, 0), c, NewList(scope, Shape::Scalar(), DType::kInt32)},
      [&](const Scope& s, const Outputs& v) { return ops::Less(s, v[0], segments); },
      [&](const Scope& s, const Outputs& v) {
        const Output step = BinomialStep(s, ops::Sub(s, segments, v[0]), v[1]);
        return Outputs{ops::AddV2(s, v[0], step), ops::Sub(s, v[1], 1), ops::TensorListPushBack(s, v[2], v[0])};
      },
      {.name = "descent"});
  return ops::TensorListStack(scope, found[2], Shape::Scalar(), DType::kInt32);
}

}  // namespace

absl::Status CheckOptions(const LoopGradientOptions& options) {
  if (options.checkpoint == Checkpoint::kEveryK && options.every_k < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("Gradients: loops.every_k is ", options.every_k, ", expected at least 1"));
  }
  if (options.checkpoint == Checkpoint::kBudgetBytes && options.budget_bytes < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("Gradients: loops.budget_bytes is ", options.budget_bytes, ", expected at least 1"));
  }
  return absl::OkStatus();
}

const Shape& Checkpoints::ShapeOf(size_t i) const {
  return state_->frame(frame_).variables[replay_->variables()[i]].merge->output_shape(0);
}

DType Checkpoints::DTypeOf(size_t i) const {
  return BaseDType(state_->frame(frame_).variables[replay_->variables()[i]].merge->output_dtype(0));
}

Segment Checkpoints::Open(const Scope& scope, LoopBuilder* backward) {
  return options_.checkpoint == Checkpoint::kBudgetBytes ? OpenBinomial(scope, backward) : OpenKept(scope, backward);
}

Output Checkpoints::Keep(const Scope& scope, Output value, Output keep) {
  const Scope around = AroundLoop(*state_, frame_, scope);
  AddedVariable list(state_, frame_, scope, NewList(around, value.shape(), BaseDType(value.dtype())));
  auto sides = ops::Switch(scope, list.Inside(), keep);
  const Output kept = ops::Switch(scope, value, keep).output_true;
  const Output longer = ops::TensorListPushBack(scope, sides.output_true, kept);
  list.SetNext(ops::Merge(scope, {sides.output_false, longer}).output);
  return list.Exit();
}

Outputs Checkpoints::KeepAll(const Scope& scope, Output number, Output keep) {
  Outputs lists = {Keep(scope, number, keep)};
  for (size_t k : replay_->variables()) {
    lists.push_back(Keep(scope, state_->frame(frame_).variables[k].switch_node->output(1), keep));
  }
  return lists;
}

Segment Checkpoints::OpenKept(const Scope& scope, LoopBuilder* backward) {
  const Scope forward = state_->forward().Sub("checkpoints");
  const Scope around = AroundLoop(*state_, frame_, forward);
  // The next trip to keep is `gap` trips after this one.
  const Output number = trips_.Number();
  AddedVariable next(state_, frame_, forward, Int32(around, 0));
  const Output keep = ops::Equal(forward, number, next.Inside());
  const Output kept = ops::Cast(forward, keep, DType::kInt32);
  const Scope inside = forward.WithControl({number});
  if (options_.checkpoint == Checkpoint::kEveryK) {
    next.SetNext(ops::AddV2(forward, next.Inside(), ops::Mul(forward, kept, Int32(inside, options_.every_k))));
  } else {
    // The last segments run while all values are kept, so they should be the shortest. Who does not know where the loop
    // ends can only let them grow.
    const Output trips = trips_.TotalInAdvance();
    AddedVariable gap(state_, frame_, forward, trips ? FirstOfShrinking(around, trips) : Int32(around, 1));
    next.SetNext(ops::AddV2(forward, next.Inside(), ops::Mul(forward, kept, gap.Inside())));
    gap.SetNext(trips ? ops::Sub(forward, gap.Inside(), kept) : ops::AddV2(forward, gap.Inside(), kept));
  }
  const Outputs lists = KeepAll(forward, number, keep);
  if (!forward.ok()) return {};

  const int left = backward->AddVariable(ops::TensorListLength(scope, lists[0]), Shape::Scalar());
  const int end = backward->AddVariable(trips_.Total(), Shape::Scalar());
  backward->SetCondition(ops::Greater(backward->condition(), backward->Entering(left), 0));
  const Scope& body = backward->body();
  backward->SetNext(left, ops::Sub(body, backward->Inside(left), 1));
  Segment segment;
  for (size_t i = 0; i < lists.size(); ++i) {
    const Shape shape = i == 0 ? Shape::Scalar() : ShapeOf(i - 1);
    const int list = backward->AddVariable(lists[i], Shape::Scalar());
    auto popped = ops::TensorListPopBack(body, backward->Inside(list), ListElementShape(shape),
                                         i == 0 ? DType::kInt32 : DTypeOf(i - 1));
    backward->SetNext(list, popped.output_handle);
    if (!popped.tensor) return {};
    body.RecordError(body.graph()->RefineShape(popped.tensor, shape));
    if (i == 0) {
      segment.first = popped.tensor;
    } else {
      segment.values.push_back(popped.tensor);
    }
  }
  segment.end = backward->Inside(end);
  backward->SetNext(end, segment.first);
  return segment;
}

Output Checkpoints::Slots(const Scope& scope, bool after) {
  int64_t bytes = 0;
  Output unknown;
  for (size_t i = 0; i < replay_->variables().size(); ++i) {
    const LoopVariable& variable = state_->frame(frame_).variables[replay_->variables()[i]];
    const DType dtype = DTypeOf(i);
    if (dtype == DType::kVariant || dtype == DType::kString) continue;  // shared, or no telling
    const int64_t size = static_cast<int64_t>(DTypeSize(dtype));
    if (ShapeOf(i).IsFullyDefined()) {
      bytes += ShapeOf(i).num_elements() * size;
      continue;
    }
    Output value = after && variable.exit != nullptr ? variable.exit->output(0) : variable.enter->input(0);
    value = ops::Mul(scope, ops::Size(scope, value, {.out_type = DType::kInt64}), size);
    unknown = unknown ? ops::AddV2(scope, unknown, value) : value;
  }
  const int64_t half = std::max<int64_t>(options_.budget_bytes / 2, 1);
  if (!unknown) return Int32(scope, std::max<int64_t>(half / std::max<int64_t>(bytes, 1), 1));
  const auto number = [&](int64_t value) { return ops::Const(scope, Tensor::Scalar<int64_t>(value)); };
  Output slots = ops::FloorDiv(scope, number(half), ops::AddV2(scope, unknown, number(bytes + 1)));
  slots = ops::Minimum(scope, ops::Maximum(scope, slots, number(1)), number(1 << 30));
  return ops::Cast(scope, slots, DType::kInt32);
}

Outputs Checkpoints::KeepDescent(Output trips, Output* free) {
  const Frame& frame = state_->frame(frame_);
  const Scope forward = state_->forward().Sub("checkpoints");
  const Scope around = AroundLoop(*state_, frame_, forward);
  const Output slots = Slots(around, /*after=*/false);
  const Output positions = BinomialDescent(around, SegmentsOf(around, trips), slots);
  // At the end, a trip that does not come.
  const Output kept_trips =
      ops::ConcatV2(around, {ops::Mul(around, positions, segment_trips_), Tensor::Vector<int32_t>({-1})}, 0);
  const Output inside = ops::Enter(forward, kept_trips, frame.name,
                                   {.is_constant = true, .parallel_iterations = frame.parallel_iterations});
  const Output number = trips_.Number();
  AddedVariable next(state_, frame_, forward, Int32(around, 0));
  const Output axis = Int32(forward.WithControl({number}), 0);
  const Output keep = ops::Equal(forward, number, ops::GatherV2(forward, inside, next.Inside(), axis));
  next.SetNext(ops::AddV2(forward, next.Inside(), ops::Cast(forward, keep, DType::kInt32)));
  const Outputs lists = KeepAll(forward, number, keep);
  *free = ops::Sub(*scope_, slots, ops::TensorListLength(*scope_, lists[0]));
  return lists;
}

Outputs Checkpoints::KeepFirst(Output* free) {
  const Scope& scope = *scope_;
  const std::vector<LoopVariable>& variables = state_->frame(frame_).variables;
  const auto list = [&](const Shape& shape, DType dtype, Output first) {
    return ops::TensorListPushBack(scope, NewList(scope, shape, dtype), first);
  };
  Outputs lists = {list(Shape::Scalar(), DType::kInt32, Int32(scope, 0))};
  for (size_t i = 0; i < replay_->variables().size(); ++i) {
    lists.push_back(list(ShapeOf(i), DTypeOf(i), variables[replay_->variables()[i]].enter->input(0)));
  }
  *free = ops::Sub(scope, Slots(scope, /*after=*/true), 1);
  return lists;
}

Output Checkpoints::SegmentsOf(const Scope& scope, Output trips) {
  return ops::AddV2(scope, ops::FloorDiv(scope, ops::Sub(scope, trips, 1), segment_trips_), 1);
}

Segment Checkpoints::OpenBinomial(const Scope& scope, LoopBuilder* backward) {
  scope_ = scope;
  segment_trips_ = ops::Placeholder(scope, DType::kInt32, {.shape = Shape::Scalar()});
  const Output in_advance = trips_.TotalInAdvance();
  Output left;
  const Outputs lists = in_advance ? KeepDescent(in_advance, &left) : KeepFirst(&left);
  if (!scope.ok()) return {};
  const Output trips = trips_.Total();
  // Positions are counted in segments.
  const int end = backward->AddVariable(SegmentsOf(scope, trips), Shape::Scalar());
  backward->SetCondition(ops::Greater(backward->condition(), backward->Entering(end), 0));
  const Scope& body = backward->body();
  const int free = backward->AddVariable(left, Shape::Scalar());

  // The lists of the trips and of the values that are kept.
  struct Kept {
    int outer = 0, list = 0, value = 0;  // variables of the backward loop and, twice, of the descent
    Shape shape;
    DType dtype = DType::kInt32;
  };
  std::vector<Kept> kept(replay_->variables().size() + 1);
  LoopBuilder descent(body, "descent", 1);
  for (size_t i = 0; i < kept.size(); ++i) {
    Kept& k = kept[i];
    k.shape = i == 0 ? Shape::Scalar() : ShapeOf(i - 1);
    k.dtype = i == 0 ? DType::kInt32 : DTypeOf(i - 1);
    k.outer = backward->AddVariable(lists[i], Shape::Scalar());
    auto popped = ops::TensorListPopBack(body, backward->Inside(k.outer), ListElementShape(k.shape), k.dtype);
    k.list = descent.AddVariable(popped.output_handle, Shape::Scalar());
    k.value = descent.AddVariable(i == 0 ? ops::FloorDiv(body, popped.tensor, segment_trips_) : popped.tensor, k.shape);
  }
  const int free_inside = descent.AddVariable(ops::AddV2(body, backward->Inside(free), 1), Shape::Scalar());
  const Output last = backward->Inside(end);
  descent.SetCondition(
      ops::Greater(descent.condition(), ops::Sub(descent.condition(), last, descent.Entering(kept[0].value)), 1));
  const Scope& down = descent.body();
  const Output position = descent.Inside(kept[0].value);
  const Output step = BinomialStep(down, ops::Sub(down, last, position), descent.Inside(free_inside));
  const Output reached = ops::AddV2(down, position, step);
  Outputs values;
  for (size_t i = 1; i < kept.size(); ++i) values.push_back(descent.Inside(kept[i].value));
  const Output first = ops::Mul(down, position, segment_trips_);
  values = replay_->Run(down, "trips", first, ops::Mul(down, reached, segment_trips_), values);
  Segment segment;
  for (size_t i = 0; i < kept.size(); ++i) {
    const Kept& k = kept[i];
    descent.SetNext(k.list,
                    ops::TensorListPushBack(down, descent.Inside(k.list), i == 0 ? first : descent.Inside(k.value)));
    descent.SetNext(k.value, i == 0 ? reached : values[i - 1]);
    backward->SetNext(k.outer, descent.Exit(k.list));
    if (i > 0) segment.values.push_back(ops::Identity(body, descent.Exit(k.value)));
  }
  descent.SetNext(free_inside, ops::Sub(down, descent.Inside(free_inside), 1));
  backward->SetNext(free, descent.Exit(free_inside));
  const Output at = descent.Exit(kept[0].value);
  backward->SetNext(end, at);
  segment.first = ops::Mul(body, at, segment_trips_);
  segment.end =
      ops::AddV2(body, segment.first, ops::Minimum(body, segment_trips_, ops::Sub(body, trips, segment.first)));
  return segment;
}

void Checkpoints::Close(const ControlState& inside) {
  if (!segment_trips_) return;
  // A segment gets the other half of the budget for what its gradient saves in each trip.
  const absl::optional<int64_t> bytes = inside.saved_bytes();
  const int64_t half = std::max<int64_t>(options_.budget_bytes / 2, 1);
  const int64_t trips = bytes ? std::max<int64_t>(half / std::max<int64_t>(*bytes, 1), 1) : 1;
  const Scope& scope = *scope_;
  scope.RecordError(scope.graph()->ReplaceUses(segment_trips_, Int32(scope, trips)));
  std::vector<Node*> waiting;
  for (const Edge& edge : segment_trips_.node()->consumers()) waiting.push_back(edge.consumer);
  for (Node* node : waiting) scope.graph()->RemoveControlEdge(segment_trips_.node(), node);
  scope.RecordError(scope.graph()->RemoveNode(segment_trips_.node()));
}

}  // namespace nabla
