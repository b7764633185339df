// Vec16f on NEON: four q registers. Included inside the anonymous namespace of isa/neon*.cc; see vec_scalar.h for
// meanings. Where ARM differs from x86 (conversions out of range, minima and maxima of NaNs), the bits are those of
// vec_scalar.h.
#pragma once

struct Vec16f {
  float32x4_t v[4];
};
struct Vec16i {
  int32x4_t v[4];
};
struct Mask16 {
  uint32x4_t v[4];
};

// The same expression for each quarter q of a vector.
#define NX_QUADS(type, expression)                                     \
  const auto quad = [&](const int q) NX_LAMBDA { return expression; }; \
  return type {                                                        \
    {                                                                  \
      quad(0), quad(1), quad(2), quad(3)                               \
    }                                                                  \
  }

NX_INLINE Vec16f splat(float x) {
  NX_QUADS(Vec16f, (static_cast<void>(q), vdupq_n_f32(x)));
}
NX_INLINE Vec16f load(const float* p) {
  NX_QUADS(Vec16f, vld1q_f32(p + 4 * q));
}
NX_INLINE float32x4_t load_first_of_4(const float* p, size_t n, float fill) {
  if (n >= 4) return vld1q_f32(p);
  float32x4_t r = vdupq_n_f32(fill);
  if (n > 0) r = vld1q_lane_f32(p, r, 0);
  if (n > 1) r = vld1q_lane_f32(p + 1, r, 1);
  if (n > 2) r = vld1q_lane_f32(p + 2, r, 2);
  return r;
}
NX_INLINE size_t left_after(size_t n, int used) {
  return n > static_cast<size_t>(used) ? n - static_cast<size_t>(used) : 0;
}
NX_INLINE Vec16f load_first(const float* p, size_t n, float fill) {
  NX_QUADS(Vec16f, load_first_of_4(p + 4 * q, left_after(n, 4 * q), fill));
}
NX_INLINE Vec16f keep_first(const Vec16f& a, size_t n, float fill) {
  const uint32x4_t first = {0, 1, 2, 3};
  const uint32_t count = static_cast<uint32_t>(n);
  NX_QUADS(Vec16f, vbslq_f32(vcgtq_u32(vdupq_n_u32(count), vaddq_u32(first, vdupq_n_u32(4 * static_cast<uint32_t>(q)))),
                             a.v[q], vdupq_n_f32(fill)));
}
NX_INLINE void store(float* p, const Vec16f& a) {
#pragma GCC unroll 4
  for (int q = 0; q < 4; q++) vst1q_f32(p + 4 * q, a.v[q]);
}
NX_INLINE void store_first(float* p, size_t n, const Vec16f& a) {
#pragma GCC unroll 4
  for (int q = 0; q < 4; q++) {
    const size_t left = left_after(n, 4 * q);
    float* to = p + 4 * q;
    if (left >= 4) {
      vst1q_f32(to, a.v[q]);
    } else {
      if (left > 0) vst1q_lane_f32(to, a.v[q], 0);
      if (left > 1) vst1q_lane_f32(to + 1, a.v[q], 1);
      if (left > 2) vst1q_lane_f32(to + 2, a.v[q], 2);
    }
  }
}

#define NX_PAIRWISE(type, name, f)                    \
  NX_INLINE type name(const type& a, const type& b) { \
    NX_QUADS(type, f(a.v[q], b.v[q]));                \
  }
NX_INLINE float32x4_t lesser(float32x4_t a, float32x4_t b) {
  return vbslq_f32(vcltq_f32(a, b), a, b);
}
NX_INLINE float32x4_t greater(float32x4_t a, float32x4_t b) {
  return vbslq_f32(vcgtq_f32(a, b), a, b);
}
NX_PAIRWISE(Vec16f, operator+, vaddq_f32)
NX_PAIRWISE(Vec16f, operator-, vsubq_f32)
NX_PAIRWISE(Vec16f, operator*, vmulq_f32)
NX_PAIRWISE(Vec16f, operator/, vdivq_f32)
NX_PAIRWISE(Vec16f, min16, lesser)  // not vminq_f32, which gives NaN for either NaN and orders the zeros
NX_PAIRWISE(Vec16f, max16, greater)
NX_PAIRWISE(Vec16i, operator+, vaddq_s32)
NX_PAIRWISE(Vec16i, operator-, vsubq_s32)
NX_PAIRWISE(Vec16i, operator*, vmulq_s32)
NX_PAIRWISE(Vec16i, operator&, vandq_s32)
NX_PAIRWISE(Vec16i, operator|, vorrq_s32)
NX_PAIRWISE(Vec16i, operator^, veorq_s32)
#undef NX_PAIRWISE
NX_INLINE Vec16f mul_add(const Vec16f& a, const Vec16f& b, const Vec16f& c) {
  NX_QUADS(Vec16f, vfmaq_f32(c.v[q], a.v[q], b.v[q]));
}
NX_INLINE float sqrt1(float x) {
  return __builtin_sqrtf(x);
}
NX_INLINE Vec16f sqrt16(const Vec16f& a) {
  NX_QUADS(Vec16f, vsqrtq_f32(a.v[q]));
}
NX_INLINE Vec16f round16(const Vec16f& a) {
  NX_QUADS(Vec16f, vrndnq_f32(a.v[q]));
}

