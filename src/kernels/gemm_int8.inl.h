// The exact integer matrix product u8 · s8 → s32. Included by isa/*.cc only, after
//   Dot16                16 int32 sums, one per column of a panel, in whatever form the instruction set accumulates
//   them DotRow               64 bytes of packed b: 16 columns × 4 k dot_row(p), dot_zero(), dot_step(acc, four bytes
//   of a, row), dot_store(acc, out) kDotRows, kDotPanels the tile
//
// Signed a is shifted to u8 by flipping its top bit, and its zero point with it. With a' and b' what is multiplied,
//   Σ (a' − za)(b' − zb) = Σ a'b' − za Σ b' − zb (Σ a' − k za),   all modulo 2^32.
#pragma once

NX_INLINE uint32_t load_four(const uint8_t* a, size_t available) {
  uint32_t word = 0;
  if (available >= 4) {
    __builtin_memcpy(&word, a, 4);
  } else {
    for (size_t i = 0; i < available; i++) word |= static_cast<uint32_t>(a[i]) << (8 * i);
  }
  return word;  // bytes beyond k are 0, or 128 once flipped: they meet zeros in b
}

// One block of outputs from its sums.
NX_INLINE void int8_store(const GemmInt8& g, size_t m, size_t n, uint32_t a_zero, uint32_t a_excess,
                          const int32_t* sums) {
  const size_t cols = g.n - n < kPanel ? g.n - n : kPanel;
  int32_t* c = g.c + m * g.ldc + n;
  for (size_t j = 0; j < cols; j++) {
    uint32_t sum = static_cast<uint32_t>(sums[j]) - a_zero * static_cast<uint32_t>(g.b_colsum[n + j]);
    if (g.b_zero != nullptr) sum -= static_cast<uint32_t>(g.b_zero[n + j]) * a_excess;
    c[j] = static_cast<int32_t>(sum);
  }
}

template <int Rows, int Panels, bool ASigned>
void int8_tile(const GemmInt8& g, size_t m, size_t n, size_t panels) {
  constexpr uint32_t kFlip = ASigned ? 0x80808080U : 0;
  const size_t groups = (g.k + 3) / 4, whole_groups = g.k / 4;
  const uint8_t* a = g.a + m * g.lda;
  const int8_t* b[Panels];  // a panel that does not exist is another's: computed and not stored
  for (size_t p = 0; p < Panels; p++) b[p] = g.b + (n / kPanel + (p < panels ? p : 0)) * groups * 64;
  Dot16 acc[Rows][Panels];
#pragma GCC unroll 16
  for (int r = 0; r < Rows; r++)
#pragma GCC unroll 4
    for (int p = 0; p < Panels; p++) acc[r][p] = dot_zero();
  const auto step = [&](size_t group, size_t available) NX_LAMBDA {
    DotRow row[Panels];
#pragma GCC unroll 4
    for (int p = 0; p < Panels; p++) row[p] = dot_row(b[p] + group * 64);
#pragma GCC unroll 16
    for (int r = 0; r < Rows; r++) {
      const uint32_t four = load_four(a + r * g.lda + group * 4, available) ^ kFlip;
#pragma GCC unroll 4
      for (int p = 0; p < Panels; p++) acc[r][p] = dot_step(acc[r][p], four, row[p]);
    }
  };
  for (size_t group = 0; group < whole_groups; group++) step(group, 4);
  if (whole_groups < groups) step(whole_groups, g.k % 4);

  const uint32_t a_zero = static_cast<uint32_t>(g.a_zero) + (ASigned ? 128U : 0U);
#pragma GCC unroll 16
  for (int r = 0; r < Rows; r++) {
    uint32_t a_excess = 0;  // Σ a' − k za
    if (g.b_zero != nullptr) {
      for (size_t k = 0; k < g.k; k++) a_excess += a[r * g.lda + k] ^ (kFlip & 0xFF);
      a_excess -= static_cast<uint32_t>(g.k) * a_zero;
    }
#pragma GCC unroll 4
    for (int p = 0; p < Panels; p++) {
      if (static_cast<size_t>(p) >= panels) break;
      int32_t sums[kPanel];
      dot_store(acc[r][p], sums);
      int8_store(g, m + r, n + p * kPanel, a_zero, a_excess, sums);
    }
  }
}

template <int Rows>
NX_INLINE void int8_rows(const GemmInt8& g, size_t& m, size_t n, size_t panels) {
  for (; m + Rows <= g.m; m += Rows) {
    if (g.a_signed) {
      int8_tile<Rows, kDotPanels, true>(g, m, n, panels);
    } else {
      int8_tile<Rows, kDotPanels, false>(g, m, n, panels);
    }
  }
}

NX_INLINE void gemm_int8_all(const GemmInt8& g) {
  for (size_t n = 0; n < g.n; n += kDotPanels * kPanel) {
    const size_t left = (g.n - n + kPanel - 1) / kPanel;
    const size_t panels = left < kDotPanels ? left : kDotPanels;
    size_t m = 0;
    int8_rows<kDotRows>(g, m, n, panels);
    if constexpr (kDotRows > 4) int8_rows<4>(g, m, n, panels);
    if constexpr (kDotRows > 2) int8_rows<2>(g, m, n, panels);
    int8_rows<1>(g, m, n, panels);
  }
}

// The same for linear.inl.h.
template <int Rows, int Panels, int ThinRows, int ThinPanels>
struct Int8Dots {
  static constexpr int kRows = Rows, kPanels = Panels, kThinRows = ThinRows, kThinPanels = ThinPanels;
  using Acc = Dot16;
  using Row = DotRow;
  static NX_INLINE Acc zero() { return dot_zero(); }
  static NX_INLINE Row row(const uint8_t* b) { return dot_row(reinterpret_cast<const int8_t*>(b)); }
  static NX_INLINE Acc step(const Acc& acc, uint32_t four, const Row& row) { return dot_step(acc, four, row); }
  static NX_INLINE void put(const Acc& acc, uint8_t* sums) { dot_store(acc, reinterpret_cast<int32_t*>(sums)); }
};
