// The integer products with the mixed dot product of ARMv8.6 (FEAT_I8MM): four products of an unsigned and a signed
// byte and their sum in one instruction.
#if defined(__ARM_FEATURE_MATMUL_INT8)
#include <arm_neon.h>

#include "kernels/isa/isa.h"

namespace narthex::neon_i8mm {
namespace {

#include "kernels/isa/vec_neon.h"

// 32 registers: 24 accumulators, 4 for b, 1 for a.
constexpr size_t kDotRows = 6, kDotPanels = 1;
struct Dot16 {
  int32x4_t v[4];
};
struct DotRow {
  int8x16_t v[4];
};
NX_INLINE DotRow dot_row(const int8_t* b) {
  return {{vld1q_s8(b), vld1q_s8(b + 16), vld1q_s8(b + 32), vld1q_s8(b + 48)}};
}
NX_INLINE Dot16 dot_zero() {
  const int32x4_t z = vdupq_n_s32(0);
  return {{z, z, z, z}};
}
NX_INLINE Dot16 dot_step(Dot16 acc, uint32_t four, const DotRow& row) {
  const uint8x16_t a = vreinterpretq_u8_u32(vdupq_n_u32(four));
#pragma GCC unroll 4
  for (int q = 0; q < 4; q++) acc.v[q] = vusdotq_s32(acc.v[q], a, row.v[q]);
  return acc;
}
NX_INLINE void dot_store(const Dot16& acc, int32_t* out) {
#pragma GCC unroll 4
  for (int q = 0; q < 4; q++) vst1q_s32(out + 4 * q, acc.v[q]);
}

// clang-format off
#include "kernels/math.inl.h"
#include "kernels/elementwise.inl.h"
#include "kernels/rowwise.inl.h"
#include "kernels/activate.inl.h"
#include "kernels/gemm_int8.inl.h"
#include "kernels/linear.inl.h"
// clang-format on

using LinearInt8Dots = Int8Dots<6, 1, 2, 2>;

}  // namespace

void gemm_int8(const GemmInt8& g) {
  gemm_int8_all(g);
}
void linear_int8(const LinearInt8& g) {
  linear_all<LinearInt8Dots>(g, 1);
}

}  // namespace narthex::neon_i8mm
#endif