NX_INLINE Mask16 less(const Vec16f& a, const Vec16f& b) {
  NX_QUADS(Mask16, vcltq_f32(a.v[q], b.v[q]));
}
NX_INLINE Mask16 is_nan(const Vec16f& a) {
  NX_QUADS(Mask16, vmvnq_u32(vceqq_f32(a.v[q], a.v[q])));
}
NX_INLINE Vec16f select(const Mask16& m, const Vec16f& yes, const Vec16f& no) {
  NX_QUADS(Vec16f, vbslq_f32(m.v[q], yes.v[q], no.v[q]));
}

NX_INLINE Vec16i splat_int(int32_t x) {
  NX_QUADS(Vec16i, (static_cast<void>(q), vdupq_n_s32(x)));
}
NX_INLINE Vec16i bits(const Vec16f& a) {
  NX_QUADS(Vec16i, vreinterpretq_s32_f32(a.v[q]));
}
NX_INLINE Vec16f from_bits(const Vec16i& a) {
  NX_QUADS(Vec16f, vreinterpretq_f32_s32(a.v[q]));
}
// ARM gives 0 for a NaN and INT32_MAX for what is too large.
NX_INLINE Vec16i to_int(const Vec16f& a) {
  const float32x4_t too_large = vdupq_n_f32(2147483648.0F);
  NX_QUADS(Vec16i, vbslq_s32(vcltq_f32(a.v[q], too_large), vcvtnq_s32_f32(a.v[q]), vdupq_n_s32(INT32_MIN)));
}
NX_INLINE Vec16f to_float(const Vec16i& a) {
  NX_QUADS(Vec16f, vcvtq_f32_s32(a.v[q]));
}
template <int Bits>
NX_INLINE Vec16i shift_left(const Vec16i& a) {
  NX_QUADS(Vec16i, vshlq_n_s32(a.v[q], Bits));
}
template <int Bits>
NX_INLINE Vec16i shift_right(const Vec16i& a) {
  NX_QUADS(Vec16i, vshrq_n_s32(a.v[q], Bits));
}

NX_INLINE Vec16f scale_by_power_of_2(const Vec16f& a, const Vec16f& n) {
  const Vec16i whole = to_int(n), half = shift_right<1>(whole);
  const Vec16i bias = splat_int(127);
  return a * from_bits(shift_left<23>(half + bias)) * from_bits(shift_left<23>(whole - half + bias));
}

NX_INLINE float sum_lanes(const Vec16f& a) {
  const float32x4_t four = vaddq_f32(vaddq_f32(a.v[0], a.v[2]), vaddq_f32(a.v[1], a.v[3]));
  const float32x2_t two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
  return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
}
NX_INLINE float max_lanes(const Vec16f& a) {
  const float32x4_t four = greater(greater(a.v[0], a.v[2]), greater(a.v[1], a.v[3]));
  const float32x2_t low = vget_low_f32(four), high = vget_high_f32(four);
  const float32x2_t two = vbsl_f32(vcgt_f32(low, high), low, high);
  const float x = vget_lane_f32(two, 0), y = vget_lane_f32(two, 1);
  return x > y ? x : y;
}

struct Quads {
  float32x4_t v[4];
};
NX_INLINE Quads transposed(float32x4_t a, float32x4_t b, float32x4_t c, float32x4_t d) {
  const float32x4_t ac_lo = vzip1q_f32(a, c), ac_hi = vzip2q_f32(a, c);
  const float32x4_t bd_lo = vzip1q_f32(b, d), bd_hi = vzip2q_f32(b, d);
  return {{vzip1q_f32(ac_lo, bd_lo), vzip2q_f32(ac_lo, bd_lo), vzip1q_f32(ac_hi, bd_hi), vzip2q_f32(ac_hi, bd_hi)}};
}
NX_INLINE void transpose_4x4(const float* x, size_t ldx, float* y, size_t ldy) {
  const Quads t = transposed(vld1q_f32(x), vld1q_f32(x + ldx), vld1q_f32(x + 2 * ldx), vld1q_f32(x + 3 * ldx));
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++) vst1q_f32(y + i * ldy, t.v[i]);
}

