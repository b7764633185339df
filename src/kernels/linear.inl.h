// Products of encoded rows with packed weights: u8 · s8 with exact integer sums, and bfloat16 with float32 sums. Both
// read 4 bytes of a row of a and 64 bytes of b per step: 16 columns × 4 (int8) or 2 (bfloat16) k. Included by isa/*.cc
// only. What multiplies is a policy, `Dots`:
//
//   Acc, zero()              16 sums, one per column of a panel, in whatever form the instruction set keeps them
//   Row, row(p)              64 bytes of packed b
//   step(acc, four, row)     acc plus the products of four bytes of a row of a
//   put(acc, sums)           16 int32 or float
//   kRows × kPanels          the tile; kThinRows × kThinPanels for few rows: more columns at once, to have enough
//   chains
//
// The sums of a tile pass through L1 to finish_int8 or finish_f32, so that activations are compiled once and not into
// every tile. Tiles differ only in which chains they advance together. Covered by tests/kernels/linear_test.cc.
#pragma once

// Rows of a that stay in L2 while all of b passes.
inline constexpr size_t kLinearStripBytes = 256 << 10;

NX_INLINE Vec16i load_int_up_to(const int32_t* p, size_t lanes) {
  if (lanes == kPanel) return load_bits(p);
  int32_t all[kPanel] = {};
  for (size_t i = 0; i < lanes; i++) all[i] = p[i];
  return load_bits(all);
}
NX_INLINE void store_as(void* c, bool as_bf16, size_t i, size_t lanes, Vec16f x) {
  if (!as_bf16) {
    store_up_to(static_cast<float*>(c) + i, lanes, x);
  } else if (lanes == kPanel) {
    store_bf16(static_cast<uint16_t*>(c) + i, x);
  } else {
    store_bf16_first(static_cast<uint16_t*>(c) + i, lanes, x);
  }
}

// A block of outputs whose sums are known: rows [m, m + rows), columns [n, n + cols); rows of sums are ld apart.
struct Block {
  size_t m, rows, n, cols;
  const void* sums;
  size_t ld;
};
template <Activation Kind>
void finish_int8(const LinearInt8& g, const Block& block) {
  for (size_t j = 0; j < block.cols; j += kPanel) {
    const size_t n = block.n + j, lanes = block.cols - j < kPanel ? block.cols - j : kPanel;
    const Vec16f b_scale = load_up_to(g.b_scale + n, lanes, 0.0F);
    const Vec16f bias = g.bias == nullptr ? splat(0.0F) : load_up_to(g.bias + n, lanes, 0.0F);
    const Vec16i colsum = g.a_zero == nullptr ? splat_int(0) : load_int_up_to(g.b_colsum + n, lanes);
    for (size_t i = 0; i < block.rows; i++) {
      const size_t m = block.m + i;
      Vec16i sum = load_bits(static_cast<const int32_t*>(block.sums) + i * block.ld + j);
      if (g.a_zero != nullptr) sum = sum - splat_int(g.a_zero[m]) * colsum;
      const Vec16f y = mul_add(to_float(sum), splat(g.a_scale[m]) * b_scale, bias);
      store_as(g.c, g.c_bf16, m * g.ldc + n, lanes, activate(Kind, y));
    }
  }
}
template <Activation Kind>
void finish_f32(const LinearBf16& g, const Block& block) {
  for (size_t j = 0; j < block.cols; j += kPanel) {
    const size_t n = block.n + j, lanes = block.cols - j < kPanel ? block.cols - j : kPanel;
    const Vec16f bias = g.bias == nullptr ? splat(0.0F) : load_up_to(g.bias + n, lanes, 0.0F);
    for (size_t i = 0; i < block.rows; i++) {
      const Vec16f y = load(static_cast<const float*>(block.sums) + i * block.ld + j) + bias;
      store_as(g.c, g.c_bf16, (block.m + i) * g.ldc + n, lanes, activate(Kind, y));
    }
  }
}
template <class Linear>
using Finish = void (*)(const Linear& g, const Block& block);
#define NX_FINISH(finish)                                                                     \
  {                                                                                           \
      finish<Activation::kNone>,     finish<Activation::kRelu>, finish<Activation::kGeluErf>, \
      finish<Activation::kGeluTanh>, finish<Activation::kTanh>, finish<Activation::kSigmoid>, \
      finish<Activation::kSilu>,                                                              \
  }
constexpr Finish<LinearInt8> kFinishInt8[] = NX_FINISH(finish_int8);
constexpr Finish<LinearBf16> kFinishBf16[] = NX_FINISH(finish_f32);
#undef NX_FINISH
NX_INLINE Finish<LinearInt8> finish_of(const LinearInt8& g) {
  return kFinishInt8[static_cast<size_t>(g.activation)];
}
NX_INLINE Finish<LinearBf16> finish_of(const LinearBf16& g) {
  return kFinishBf16[static_cast<size_t>(g.activation)];
}

// The product of bfloat16 in float32: fma over k in order.
template <int Rows, int Panels, int ThinRows, int ThinPanels>
struct WidenedDots {
  static constexpr int kRows = Rows, kPanels = Panels, kThinRows = ThinRows, kThinPanels = ThinPanels;
  using Acc = Vec16f;
  struct Row {
    Vec16f even, odd;
  };
  static NX_INLINE Acc zero() { return splat(0.0F); }
  static NX_INLINE Vec16f even(Vec16i pairs) { return from_bits(shift_left<16>(pairs)); }
  static NX_INLINE Vec16f odd(Vec16i pairs) { return from_bits(pairs & splat_int(static_cast<int32_t>(0xFFFF0000U))); }
  static NX_INLINE Row row(const uint8_t* b) {
    const Vec16i pairs = load_bits(b);
    return {even(pairs), odd(pairs)};
  }
  static NX_INLINE Acc step(const Acc& acc, uint32_t four, const Row& row) {
    const Vec16i pairs = splat_int(static_cast<int32_t>(four));
    return mul_add(odd(pairs), row.odd, mul_add(even(pairs), row.even, acc));
  }
  static NX_INLINE void put(const Acc& acc, uint8_t* sums) { store(reinterpret_cast<float*>(sums), acc); }
};

