// Stops the program where an invariant of its own is broken. For what input can cause, return a Status instead.
//
//   NABLA_CHECK(index < size());
#ifndef NABLA_GRAPH_CHECK_H_
#define NABLA_GRAPH_CHECK_H_

#include <cstdio>
#include <cstdlib>

#include "absl/base/optimization.h"

// Evaluated in every build mode.
#define NABLA_CHECK(condition)                                                           \
  do {                                                                                   \
    if (ABSL_PREDICT_FALSE(!(condition))) {                                              \
      std::fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                      \
    }                                                                                    \
  } while (false)

// For checks too dear for optimised builds.
#ifdef NDEBUG
#define NABLA_DCHECK(condition) \
  do {                          \
  } while (false && (condition))
#else
#define NABLA_DCHECK(condition) NABLA_CHECK(condition)
#endif

#endif  // NABLA_GRAPH_CHECK_H_
