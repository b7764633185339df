// The exact integer matrix product u8 · s8 → s32. Included by isa/*.cc only, after
//   Dot16                16 int32 sums, one per column of a panel, in whatever form the instruction set accumulates
//   them DotRow               64 bytes of packed b: 16 columns × 4 k dot_row(p), dot_zero(), dot_step(acc, four bytes
//   of a, row), dot_store(acc, out) kDotRows, kDotPanels the tile
//
// Signed a is shifted to u8 by flipping its top bit, and its zero point with it. With a' and b' what is multiplied,
//   Σ (a' − za)(b' − zb) = Σ a'b' − za Σ b' − zb (Σ a' − k za),   all modulo 2^32.
#pragma once

NX_INLINE uint32_t load_four(const uint8_t* a, size_t available, uint32_t flip) {
  uint32_t word = 0;
  if (available >= 4) {
    __builtin_memcpy(&word, a, 4);
  } else {
    for (size_t i = 0; i < available; i++) word |= static_cast<uint32_t>(a[i]) << (8 * i);
  }
  return word ^ flip;  // bytes beyond k meet zeros in b
}

template <int Rows, int Panels>
void int8_tile(const GemmInt8& g, size_t m, size_t n, size_t panels) {
  const size_t groups = (g.k + 3) / 4, whole_groups = g.k / 4;
  const uint32_t flip = g.a_signed ? 0x80808080U : 0;
  const uint32_t a_zero = static_cast<uint32_t>(g.a_zero) + (g.a_signed ? 128U : 0U);
  const uint8_t* a = g.a + m * g.lda;
  const int8_t* b = g.b + n / kPanel * groups * 64;
  Dot16 acc[Rows][Panels];
#pragma GCC unroll 16
  for (int r = 0; r < Rows; r++)
#pragma GCC unroll 4
    for (int p = 0; p < Panels; p++) acc[r][p] = dot_zero();
  const auto step = [&](size_t group, size_t available) NX_LAMBDA {
    DotRow row[Panels];
#pragma GCC unroll 4
    for (int p = 0; p < Panels; p++) {
      const size_t panel = static_cast<size_t>(p) < panels ? static_cast<size_t>(p) : 0;
      row[p] = dot_row(b + (panel * groups + group) * 64);
    }
#pragma GCC unroll 16
    for (int r = 0; r < Rows; r++) {
      const uint32_t four = load_four(a + r * g.lda + group * 4, available, flip);
#pragma GCC unroll 4
      for (int p = 0; p < Panels; p++) acc[r][p] = dot_step(acc[r][p], four, row[p]);
    }
  };
  for (size_t group = 0; group < whole_groups; group++) step(group, 4);
  if (whole_groups < groups) step(whole_groups, g.k % 4);

  for (int r = 0; r < Rows; r++) {
    uint32_t a_excess = 0;  // Σ a' − k za
    if (g.b_zero != nullptr) {
      for (size_t k = 0; k < g.k; k++) a_excess += a[r * g.lda + k] ^ (flip & 0xFF);
      a_excess -= static_cast<uint32_t>(g.k) * a_zero;
    }
    for (size_t p = 0; p < panels; p++) {
      int32_t sums[kPanel];
      dot_store(acc[r][p], sums);
      const size_t n0 = n + p * kPanel, cols = g.n - n0 < kPanel ? g.n - n0 : kPanel;
      int32_t* c = g.c + (m + r) * g.ldc + n0;
      for (size_t j = 0; j < cols; j++) {
        uint32_t sum = static_cast<uint32_t>(sums[j]) - a_zero * static_cast<uint32_t>(g.b_colsum[n0 + j]);
        if (g.b_zero != nullptr) sum -= static_cast<uint32_t>(g.b_zero[n0 + j]) * a_excess;
        c[j] = static_cast<int32_t>(sum);
      }
    }
  }
}

NX_INLINE void gemm_int8_all(const GemmInt8& g) {
  for (size_t n = 0; n < g.n; n += kDotPanels * kPanel) {
    const size_t left = (g.n - n + kPanel - 1) / kPanel;
    const size_t panels = left < kDotPanels ? left : kDotPanels;
    size_t m = 0;
    for (; m + kDotRows <= g.m; m += kDotRows) int8_tile<kDotRows, kDotPanels>(g, m, n, panels);
    for (; m + 2 <= g.m; m += 2) int8_tile<2, kDotPanels>(g, m, n, panels);
    for (; m < g.m; m++) int8_tile<1, kDotPanels>(g, m, n, panels);
  }
}
