// The bfloat16 product with AVX512-BF16: two products and their sum in one instruction.
#if defined(__AVX512BF16__)
#if defined(__GNUC__) && !defined(__clang__)
// gcc 12's own intrinsics pass deliberately undefined registers and are warned about when inlined (gcc bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>

#include "kernels/isa/isa.h"

namespace narthex::avx512_bf16 {
namespace {

#include "kernels/isa/vec_avx512.h"

// clang-format off
#include "kernels/math.inl.h"
#include "kernels/elementwise.inl.h"
#include "kernels/rowwise.inl.h"
#include "kernels/activate.inl.h"
#include "kernels/linear.inl.h"
// clang-format on

struct PairDots {
  static constexpr int kRows = 14, kPanels = 2, kThinRows = 6, kThinPanels = 4;
  using Acc = Vec16f;
  using Row = Vec16i;
  static NX_INLINE Acc zero() { return splat(0.0F); }
  static NX_INLINE Row row(const uint8_t* b) { return load_bits(b); }
  static NX_INLINE Acc step(Acc acc, uint32_t four, Row row) {
    const __m512i pair = _mm512_set1_epi32(static_cast<int>(four));
    return {_mm512_dpbf16_ps(acc.v, reinterpret_cast<__m512bh>(row.v), reinterpret_cast<__m512bh>(pair))};
  }
  static NX_INLINE void put(Acc acc, uint8_t* sums) { store(reinterpret_cast<float*>(sums), acc); }
};

}  // namespace

void linear_bf16(const LinearBf16& g) {
  linear_all<PairDots>(g, 2);
}

}  // namespace narthex::avx512_bf16
#endif
