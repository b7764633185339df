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
