// Vec16f on AVX-512: one zmm. Included inside the anonymous namespace of isa/avx512.cc; see vec_scalar.h for meanings.
#pragma once

struct Vec16f {
  __m512 v;
};
struct Vec16i {
  __m512i v;
};
using Mask16 = __mmask16;

NX_INLINE Mask16 first_lanes(size_t n) {
  return static_cast<Mask16>((1U << n) - 1U);
}

NX_INLINE Vec16f splat(float x) {
  return {_mm512_set1_ps(x)};
}
NX_INLINE Vec16f load(const float* p) {
  return {_mm512_loadu_ps(p)};
}
NX_INLINE Vec16f load_first(const float* p, size_t n, float fill) {
  return {_mm512_mask_loadu_ps(_mm512_set1_ps(fill), first_lanes(n), p)};
}
NX_INLINE Vec16f keep_first(Vec16f a, size_t n, float fill) {
  return {_mm512_mask_mov_ps(_mm512_set1_ps(fill), first_lanes(n), a.v)};
}
NX_INLINE void store(float* p, Vec16f a) {
  _mm512_storeu_ps(p, a.v);
}
NX_INLINE void store_first(float* p, size_t n, Vec16f a) {
  _mm512_mask_storeu_ps(p, first_lanes(n), a.v);
}

NX_INLINE Vec16f operator+(Vec16f a, Vec16f b) {
  return {_mm512_add_ps(a.v, b.v)};
}
NX_INLINE Vec16f operator-(Vec16f a, Vec16f b) {
  return {_mm512_sub_ps(a.v, b.v)};
}
NX_INLINE Vec16f operator*(Vec16f a, Vec16f b) {
  return {_mm512_mul_ps(a.v, b.v)};
}
NX_INLINE Vec16f operator/(Vec16f a, Vec16f b) {
  return {_mm512_div_ps(a.v, b.v)};
}
NX_INLINE Vec16f mul_add(Vec16f a, Vec16f b, Vec16f c) {
  return {_mm512_fmadd_ps(a.v, b.v, c.v)};
}
NX_INLINE Vec16f min16(Vec16f a, Vec16f b) {
  return {_mm512_min_ps(a.v, b.v)};
}
NX_INLINE Vec16f max16(Vec16f a, Vec16f b) {
  return {_mm512_max_ps(a.v, b.v)};
}
NX_INLINE Vec16f sqrt16(Vec16f a) {
  return {_mm512_sqrt_ps(a.v)};
}
NX_INLINE Vec16f round16(Vec16f a) {
  return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}

NX_INLINE Mask16 less(Vec16f a, Vec16f b) {
  return _mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ);
}
NX_INLINE Mask16 is_nan(Vec16f a) {
  return _mm512_cmp_ps_mask(a.v, a.v, _CMP_UNORD_Q);
}
NX_INLINE Vec16f select(Mask16 m, Vec16f yes, Vec16f no) {
  return {_mm512_mask_blend_ps(m, no.v, yes.v)};
}

NX_INLINE Vec16i splat_int(int32_t x) {
  return {_mm512_set1_epi32(x)};
}
NX_INLINE Vec16i bits(Vec16f a) {
  return {_mm512_castps_si512(a.v)};
}
NX_INLINE Vec16f from_bits(Vec16i a) {
  return {_mm512_castsi512_ps(a.v)};
}
NX_INLINE Vec16i to_int(Vec16f a) {
  return {_mm512_cvtps_epi32(a.v)};
}
NX_INLINE Vec16f to_float(Vec16i a) {
  return {_mm512_cvtepi32_ps(a.v)};
}
NX_INLINE Vec16i operator+(Vec16i a, Vec16i b) {
  return {_mm512_add_epi32(a.v, b.v)};
}
NX_INLINE Vec16i operator-(Vec16i a, Vec16i b) {
  return {_mm512_sub_epi32(a.v, b.v)};
}
NX_INLINE Vec16i operator*(Vec16i a, Vec16i b) {
  return {_mm512_mullo_epi32(a.v, b.v)};
}
NX_INLINE Vec16i operator&(Vec16i a, Vec16i b) {
  return {_mm512_and_si512(a.v, b.v)};
}
NX_INLINE Vec16i operator|(Vec16i a, Vec16i b) {
  return {_mm512_or_si512(a.v, b.v)};
}
NX_INLINE Vec16i operator^(Vec16i a, Vec16i b) {
  return {_mm512_xor_si512(a.v, b.v)};
}
template <int Bits>
NX_INLINE Vec16i shift_left(Vec16i a) {
  return {_mm512_slli_epi32(a.v, Bits)};
}
template <int Bits>
NX_INLINE Vec16i shift_right(Vec16i a) {
  return {_mm512_srai_epi32(a.v, Bits)};
}

