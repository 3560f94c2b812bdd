// Every case of tests/golden/shapes.txt (see make_shapes.py, which explains the notation) infers the shapes that
// TensorFlow infers.
#include <algorithm>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "gtest/gtest.h"
#include "nabla/graph/scope.h"
#include "nabla/graph/weak_constant.h"
#include "nabla/ops/ops.h"

namespace nabla {
namespace {

Shape ReadShape(absl::string_view text) {
  if (text == "<unknown>") return Shape();
  Shape shape = Shape::Scalar();
  for (absl::string_view dim : absl::StrSplit(text.substr(1, text.size() - 2), ',', absl::SkipEmpty())) {
    int64_t value = kUnknownDim;
    EXPECT_TRUE(dim == "?" || absl::SimpleAtoi(dim, &value)) << text;
    shape.AddDim(value);
  }
  return shape;
}

class CaseReader {
 public:
  CaseReader() : scope_(&graph_) {}

  // "[2,3] []", "error: …", or "bad case: …".
  std::string Infer(absl::string_view text) {
    std::vector<std::string> words = absl::StrSplit(SpaceParentheses(text), ' ', absl::SkipEmpty());
    NodeBuilder builder(scope_, words[0]);
    bool in_list = false;
    Outputs list;
    for (size_t i = 1; i < words.size(); ++i) {
      const std::string& word = words[i];
      const size_t shape_at = word.find_first_of("[<");
      const size_t equals_at = word.find('=');
      if (word == "(") {
        in_list = true;
      } else if (word == ")") {
        builder.InputList(list);
        in_list = false;
        list.clear();
      } else if (shape_at < equals_at) {
        const Output input = ReadInput(word, shape_at);
        if (!input) return absl::StrCat("bad case: ", word, ": ", scope_.status().ToString());
        if (in_list) {
          list.push_back(input);
        } else {
          builder.Input(input);
        }
      } else if (equals_at != std::string::npos) {
        builder.Attr(word.substr(0, equals_at),
                     ReadAttr(words[0], word.substr(0, equals_at), word.substr(equals_at + 1)));
      } else {
        return absl::StrCat("bad case: ", word);
      }
    }
    Node* node = builder.Finish();
    if (node == nullptr) return absl::StrCat("error: ", scope_.status().message());
    std::vector<std::string> shapes;
    for (int i = 0; i < node->num_outputs(); ++i) shapes.push_back(node->output_shape(i).ToString());
    return absl::StrJoin(shapes, " ");
  }

 private:
  static std::string SpaceParentheses(absl::string_view text) {
    std::string out;
    for (char c : text)
      absl::StrAppend(&out, c == '(' || c == ')' ? absl::StrCat(" ", std::string(1, c), " ") : std::string(1, c));
    return out;
  }

  static DType ReadDType(absl::string_view text) {
    const absl::optional<DType> dtype = ParseDType(text);
    EXPECT_TRUE(dtype.has_value()) << text;
    return dtype.value_or(DType::kInvalid);
  }

  static std::vector<int64_t> ReadInts(absl::string_view text) {
    std::vector<int64_t> values;
    for (absl::string_view item : absl::StrSplit(text, ',', absl::SkipEmpty())) {
      values.emplace_back();
      EXPECT_TRUE(absl::SimpleAtoi(item, &values.back())) << text;
    }
    return values;
  }

  Output ReadInput(const std::string& word, size_t shape_at) {
    const DType dtype = ReadDType(word.substr(0, shape_at));
    const size_t shape_end = word.find_first_of("]>") + 1;
    const Shape shape = ReadShape(word.substr(shape_at, shape_end - shape_at));
    if (shape_end == word.size()) return ops::Placeholder(scope_, dtype, {.shape = shape});
    const std::vector<std::string> items = absl::StrSplit(word.substr(shape_end + 1), ',', absl::SkipEmpty());
    if (dtype == DType::kBool) {
      Tensor value(dtype, shape);
      for (size_t i = 0; i < items.size(); ++i) value.flat<bool>()[i] = items[i] == "true";
      return ops::Const(scope_, value);
    }
    Tensor numbers(DType::kDouble, shape);
    EXPECT_EQ(static_cast<size_t>(numbers.num_elements()), items.size()) << word;
    for (size_t i = 0; i < items.size() && i < numbers.flat<double>().size(); ++i) {
      EXPECT_TRUE(absl::SimpleAtod(items[i], &numbers.flat<double>()[i])) << word;
    }
    absl::StatusOr<Tensor> value = ConvertWeakConstant(numbers, dtype);
    EXPECT_TRUE(value.ok()) << word << ": " << value.status();
    return value.ok() ? ops::Const(scope_, *value) : Output();
  }

