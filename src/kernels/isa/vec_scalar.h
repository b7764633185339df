// Vec16f in plain C++: the definition that the other instruction sets reproduce bit for bit. Included inside the
// anonymous namespace of isa/scalar.cc.
//
//   load_first, store_first   the first n lanes, n <= 16; the other lanes read as `fill` and are not written
//   keep_first                a with every lane from n on replaced by `fill`
//   min16(a, b)               a < b ? a : b, so a NaN or a tie gives b; max16 likewise with >
//   round16, to_int           to the nearest integer, ties to even
//   sum_lanes, max_lanes      lane i with i + 8, then i + 4, i + 2, i + 1
//   scale_by_power_of_2       a · 2^n for whole n in [-250, 250], rounded once, also into subnormals
//   store_u8                  16 bytes from lanes in [0, 255]
#pragma once

struct Vec16f {
  float v[16];
};
struct Vec16i {
  int32_t v[16];
};
struct Mask16 {
  bool v[16];
};

#define NX_LANES(expression)                          \
  for (int i = 0; i < 16; i++) r.v[i] = (expression); \
  return r

NX_INLINE Vec16f splat(float x) {
  Vec16f r;
  NX_LANES(x);
}
NX_INLINE Vec16f load(const float* p) {
  Vec16f r;
  NX_LANES(p[i]);
}
NX_INLINE Vec16f load_first(const float* p, size_t n, float fill) {
  Vec16f r;
  NX_LANES(static_cast<size_t>(i) < n ? p[i] : fill);
}
NX_INLINE Vec16f keep_first(const Vec16f& a, size_t n, float fill) {
  Vec16f r;
  NX_LANES(static_cast<size_t>(i) < n ? a.v[i] : fill);
}
NX_INLINE void store(float* p, const Vec16f& a) {
  for (int i = 0; i < 16; i++) p[i] = a.v[i];
}
NX_INLINE void store_first(float* p, size_t n, const Vec16f& a) {
  for (size_t i = 0; i < n; i++) p[i] = a.v[i];
}

#define NX_PAIRWISE(type, name, expression)           \
  NX_INLINE type name(const type& a, const type& b) { \
    type r;                                           \
    NX_LANES(expression);                             \
  }
NX_PAIRWISE(Vec16f, operator+, a.v[i] + b.v[i])
NX_PAIRWISE(Vec16f, operator-, a.v[i] - b.v[i])
NX_PAIRWISE(Vec16f, operator*, a.v[i] * b.v[i])
NX_PAIRWISE(Vec16f, operator/, a.v[i] / b.v[i])
NX_PAIRWISE(Vec16f, min16, a.v[i] < b.v[i] ? a.v[i] : b.v[i])
NX_PAIRWISE(Vec16f, max16, a.v[i] > b.v[i] ? a.v[i] : b.v[i])
NX_PAIRWISE(Vec16i, operator+, static_cast<int32_t>(static_cast<uint32_t>(a.v[i]) + static_cast<uint32_t>(b.v[i])))
NX_PAIRWISE(Vec16i, operator-, static_cast<int32_t>(static_cast<uint32_t>(a.v[i]) - static_cast<uint32_t>(b.v[i])))
NX_PAIRWISE(Vec16i, operator*, static_cast<int32_t>(static_cast<uint32_t>(a.v[i]) * static_cast<uint32_t>(b.v[i])))
NX_PAIRWISE(Vec16i, operator&, a.v[i] & b.v[i])
NX_PAIRWISE(Vec16i, operator|, a.v[i] | b.v[i])
NX_PAIRWISE(Vec16i, operator^, a.v[i] ^ b.v[i])
#undef NX_PAIRWISE
NX_INLINE Vec16f mul_add(const Vec16f& a, const Vec16f& b, const Vec16f& c) {
  Vec16f r;
  NX_LANES(__builtin_fmaf(a.v[i], b.v[i], c.v[i]));
}
NX_INLINE float sqrt1(float x) {
  return __builtin_sqrtf(x);
}
NX_INLINE Vec16f sqrt16(const Vec16f& a) {
  Vec16f r;
  NX_LANES(sqrt1(a.v[i]));
}
NX_INLINE Vec16f round16(const Vec16f& a) {
  Vec16f r;
  NX_LANES(__builtin_rintf(a.v[i]));
}

NX_INLINE Mask16 less(const Vec16f& a, const Vec16f& b) {
  Mask16 r;
  NX_LANES(a.v[i] < b.v[i]);
}
NX_INLINE Mask16 is_nan(const Vec16f& a) {
  Mask16 r;
  NX_LANES(a.v[i] != a.v[i]);
}
NX_INLINE Vec16f select(const Mask16& m, const Vec16f& yes, const Vec16f& no) {
  Vec16f r;
  NX_LANES(m.v[i] ? yes.v[i] : no.v[i]);
}

