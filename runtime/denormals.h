// Whether this thread's arithmetic on float and double takes denormal numbers (below 1.2e-38 and 2.2e-308) for zero.
// Processors may take a hundred times as long over them, and loops whose adjoints fade out are full of them.
#ifndef NABLA_RUNTIME_DENORMALS_H_
#define NABLA_RUNTIME_DENORMALS_H_

#include <cstdint>

namespace nabla {

// Sets the mode of the thread that makes it, which must also destroy it, and then sets back what was. Without effect on
// processors other than x86 and ARM of 64 bits.
class ScopedDenormals {
 public:
  // `flush`: denormal operands and results become zeros of their sign; otherwise they are as IEEE 754 has them.
  explicit ScopedDenormals(bool flush);
  ~ScopedDenormals();
  ScopedDenormals(const ScopedDenormals&) = delete;
  ScopedDenormals& operator=(const ScopedDenormals&) = delete;

 private:
  uint64_t before_;
  bool changed_;
};

}  // namespace nabla

#endif  // NABLA_RUNTIME_DENORMALS_H_
