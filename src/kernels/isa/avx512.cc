// Kernels for AVX-512 F, BW, VL, DQ and CD.
#if defined(__AVX512F__)
#if defined(__GNUC__) && !defined(__clang__)
// gcc 12's own intrinsics pass deliberately undefined registers and are warned about when inlined (gcc bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>

#include "kernels/isa/isa.h"

namespace narthex::avx512 {
namespace {

#include "kernels/isa/vec_avx512.h"

// 32 registers: 28 accumulators, 2 for b; a is broadcast from memory inside the fma.
constexpr size_t kTileRows = 14, kTilePanels = 2;
constexpr size_t kThinRows = 4, kThinPanels = 4;

// As in avx2.cc: register q holds the pairs of columns 8q … 8q+7.
constexpr size_t kDotRows = 6, kDotPanels = 1;
struct Dot16 {
  __m512i v[2];
};
struct DotRow {
  __m512i v[2];
};
NX_INLINE DotRow dot_row(const int8_t* b) {
  return {{_mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(b))),
           _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(b + 32)))}};
}
NX_INLINE Dot16 dot_zero() {
  return {{_mm512_setzero_si512(), _mm512_setzero_si512()}};
}
NX_INLINE Dot16 dot_step(Dot16 acc, uint32_t four, const DotRow& row) {
  const __m512i a = _mm512_broadcastq_epi64(_mm_cvtepu8_epi16(_mm_cvtsi32_si128(static_cast<int>(four))));
  acc.v[0] = _mm512_add_epi32(acc.v[0], _mm512_madd_epi16(a, row.v[0]));
  acc.v[1] = _mm512_add_epi32(acc.v[1], _mm512_madd_epi16(a, row.v[1]));
  return acc;
}
NX_INLINE void dot_store(const Dot16& acc, int32_t* out) {
  for (int q = 0; q < 2; q++) {
    const __m512i sums = _mm512_add_epi32(acc.v[q], _mm512_srli_epi64(acc.v[q], 32));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + 8 * q), _mm512_cvtepi64_epi32(sums));
  }
}

#include "kernels/all.inl.h"

using LinearInt8Dots = Int8Dots<6, 1, 6, 1>;
using LinearBf16Dots = WidenedDots<12, 2, 4, 4>;

}  // namespace

#include "kernels/entries.inl.h"

}  // namespace narthex::avx512
#endif
