// Right operands of linear_bf16 and linear_int8: rounded or quantised, then laid out in panels of 16 columns whose rows
// hold 2 (bfloat16) or 4 (int8) values of k per column. Included by isa/*.cc only.
//
// Either layout is a matrix of 32-bit units [ceil(n / 16)][units of k][16]. From a plain b a unit's values come from
// consecutive rows; from a transposed one they lie side by side, and 16 by 16 units are transposed in registers. Used
// for weights once and for keys and values in every call of attention. Covered by tests/kernels/pack_test.cc.
#pragma once

struct PanelShape {
  size_t cols;   // columns of b in this panel, 1 … 16
  size_t k;      // rows of b
  size_t units;  // rows of the panel: of 2 or 4 k, padding included
};

// Up to 16 values of b, rounded to bfloat16 already in the one case, as floats.
NX_INLINE Vec16f load_b(const PackBf16& g, size_t at, size_t lanes) {
  if (!g.b_bf16) return load_up_to(static_cast<const float*>(g.b) + at, lanes, 0.0F);
  const uint16_t* b = static_cast<const uint16_t*>(g.b) + at;
  return lanes == 16 ? load_bf16(b) : load_bf16_first(b, lanes);
}
NX_INLINE Vec16i bf16_in_upper_half(Vec16f x) {  // the lower half is what it may be
  const Vec16i b = bits(x), rounded = b + splat_int(0x7FFF) + (shift_right<16>(b) & splat_int(1));
  return bits(select(is_nan(x), from_bits(splat_int(0x7FC00000)), from_bits(rounded)));
}
NX_INLINE Vec16i pair_bf16(Vec16f even, Vec16f odd) {
  const Vec16i upper = bf16_in_upper_half(odd) & splat_int(static_cast<int32_t>(0xFFFF0000U));
  return upper | (shift_right<16>(bf16_in_upper_half(even)) & splat_int(0xFFFF));
}
NX_INLINE void pack_bf16_rows(const PackBf16& g, size_t n, const PanelShape& shape, uint16_t* packed) {
  for (size_t u = 0; u < shape.units; u++, packed += 32) {
    const size_t k = 2 * u;
    const Vec16f even = k < shape.k ? load_b(g, k * g.ldb + n, shape.cols) : splat(0.0F);
    const Vec16f odd = k + 1 < shape.k ? load_b(g, (k + 1) * g.ldb + n, shape.cols) : splat(0.0F);
    store_bits(packed, pair_bf16(even, odd));
  }
}
NX_INLINE void pack_bf16_transposed(const PackBf16& g, size_t n, const PanelShape& shape, uint16_t* packed) {
  for (size_t u = 0; u < shape.units; u += 16, packed += 512) {  // 32 k
    Vec16i block[16];
    for (size_t column = 0; column < 16; column++) {
      uint16_t side_by_side[32];
      for (size_t half = 0; half < 2; half++) {
        const size_t k = 2 * u + 16 * half, left = k < shape.k ? shape.k - k : 0;
        const Vec16f v =
            column < shape.cols && left > 0 ? load_b(g, (n + column) * g.ldb + k, left < 16 ? left : 16) : splat(0.0F);
        store_bf16(side_by_side + 16 * half, v);
      }
      block[column] = load_bits(side_by_side);
    }
    transpose_16(block);
    for (size_t i = 0; i < 16; i++) store_bits(packed + 32 * i, block[i]);
  }
}
NX_INLINE void pack_bf16_all(const PackBf16& g) {
  const size_t units = (g.k + 31) / 32 * 16;
  uint16_t* packed = g.packed;
  for (size_t n = 0; n < g.n; n += kPanel, packed += units * 32) {
    const PanelShape shape = {g.n - n < kPanel ? g.n - n : kPanel, g.k, units};
    if (g.transposed) {
      pack_bf16_transposed(g, n, shape, packed);
    } else {
      pack_bf16_rows(g, n, shape, packed);
    }
  }
}

