// Kernels for NEON, which every 64-bit ARM processor has.
#if defined(__ARM_NEON)
#include <arm_neon.h>

#include "kernels/isa/isa.h"

namespace narthex::neon {
namespace {

#include "kernels/isa/vec_neon.h"

// 32 registers: 24 accumulators, 4 for b, 1 for a.
constexpr size_t kTileRows = 6, kTilePanels = 1;
constexpr size_t kThinRows = 2, kThinPanels = 2;

// Products of 16-bit values summed to 32 bits: exact. Registers 2k and 2k + 1 of a row hold the values of k for columns
// 0 … 7 and 8 … 15. 16 accumulators, 8 for b, 1 for a.
constexpr size_t kDotRows = 4, kDotPanels = 1;
struct Dot16 {
  int32x4_t v[4];
};
struct DotRow {
  int16x8_t v[8];
};
NX_INLINE DotRow dot_row(const int8_t* b) {
  const int8x16x4_t by_k = vld4q_s8(b);
  DotRow row;
#pragma GCC unroll 4
  for (int k = 0; k < 4; k++) {
    row.v[2 * k] = vmovl_s8(vget_low_s8(by_k.val[k]));
    row.v[2 * k + 1] = vmovl_high_s8(by_k.val[k]);
  }
  return row;
}
NX_INLINE Dot16 dot_zero() {
  const int32x4_t z = vdupq_n_s32(0);
  return {{z, z, z, z}};
}
template <int K>
NX_INLINE void dot_k(Dot16& acc, int16x4_t a, const DotRow& row) {
  acc.v[0] = vmlal_lane_s16(acc.v[0], vget_low_s16(row.v[2 * K]), a, K);
  acc.v[1] = vmlal_high_lane_s16(acc.v[1], row.v[2 * K], a, K);
  acc.v[2] = vmlal_lane_s16(acc.v[2], vget_low_s16(row.v[2 * K + 1]), a, K);
  acc.v[3] = vmlal_high_lane_s16(acc.v[3], row.v[2 * K + 1], a, K);
}
NX_INLINE Dot16 dot_step(Dot16 acc, uint32_t four, const DotRow& row) {
  const uint16x8_t wide = vmovl_u8(vreinterpret_u8_u32(vdup_n_u32(four)));
  const int16x4_t a = vreinterpret_s16_u16(vget_low_u16(wide));
  dot_k<0>(acc, a, row);
  dot_k<1>(acc, a, row);
  dot_k<2>(acc, a, row);
  dot_k<3>(acc, a, row);
  return acc;
}
NX_INLINE void dot_store(const Dot16& acc, int32_t* out) {
#pragma GCC unroll 4
  for (int q = 0; q < 4; q++) vst1q_s32(out + 4 * q, acc.v[q]);
}

#include "kernels/all.inl.h"

using LinearInt8Dots = Int8Dots<4, 1, 1, 2>;
using LinearBf16Dots = WidenedDots<4, 1, 1, 2>;

}  // namespace

#include "kernels/entries.inl.h"

}  // namespace narthex::neon
#endif
