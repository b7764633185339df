// The integer products with the dot product instructions of ARMv8.2: four products and their sum, of bytes that are
// both signed or both unsigned. b is made unsigned by adding 128, and the excess of 128 · Σ a is summed beside.
#if defined(__ARM_FEATURE_DOTPROD)
#include <arm_neon.h>

#include "kernels/isa/isa.h"

namespace narthex::neon_dotprod {
namespace {

#include "kernels/isa/vec_neon.h"

// 20 accumulators, 4 for b, 1 for a and one of 128s: with a fifth row gcc spills.
constexpr size_t kDotRows = 4, kDotPanels = 1;
struct Dot16 {
  uint32x4_t v[4], excess;  // four times the same
};
struct DotRow {
  uint8x16_t v[4];
};
NX_INLINE uint8x16_t all_128() {
  return vdupq_n_u8(128);
}
NX_INLINE DotRow dot_row(const int8_t* b) {
  DotRow row;
#pragma GCC unroll 4
  for (int q = 0; q < 4; q++) row.v[q] = veorq_u8(vreinterpretq_u8_s8(vld1q_s8(b + 16 * q)), all_128());
  return row;
}
NX_INLINE Dot16 dot_zero() {
  const uint32x4_t z = vdupq_n_u32(0);
  return {{z, z, z, z}, z};
}
NX_INLINE Dot16 dot_step(Dot16 acc, uint32_t four, const DotRow& row) {
  const uint8x16_t a = vreinterpretq_u8_u32(vdupq_n_u32(four));
#pragma GCC unroll 4
  for (int q = 0; q < 4; q++) acc.v[q] = vdotq_u32(acc.v[q], row.v[q], a);
  acc.excess = vdotq_u32(acc.excess, all_128(), a);
  return acc;
}
NX_INLINE void dot_store(const Dot16& acc, int32_t* out) {
#pragma GCC unroll 4
  for (int q = 0; q < 4; q++) vst1q_s32(out + 4 * q, vreinterpretq_s32_u32(vsubq_u32(acc.v[q], acc.excess)));
}

// clang-format off
#include "kernels/math.inl.h"
#include "kernels/elementwise.inl.h"
#include "kernels/rowwise.inl.h"
#include "kernels/activate.inl.h"
#include "kernels/gemm_int8.inl.h"
#include "kernels/linear.inl.h"
// clang-format on

using LinearInt8Dots = Int8Dots<4, 1, 1, 2>;

}  // namespace

void gemm_int8(const GemmInt8& g) {
  gemm_int8_all(g);
}
void linear_int8(const LinearInt8& g) {
  linear_all<LinearInt8Dots>(g, 1);
}

}  // namespace narthex::neon_dotprod
#endif
