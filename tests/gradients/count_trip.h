// An op that tells how often the body of a loop runs.
#ifndef NABLA_TESTS_GRADIENTS_COUNT_TRIP_H_
#define NABLA_TESTS_GRADIENTS_COUNT_TRIP_H_

#include <atomic>
#include <cstdint>

#include "nabla/graph/scope.h"

namespace nabla::testing {

// Adds the op CountTrip, which gives its input (and its output's gradient) and counts its runs. After RegisterAllOps,
// RegisterAllKernels and RegisterAllGradients; idempotent.
void RegisterCountTrip();
Output CountTrip(const Scope& scope, Output x);
std::atomic<int64_t>& NumTrips();

}  // namespace nabla::testing

#endif  // NABLA_TESTS_GRADIENTS_COUNT_TRIP_H_