  // Words without a prefix are read as what the op's spec says.
  Attr ReadAttr(const std::string& op, const std::string& name, absl::string_view text) {
    if (absl::ConsumePrefix(&text, "type:")) return ReadDType(text);
    if (absl::ConsumePrefix(&text, "shape:")) return ReadShape(text);
    if (absl::ConsumePrefix(&text, "list:")) return ReadInts(text);
    if (absl::ConsumePrefix(&text, "types:")) {
      DTypes dtypes;
      for (absl::string_view item : absl::StrSplit(text, ',', absl::SkipEmpty())) dtypes.push_back(ReadDType(item));
      return dtypes;
    }
    const OpSpec* spec = OpRegistry::Global().Find(op);
    const AttrSpec* attr = spec == nullptr ? nullptr : spec->FindAttr(name);
    const Attr::Kind kind = attr == nullptr ? Attr::Kind::kString : attr->kind;
    int64_t integer;
    float number;
    if (kind == Attr::Kind::kBool) return text == "true";
    if (kind == Attr::Kind::kInt && absl::SimpleAtoi(text, &integer)) return integer;
    if (kind == Attr::Kind::kFloat && absl::SimpleAtof(text, &number)) return number;
    return std::string(text);
  }

  Graph graph_;
  Scope scope_;
};

TEST(ShapeRules, AgreeWithTensorFlow) {
  RegisterAllOps();
  std::ifstream file("tests/golden/shapes.txt");
  int cases = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t arrow = line.find(" ->");
    ASSERT_NE(arrow, std::string::npos) << line;
    const std::string expected(absl::StripAsciiWhitespace(line.substr(arrow + 3)));
    std::string inferred = CaseReader().Infer(line.substr(0, arrow));
    if (expected == "error") {
      EXPECT_EQ(inferred.substr(0, 6), "error:") << line << "\n  inferred " << inferred;
      // An error is one line that names the op.
      EXPECT_EQ(inferred.find('\n'), std::string::npos) << inferred;
      EXPECT_NE(inferred.find(line.substr(0, line.find(' '))), std::string::npos) << inferred;
    } else {
      EXPECT_EQ(inferred, expected) << line;
    }
    ++cases;
  }
  EXPECT_GT(cases, 300);
}

// Static shapes are told from what is known only: making an input vaguer must never contradict the precise result.
TEST(ShapeRules, VaguerInputsGiveVaguerShapes) {
  RegisterAllOps();
  std::ifstream file("tests/golden/shapes.txt");
  int compared = 0;
  for (std::string line; std::getline(file, line);) {
    const size_t arrow = line.find(" ->");
    if (line.empty() || line[0] == '#' || absl::StrContains(line, "error")) continue;
    const std::string text = line.substr(0, arrow);
    // Every input in turn loses its shape, and with it its value.
    for (size_t at = text.find('['); at != std::string::npos; at = text.find('[', at + 1)) {
      if (text[at - 1] == ':') continue;  // an attr's shape
      size_t end = text.find(']', at) + 1;
      if (end < text.size() && text[end] == '=') end = std::min(text.find_first_of(" )", end), text.size());
      const std::string vaguer = absl::StrCat(text.substr(0, at), "<unknown>", text.substr(end));
      const std::string inferred = CaseReader().Infer(vaguer);
      const std::string precise(absl::StripAsciiWhitespace(line.substr(arrow + 3)));
      const std::vector<std::string> shapes = absl::StrSplit(inferred, ' ', absl::SkipEmpty());
      const std::vector<std::string> precise_shapes = absl::StrSplit(precise, ' ', absl::SkipEmpty());
      ASSERT_EQ(shapes.size(), precise_shapes.size()) << vaguer << " -> " << inferred;
      for (size_t i = 0; i < shapes.size(); ++i) {
        EXPECT_TRUE(ReadShape(shapes[i]).IsCompatibleWith(ReadShape(precise_shapes[i])))
            << vaguer << " -> " << inferred << "\n  but " << line;
      }
      ++compared;
    }
  }
  EXPECT_GT(compared, 300);
}

}  // namespace
}  // namespace nabla
