// Fields of attrs that the schema does not know: a Graph's attrs have no place for them, so import keeps them apart and
// export puts them back.
#ifndef NABLA_GRAPH_UNKNOWN_FIELDS_H_
#define NABLA_GRAPH_UNKNOWN_FIELDS_H_

#include <string>

#include "absl/strings/string_view.h"

namespace google::protobuf {
class Message;
}  // namespace google::protobuf

namespace nabla {

class AttrValue;
class NodeDef;
class TensorProto;

// Anywhere in the message.
bool HasUnknownFields(const AttrValue& attr);
bool HasUnknownFields(const TensorProto& tensor);

// What remains is unknown fields and the messages that they stand in.
void KeepOnlyUnknownFields(google::protobuf::Message* message);

// Appends the attr, of which only unknown fields are left, to the bytes of a NodeDef.
void AppendUnknownAttr(absl::string_view name, AttrValue&& only_unknown, std::string* node_def);
// Adds such bytes to what they were taken from: unknown fields to their attrs, where these are still built alike, and
// everything else as protobuf merges it.
void MergeUnknownFields(const std::string& node_def, NodeDef* def);
// Removes those of one attr, which has a new value.
void DropUnknownAttr(absl::string_view name, std::string* node_def);

}  // namespace nabla

#endif  // NABLA_GRAPH_UNKNOWN_FIELDS_H_
