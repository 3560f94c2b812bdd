// Early return on errors.
//
//   NABLA_RETURN_IF_ERROR(graph.Check());
//   NABLA_ASSIGN_OR_RETURN(Node* node, graph.AddNode(desc));
#ifndef NABLA_GRAPH_STATUS_MACROS_H_
#define NABLA_GRAPH_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define NABLA_STATUS_CONCAT_INNER(a, b) a##b
#define NABLA_STATUS_CONCAT(a, b) NABLA_STATUS_CONCAT_INNER(a, b)

#define NABLA_RETURN_IF_ERROR(expression)                               \
  do {                                                                  \
    if (absl::Status nabla_status = (expression); !nabla_status.ok()) { \
      return nabla_status;                                              \
    }                                                                   \
  } while (false)

#define NABLA_ASSIGN_OR_RETURN(declaration, expression) \
  NABLA_ASSIGN_OR_RETURN_IMPL(NABLA_STATUS_CONCAT(nabla_statusor_, __LINE__), declaration, expression)
#define NABLA_ASSIGN_OR_RETURN_IMPL(statusor, declaration, expression) \
  auto statusor = (expression);                                        \
  if (!statusor.ok()) return std::move(statusor).status();             \
  declaration = *std::move(statusor)

#endif  // NABLA_GRAPH_STATUS_MACROS_H_