// scalef rounds once, as the two multiplications of the other sets do: their first one is exact.
NX_INLINE Vec16f scale_by_power_of_2(Vec16f a, Vec16f n) {
  return {_mm512_scalef_ps(a.v, n.v)};
}

NX_INLINE __m256 upper_half(Vec16f a) {
  return _mm512_extractf32x8_ps(a.v, 1);
}
NX_INLINE __m256 lower_half(Vec16f a) {
  return _mm512_castps512_ps256(a.v);
}
#include "kernels/isa/tree_x86.h"

NX_INLINE void store_u8(uint8_t* p, Vec16i a) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(a.v));
}

NX_INLINE Vec16i load_bits(const void* p) {
  return {_mm512_loadu_si512(p)};
}
NX_INLINE void store_bits(void* p, Vec16i a) {
  _mm512_storeu_si512(p, a.v);
}
// Packing works within 128-bit lanes and leaves four values of a, of b, of c and of d in each.
NX_INLINE __m512i in_turn(__m512i lanes) {
  return _mm512_permutexvar_epi32(_mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), lanes);
}
NX_INLINE Vec16i narrow_u8(Vec16i a, Vec16i b, Vec16i c, Vec16i d) {
  return {in_turn(_mm512_packus_epi16(_mm512_packs_epi32(a.v, b.v), _mm512_packs_epi32(c.v, d.v)))};
}
NX_INLINE Vec16i narrow_s8(Vec16i a, Vec16i b, Vec16i c, Vec16i d) {
  return {in_turn(_mm512_packs_epi16(_mm512_packs_epi32(a.v, b.v), _mm512_packs_epi32(c.v, d.v)))};
}

NX_INLINE Vec16f load_bf16(const uint16_t* p) {
  const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  return {_mm512_castsi512_ps(_mm512_slli_epi32(wide, 16))};
}
NX_INLINE Vec16f load_bf16_first(const uint16_t* p, size_t n) {
  const __m512i wide = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(first_lanes(n), p));
  return {_mm512_castsi512_ps(_mm512_slli_epi32(wide, 16))};
}
NX_INLINE __m256i to_bf16(Vec16f a) {
  const __m512i u = _mm512_castps_si512(a.v);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(u, 16), _mm512_set1_epi32(1));
  const __m512i rounded = _mm512_add_epi32(_mm512_add_epi32(u, _mm512_set1_epi32(0x7FFF)), odd);
  const __m512i kept = _mm512_mask_mov_epi32(rounded, is_nan(a), _mm512_set1_epi32(0x7FC00000));
  return _mm512_cvtepi32_epi16(_mm512_srli_epi32(kept, 16));
}
NX_INLINE void store_bf16(uint16_t* p, Vec16f a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), to_bf16(a));
}
NX_INLINE void store_bf16_first(uint16_t* p, size_t n, Vec16f a) {
  _mm256_mask_storeu_epi16(p, first_lanes(n), to_bf16(a));
}

NX_INLINE void transpose_16(Vec16i (&rows)[16]) {
  __m512i t[16];
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(rows[i].v, rows[i + 1].v);
    t[i + 1] = _mm512_unpackhi_epi32(rows[i].v, rows[i + 1].v);
  }
  // u[4 q + c]: in 128-bit lane l, column 4 l + c of rows 4 q … 4 q + 3
  __m512i u[16];
#pragma GCC unroll 4
  for (int q = 0; q < 16; q += 4) {
    u[q] = _mm512_unpacklo_epi64(t[q], t[q + 2]);
    u[q + 1] = _mm512_unpackhi_epi64(t[q], t[q + 2]);
    u[q + 2] = _mm512_unpacklo_epi64(t[q + 1], t[q + 3]);
    u[q + 3] = _mm512_unpackhi_epi64(t[q + 1], t[q + 3]);
  }
#pragma GCC unroll 4
  for (int c = 0; c < 4; c++) {
    const __m512i low01 = _mm512_shuffle_i32x4(u[c], u[4 + c], 0x44),
                  low23 = _mm512_shuffle_i32x4(u[8 + c], u[12 + c], 0x44);
    const __m512i high01 = _mm512_shuffle_i32x4(u[c], u[4 + c], 0xEE),
                  high23 = _mm512_shuffle_i32x4(u[8 + c], u[12 + c], 0xEE);
    rows[c].v = _mm512_shuffle_i32x4(low01, low23, 0x88);
    rows[4 + c].v = _mm512_shuffle_i32x4(low01, low23, 0xDD);
    rows[8 + c].v = _mm512_shuffle_i32x4(high01, high23, 0x88);
    rows[12 + c].v = _mm512_shuffle_i32x4(high01, high23, 0xDD);
  }
}
