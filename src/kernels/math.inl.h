// exp, log, erf, tanh and their relatives on 16 lanes. Polynomials are minimax fits in float64 (weighted least squares,
// Lawson's iteration), rounded to float32; every step is a fixed sequence of float32 operations, so all instruction
// sets agree bit for bit. The measured errors are in tests/kernels/elementwise_test.cc. Included by isa/*.cc only.
#pragma once

// c[0] + x (c[1] + x (c[2] + ...)), innermost first.
template <int N>
NX_INLINE Vec16f polynomial(Vec16f x, const float (&c)[N]) {
  Vec16f y = splat(c[N - 1]);
#pragma GCC unroll 16
  for (int i = N - 2; i >= 0; i--) y = mul_add(y, x, splat(c[i]));
  return y;
}

NX_INLINE Vec16f abs16(Vec16f a) {
  return from_bits(bits(a) & splat_int(0x7FFFFFFF));
}
NX_INLINE Vec16f neg16(Vec16f a) {
  return from_bits(bits(a) ^ splat_int(INT32_MIN));
}
NX_INLINE Vec16f with_sign_of(Vec16f magnitude, Vec16f sign) {
  return from_bits(bits(magnitude) | (bits(sign) & splat_int(INT32_MIN)));
}

// x = n ln 2 + r with |r| <= ln 2 / 2; exp(x) = 2^n (1 + r + r² q(r)). Below about -104 it is exactly 0.
NX_INLINE Vec16f exp16(Vec16f x) {
  static constexpr float q[] = {0.4999999403953552F, 0.16666515171527863F, 0.04166845604777336F, 0.008369418792426586F,
                                0.0013813142431899905F};
  x = max16(splat(-150.0F), min16(splat(150.0F), x));  // in this order a NaN passes through
  const Vec16f n = round16(x * splat(1.4426950216293335F));
  Vec16f r = mul_add(n, splat(-0.693147182464599609375F), x);
  r = mul_add(n, splat(1.9046542121259335e-9F), r);  // ln 2 less its float32, negated twice
  const Vec16f y = mul_add(r * r, polynomial(r, q), r) + splat(1.0F);
  return scale_by_power_of_2(y, n);
}

// x = 2^e (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)); log(1 + f) = f − f²/2 + f³ q(f).
NX_INLINE Vec16f log16(Vec16f x) {
  static constexpr float q[] = {0.3333333134651184F,  -0.250008225440979F, 0.20001226663589478F, -0.16623356938362122F,
                                0.14201761782169342F, -0.131601944565773F, 0.12761549651622772F, -0.07634429633617401F};
  const Mask16 subnormal = less(x, splat(1.17549435e-38F));
  const Vec16f scaled = select(subnormal, x * splat(8388608.0F), x);
  const Vec16i offset = bits(scaled) - splat_int(0x3F3504F3);  // sqrt(1/2): puts the boundary between exponents there
  const Vec16f e = to_float(shift_right<23>(offset)) - select(subnormal, splat(23.0F), splat(0.0F));
  const Vec16f f = from_bits((offset & splat_int(0x007FFFFF)) + splat_int(0x3F3504F3)) - splat(1.0F);
  const Vec16f f2 = f * f;
  Vec16f y = mul_add(f2 * f, polynomial(f, q), e * splat(-2.12194440e-4F));
  y = mul_add(f2, splat(-0.5F), y) + f;
  y = mul_add(e, splat(0.693359375F), y);
  const Vec16f infinity = splat(__builtin_inff());
  y = select(less(x, infinity), y, x);  // infinity and NaN stay
  y = select(less(x, splat(0.0F)), splat(__builtin_nanf("")), y);
  return select(less(splat(0.0F), abs16(x)), y, select(is_nan(x), x, neg16(infinity)));
}

