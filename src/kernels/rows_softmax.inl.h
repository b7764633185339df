// The rows of attention: softmax(scale · x + mask), encoded for the product with the values. Included by isa/*.cc only.
//
// kF32 is softmax_row. kBf16 and kU8 compute exp more coarsely (exp_coarse16), far below what their rounding loses; a
// kU8 row needs no second look: its integers are 255 e and their sum is the row's scale. Covered by
// tests/kernels/rows_test.cc.
#pragma once

// exp(x) for x <= 0 (and NaN) with a relative error below 4e-6: 2^n p(f), n the integer nearest to x / ln 2.
NX_INLINE Vec16f exp_coarse16(Vec16f x) {
  static constexpr float p[] = {1.0F,
                                0.6931471824645996F,
                                0.24022650718688965F,
                                0.05550410971045494F,
                                0.009618128649890423F,
                                0.0013333557872101665F};
  x = max16(splat(-150.0F), x);  // in this order a NaN passes through
  const Vec16f t = x * splat(1.4426950408889634F), n = round16(t);
  return scale_by_power_of_2(polynomial(t - n, p), n);
}

struct Scores {
  const float* x;
  const float* mask;  // or null
  Vec16f scale;
};
NX_INLINE Vec16f score_at(const Scores& s, size_t i, size_t lanes) {
  const Vec16f x = load_up_to(s.x + i, lanes, 0.0F) * s.scale;
  return s.mask == nullptr ? x : x + load_up_to(s.mask + i, lanes, 0.0F);
}
// −inf for a row without a score; NaNs are passed over, and show in the exponentials.
NX_INLINE float highest_score(size_t n, const Scores& s) {
  const float lowest = -__builtin_inff();
  Vec16f top[4] = {splat(lowest), splat(lowest), splat(lowest), splat(lowest)};
  size_t i = 0;
  for (; i + 64 <= n; i += 64) {
#pragma GCC unroll 4
    for (size_t j = 0; j < 4; j++) top[j] = max16(score_at(s, i + 16 * j, 16), top[j]);
  }
  for (; i + 16 <= n; i += 16) top[0] = max16(score_at(s, i, 16), top[0]);
  if (i < n) top[1] = max16(keep_first(score_at(s, i, n - i), n - i, lowest), top[1]);
  return max_lanes(max16(max16(top[0], top[1]), max16(top[2], top[3])));
}

NX_INLINE void softmax_u8(size_t n, const Scores& s, Vec16f top, uint8_t* y, float* scale) {
  const Vec16f magic = splat(12582912.0F);  // 1.5 · 2^23: what is added to it is rounded to a whole number
  Vec16f sum[4] = {splat(0.0F), splat(0.0F), splat(0.0F), splat(0.0F)};
  const auto level = [&](size_t i, size_t lanes, size_t j) NX_LAMBDA {
    Vec16f u = mul_add(exp_coarse16(score_at(s, i, lanes) - top), splat(255.0F), magic) - magic;
    if (lanes < 16) u = keep_first(u, lanes, 0.0F);
    sum[j] = sum[j] + u;
    return to_int(u);
  };
  size_t i = 0;
  for (; i + 64 <= n; i += 64) {
    const Vec16i a = level(i, 16, 0), b = level(i + 16, 16, 1), c = level(i + 32, 16, 2), d = level(i + 48, 16, 3);
    store_bits(y + i, narrow_u8(a, b, c, d));
  }
  if (i < n) {
    Vec16i part[4];
    for (size_t j = 0; j < 4; j++) {
      const size_t at = i + 16 * j;
      part[j] = at < n ? level(at, n - at < 16 ? n - at : 16, j) : splat_int(0);
    }
    store_bits(y + i, narrow_u8(part[0], part[1], part[2], part[3]));
  }
  const float total = sum_lanes((sum[0] + sum[1]) + (sum[2] + sum[3]));
  *scale = total == 0.0F ? 0.0F : 1.0F / total;
}

NX_INLINE Vec16f within(Vec16f v, size_t lanes) {  // also where the factor of a row is NaN
  return lanes == 16 ? v : keep_first(v, lanes, 0.0F);
}
NX_INLINE void softmax_bf16(size_t n, const Scores& s, Vec16f top, uint16_t* y, float* buffer) {
  const auto exp_at = [&](size_t i, size_t lanes) NX_LAMBDA {
    const Vec16f e = exp_coarse16(score_at(s, i, lanes) - top);
    return within(e, lanes);
  };
  const bool buffered = n <= kRowBuffer;
  const float sum = sum_of(n, [&](size_t i, size_t lanes) NX_LAMBDA {
    const Vec16f e = exp_at(i, lanes);
    if (buffered) store(buffer + i, e);
    return e;
  });
  const Vec16f factor = splat(sum == 0.0F ? 0.0F : 1.0F / sum);
  if (buffered) {
    encode_bf16(n, y, [&](size_t i, size_t lanes) NX_LAMBDA { return within(load(buffer + i) * factor, lanes); });
  } else {
    encode_bf16(n, y, [&](size_t i, size_t lanes) NX_LAMBDA { return within(exp_at(i, lanes) * factor, lanes); });
  }
}

NX_INLINE void softmax_rows_all(const SoftmaxRows& g) {
  float buffer[kRowBuffer];
  for (size_t row = 0; row < g.rows; row++) {
    const float* mask = g.mask == nullptr ? nullptr : g.mask + static_cast<ptrdiff_t>(row) * g.ld_mask;
    const Scores s = {g.x + row * g.ldx, mask, splat(g.scale)};
    const float top = highest_score(g.cols, s);
    const bool nothing = top == -__builtin_inff();
    if (g.out.format == RowFormat::kF32) {
      float* y = static_cast<float*>(g.out.y) + row * g.out.ldy;
      // highest_score() passes over NaNs, which a row that is to become zeros must not have.
      if (nothing && sum_of(g.cols, [&](size_t i, size_t lanes) NX_LAMBDA {
                       return within(score_at(s, i, lanes), lanes);
                     }) == -__builtin_inff()) {
        encode_f32(g.cols, y, [](size_t, size_t) NX_LAMBDA { return splat(0.0F); });
      } else {
        softmax_row(g.cols, s.x, g.scale, mask, y);
      }
      continue;
    }
    const Vec16f shift = splat(nothing ? 0.0F : top);
    if (g.out.format == RowFormat::kBf16) {
      softmax_bf16(g.cols, s, shift, static_cast<uint16_t*>(g.out.y) + row * g.out.ldy, buffer);
    } else {
      softmax_u8(g.cols, s, shift, static_cast<uint8_t*>(g.out.y) + row * g.out.ldy, g.out.scale + row);
    }
  }
}
