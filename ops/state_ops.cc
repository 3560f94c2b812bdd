// Resource variables.
#include "absl/strings/str_cat.h"
#include "nabla/graph/resource_handle.h"
#include "nabla/ops/index_rules.h"
#include "nabla/ops/registration.h"
#include "nabla/ops/rule_util.h"

namespace nabla {
namespace {

// What input 0 is a handle of; checks attr dtype, where the op has one, against the variable's.
absl::StatusOr<ResourceInfo> HandleInfo(ShapeContext& c) {
  NABLA_RETURN_IF_ERROR(c.InputOfRank(0, 0).status());
  ResourceInfo info = FindResource(c.source(0));
  const DType* dtype = c.find_attr<DType>("dtype");
  if (dtype != nullptr && info.node != nullptr && info.dtype != *dtype) {
    return absl::InvalidArgumentError(absl::StrCat("attr dtype is ", DTypeName(*dtype), ", but variable ",
                                                   info.node->name(), " is of type ", DTypeName(info.dtype)));
  }
  return info;
}

absl::Status ReadVariableShape(ShapeContext& c) {
  NABLA_ASSIGN_OR_RETURN(ResourceInfo info, HandleInfo(c));
  c.SetOutput(0, std::move(info.shape));
  return absl::OkStatus();
}

absl::Status AssignVariableShape(ShapeContext& c) {
  NABLA_ASSIGN_OR_RETURN(const ResourceInfo info, HandleInfo(c));
  if (!info.shape.IsCompatibleWith(c.input(1))) {
    return absl::InvalidArgumentError(absl::StrCat("variable ", info.node->name(), " has shape ", info.shape.ToString(),
                                                   ", the value ", c.input(1).ToString()));
  }
  return absl::OkStatus();
}

absl::Status VarIsInitializedShape(ShapeContext& c) {
  NABLA_RETURN_IF_ERROR(c.InputOfRank(0, 0).status());
  return ScalarShape(c);
}

absl::Status VariableShapeShape(ShapeContext& c) {
  NABLA_ASSIGN_OR_RETURN(const ResourceInfo info, HandleInfo(c));
  c.SetOutput(0, Shape({info.shape.has_rank() ? info.shape.rank() : kUnknownDim}));
  return absl::OkStatus();
}

absl::Status HandleOnlyShape(ShapeContext& c) { return c.InputOfRank(0, 0).status(); }

absl::Status ResourceGatherShape(ShapeContext& c) {
  NABLA_ASSIGN_OR_RETURN(const ResourceInfo info, HandleInfo(c));
  const int64_t batch_dims = c.attr<int64_t>("batch_dims");
  absl::optional<int64_t> axis = batch_dims;
  if (batch_dims < 0) {
    axis = absl::nullopt;
    if (c.input(1).has_rank()) axis = batch_dims + c.input(1).rank();
  }
  NABLA_ASSIGN_OR_RETURN(Shape output, GatherResult(info.shape, c.input(1), axis, batch_dims));
  return SetCheckedOutput(c, 0, output);
}

absl::Status ResourceGatherNdShape(ShapeContext& c) {
  NABLA_ASSIGN_OR_RETURN(const ResourceInfo info, HandleInfo(c));
  NABLA_ASSIGN_OR_RETURN(Shape output, GatherNdResult(info.shape, c.input(1)));
  return SetCheckedOutput(c, 0, output);
}

absl::Status ResourceScatterShape(ShapeContext& c) {
  NABLA_ASSIGN_OR_RETURN(const ResourceInfo info, HandleInfo(c));
  return CheckScatterRows(info.shape, c.input(1), c.input(2));
}

absl::Status ResourceScatterNdShape(ShapeContext& c) {
  NABLA_ASSIGN_OR_RETURN(const ResourceInfo info, HandleInfo(c));
  return CheckScatterNd(c.input(1), c.input(2), info.shape);
}

}  // namespace

void RegisterStateOps(OpRegistry& registry) {
  registry.Add("VarHandleOp")
      .Output("resource: resource")
      .Attr("container: string = ''")
      .Attr("shared_name: string = ''")
      .Attr("debug_name: string = ''")
      .Attr("dtype: type")
      .Attr("shape: shape")
      .Attr("allowed_devices: list(string) = []")
      .Doc(R"(A handle to a variable of the session, which has no value until one is assigned.

container, shared_name: the variable's name; handles that agree in both are to one variable. An empty shared_name
  stands for the node's name.
dtype: of the value. shape: what every value must be compatible with.
A gradient with respect to the handle is the one with respect to the value.)")
      .Stateful()
      .Shape(ScalarShape);

  registry.Add("ReadVariableOp")
      .Input("resource: resource")
      .Output("value: dtype")
      .Attr("dtype: type")
      .Doc(R"(A variable's value as it is when this op runs; later assignments do not change what was read.

Reading one that has no value fails the run. Gradient: passes to the handle unchanged.)")
      .Stateful()
      .Shape(ReadVariableShape);

  registry.Add("AssignVariableOp")
      .Input("resource: resource")
      .Input("value: dtype")
      .Attr("dtype: type")
      .Attr("validate_shape: bool = false")
      .Doc(R"(Gives a variable a value.

value: of the variable's dtype.
validate_shape: the run fails if `value` has not the shape of the value that it replaces.)")
      .Stateful()
      .Shape(AssignVariableShape);

  registry.Add("AssignAddVariableOp")
      .Input("resource: resource")
      .Input("value: dtype")
      .Attr("dtype: type")
      .Doc("Adds `value`, of the variable's shape, to a variable. Concurrent updates are not lost.")
      .Stateful()
      .Shape(AssignVariableShape);

  registry.Add("AssignSubVariableOp")
      .Input("resource: resource")
      .Input("value: dtype")
      .Attr("dtype: type")
      .Doc("Subtracts `value`, of the variable's shape, from a variable. Concurrent updates are not lost.")
      .Stateful()
      .Shape(AssignVariableShape);

  registry.Add("VarIsInitializedOp")
      .Input("resource: resource")
      .Output("is_initialized: bool")
      .Doc("Whether a variable has a value, as a scalar.")
      .Stateful()
      .Shape(VarIsInitializedShape);

  registry.Add("VariableShape")
      .Input("input: resource")
      .Output("output: out_type")
      .Attr("out_type: {int32, int64} = int32")
      .Doc("The dimensions of a variable's value, as a vector. No gradient.")
      .Stateful()
      .Shape(VariableShapeShape);

  registry.Add("DestroyResourceOp")
      .Input("resource: resource")
      .Attr("ignore_lookup_error: bool = true")
      .Doc(R"(Removes a resource from the session; a variable of that name starts anew.

ignore_lookup_error: whether it is fine if there is none.)")
      .Stateful()
      .Shape(HandleOnlyShape);

  registry.Add("ResourceGather")
      .Input("resource: resource")
      .Input("indices: Tindices")
      .Output("output: dtype")
      .Attr("batch_dims: int = 0")
      .Attr("validate_indices: bool = true")
      .Attr("dtype: type")
      .Attr("Tindices: {int32, int64}")
      .Doc(R"(Rows of a variable, without copying the rest: output[i…] = variable[indices[i…]].

indices: any shape, values in [0, variable.shape[0]).
batch_dims: how many leading dimensions variable and indices have in common; then rows are those of dimension
  batch_dims.
output: indices.shape + variable.shape[batch_dims + 1:].
Gradient: for the handle, IndexedSlices of the output's gradient at `indices`.)")
      .Stateful()
      .Shape(ResourceGatherShape);

  registry.Add("ResourceGatherNd")
      .Input("resource: resource")
      .Input("indices: Tindices")
      .Output("output: dtype")
      .Attr("dtype: type")
      .Attr("Tindices: {int32, int64}")
      .Doc(R"(Slices of a variable picked by index tuples: output[i…] = variable[indices[i…, 0], indices[i…, 1], …].

indices: [..., K] with K at most the variable's rank. output: indices.shape[:-1] + variable.shape[K:].
Gradient: for the handle, the output's gradient scattered to where it was read.)")
      .Stateful()
      .Shape(ResourceGatherNdShape);

  const struct {
    const char* op;
    const char* doc;
  } scatters[] = {
      {"ResourceScatterAdd", "Adds rows to a variable: variable[indices[i…]] += updates[i…], equal indices in order."},
      {"ResourceScatterSub",
       "Subtracts rows from a variable: variable[indices[i…]] -= updates[i…], equal indices in order."},
      {"ResourceScatterMul",
       "Multiplies rows of a variable: variable[indices[i…]] *= updates[i…], equal indices in order."},
      {"ResourceScatterDiv",
       "Divides rows of a variable: variable[indices[i…]] /= updates[i…], equal indices in order. A zero among integer "
       "updates fails the run."},
      {"ResourceScatterMin", "Lowers rows of a variable to variable[indices[i…]] = min(that, updates[i…])."},
      {"ResourceScatterMax", "Raises rows of a variable to variable[indices[i…]] = max(that, updates[i…])."},
  };
  for (const auto& scatter : scatters) {
    registry.Add(scatter.op)
        .Input("resource: resource")
        .Input("indices: Tindices")
        .Input("updates: dtype")
        .Attr("dtype: numbertype")
        .Attr("Tindices: {int32, int64}")
        .Doc(absl::StrCat(scatter.doc, R"(

indices: any shape, values in [0, variable.shape[0]).
updates: indices.shape + variable.shape[1:], or a scalar.)"))
        .Stateful()
        .Shape(ResourceScatterShape);
  }
  registry.Add("ResourceScatterUpdate")
      .Input("resource: resource")
      .Input("indices: Tindices")
      .Input("updates: dtype")
      .Attr("dtype: type")
      .Attr("Tindices: {int32, int64}")
      .Doc(R"(Replaces rows of a variable: variable[indices[i…]] = updates[i…]; of equal indices the last wins.

indices: any shape, values in [0, variable.shape[0]).
updates: indices.shape + variable.shape[1:], or a scalar.)")
      .Stateful()
      .Shape(ResourceScatterShape);

  const struct {
    const char* op;
    const char* doc;
  } tuple_scatters[] = {
      {"ResourceScatterNdUpdate",
       "Replaces slices of a variable picked by index tuples; of equal tuples the last wins."},
      {"ResourceScatterNdAdd", "Adds to slices of a variable picked by index tuples, equal tuples in order."},
      {"ResourceScatterNdSub", "Subtracts from slices of a variable picked by index tuples, equal tuples in order."},
      {"ResourceScatterNdMin", "The smaller of slices of a variable picked by index tuples and the updates."},
      {"ResourceScatterNdMax", "The larger of slices of a variable picked by index tuples and the updates."},
  };
  for (const auto& scatter : tuple_scatters) {
    registry.Add(scatter.op)
        .Input("ref: resource")
        .Input("indices: Tindices")
        .Input("updates: T")
        .Attr("T: type")
        .Attr("Tindices: {int32, int64}")
        .Attr("use_locking: bool = true")
        .Attr("bad_indices_policy: string = ''")
        .Doc(absl::StrCat(scatter.doc, R"(

indices: [..., K] with K at most the variable's rank: variable[indices[i…, 0], …, indices[i…, K - 1]] is combined with
  updates[i…].
updates: indices.shape[:-1] + variable.shape[K:].
bad_indices_policy: '', DEFAULT and ERROR fail the run for an index out of range, IGNORE leaves its update out.)"))
        .Stateful()
        .Shape(ResourceScatterNdShape);
  }
}

}  // namespace nabla
