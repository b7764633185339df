// The integer products with AVX-VNNI: four products and their sum in one instruction, without saturation.
#if defined(__AVXVNNI__)
#include <immintrin.h>

#include "kernels/isa/isa.h"

namespace narthex::avx2_vnni {
namespace {

#include "kernels/isa/vec_avx2.h"

constexpr size_t kDotRows = 6, kDotPanels = 1;
struct Dot16 {
  __m256i lo, hi;
};
struct DotRow {
  __m256i lo, hi;
};
NX_INLINE DotRow dot_row(const int8_t* b) {
  return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(b)),
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b + 32))};
}
NX_INLINE Dot16 dot_zero() {
  return {_mm256_setzero_si256(), _mm256_setzero_si256()};
}
NX_INLINE Dot16 dot_step(Dot16 acc, uint32_t four, const DotRow& row) {
  const __m256i a = _mm256_set1_epi32(static_cast<int>(four));
  return {_mm256_dpbusd_avx_epi32(acc.lo, a, row.lo), _mm256_dpbusd_avx_epi32(acc.hi, a, row.hi)};
}
NX_INLINE void dot_store(const Dot16& acc, int32_t* out) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), acc.lo);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + 8), acc.hi);
}

// clang-format off
#include "kernels/math.inl.h"
#include "kernels/elementwise.inl.h"
#include "kernels/rowwise.inl.h"
#include "kernels/activate.inl.h"
#include "kernels/gemm_int8.inl.h"
#include "kernels/linear.inl.h"
// clang-format on

using LinearInt8Dots = Int8Dots<6, 1, 3, 2>;

}  // namespace

void gemm_int8(const GemmInt8& g) {
  gemm_int8_all(g);
}
void linear_int8(const LinearInt8& g) {
  linear_all<LinearInt8Dots>(g, 1);
}

}  // namespace narthex::avx2_vnni
#endif
