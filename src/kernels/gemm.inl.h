// The float32 matrix product: register tiles of rows × panels of 16 columns. Included by isa/*.cc only, after
//   kTileRows × kTilePanels   the widest tile whose accumulators, one row of b and a broadcast fit the registers
//   kThinRows × kThinPanels   for few rows: more columns, to have enough independent chains to hide the fma's latency
//
// Every output is one chain acc = fma(a[m, k], b[k, n], acc), k ascending from acc = 0; between blocks of k it waits in
// c, which loses nothing. Tiles differ only in which chains they advance together.
#pragma once

// One block of k: a's rows and b's panels of a tile stay in L1 and L2. At 2048 rows, k 1536: 94 % of the fma peak with
// 512, 95 with 384, 90 with 768, 91 with 1536 (Zen 5, one core).
inline constexpr size_t kDepth = 512;
// Rows of a that stay in L2 while all of b passes: 168 · 512 floats are 344 KB. There: 94 % with strips of 168 rows, 93
// with 112 and 336, 79 with none.
inline constexpr size_t kStripRows = 168;

struct GemmBlock {
  size_t depth;         // k values of this block
  bool first, last;     // start from 0; add the bias and apply the activation
  size_t panel_stride;  // floats from one panel of b to the next
};

// A pass over a tile that has just been stored, and so lies in L1. In the tile itself it would be copied into each of
// the 40 tile shapes.
template <Activation Kind>
void activate_tile(size_t rows, size_t cols, float* c, size_t ldc) {
  for (size_t row = 0; row < rows; row++) {
    map16(cols, c + row * ldc, c + row * ldc, [](Vec16f x) NX_LAMBDA { return activate(Kind, x); });
  }
}
using ActivateTile = void (*)(size_t rows, size_t cols, float* c, size_t ldc);
constexpr ActivateTile kActivateTile[] = {nullptr,
                                          activate_tile<Activation::kRelu>,
                                          activate_tile<Activation::kGeluErf>,
                                          activate_tile<Activation::kGeluTanh>,
                                          activate_tile<Activation::kTanh>,
                                          activate_tile<Activation::kSigmoid>,
                                          activate_tile<Activation::kSilu>};

// Columns [0, cols) of one tile; only the last panel may be partial.
template <int Rows, int Panels>
void tile(const GemmBlock& block, size_t cols, const float* a, size_t lda, const float* b, const float* bias, float* c,
          size_t ldc) {
  Vec16f acc[Rows][Panels];
  const size_t last_lanes = cols - (Panels - 1) * kPanel;
  const bool whole = last_lanes == kPanel;
#pragma GCC unroll 16
  for (int r = 0; r < Rows; r++) {
#pragma GCC unroll 4
    for (int p = 0; p < Panels; p++) {
      if (block.first) {
        acc[r][p] = splat(0.0F);
      } else if (whole || p < Panels - 1) {
        acc[r][p] = load(c + r * ldc + p * kPanel);
      } else {
        acc[r][p] = load_first(c + r * ldc + p * kPanel, last_lanes, 0.0F);
      }
    }
  }
  for (size_t k = 0; k < block.depth; k++) {
    Vec16f row_of_b[Panels];
#pragma GCC unroll 4
    for (int p = 0; p < Panels; p++) row_of_b[p] = load(b + p * block.panel_stride + k * kPanel);
#pragma GCC unroll 16
    for (int r = 0; r < Rows; r++) {
      const Vec16f value = splat(a[r * lda + k]);
#pragma GCC unroll 4
      for (int p = 0; p < Panels; p++) acc[r][p] = mul_add(value, row_of_b[p], acc[r][p]);
    }
  }
  const bool add_bias = block.last && bias != nullptr;
#pragma GCC unroll 4
  for (int p = 0; p < Panels; p++) {
    const size_t lanes = p < Panels - 1 ? kPanel : last_lanes;
    const Vec16f shift = add_bias ? load_up_to(bias + p * kPanel, lanes, 0.0F) : splat(0.0F);
#pragma GCC unroll 16
    for (int r = 0; r < Rows; r++) {
      const Vec16f out = add_bias ? acc[r][p] + shift : acc[r][p];
      store_up_to(c + r * ldc + p * kPanel, lanes, out);
    }
  }
}