// Columns whose values are all below 1e-30 count as zeros: 127 / top would be infinite.
struct ColumnScale {
  float scale, inverse;
};
NX_INLINE ColumnScale column_scale(float top, float poison) {
  const bool usable = top > 1e-30F;
  return {(usable ? top / 127.0F : 0.0F) + poison, (usable ? 127.0F / top : 0.0F) + poison};
}
NX_INLINE Vec16i to_int8(Vec16f v) {  // −127 for a NaN: its column's scale is NaN
  return to_int(max16(v, splat(-127.0F)));
}
NX_INLINE void pack_int8_rows(const PackInt8& g, size_t n, const PanelShape& shape, int8_t* packed) {
  const float* b = g.b + n;
  Vec16f top = splat(0.0F), poison = splat(0.0F);
  for (size_t k = 0; k < shape.k; k++) {
    const Vec16f v = load_up_to(b + k * g.ldb, shape.cols, 0.0F);
    top = max16(abs16(v), top);
    poison = mul_add(v, splat(0.0F), poison);
  }
  float tops[16], poisons[16], inverses[16];
  store(tops, top);
  store(poisons, poison);
  for (size_t j = 0; j < 16; j++) {
    const ColumnScale c = column_scale(tops[j], poisons[j]);
    g.scale[n + j] = c.scale;
    inverses[j] = c.inverse;
  }
  const Vec16f inverse = load(inverses);
  Vec16i sum = splat_int(0);
  const auto row = [&](size_t k) NX_LAMBDA {
    const Vec16i q = k < shape.k ? to_int8(load_up_to(b + k * g.ldb, shape.cols, 0.0F) * inverse) : splat_int(0);
    sum = sum + q;
    return q;
  };
  for (size_t u = 0; u < shape.units; u++, packed += 64) {
    const Vec16i q0 = row(4 * u), q1 = row(4 * u + 1), q2 = row(4 * u + 2), q3 = row(4 * u + 3), low = splat_int(0xFF);
    const Vec16i first = (q0 & low) | shift_left<8>(q1 & low), second = (q2 & low) | shift_left<8>(q3 & low);
    store_bits(packed, first | shift_left<16>(second));
  }
  store_bits(g.colsum + n, sum);
}
NX_INLINE void pack_int8_transposed(const PackInt8& g, size_t n, const PanelShape& shape, int8_t* packed) {
  float inverses[16] = {};
  for (size_t j = 0; j < 16; j++) g.scale[n + j] = 0.0F;
  for (size_t j = 0; j < shape.cols; j++) {
    const float* b = g.b + (n + j) * g.ldb;
    const RowRange r = range_of(g.k, [&](size_t k, size_t lanes) NX_LAMBDA { return load_up_to(b + k, lanes, 0.0F); });
    const ColumnScale c = column_scale(max_lanes(max16(r.high, neg16(r.low))), sum_lanes(r.poison));
    g.scale[n + j] = c.scale;
    inverses[j] = c.inverse;
  }
  Vec16i sums[16];  // of the values at k, k + 16, …: added up once they are transposed
  for (Vec16i& sum : sums) sum = splat_int(0);
  for (size_t u = 0; u < shape.units; u += 16, packed += 1024) {  // 64 k
    Vec16i block[16];
    for (size_t j = 0; j < 16; j++) {
      const float* b = g.b + (n + j) * g.ldb;
      Vec16i part[4];
#pragma GCC unroll 4
      for (size_t i = 0; i < 4; i++) {
        const size_t k = 4 * u + 16 * i, left = j < shape.cols && k < shape.k ? shape.k - k : 0;
        part[i] =
            left == 0 ? splat_int(0) : to_int8(load_up_to(b + k, left < 16 ? left : 16, 0.0F) * splat(inverses[j]));
        if (left < 16) part[i] = bits(keep_first(from_bits(part[i]), left, 0.0F));  // 0 times a NaN is not 0
        sums[j] = sums[j] + part[i];
      }
      block[j] = narrow_s8(part[0], part[1], part[2], part[3]);
    }
    transpose_16(block);
    for (size_t i = 0; i < 16; i++) store_bits(packed + 64 * i, block[i]);
  }
  transpose_16(sums);
  Vec16i sum = splat_int(0);
  for (const Vec16i& part : sums) sum = sum + part;
  store_bits(g.colsum + n, sum);
}
NX_INLINE void pack_int8_all(const PackInt8& g) {
  const size_t units = (g.k + 63) / 64 * 16;
  int8_t* packed = g.packed;
  for (size_t n = 0; n < g.n; n += kPanel, packed += units * 64) {
    const PanelShape shape = {g.n - n < kPanel ? g.n - n : kPanel, g.k, units};
    if (g.transposed) {
      pack_int8_transposed(g, n, shape, packed);
    } else {
      pack_int8_rows(g, n, shape, packed);
    }
  }
}
