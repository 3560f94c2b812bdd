#include "nabla/graph/import.h"

#include <memory>
#include <utility>

#include <google/protobuf/stubs/logging.h>

#include "absl/strings/str_cat.h"
#include "nabla/graph/byte_reader.h"
#include "nabla/graph/error_text.h"
#include "nabla/graph/graph_def_reader.h"
#include "nabla/graph/graph_format.h"
#include "nabla/graph/graph_importer.h"
#include "nabla/graph/node_record.h"
#include "nabla/graph/status_macros.h"
#include "nabla/proto/graph.pb.h"

namespace nabla {
namespace {

// Protobuf's own limit, so no library writes more.
constexpr uint64_t kMaxBytes = (uint64_t{1} << 31) - 1;
constexpr size_t kSniffed = 4096;

absl::Status ImportBinary(ByteReader* reader, const ImportOptions& options, Graph* graph, ImportResult* result) {
  ExpansionBudget budget{options.max_expanded_bytes};
  GraphDefRest rest;
  GraphImporter importer(options, graph);
  GraphDefReader graph_def_reader(reader, &budget);
  NABLA_RETURN_IF_ERROR(
      graph_def_reader.Read([&importer](NodeRecord* record) { return importer.AddRecord(record); }, &rest));
  return importer.Finish(std::move(rest), result);
}

absl::Status ImportTextual(GraphFormat format, ByteReader* reader, const ImportOptions& options, Graph* graph,
                           ImportResult* result) {
  GraphDef graph_def;
  {
    std::string text;
    absl::string_view piece;
    while (!(piece = reader->Peek(ByteReader::kMaxView)).empty()) {
      if (text.size() + piece.size() > kMaxBytes) {
        return absl::InvalidArgumentError(
            absl::StrCat("is longer than ", kMaxBytes, " bytes, the limit of a GraphDef"));
      }
      text.append(piece.data(), piece.size());
      reader->Skip(piece.size());
    }
    if (reader->failed()) return absl::DataLossError("the system reports an error in reading it");
    NABLA_RETURN_IF_ERROR(format == GraphFormat::kText ? ParseGraphText(text, &graph_def)
                                                       : ParseGraphJson(text, &graph_def));
  }
  return ImportGraphDef(std::move(graph_def), options, graph, result);
}

absl::Status ImportAny(ByteReader* reader, const ImportOptions& options, Graph* graph, ImportResult* result) {
  if (reader->size() != UINT64_MAX && reader->size() > kMaxBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("has ", reader->size(), " bytes, but a GraphDef is at most ", kMaxBytes, " bytes long"));
  }
  // Protobuf prints what it finds wrong; here it goes into the Status.
  const google::protobuf::LogSilencer silencer;
  const absl::string_view begin = reader->Peek(kSniffed);
  if (reader->failed()) return absl::DataLossError("the system reports an error in reading it");
  NABLA_ASSIGN_OR_RETURN(const GraphFormat format, DetectGraphFormat(begin));
  return format == GraphFormat::kBinary ? ImportBinary(reader, options, graph, result)
                                        : ImportTextual(format, reader, options, graph, result);
}

}  // namespace

absl::Status ImportGraphDef(GraphDef&& graph_def, const ImportOptions& options, Graph* graph, ImportResult* result) {
  ExpansionBudget budget{options.max_expanded_bytes};
  GraphDefRest rest;
  GraphImporter importer(options, graph);
  NodeRecord record;
  for (NodeDef& def : *graph_def.mutable_node()) {
    absl::Status status = NodeRecordFromProto(std::move(def), &budget, &record);
    if (!status.ok()) return WithContext(absl::StrCat("node ", Quoted(record.name)), status);
    NABLA_RETURN_IF_ERROR(importer.AddRecord(&record));
  }
  rest.library = std::move(*graph_def.mutable_library());
  rest.versions = std::move(*graph_def.mutable_versions());
  // What remains are the fields that a Graph keeps as bytes.
  graph_def.clear_node();
  graph_def.clear_library();
  graph_def.clear_versions();
  if (!graph_def.SerializeToString(&rest.foreign_fields)) {
    return absl::InvalidArgumentError("has fields that cannot be kept");
  }
  return importer.Finish(std::move(rest), result);
}

absl::Status ImportGraphDef(const GraphDef& graph_def, const ImportOptions& options, Graph* graph,
                            ImportResult* result) {
  return ImportGraphDef(GraphDef(graph_def), options, graph, result);
}

absl::Status ImportGraphDefString(absl::string_view bytes, const ImportOptions& options, Graph* graph,
                                  ImportResult* result, absl::string_view source) {
  ByteReader reader(bytes);
  return WithContext(source, ImportAny(&reader, options, graph, result));
}

absl::Status ImportGraphDefStream(std::istream& in, const ImportOptions& options, Graph* graph, ImportResult* result,
                                  absl::string_view source) {
  ByteReader reader(&in);
  return WithContext(source, ImportAny(&reader, options, graph, result));
}

absl::Status ImportGraphDefFile(const std::string& path, const ImportOptions& options, Graph* graph,
                                ImportResult* result) {
  NABLA_ASSIGN_OR_RETURN(std::unique_ptr<ByteReader> reader, ByteReader::OpenFile(path));
  return WithContext(path, ImportAny(reader.get(), options, graph, result));
}

}  // namespace nabla