// erfc(t) for t >= 0 as s P(s) exp(−t²) with s = 1 / (1 + 3/8 t): the relative error stays small into the far tail.
NX_INLINE Vec16f erfc_of_positive(Vec16f t) {
  static constexpr float p[] = {0.2116134762763977F,  0.21064959466457367F,  0.20531389117240906F,
                                0.12150321155786514F, 0.27372920513153076F,  -0.22942063212394714F,
                                0.43240565061569214F, -0.28733381628990173F, 0.0615394189953804F};
  t = min16(splat(15.0F), t);  // keeps infinity out of t²; the result is 0 from about 10 on
  const Vec16f s = splat(1.0F) / mul_add(t, splat(0.375F), splat(1.0F));
  const Vec16f t2 = t * t;
  const Vec16f lost = mul_add(t, t, neg16(t2));  // t² = t2 + lost exactly; without it exp(−t²) loses digits
  const Vec16f e = exp16(neg16(t2));
  return s * polynomial(s, p) * mul_add(neg16(lost), e, e);
}

NX_INLINE Vec16f erf16(Vec16f x) {
  static constexpr float p[] = {0.12837916709551256F,   -0.37612631916999817F, 0.11283663660287857F,
                                -0.026857705786824226F, 0.005196951795369387F, -0.0008097702520899475F,
                                8.185090700862929e-05F};
  const Vec16f t = abs16(x);
  const Vec16f near = mul_add(x, polynomial(x * x, p), x);  // erf(x) / x less 1, so that its rounding hardly counts
  const Vec16f far = with_sign_of(splat(1.0F) - erfc_of_positive(t), x);
  return select(less(t, splat(0.95F)), near, far);
}

// x Φ(x), Φ(x) = erfc(−x / √2) / 2.
NX_INLINE Vec16f gelu_erf16(Vec16f x) {
  const Vec16f half_tail = splat(0.5F) * erfc_of_positive(abs16(x) * splat(0.70710678118654752F));
  return x * select(less(x, splat(0.0F)), half_tail, splat(1.0F) - half_tail);
}

NX_INLINE Vec16f sigmoid16(Vec16f x) {
  return splat(1.0F) / (splat(1.0F) + exp16(neg16(x)));
}
NX_INLINE Vec16f silu16(Vec16f x) {
  return x / (splat(1.0F) + exp16(neg16(x)));
}

// 0.5 x (1 + tanh(u)) = x / (1 + exp(−2u)) with u = √(2/π) (x + 0.044715 x³).
NX_INLINE Vec16f gelu_tanh16(Vec16f x) {
  const Vec16f u2 = x * mul_add(x * x, splat(0.07135481282688692F), splat(1.5957691216057308F));
  return x / (splat(1.0F) + exp16(neg16(u2)));
}

NX_INLINE Vec16f tanh16(Vec16f x) {
  static constexpr float p[] = {-0.3333326280117035F, 0.1333089917898178F, -0.05369296297430992F, 0.02048330567777157F,
                                -0.005528624635189772F};
  const Vec16f t = abs16(x), x2 = x * x;
  const Vec16f near = mul_add(x * x2, polynomial(x2, p), x);
  const Vec16f far = splat(1.0F) - splat(2.0F) / (exp16(t + t) + splat(1.0F));
  return select(less(t, splat(0.65F)), near, with_sign_of(far, x));
}

NX_INLINE Vec16f relu16(Vec16f x) {
  return max16(splat(0.0F), x);
}
NX_INLINE Vec16f rsqrt16(Vec16f x) {
  return splat(1.0F) / sqrt16(x);
}
NX_INLINE Vec16f reciprocal16(Vec16f x) {
  return splat(1.0F) / x;
}
NX_INLINE Vec16f square16(Vec16f x) {
  return x * x;
}
NX_INLINE Vec16f min_or_nan(Vec16f a, Vec16f b) {
  return select(is_nan(a), a, min16(a, b));
}
NX_INLINE Vec16f max_or_nan(Vec16f a, Vec16f b) {
  return select(is_nan(a), a, max16(a, b));
}
