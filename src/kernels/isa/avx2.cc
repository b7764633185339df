// Kernels for AVX2 with FMA.
#if defined(__AVX2__)
#include <immintrin.h>

#include "kernels/isa/isa.h"

namespace narthex::avx2 {
namespace {

#include "kernels/isa/vec_avx2.h"

// 16 registers: 12 accumulators, 2 for b, 1 for a.
constexpr size_t kTileRows = 6, kTilePanels = 1;
constexpr size_t kThinRows = 2, kThinPanels = 2;

// Products of 16-bit values, summed in pairs to 32 bits: exact, where vpmaddubsw would saturate. Register q holds the
// pairs (k 0+1, k 2+3) of columns 4q … 4q+3.
constexpr size_t kDotRows = 2, kDotPanels = 1;
struct Dot16 {
  __m256i v[4];
};
struct DotRow {
  __m256i v[4];
};
NX_INLINE DotRow dot_row(const int8_t* b) {
  DotRow row;
  for (int q = 0; q < 4; q++)
    row.v[q] = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(b + 16 * q)));
  return row;
}
NX_INLINE Dot16 dot_zero() {
  const __m256i z = _mm256_setzero_si256();
  return {{z, z, z, z}};
}
NX_INLINE Dot16 dot_step(Dot16 acc, uint32_t four, const DotRow& row) {
  const __m256i a = _mm256_broadcastq_epi64(_mm_cvtepu8_epi16(_mm_cvtsi32_si128(static_cast<int>(four))));
  for (int q = 0; q < 4; q++) acc.v[q] = _mm256_add_epi32(acc.v[q], _mm256_madd_epi16(a, row.v[q]));
  return acc;
}
NX_INLINE void dot_store(const Dot16& acc, int32_t* out) {
  for (int q = 0; q < 4; q += 2) {
    // hadd works within 128-bit halves: columns 0 1 4 5 | 2 3 6 7
    const __m256i sums = _mm256_hadd_epi32(acc.v[q], acc.v[q + 1]);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + 4 * q), _mm256_permute4x64_epi64(sums, 0xD8));
  }
}

#include "kernels/all.inl.h"

using LinearInt8Dots = Int8Dots<2, 1, 2, 1>;
using LinearBf16Dots = WidenedDots<4, 1, 2, 2>;

}  // namespace

#include "kernels/entries.inl.h"

}  // namespace narthex::avx2
#endif
