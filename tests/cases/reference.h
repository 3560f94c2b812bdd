// Naive references: loops over doubles that are easy to believe.
#ifndef NABLA_TESTS_CASES_REFERENCE_H_
#define NABLA_TESTS_CASES_REFERENCE_H_

#include <functional>
#include <vector>

#include "nabla/tests/cases/op_case.h"

namespace nabla {

// Element by element.
Reference Map(double (*fn)(double));
// Of inputs 0 and 1, broadcast by NumPy's rule.
Reference Zip(double (*fn)(double, double));
// Folds the elements along `axes` of input 0, in order, into one; `keep` leaves dimensions of 1.
Reference Reduced(const std::function<double(const std::vector<double>&)>& fold, std::vector<int> axes,
                  bool keep = false);
// fn of each row (along the last axis) of input 0, of the same shape.
Reference Rows(const std::function<std::vector<double>(const std::vector<double>&)>& fn);
// Products of the matrices in the last two axes, after transposing; leading axes are broadcast.
Reference Products(bool transpose_a, bool transpose_b);
// Input `i` as it is, for each output.
Reference Same(std::vector<int> inputs = {0});

// The offset of an element of `shape` (whose dimensions of 1 stretch) in a tensor of `to`, of the same or higher rank,
// of which `index` is an index.
int64_t BroadcastOffset(const Shape& shape, const std::vector<int64_t>& index);
// Counts `index` up within `shape`; false after the last one.
bool NextIndex(const Shape& shape, std::vector<int64_t>* index);

}  // namespace nabla

#endif  // NABLA_TESTS_CASES_REFERENCE_H_