// Strides in bytes.
struct Operands {
  size_t steps;
  const uint8_t* a;
  size_t a_stride;
  const uint8_t* b;
  size_t panel_stride;
};
template <class Dots, int Rows, int Panels>
void linear_tile(const Operands& o, uint8_t* sums) {
  typename Dots::Acc acc[Rows][Panels];
#pragma GCC unroll 16
  for (int r = 0; r < Rows; r++)
#pragma GCC unroll 4
    for (int p = 0; p < Panels; p++) acc[r][p] = Dots::zero();
  const uint8_t* a = o.a;
  const uint8_t* b = o.b;
  for (size_t k = 0; k < o.steps; k++, a += 4, b += 64) {
    typename Dots::Row row[Panels];
#pragma GCC unroll 4
    for (int p = 0; p < Panels; p++) row[p] = Dots::row(b + p * o.panel_stride);
#pragma GCC unroll 16
    for (int r = 0; r < Rows; r++) {
      uint32_t four;
      __builtin_memcpy(&four, a + r * o.a_stride, 4);
#pragma GCC unroll 4
      for (int p = 0; p < Panels; p++) acc[r][p] = Dots::step(acc[r][p], four, row[p]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < Rows; r++)
#pragma GCC unroll 4
    for (int p = 0; p < Panels; p++) Dots::put(acc[r][p], sums + (r * Panels + p) * 64);
}

using LinearTile = void (*)(const Operands& o, uint8_t* sums);
template <class Dots, int Panels, int Rows>
NX_INLINE LinearTile linear_tile_of(size_t rows) {
  if constexpr (Rows == 1) {
    return linear_tile<Dots, 1, Panels>;
  } else {
    return rows == Rows ? linear_tile<Dots, Rows, Panels> : linear_tile_of<Dots, Panels, Rows - 1>(rows);
  }
}
template <class Dots>
NX_INLINE LinearTile linear_tile_of(size_t rows, size_t panels) {
  constexpr auto most = [](int n) { return n > Dots::kPanels ? Dots::kThinRows : Dots::kRows; };
  if constexpr (Dots::kThinPanels >= 4) {
    if (panels == 4) return linear_tile_of<Dots, 4, most(4)>(rows);
    if (panels == 3) return linear_tile_of<Dots, 3, most(3)>(rows);
  }
  if constexpr (Dots::kThinPanels >= 2) {
    if (panels == 2) return linear_tile_of<Dots, 2, most(2)>(rows);
  }
  return linear_tile_of<Dots, 1, most(1)>(rows);
}

template <class Dots, class Linear>
NX_INLINE void linear_strip(const Linear& g, size_t bytes, size_t strip, size_t strip_rows) {
  const bool thin = g.m <= Dots::kThinRows;
  const size_t most_rows = thin ? Dots::kThinRows : Dots::kRows, most_panels = thin ? Dots::kThinPanels : Dots::kPanels;
  // Tiles of nearly equal height, the taller first.
  const size_t n_tiles = (strip_rows + most_rows - 1) / most_rows;
  const size_t low_rows = strip_rows / n_tiles, n_tall = strip_rows % n_tiles;
  const Finish<Linear> finish = finish_of(g);
  Operands o{g.k * bytes / 4, nullptr, g.lda * bytes, nullptr, g.k * bytes * kPanel};
  alignas(64) uint8_t sums[64 * (Dots::kRows * Dots::kPanels > Dots::kThinRows * Dots::kThinPanels
                                     ? Dots::kRows * Dots::kPanels
                                     : Dots::kThinRows * Dots::kThinPanels)];
  for (size_t n = 0; n < g.n; n += most_panels * kPanel) {
    const size_t cols = g.n - n < most_panels * kPanel ? g.n - n : most_panels * kPanel;
    const size_t panels = (cols + kPanel - 1) / kPanel;
    const LinearTile low = linear_tile_of<Dots>(low_rows, panels);
    const LinearTile tall = n_tall == 0 ? low : linear_tile_of<Dots>(low_rows + 1, panels);
    o.b = reinterpret_cast<const uint8_t*>(g.b) + n / kPanel * o.panel_stride;
    size_t m = strip;
    for (size_t t = 0; t < n_tiles; t++) {
      const size_t rows = low_rows + (t < n_tall ? 1 : 0);
      o.a = reinterpret_cast<const uint8_t*>(g.a) + m * o.a_stride;
      (t < n_tall ? tall : low)(o, sums);
      finish(g, {m, rows, n, cols, sums, panels * kPanel});
      m += rows;
    }
  }
}
template <class Dots, class Linear>
NX_INLINE void linear_all(const Linear& g, size_t bytes) {  // bytes of an element of a and b
  if (g.m == 0) return;
  const size_t fitting = kLinearStripBytes / (g.lda * bytes + 1);
  const size_t most = fitting < 64 ? 64 : fitting;
  for (size_t m = 0; m < g.m; m += most) linear_strip<Dots>(g, bytes, m, g.m - m < most ? g.m - m : most);
}
