// Vec16f on AVX2: two ymm. Included inside the anonymous namespace of isa/avx2.cc; see vec_scalar.h for meanings.
#pragma once

struct Vec16f {
  __m256 lo, hi;
};
struct Vec16i {
  __m256i lo, hi;
};
struct Mask16 {
  __m256 lo, hi;
};

NX_INLINE Vec16f splat(float x) {
  return {_mm256_set1_ps(x), _mm256_set1_ps(x)};
}
NX_INLINE Vec16f load(const float* p) {
  return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)};
}
NX_INLINE Vec16i first_lanes(size_t n) {
  const __m256i count = _mm256_set1_epi32(static_cast<int>(n));
  return {_mm256_cmpgt_epi32(count, _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)),
          _mm256_cmpgt_epi32(count, _mm256_setr_epi32(8, 9, 10, 11, 12, 13, 14, 15))};
}
NX_INLINE Vec16f load_first(const float* p, size_t n, float fill) {
  const Vec16i m = first_lanes(n);
  const __m256 f = _mm256_set1_ps(fill);
  return {_mm256_blendv_ps(f, _mm256_maskload_ps(p, m.lo), _mm256_castsi256_ps(m.lo)),
          n > 8 ? _mm256_blendv_ps(f, _mm256_maskload_ps(p + 8, m.hi), _mm256_castsi256_ps(m.hi)) : f};
}
NX_INLINE Vec16f keep_first(Vec16f a, size_t n, float fill) {
  const Vec16i m = first_lanes(n);
  const __m256 f = _mm256_set1_ps(fill);
  return {_mm256_blendv_ps(f, a.lo, _mm256_castsi256_ps(m.lo)), _mm256_blendv_ps(f, a.hi, _mm256_castsi256_ps(m.hi))};
}
NX_INLINE void store(float* p, Vec16f a) {
  _mm256_storeu_ps(p, a.lo);
  _mm256_storeu_ps(p + 8, a.hi);
}
NX_INLINE void store_first(float* p, size_t n, Vec16f a) {
  const Vec16i m = first_lanes(n);
  _mm256_maskstore_ps(p, m.lo, a.lo);
  if (n > 8) _mm256_maskstore_ps(p + 8, m.hi, a.hi);
}

#define NX_PAIRWISE(type, name, f)         \
  NX_INLINE type name(type a, type b) {    \
    return {f(a.lo, b.lo), f(a.hi, b.hi)}; \
  }
NX_PAIRWISE(Vec16f, operator+, _mm256_add_ps)
NX_PAIRWISE(Vec16f, operator-, _mm256_sub_ps)
NX_PAIRWISE(Vec16f, operator*, _mm256_mul_ps)
NX_PAIRWISE(Vec16f, operator/, _mm256_div_ps)
NX_PAIRWISE(Vec16f, min16, _mm256_min_ps)
NX_PAIRWISE(Vec16f, max16, _mm256_max_ps)
NX_PAIRWISE(Vec16i, operator+, _mm256_add_epi32)
NX_PAIRWISE(Vec16i, operator-, _mm256_sub_epi32)
NX_PAIRWISE(Vec16i, operator&, _mm256_and_si256)
NX_PAIRWISE(Vec16i, operator|, _mm256_or_si256)
NX_PAIRWISE(Vec16i, operator^, _mm256_xor_si256)
#undef NX_PAIRWISE
NX_INLINE Vec16f mul_add(Vec16f a, Vec16f b, Vec16f c) {
  return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
}
NX_INLINE Vec16f sqrt16(Vec16f a) {
  return {_mm256_sqrt_ps(a.lo), _mm256_sqrt_ps(a.hi)};
}
NX_INLINE Vec16f round16(Vec16f a) {
  return {_mm256_round_ps(a.lo, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC),
          _mm256_round_ps(a.hi, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}

NX_INLINE Mask16 less(Vec16f a, Vec16f b) {
  return {_mm256_cmp_ps(a.lo, b.lo, _CMP_LT_OQ), _mm256_cmp_ps(a.hi, b.hi, _CMP_LT_OQ)};
}
NX_INLINE Mask16 is_nan(Vec16f a) {
  return {_mm256_cmp_ps(a.lo, a.lo, _CMP_UNORD_Q), _mm256_cmp_ps(a.hi, a.hi, _CMP_UNORD_Q)};
}
NX_INLINE Vec16f select(Mask16 m, Vec16f yes, Vec16f no) {
  return {_mm256_blendv_ps(no.lo, yes.lo, m.lo), _mm256_blendv_ps(no.hi, yes.hi, m.hi)};
}

NX_INLINE Vec16i splat_int(int32_t x) {
  return {_mm256_set1_epi32(x), _mm256_set1_epi32(x)};
}
NX_INLINE Vec16i bits(Vec16f a) {
  return {_mm256_castps_si256(a.lo), _mm256_castps_si256(a.hi)};
}
NX_INLINE Vec16f from_bits(Vec16i a) {
  return {_mm256_castsi256_ps(a.lo), _mm256_castsi256_ps(a.hi)};
}
NX_INLINE Vec16i to_int(Vec16f a) {
  return {_mm256_cvtps_epi32(a.lo), _mm256_cvtps_epi32(a.hi)};
}
NX_INLINE Vec16f to_float(Vec16i a) {
  return {_mm256_cvtepi32_ps(a.lo), _mm256_cvtepi32_ps(a.hi)};
}
template <int Bits>
NX_INLINE Vec16i shift_left(Vec16i a) {
  return {_mm256_slli_epi32(a.lo, Bits), _mm256_slli_epi32(a.hi, Bits)};
}
template <int Bits>
NX_INLINE Vec16i shift_right(Vec16i a) {
  return {_mm256_srai_epi32(a.lo, Bits), _mm256_srai_epi32(a.hi, Bits)};
}

NX_INLINE Vec16f scale_by_power_of_2(Vec16f a, Vec16f n) {
  const Vec16i whole = to_int(n), half = shift_right<1>(whole);
  const Vec16i bias = splat_int(127);
  return a * from_bits(shift_left<23>(half + bias)) * from_bits(shift_left<23>(whole - half + bias));
}

NX_INLINE __m256 upper_half(Vec16f a) {
  return a.hi;
}
NX_INLINE __m256 lower_half(Vec16f a) {
  return a.lo;
}
#include "kernels/isa/tree_x86.h"

NX_INLINE void store_u8(uint8_t* p, Vec16i a) {
  const __m256i words = _mm256_permute4x64_epi64(_mm256_packus_epi32(a.lo, a.hi), 0xD8);
  const __m128i bytes = _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), bytes);
}
