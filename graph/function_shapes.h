// Shapes of what calls and loops of functions give: inferred by instantiating the function's body for the shapes of the
// call's inputs.
#ifndef NABLA_GRAPH_FUNCTION_SHAPES_H_
#define NABLA_GRAPH_FUNCTION_SHAPES_H_

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "nabla/graph/shape.h"

namespace nabla {

class ShapeContext;

// The shape rule of plain calls. Never an error: what is wrong with a body or its inputs, expanding the call will say;
// until then its outputs have the shapes of the attr _output_shapes, or unknown ones. The work is bounded: what lies
// too deep or is too much stays unknown.
absl::Status CallShape(ShapeContext& c);

// The shape rule of If and Case: the shapes of the attr output_shapes; where that says nothing, what the results of all
// branches have in common. Never an error, and bounded, as CallShape.
absl::Status ConditionalShape(ShapeContext& c);

// The shapes that the loop variables of a While have in all iterations: those of its attr output_shapes; where that
// says nothing, the most that holds of the first values and of what the body makes of such. Unknown ones where that is
// not found out.
std::vector<Shape> WhileShapes(const ShapeContext& c);

// What was found out, by function, attrs and inputs, so that functions that call each other are not gone through again
// and again; and how many nodes that took, since a small file can call a large function very often. Thread-safe.
class FunctionShapeMemo {
 public:
  // An outermost call is looked at.
  void NoteCall();
  // Whether a body of so many nodes may be gone through.
  bool Spend(int64_t nodes);
  absl::optional<std::vector<Shape>> Find(absl::string_view key) const;
  void Set(absl::string_view key, std::vector<Shape> shapes);

 private:
  mutable std::mutex mutex_;
  int64_t nodes_left_ = int64_t{1} << 21;
  std::map<std::string, std::vector<Shape>, std::less<>> shapes_;
};

}  // namespace nabla

#endif  // NABLA_GRAPH_FUNCTION_SHAPES_H_
