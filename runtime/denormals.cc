#include "nabla/runtime/denormals.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace nabla {
namespace {

#if defined(__SSE2__)
// Flush to zero, for results; denormals are zeros, for operands.
constexpr uint64_t kFlush = 0x8000 | 0x0040;
uint64_t ControlRegister() { return _mm_getcsr(); }
void SetControlRegister(uint64_t value) { _mm_setcsr(static_cast<unsigned>(value)); }
#elif defined(__aarch64__)
constexpr uint64_t kFlush = uint64_t{1} << 24;
uint64_t ControlRegister() {
  uint64_t value;
  asm volatile("mrs %0, fpcr" : "=r"(value));
  return value;
}
void SetControlRegister(uint64_t value) { asm volatile("msr fpcr, %0" : : "r"(value)); }
#else
constexpr uint64_t kFlush = 0;
uint64_t ControlRegister() { return 0; }
void SetControlRegister(uint64_t) {}
#endif

}  // namespace

ScopedDenormals::ScopedDenormals(bool flush) : before_(ControlRegister()) {
  const uint64_t wanted = flush ? before_ | kFlush : before_ & ~kFlush;
  changed_ = wanted != before_;
  if (changed_) SetControlRegister(wanted);
}

// Only these bits: what happened meanwhile may have raised the register's exception flags.
ScopedDenormals::~ScopedDenormals() {
  if (changed_) SetControlRegister((ControlRegister() & ~kFlush) | (before_ & kFlush));
}

}  // namespace nabla