using Tile = void (*)(const GemmBlock&, size_t, const float*, size_t, const float*, const float*, float*, size_t);
template <int Panels, int... Rows>
struct TileRow {
  static constexpr Tile by_rows[] = {tile<Rows, Panels>...};
};
template <int Panels>
constexpr Tile tile_for(size_t rows) {
  constexpr int kMost = Panels > kTilePanels ? kThinRows : kTileRows;
  if constexpr (kMost == 14) {
    return TileRow<Panels, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14>::by_rows[rows - 1];
  } else if constexpr (kMost == 6) {
    return TileRow<Panels, 1, 2, 3, 4, 5, 6>::by_rows[rows - 1];
  } else if constexpr (kMost == 4) {
    return TileRow<Panels, 1, 2, 3, 4>::by_rows[rows - 1];
  } else {
    static_assert(kMost == 2);
    return TileRow<Panels, 1, 2>::by_rows[rows - 1];
  }
}
NX_INLINE Tile tile_for(size_t rows, size_t panels) {
  if constexpr (kThinPanels >= 4) {
    if (panels == 4) return tile_for<4>(rows);
    if (panels == 3) return tile_for<3>(rows);
  }
  if constexpr (kThinPanels >= 2) {
    if (panels == 2) return tile_for<2>(rows);
  }
  return tile_for<1>(rows);
}

// Rows [m, m + rows) of everything: all of k, all columns.
NX_INLINE void gemm_f32_strip(const GemmF32& g, size_t strip, size_t strip_rows, size_t most_rows, size_t most_panels) {
  // Tiles of nearly equal height: 128 rows in tiles of 14 would leave one of 2, which runs at half the speed.
  const size_t n_tiles = (strip_rows + most_rows - 1) / most_rows;
  const ActivateTile act = kActivateTile[static_cast<size_t>(g.activation)];
  const size_t panel_floats = g.k * kPanel;
  size_t k = 0;
  do {
    const size_t depth = g.k - k < kDepth ? g.k - k : kDepth;
    const GemmBlock block{depth, k == 0, k + depth == g.k, panel_floats};
    for (size_t n = 0; n < g.n; n += most_panels * kPanel) {
      const size_t cols = g.n - n < most_panels * kPanel ? g.n - n : most_panels * kPanel;
      const float* b = g.b + n / kPanel * panel_floats + k * kPanel;
      const float* bias = g.bias == nullptr ? nullptr : g.bias + n;
      for (size_t t = 0; t < n_tiles; t++) {
        const size_t m = t * strip_rows / n_tiles, rows = (t + 1) * strip_rows / n_tiles - m;
        float* c = g.c + (strip + m) * g.ldc + n;
        const Tile run = tile_for(rows, (cols + kPanel - 1) / kPanel);
        run(block, cols, g.a + (strip + m) * g.lda + k, g.lda, b, bias, c, g.ldc);
        if (block.last && act != nullptr) act(rows, cols, c, g.ldc);
      }
    }
    k += depth;
  } while (k < g.k);
}

NX_INLINE void gemm_f32_all(const GemmF32& g) {
  if (g.n == 0) return;
  const bool thin = g.m <= kThinRows;
  const size_t most_rows = thin ? kThinRows : kTileRows, most_panels = thin ? kThinPanels : kTilePanels;
  for (size_t m = 0; m < g.m; m += kStripRows) {
    gemm_f32_strip(g, m, g.m - m < kStripRows ? g.m - m : kStripRows, most_rows, most_panels);
  }
}

NX_INLINE void pack_panels(size_t k, size_t n, const float* b, size_t ldb, bool transposed, float* packed) {
  for (size_t n0 = 0; n0 < n; n0 += kPanel, packed += k * kPanel) {
    const size_t cols = n - n0 < kPanel ? n - n0 : kPanel;
    if (transposed) {
      transpose_matrix(cols, k, b + n0 * ldb, ldb, packed, kPanel);
      if (cols < kPanel) {
        for (size_t i = 0; i < k; i++)
          for (size_t j = cols; j < kPanel; j++) packed[i * kPanel + j] = 0.0F;
      }
    } else {
      for (size_t i = 0; i < k; i++) store(packed + i * kPanel, load_up_to(b + i * ldb + n0, cols, 0.0F));
    }
  }
}
