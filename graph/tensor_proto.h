// Tensors, shapes and attrs to and from their protobuf messages.
#ifndef NABLA_GRAPH_TENSOR_PROTO_H_
#define NABLA_GRAPH_TENSOR_PROTO_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nabla/graph/attr.h"

namespace nabla {

class AttrValue;
class TensorProto;
class TensorShapeProto;

// Checks everything: dtype, dimensions, that the content matches the shape. Values may be in tensor_content or in the
// typed *_val field, where a shorter list's last value repeats (and an empty one means zeros). The rvalue overload
// moves tensor_content's bytes into the Tensor without copying. InvalidArgument for what is malformed;
// ResourceExhausted if there is no memory, or if a few values are to fill more than 2 GiB; Unimplemented for resources
// and variants, which a file cannot hold (a tensor of none is fine).
absl::StatusOr<Tensor> TensorFromProto(const TensorProto& proto);
absl::StatusOr<Tensor> TensorFromProto(TensorProto&& proto);
// Numbers as tensor_content, strings as string_val, and a splat of one value as a single *_val. Of resources only the
// names and of variants only the type names are written, for a reader's information.
void TensorToProto(const Tensor& tensor, TensorProto* proto);

absl::StatusOr<Shape> ShapeFromProto(const TensorShapeProto& proto);
void ShapeToProto(const Shape& shape, TensorShapeProto* proto);

// InvalidArgument for unknown dtypes, malformed shapes and tensors, lists of several kinds, and functions nested in
// functions' attrs too deeply.
absl::StatusOr<Attr> AttrFromProto(const AttrValue& proto);
absl::StatusOr<Attr> AttrFromProto(AttrValue&& proto);
void AttrToProto(const Attr& attr, AttrValue* proto);

}  // namespace nabla

#endif  // NABLA_GRAPH_TENSOR_PROTO_H_