NX_INLINE Vec16i load_bits(const void* p) {
  const uint8_t* from = static_cast<const uint8_t*>(p);
  NX_QUADS(Vec16i, vreinterpretq_s32_u8(vld1q_u8(from + 16 * q)));
}
NX_INLINE void store_bits(void* p, const Vec16i& a) {
  uint8_t* to = static_cast<uint8_t*>(p);
#pragma GCC unroll 4
  for (int q = 0; q < 4; q++) vst1q_u8(to + 16 * q, vreinterpretq_u8_s32(a.v[q]));
}
NX_INLINE int16x8_t low_words(const Vec16i& a) {
  return vcombine_s16(vqmovn_s32(a.v[0]), vqmovn_s32(a.v[1]));
}
NX_INLINE int16x8_t high_words(const Vec16i& a) {
  return vcombine_s16(vqmovn_s32(a.v[2]), vqmovn_s32(a.v[3]));
}
NX_INLINE uint8x16_t bytes_u8(const Vec16i& a) {
  return vcombine_u8(vqmovun_s16(low_words(a)), vqmovun_s16(high_words(a)));
}
NX_INLINE int8x16_t bytes_s8(const Vec16i& a) {
  return vcombine_s8(vqmovn_s16(low_words(a)), vqmovn_s16(high_words(a)));
}
NX_INLINE void store_u8(uint8_t* p, const Vec16i& a) {
  vst1q_u8(p, bytes_u8(a));
}
NX_INLINE Vec16i narrow_u8(const Vec16i& a, const Vec16i& b, const Vec16i& c, const Vec16i& d) {
  return {{vreinterpretq_s32_u8(bytes_u8(a)), vreinterpretq_s32_u8(bytes_u8(b)), vreinterpretq_s32_u8(bytes_u8(c)),
           vreinterpretq_s32_u8(bytes_u8(d))}};
}
NX_INLINE Vec16i narrow_s8(const Vec16i& a, const Vec16i& b, const Vec16i& c, const Vec16i& d) {
  return {{vreinterpretq_s32_s8(bytes_s8(a)), vreinterpretq_s32_s8(bytes_s8(b)), vreinterpretq_s32_s8(bytes_s8(c)),
           vreinterpretq_s32_s8(bytes_s8(d))}};
}

NX_INLINE Vec16f load_bf16(const uint16_t* p) {
  NX_QUADS(Vec16f, vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p + 4 * q), 16)));
}
NX_INLINE Vec16f load_bf16_first(const uint16_t* p, size_t n) {
  uint16_t all[16] = {};
  for (size_t i = 0; i < n; i++) all[i] = p[i];
  return load_bf16(all);
}
NX_INLINE uint16x4_t to_bf16(float32x4_t a) {
  const uint32x4_t u = vreinterpretq_u32_f32(a), odd = vandq_u32(vshrq_n_u32(u, 16), vdupq_n_u32(1));
  const uint32x4_t rounded = vaddq_u32(vaddq_u32(u, vdupq_n_u32(0x7FFF)), odd);
  return vshrn_n_u32(vbslq_u32(vceqq_f32(a, a), rounded, vdupq_n_u32(0x7FC00000)), 16);
}
NX_INLINE void store_bf16(uint16_t* p, const Vec16f& a) {
#pragma GCC unroll 4
  for (int q = 0; q < 4; q++) vst1_u16(p + 4 * q, to_bf16(a.v[q]));
}
NX_INLINE void store_bf16_first(uint16_t* p, size_t n, const Vec16f& a) {
  uint16_t all[16];
  store_bf16(all, a);
  for (size_t i = 0; i < n; i++) p[i] = all[i];
}

NX_INLINE Quads transposed_block(const Vec16i (&rows)[16], int i, int j) {
  const auto row = [&](int r) NX_LAMBDA { return vreinterpretq_f32_s32(rows[4 * i + r].v[j]); };
  return transposed(row(0), row(1), row(2), row(3));
}
NX_INLINE void transpose_16(Vec16i (&rows)[16]) {
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++) {
#pragma GCC unroll 4
    for (int j = 0; j <= i; j++) {
      const Quads below = transposed_block(rows, i, j), above = transposed_block(rows, j, i);
#pragma GCC unroll 4
      for (int r = 0; r < 4; r++) {
        rows[4 * j + r].v[i] = vreinterpretq_s32_f32(below.v[r]);
        rows[4 * i + r].v[j] = vreinterpretq_s32_f32(above.v[r]);
      }
    }
  }
}
#undef NX_QUADS
