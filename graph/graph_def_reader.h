// Reads GraphDef's wire format node by node. What is large in a graph, the content of constants, goes from the source
// into the buffer of a Tensor without a stop; everything else is decoded from a view of the read buffer.
//
// The decoder is for untrusted bytes: every length is checked against what encloses it, messages that protobuf decodes
// are limited to its nesting of 100, and there is no recursion of its own.
#ifndef NABLA_GRAPH_GRAPH_DEF_READER_H_
#define NABLA_GRAPH_GRAPH_DEF_READER_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "nabla/graph/byte_reader.h"
#include "nabla/graph/node_record.h"
#include "nabla/proto/attr_value.pb.h"
#include "nabla/proto/function.pb.h"
#include "nabla/proto/versions.pb.h"

namespace nabla {

// A GraphDef without its nodes.
struct GraphDefRest {
  FunctionDefLibrary library;
  VersionDef versions;
  std::string foreign_fields;  // all other fields, as they stand on the wire
};

class GraphDefReader {
 public:
  GraphDefReader(ByteReader* reader, ExpansionBudget* budget) : reader_(*reader), budget_(*budget) {}

  // Calls `node` for each node, in file order; it may move from the record. Stops at the first error, whose message
  // says where.
  absl::Status Read(const std::function<absl::Status(NodeRecord* record)>& node, GraphDefRest* rest);

 private:
  struct Tag {
    uint32_t field = 0;
    uint32_t type = 0;    // WireFormatLite::WireType
    uint64_t length = 0;  // of the content, where the type has one
  };

  // The next field of a message that ends at `end`; its content is what reader_ reads next.
  absl::Status ReadTag(uint64_t end, Tag* tag);
  absl::Status ReadNode(uint64_t end, NodeRecord* record);
  absl::Status ReadAttrEntry(uint64_t end, NodeRecord* record);
  // What the schema does not know of it goes to unknown_attr_.
  absl::Status ReadAttr(uint64_t length, Attr* attr);
  absl::Status ReadLargeTensorAttr(uint64_t length, Attr* attr);
  absl::Status ReadTensor(uint64_t length, Attr* attr);
  // Content of `length` bytes into a string, or parsed and merged into a message.
  absl::Status ReadText(uint64_t length, std::string* text);
  absl::Status ReadMessage(uint64_t length, const char* what, google::protobuf::MessageLite* message);
  // Appends the field, tag included, to `raw`.
  absl::Status ReadRaw(const Tag& tag, std::string* raw);

  absl::Status Truncated() const;
  absl::Status Malformed(const std::string& what) const;

  ByteReader& reader_;
  ExpansionBudget& budget_;
  AttrValue scratch_attr_;
  absl::optional<AttrValue> unknown_attr_;  // only fields that the schema does not know
  std::string scratch_;
};

}  // namespace nabla

#endif  // NABLA_GRAPH_GRAPH_DEF_READER_H_
