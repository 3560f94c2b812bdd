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
// moves tensor_content's bytes into the Tensor without copying.
absl::StatusOr<Tensor> TensorFromProto(const TensorProto& proto);
absl::StatusOr<Tensor> TensorFromProto(TensorProto&& proto);
// Numbers as tensor_content (a splat of one value as a single *_val), strings as string_val.
void TensorToProto(const Tensor& tensor, TensorProto* proto);

absl::StatusOr<Shape> ShapeFromProto(const TensorShapeProto& proto);
void ShapeToProto(const Shape& shape, TensorShapeProto* proto);

absl::StatusOr<Attr> AttrFromProto(const AttrValue& proto);
absl::StatusOr<Attr> AttrFromProto(AttrValue&& proto);
void AttrToProto(const Attr& attr, AttrValue* proto);

}  // namespace nabla

#endif  // NABLA_GRAPH_TENSOR_PROTO_H_
