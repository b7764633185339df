// The integer products with AVX512-VNNI: four products and their sum in one instruction, without saturation.
#if defined(__AVX512VNNI__)
#if defined(__GNUC__) && !defined(__clang__)
// gcc 12's own intrinsics pass deliberately undefined registers and are warned about when inlined (gcc bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>

#include "kernels/isa/isa.h"

namespace narthex::avx512_vnni {
namespace {

#include "kernels/isa/vec_avx512.h"

constexpr size_t kDotRows = 12, kDotPanels = 2;
struct Dot16 {
  __m512i v;
};
struct DotRow {
  __m512i v;
};
NX_INLINE DotRow dot_row(const int8_t* b) {
  return {_mm512_loadu_si512(b)};
}
NX_INLINE Dot16 dot_zero() {
  return {_mm512_setzero_si512()};
}
NX_INLINE Dot16 dot_step(Dot16 acc, uint32_t four, DotRow row) {
  return {_mm512_dpbusd_epi32(acc.v, _mm512_set1_epi32(static_cast<int>(four)), row.v)};
}
NX_INLINE void dot_store(Dot16 acc, int32_t* out) {
  _mm512_storeu_si512(out, acc.v);
}

// clang-format off
#include "kernels/math.inl.h"
#include "kernels/elementwise.inl.h"
#include "kernels/rowwise.inl.h"
#include "kernels/activate.inl.h"
#include "kernels/gemm_int8.inl.h"
#include "kernels/linear.inl.h"
// clang-format on

using LinearInt8Dots = Int8Dots<14, 2, 6, 4>;

}  // namespace

void gemm_int8(const GemmInt8& g) {
  gemm_int8_all(g);
}
void linear_int8(const LinearInt8& g) {
  linear_all<LinearInt8Dots>(g, 1);
}

}  // namespace narthex::avx512_vnni
#endif
