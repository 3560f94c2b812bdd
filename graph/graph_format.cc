#include "nabla/graph/graph_format.h"

#include <algorithm>

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "nabla/graph/error_text.h"
#include "nabla/proto/graph.pb.h"

namespace nabla {
namespace {

constexpr int kMaxNesting = 100;

struct Magic {
  absl::string_view bytes;
  const char* what;
};
constexpr Magic kForeignFormats[] = {
    {"\x89PNG", "a PNG image"},
    {"\xff\xd8\xff", "a JPEG image"},
    {"GIF8", "a GIF image"},
    {"\x93NUMPY", "a NumPy array (.npy)"},
    {"PK\x03\x04", "a zip archive"},
    {"\x1f\x8b", "a gzip archive"},
    {"\x89HDF", "an HDF5 file (a Keras model?)"},
    {"\x7f"
     "ELF",
     "a program"},
    {"%PDF", "a PDF document"},
    {"<", "an XML or HTML document"},
};

bool IsWordChar(char c) { return absl::ascii_isalnum(c) || c == '_'; }

// What text begins with: the name of a field and an opening bracket or colon. In a binary GraphDef the bytes that
// could pass for a field's name are lengths or a node's name, neither of which stands before such a character.
bool LooksLikeText(absl::string_view s) {
  size_t i = 0;
  while (i < s.size()) {
    if (s[i] == ' ' || s[i] == '\t' || s[i] == '\r' || s[i] == '\n') {
      ++i;
    } else if (s[i] == '#') {
      while (i < s.size() && s[i] != '\n') ++i;
    } else {
      break;
    }
  }
  // Nothing but blanks and comments, as far as can be seen.
  if (i == s.size()) return absl::StrContains(s, '#');
  const size_t word = i;
  while (i < s.size() && IsWordChar(s[i])) ++i;
  if (i == word) return false;
  while (i < s.size() && (s[i] == ' ' || s[i] == '\t')) ++i;
  return i < s.size() && (s[i] == '{' || s[i] == ':' || s[i] == '<');
}

// Text can spell strings that no binary message may hold, those that are not UTF-8; a graph must not keep them, for it
// could be written but not read again.
absl::Status CheckBinaryForm(const GraphDef& graph_def) {
  std::string bytes;
  const auto has_binary_form = [&bytes](const google::protobuf::MessageLite& message,
                                        google::protobuf::MessageLite* again) {
    return message.SerializeToString(&bytes) && again->ParseFromString(bytes);
  };
  NodeDef node_again;
  for (const NodeDef& node : graph_def.node()) {
    if (!has_binary_form(node, &node_again)) {
      return absl::InvalidArgumentError(absl::StrCat("node ", Quoted(node.name()), " has text that is not UTF-8"));
    }
  }
  FunctionDefLibrary library_again;
  if (!has_binary_form(graph_def.library(), &library_again)) {
    return absl::InvalidArgumentError("the function library has text that is not UTF-8");
  }
  GraphDebugInfo debug_info_again;
  if (!has_binary_form(graph_def.debug_info(), &debug_info_again)) {
    return absl::InvalidArgumentError("debug_info has text that is not UTF-8");
  }
  return absl::OkStatus();
}

class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, google::protobuf::io::ColumnNumber column, const std::string& message) override {
    if (!status.ok()) return;
    // Counted from 1, as editors do; without a place, the text as a whole is meant.
    const std::string place = line < 0 ? "" : absl::StrCat("line ", line + 1, " column ", column + 1, ": ");
    status = absl::InvalidArgumentError(absl::StrCat(place, OneLine(message)));  // it quotes the input
  }
  absl::Status status;
};

}  // namespace

absl::StatusOr<GraphFormat> DetectGraphFormat(absl::string_view begin) {
  if (begin.empty()) return absl::InvalidArgumentError("is empty, expected a GraphDef");
  for (const Magic& format : kForeignFormats) {
    if (absl::StartsWith(begin, format.bytes)) {
      return absl::InvalidArgumentError(absl::StrCat("is ", format.what, ", expected a GraphDef"));
    }
  }
  if (begin.size() >= 8 && begin.substr(4, 4) == "TFL3") {
    return absl::InvalidArgumentError("is a TensorFlow Lite model, expected a GraphDef");
  }
  // Field 1 as a number: no GraphDef has that, but these begin with it.
  if (begin[0] == '\x08') {
    const bool saved_model = begin.size() >= 3 && begin[1] == '\x01' && begin[2] == '\x12';
    return absl::InvalidArgumentError(saved_model ? "is a SavedModel, expected a GraphDef (freeze the model first)"
                                                  : "is no GraphDef (some other protobuf message, ONNX perhaps)");
  }
  // A binary GraphDef can begin like text ("\n{\n" is a node of 123 bytes), but has other control characters soon.
  const bool has_control = std::any_of(begin.begin(), begin.end(), [](char c) {
    return static_cast<unsigned char>(c) < ' ' && c != '\t' && c != '\r' && c != '\n';
  });
  if (has_control) return GraphFormat::kBinary;
  const size_t first = begin.find_first_not_of(" \t\r\n");
  if (first != absl::string_view::npos && begin[first] == '{') return GraphFormat::kJson;
  // Wrong text is better told so as text. No field of a GraphDef has a tag that is one of these characters.
  const bool is_prose = begin[0] == '#' || begin[0] == ' ' || begin[0] == '\t' || IsWordChar(begin[0]);
  if (first != absl::string_view::npos && is_prose) return GraphFormat::kText;
  return LooksLikeText(begin) ? GraphFormat::kText : GraphFormat::kBinary;
}

absl::Status ParseGraphText(const std::string& text, GraphDef* graph_def) {
  FirstError errors;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  parser.SetRecursionLimit(kMaxNesting);
  if (parser.ParseFromString(text, graph_def)) return CheckBinaryForm(*graph_def);
  return errors.status.ok() ? absl::InvalidArgumentError("is no text GraphDef") : errors.status;
}

absl::Status ParseGraphJson(const std::string& json, GraphDef* graph_def) {
  const auto status = google::protobuf::util::JsonStringToMessage(json, graph_def);
  if (status.ok()) return CheckBinaryForm(*graph_def);
  const google::protobuf::StringPiece message = status.message();
  return absl::InvalidArgumentError(
      absl::StrCat("is no JSON GraphDef: ", OneLine(absl::string_view(message.data(), message.size()))));
}

}  // namespace nabla