NX_INLINE Vec16i splat_int(int32_t x) {
  Vec16i r;
  NX_LANES(x);
}
NX_INLINE Vec16i bits(const Vec16f& a) {
  Vec16i r;
  __builtin_memcpy(&r, &a, sizeof r);
  return r;
}
NX_INLINE Vec16f from_bits(const Vec16i& a) {
  Vec16f r;
  __builtin_memcpy(&r, &a, sizeof r);
  return r;
}
// What the vector instructions give when the value is no int32.
NX_INLINE int32_t to_int1(float x) {
  return x >= -2147483648.0F && x < 2147483648.0F ? static_cast<int32_t>(__builtin_rintf(x)) : INT32_MIN;
}
NX_INLINE Vec16i to_int(const Vec16f& a) {
  Vec16i r;
  NX_LANES(to_int1(a.v[i]));
}
NX_INLINE Vec16f to_float(const Vec16i& a) {
  Vec16f r;
  NX_LANES(static_cast<float>(a.v[i]));
}
template <int Bits>
NX_INLINE Vec16i shift_left(const Vec16i& a) {
  Vec16i r;
  NX_LANES(static_cast<int32_t>(static_cast<uint32_t>(a.v[i]) << Bits));
}
template <int Bits>
NX_INLINE Vec16i shift_right(const Vec16i& a) {
  Vec16i r;
  NX_LANES(a.v[i] >> Bits);
}

NX_INLINE Vec16f scale_by_power_of_2(const Vec16f& a, const Vec16f& n) {
  const Vec16i whole = to_int(n), half = shift_right<1>(whole);
  const Vec16i bias = splat_int(127);
  return a * from_bits(shift_left<23>(half + bias)) * from_bits(shift_left<23>(whole - half + bias));
}

NX_INLINE float sum_lanes(Vec16f a) {
  for (int width = 8; width > 0; width /= 2)
    for (int i = 0; i < width; i++) a.v[i] = a.v[i] + a.v[i + width];
  return a.v[0];
}
NX_INLINE float max_lanes(Vec16f a) {
  for (int width = 8; width > 0; width /= 2)
    for (int i = 0; i < width; i++) a.v[i] = a.v[i] > a.v[i + width] ? a.v[i] : a.v[i + width];
  return a.v[0];
}

NX_INLINE void transpose_4x4(const float* x, size_t ldx, float* y, size_t ldy) {
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) y[j * ldy + i] = x[i * ldx + j];
}

NX_INLINE void store_u8(uint8_t* p, const Vec16i& a) {
  for (int i = 0; i < 16; i++) p[i] = static_cast<uint8_t>(a.v[i]);
}

NX_INLINE Vec16i load_bits(const void* p) {
  Vec16i r;
  __builtin_memcpy(&r, p, sizeof r);
  return r;
}
NX_INLINE void store_bits(void* p, const Vec16i& a) {
  __builtin_memcpy(p, &a, sizeof a);
}
NX_INLINE Vec16i narrow(const Vec16i& a, const Vec16i& b, const Vec16i& c, const Vec16i& d, int32_t low, int32_t high) {
  uint8_t bytes[64];
  const Vec16i* const all[] = {&a, &b, &c, &d};
  for (int i = 0; i < 64; i++) {
    const int32_t v = all[i / 16]->v[i % 16];
    bytes[i] = static_cast<uint8_t>(v < low ? low : v > high ? high : v);
  }
  return load_bits(bytes);
}
NX_INLINE Vec16i narrow_u8(const Vec16i& a, const Vec16i& b, const Vec16i& c, const Vec16i& d) {
  return narrow(a, b, c, d, 0, 255);
}
NX_INLINE Vec16i narrow_s8(const Vec16i& a, const Vec16i& b, const Vec16i& c, const Vec16i& d) {
  return narrow(a, b, c, d, -128, 127);
}

NX_INLINE Vec16f load_bf16(const uint16_t* p) {
  Vec16i r;
  for (int i = 0; i < 16; i++) r.v[i] = static_cast<int32_t>(static_cast<uint32_t>(p[i]) << 16);
  return from_bits(r);
}
NX_INLINE Vec16f load_bf16_first(const uint16_t* p, size_t n) {
  Vec16i r = {};
  for (size_t i = 0; i < n; i++) r.v[i] = static_cast<int32_t>(static_cast<uint32_t>(p[i]) << 16);
  return from_bits(r);
}
NX_INLINE uint16_t bf16_of(float x) {
  uint32_t u;
  __builtin_memcpy(&u, &x, sizeof u);
  return x != x ? uint16_t{0x7FC0} : static_cast<uint16_t>((u + 0x7FFFU + ((u >> 16) & 1U)) >> 16);
}
NX_INLINE void store_bf16(uint16_t* p, const Vec16f& a) {
  for (int i = 0; i < 16; i++) p[i] = bf16_of(a.v[i]);
}
NX_INLINE void store_bf16_first(uint16_t* p, size_t n, const Vec16f& a) {
  for (size_t i = 0; i < n; i++) p[i] = bf16_of(a.v[i]);
}
NX_INLINE void transpose_16(Vec16i (&rows)[16]) {
  for (int i = 0; i < 16; i++) {
    for (int j = 0; j < i; j++) {
      const int32_t swapped = rows[i].v[j];
      rows[i].v[j] = rows[j].v[i];
      rows[j].v[i] = swapped;
    }
  }
}
#undef NX_LANES
