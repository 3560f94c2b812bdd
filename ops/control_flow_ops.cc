// The primitives of loops and conditionals. A tensor that passes none of them is "live"; Switch makes dead tensors, and
// ops with a dead input do not run but hand deadness on, up to a Merge.
#include "absl/strings/str_cat.h"
#include "nabla/ops/registration.h"
#include "nabla/ops/rule_util.h"

namespace nabla {
namespace {

absl::Status SwitchShape(ShapeContext& c) {
  NABLA_RETURN_IF_ERROR(c.InputOfRank(1, 0).status());
  return UnchangedShape(c);
}

absl::Status MergeShape(ShapeContext& c) {
  // One of the inputs, not known which. An open back edge counts as unknown.
  Shape output = c.input(0);
  for (int i = 1; i < c.num_inputs(); ++i) output = CommonShape(output, c.input(i));
  c.SetOutput(0, std::move(output));
  c.SetOutput(1, Shape::Scalar());
  return absl::OkStatus();
}

absl::Status LoopCondShape(ShapeContext& c) {
  NABLA_RETURN_IF_ERROR(c.InputOfRank(0, 0).status());
  return ScalarShape(c);
}

absl::Status EnterShape(ShapeContext& c) {
  if (c.attr<int64_t>("parallel_iterations") < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("attr parallel_iterations is ", c.attr<int64_t>("parallel_iterations"), ", must be at least 1"));
  }
  return UnchangedShape(c);
}

// The ops that exist for values and, in old files, for references to variables too: the same but for the types.
void RegisterKind(OpRegistry& registry, bool ref) {
  const std::string prefix = ref ? "Ref" : "";
  const std::string t = ref ? "Ref(T)" : "T";
  const std::string note = ref ? "\n\nWorks on references to variables, which occur in old files only." : "";

  OpSpecBuilder control_switch = registry.Add(prefix + "Switch");
  control_switch.Input("data: " + t)
      .Input("pred: bool")
      .Output("output_false: " + t)
      .Output("output_true: " + t)
      .Attr("T: type")
      .Doc(R"(Sends `data` to one of two outputs; the other output is dead.

pred: a scalar; true sends it to output_true.
Gradient: a Merge of the outputs' gradients, or in a loop NextIteration of the one that stays.)" +
           note)
      .Shape(SwitchShape);
  if (ref) control_switch.AllowsUninitializedInput();

  registry.Add(prefix + "Merge")
      .Input(ref ? "inputs: Ref(N * T)" : "inputs: N * T")
      .Output("output: " + t)
      .Output("value_index: int32")
      .Attr("T: type")
      .Attr("N: int >= 1")
      .Doc(R"(The first of its inputs that arrives alive; dead only if all of them are.

value_index: which of them that was, a scalar.
Only a Merge may have an input that comes back from NextIteration.
Gradient: a Switch of the output's gradient to the input that was taken.)" +
           note)
      .Shape(MergeShape);

  registry.Add(prefix + "Enter")
      .Input("data: " + t)
      .Output("output: " + t)
      .Attr("T: type")
      .Attr("frame_name: string")
      .Attr("is_constant: bool = false")
      .Attr("parallel_iterations: int = 10")
      .Doc(R"(Brings a tensor into the frame of a loop.

frame_name: the loop's, the same for all of its Enters.
is_constant: the output is there in every iteration, not only in the first.
parallel_iterations: how many iterations may be under way at once.
Gradient: Exit, or for a constant the sum over the iterations.)" +
           note)
      .Shape(EnterShape);

  registry.Add(prefix + "Exit")
      .Input("data: " + t)
      .Output("output: " + t)
      .Attr("T: type")
      .Doc("Hands a loop variable's last value to the frame around the loop. Gradient: Enter, into the backward loop." +
           note)
      .Shape(UnchangedShape);

  registry.Add(prefix + "NextIteration")
      .Input("data: " + t)
      .Output("output: " + t)
      .Attr("T: type")
      .Doc("Hands a tensor to the next iteration of the loop. Gradient: passes to the iteration before." + note)
      .Shape(UnchangedShape);
}

}  // namespace

void RegisterControlFlowOps(OpRegistry& registry) {
  RegisterKind(registry, /*ref=*/false);
  RegisterKind(registry, /*ref=*/true);

  registry.Add("LoopCond")
      .Input("input: bool")
      .Output("output: bool")
      .Doc("Marks the scalar that decides whether a loop goes on. No gradient.")
      .Shape(LoopCondShape);

  registry.Add("ControlTrigger")
      .Doc("Does nothing, and runs once all its control inputs are there, dead or alive.")
      .Shape(NoOutputsShape);

  registry.Add("Abort")
      .Attr("error_msg: string = ''")
      .Attr("exit_without_error: bool = false")
      .Doc(R"(Ends the run.

error_msg: the error's text.
exit_without_error: ends it without an error.)")
      .Shape(NoOutputsShape);
}

}  // namespace nabla
