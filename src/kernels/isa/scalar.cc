// Kernels in plain C++: for every machine, and what the others are compared with.
#define NX_PLAIN
#include "kernels/isa/isa.h"

namespace narthex::scalar {
namespace {

#include "kernels/isa/vec_scalar.h"

constexpr size_t kTileRows = 2, kTilePanels = 1;
constexpr size_t kThinRows = 2, kThinPanels = 1;

constexpr size_t kDotRows = 2, kDotPanels = 1;
struct Dot16 {
  uint32_t v[16];
};
struct DotRow {
  const int8_t* b;
};
NX_INLINE DotRow dot_row(const int8_t* b) {
  return {b};
}
NX_INLINE Dot16 dot_zero() {
  return {};
}
NX_INLINE Dot16 dot_step(Dot16 acc, uint32_t four, DotRow row) {
  for (int n = 0; n < 16; n++) {
    for (int k = 0; k < 4; k++) {
      const int a = static_cast<int>((four >> (8 * k)) & 0xFF);
      acc.v[n] += static_cast<uint32_t>(a * row.b[4 * n + k]);
    }
  }
  return acc;
}
NX_INLINE void dot_store(const Dot16& acc, int32_t* out) {
  __builtin_memcpy(out, acc.v, sizeof acc.v);
}

#include "kernels/all.inl.h"

using LinearInt8Dots = Int8Dots<2, 1, 2, 1>;
using LinearBf16Dots = WidenedDots<2, 1, 2, 1>;

}  // namespace

#include "kernels/entries.inl.h"

}  // namespace narthex::scalar
