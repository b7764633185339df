// Loops of the elementwise kernels. Included by isa/*.cc only.
#pragma once

template <class F>
NX_INLINE void map16(size_t n, const float* x, float* y, F f) {
  size_t i = 0;
  for (; i + 16 <= n; i += 16) store(y + i, f(load(x + i)));
  if (i < n) store_first(y + i, n - i, f(load_first(x + i, n - i, 1.0F)));
}

// Both column steps are template parameters: a repeated value is loaded once per row.
template <bool AVaries, bool BVaries, class F>
NX_INLINE void map_rows(const Binary& g, F f) {
  for (size_t row = 0; row < g.rows; row++) {
    const float* a = g.a + row * g.a_row;
    const float* b = g.b + row * g.b_row;
    float* y = g.y + row * g.y_row;
    const Vec16f a0 = splat(*a), b0 = splat(*b);
    size_t i = 0;
    for (; i + 16 <= g.cols; i += 16) store(y + i, f(AVaries ? load(a + i) : a0, BVaries ? load(b + i) : b0));
    if (const size_t rest = g.cols - i; rest > 0) {
      store_first(y + i, rest,
                  f(AVaries ? load_first(a + i, rest, 1.0F) : a0, BVaries ? load_first(b + i, rest, 1.0F) : b0));
    }
  }
}
template <class F>
NX_INLINE void map_binary(const Binary& g, F f) {
  if (g.cols == 0) return;
  if (g.a_col != 0 && g.b_col != 0) return map_rows<true, true>(g, f);
  if (g.a_col != 0) return map_rows<true, false>(g, f);
  if (g.b_col != 0) return map_rows<false, true>(g, f);
  map_rows<false, false>(g, f);
}

NX_INLINE void fma_spans(size_t n, const float* a, const float* b, const float* c, float* y) {
  size_t i = 0;
  for (; i + 16 <= n; i += 16) store(y + i, mul_add(load(a + i), load(b + i), load(c + i)));
  if (const size_t rest = n - i; rest > 0) {
    store_first(y + i, rest,
                mul_add(load_first(a + i, rest, 0.0F), load_first(b + i, rest, 0.0F), load_first(c + i, rest, 0.0F)));
  }
}

NX_INLINE Vec16i quantize16(Vec16f x, Vec16f scale, Vec16f zero) {
  const Vec16f y = round16(x / scale) + zero;
  return to_int(min16(max16(y, splat(0.0F)), splat(255.0F)));  // in this order a NaN becomes 0
}
NX_INLINE void quantize_span(size_t n, const float* x, float scale, uint8_t zero, uint8_t* y) {
  const Vec16f s = splat(scale), z = splat(static_cast<float>(zero));
  size_t i = 0;
  for (; i + 16 <= n; i += 16) store_u8(y + i, quantize16(load(x + i), s, z));
  if (i < n) {
    uint8_t last[16];
    store_u8(last, quantize16(load_first(x + i, n - i, 0.0F), s, z));
    for (size_t j = 0; i < n; i++, j++) y[i] = last[j];
  }
}

// The transposition of x [rows, cols]; 4 by 4 blocks, columns innermost so that the rows of y fill whole cache lines.
NX_INLINE void transpose_matrix(size_t rows, size_t cols, const float* x, size_t ldx, float* y, size_t ldy) {
  const size_t whole_rows = rows / 4 * 4, whole_cols = cols / 4 * 4;
  for (size_t i0 = 0; i0 < whole_rows; i0 += 16) {
    const size_t i1 = i0 + 16 < whole_rows ? i0 + 16 : whole_rows;
    for (size_t j = 0; j < whole_cols; j += 4)
      for (size_t i = i0; i < i1; i += 4) transpose_4x4(x + i * ldx + j, ldx, y + j * ldy + i, ldy);
  }
  for (size_t i = 0; i < rows; i++)
    for (size_t j = i < whole_rows ? whole_cols : 0; j < cols; j++) y[j * ldy + i] = x[i * ldx + j];
}
