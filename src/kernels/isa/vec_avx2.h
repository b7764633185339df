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
NX_PAIRWISE(Vec16i, operator*, _mm256_mullo_epi32)
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

NX_INLINE Vec16i load_bits(const void* p) {
  const __m256i* from = static_cast<const __m256i*>(p);
  return {_mm256_loadu_si256(from), _mm256_loadu_si256(from + 1)};
}
NX_INLINE void store_bits(void* p, Vec16i a) {
  __m256i* to = static_cast<__m256i*>(p);
  _mm256_storeu_si256(to, a.lo);
  _mm256_storeu_si256(to + 1, a.hi);
}
// Packing works within 128-bit lanes: a0-3 a8-11 b0-3 b8-11 | a4-7 a12-15 b4-7 b12-15.
NX_INLINE __m256i in_turn(__m256i lanes) {
  return _mm256_permutevar8x32_epi32(lanes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}
NX_INLINE Vec16i narrow_u8(Vec16i a, Vec16i b, Vec16i c, Vec16i d) {
  return {in_turn(_mm256_packus_epi16(_mm256_packs_epi32(a.lo, a.hi), _mm256_packs_epi32(b.lo, b.hi))),
          in_turn(_mm256_packus_epi16(_mm256_packs_epi32(c.lo, c.hi), _mm256_packs_epi32(d.lo, d.hi)))};
}
NX_INLINE Vec16i narrow_s8(Vec16i a, Vec16i b, Vec16i c, Vec16i d) {
  return {in_turn(_mm256_packs_epi16(_mm256_packs_epi32(a.lo, a.hi), _mm256_packs_epi32(b.lo, b.hi))),
          in_turn(_mm256_packs_epi16(_mm256_packs_epi32(c.lo, c.hi), _mm256_packs_epi32(d.lo, d.hi)))};
}

NX_INLINE Vec16f load_bf16(const uint16_t* p) {
  const __m128i* from = reinterpret_cast<const __m128i*>(p);
  return from_bits(shift_left<16>(
      Vec16i{_mm256_cvtepu16_epi32(_mm_loadu_si128(from)), _mm256_cvtepu16_epi32(_mm_loadu_si128(from + 1))}));
}
NX_INLINE Vec16f load_bf16_first(const uint16_t* p, size_t n) {
  uint16_t all[16] = {};
  for (size_t i = 0; i < n; i++) all[i] = p[i];
  return load_bf16(all);
}
NX_INLINE __m256i to_bf16(__m256 a) {
  const __m256i u = _mm256_castps_si256(a);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(u, 16), _mm256_set1_epi32(1));
  const __m256i rounded = _mm256_add_epi32(_mm256_add_epi32(u, _mm256_set1_epi32(0x7FFF)), odd);
  const __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32(0x7FC00000));
  const __m256 kept = _mm256_blendv_ps(_mm256_castsi256_ps(rounded), nan, _mm256_cmp_ps(a, a, _CMP_UNORD_Q));
  return _mm256_srli_epi32(_mm256_castps_si256(kept), 16);
}
NX_INLINE void store_bf16(uint16_t* p, Vec16f a) {
  const __m256i words = _mm256_packus_epi32(to_bf16(a.lo), to_bf16(a.hi));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm256_permute4x64_epi64(words, 0xD8));
}
NX_INLINE void store_bf16_first(uint16_t* p, size_t n, Vec16f a) {
  uint16_t all[16];
  store_bf16(all, a);
  for (size_t i = 0; i < n; i++) p[i] = all[i];
}

NX_INLINE void transpose_8(__m256i (&r)[8]) {
  __m256i t[8], u[8];
#pragma GCC unroll 4
  for (int i = 0; i < 8; i += 2) {
    t[i] = _mm256_unpacklo_epi32(r[i], r[i + 1]);
    t[i + 1] = _mm256_unpackhi_epi32(r[i], r[i + 1]);
  }
#pragma GCC unroll 2
  for (int q = 0; q < 8; q += 4) {
    u[q] = _mm256_unpacklo_epi64(t[q], t[q + 2]);
    u[q + 1] = _mm256_unpackhi_epi64(t[q], t[q + 2]);
    u[q + 2] = _mm256_unpacklo_epi64(t[q + 1], t[q + 3]);
    u[q + 3] = _mm256_unpackhi_epi64(t[q + 1], t[q + 3]);
  }
#pragma GCC unroll 4
  for (int c = 0; c < 4; c++) {
    r[c] = _mm256_permute2x128_si256(u[c], u[4 + c], 0x20);
    r[4 + c] = _mm256_permute2x128_si256(u[c], u[4 + c], 0x31);
  }
}
NX_INLINE void transpose_16(Vec16i (&rows)[16]) {
  __m256i top_left[8], top_right[8], bottom_left[8], bottom_right[8];
#pragma GCC unroll 8
  for (int i = 0; i < 8; i++) {
    top_left[i] = rows[i].lo, top_right[i] = rows[i].hi;
    bottom_left[i] = rows[8 + i].lo, bottom_right[i] = rows[8 + i].hi;
  }
  transpose_8(top_left);
  transpose_8(top_right);
  transpose_8(bottom_left);
  transpose_8(bottom_right);
#pragma GCC unroll 8
  for (int i = 0; i < 8; i++) {
    rows[i] = {top_left[i], bottom_left[i]};
    rows[8 + i] = {top_right[i], bottom_right[i]};
  }
}
