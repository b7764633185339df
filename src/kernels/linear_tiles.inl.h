// The products of linear.inl.h on tile registers: 8 matrices of 16 rows of 64 bytes. Included by isa/amx.cc and
// isa/tiles_emulated.cc only, after linear.inl.h and a policy `Tiles`, whose registers are template arguments:
//
//   configure(), release()             all registers 16 × 64; nothing
//   zero<T>(), load<T>(p, stride), store<T>(p, stride)
//   dot_int8<C, A, B>()                C (int32 16 × 16) += A (u8 16 × 64) · B (s8, 64 × 16 as 16 rows of 16 × 4)
//   dot_bf16<C, A, B>()                likewise float += bf16 (16 × 32) · bf16 (32 × 16)
//
// Blocks of 2 × 2 tiles (32 rows × 32 columns): four products per four loads. With 16 rows or fewer 1 × 4, so that
// there are again four independent sums. The multiplier and the vector units work at the same time only when their
// instructions alternate, so the epilogue of a block runs in slices between the products of the next one, from one of
// two scratch blocks in L1. Which rows share a tile does not matter to any of them, hence results do not depend on m.
#pragma once

// The slices of an epilogue: a block's rows are finished a few at a time, evenly over `slots` calls of advance().
template <class Linear>
struct Epilogue {
  const Linear* g;
  Finish<Linear> finish;
  Block block{};
  size_t done = 0, reached = 0, step = 0;  // rows; the last two in 1/65536

  NX_INLINE void begin(const Block& next, size_t slots) {
    block = next;
    done = reached = 0;
    step = ((next.rows << 16) + slots - 1) / slots;
  }
  NX_INLINE void finish_up_to(size_t row) {
    Block slice = block;
    slice.m += done;
    slice.rows = row - done;
    slice.sums = static_cast<const uint8_t*>(block.sums) + done * block.ld * 4;
    finish(*g, slice);
    done = row;
  }
  NX_INLINE void advance() {
    reached += step;
    const size_t row = reached >> 16 < block.rows ? reached >> 16 : block.rows;
    if (row > done) finish_up_to(row);
  }
  NX_INLINE void complete() {
    if (done < block.rows) finish_up_to(block.rows);
  }
};

struct TileOperands {
  size_t steps;  // of 64 bytes of k
  const uint8_t* a;
  size_t a_stride;
  const uint8_t* b;
  size_t panel_stride;
};

template <class Linear>
struct IsInt8 {
  static constexpr bool value = false;
};
template <>
struct IsInt8<LinearInt8> {
  static constexpr bool value = true;
};
// Registers: sums 0 … 3, then a, then b. With one row of tiles b has three registers, used in turn.
template <class Tiles, class Linear, int C, int A, int B>
NX_INLINE void tile_dot(Epilogue<Linear>& epilogue) {
  if constexpr (IsInt8<Linear>::value) {
    Tiles::template dot_int8<C, A, B>();
  } else {
    Tiles::template dot_bf16<C, A, B>();
  }
  epilogue.advance();
}
template <class Tiles, int RowTiles, int ColTiles, class Linear>
void tile_block(const TileOperands& o, Epilogue<Linear>& epilogue, uint8_t* sums) {
  constexpr size_t kStride = ColTiles * 64;
  Tiles::template zero<0>();
  if constexpr (RowTiles * ColTiles > 1) Tiles::template zero<1>();
  if constexpr (RowTiles * ColTiles > 2) Tiles::template zero<2>();
  if constexpr (RowTiles * ColTiles > 3) Tiles::template zero<3>();
  const uint8_t *a = o.a, *b = o.b;
  for (size_t step = 0; step < o.steps; step++, a += 64, b += 1024) {
    if constexpr (RowTiles == 2) {
      Tiles::template load<4>(a, o.a_stride);
      Tiles::template load<6>(b, 64);
      tile_dot<Tiles, Linear, 0, 4, 6>(epilogue);
      Tiles::template load<5>(a + 16 * o.a_stride, o.a_stride);
      tile_dot<Tiles, Linear, ColTiles, 5, 6>(epilogue);
      if constexpr (ColTiles == 2) {
        Tiles::template load<7>(b + o.panel_stride, 64);
        tile_dot<Tiles, Linear, 1, 4, 7>(epilogue);
        tile_dot<Tiles, Linear, 3, 5, 7>(epilogue);
      }
    } else {
      Tiles::template load<4>(a, o.a_stride);
      Tiles::template load<5>(b, 64);
      tile_dot<Tiles, Linear, 0, 4, 5>(epilogue);
      if constexpr (ColTiles > 1) {
        Tiles::template load<6>(b + o.panel_stride, 64);
        tile_dot<Tiles, Linear, 1, 4, 6>(epilogue);
      }
      if constexpr (ColTiles > 2) {
        Tiles::template load<7>(b + 2 * o.panel_stride, 64);
        tile_dot<Tiles, Linear, 2, 4, 7>(epilogue);
      }
      if constexpr (ColTiles > 3) {
        Tiles::template load<5>(b + 3 * o.panel_stride, 64);
        tile_dot<Tiles, Linear, 3, 4, 5>(epilogue);
      }
    }
  }
  Tiles::template store<0>(sums, kStride);
  if constexpr (RowTiles == 1) {
    if constexpr (ColTiles > 1) Tiles::template store<1>(sums + 64, kStride);
    if constexpr (ColTiles > 2) Tiles::template store<2>(sums + 128, kStride);
    if constexpr (ColTiles > 3) Tiles::template store<3>(sums + 192, kStride);
  } else {
    if constexpr (ColTiles == 1) Tiles::template store<1>(sums + 16 * kStride, kStride);
    if constexpr (ColTiles == 2) {
      Tiles::template store<1>(sums + 64, kStride);
      Tiles::template store<2>(sums + 16 * kStride, kStride);
      Tiles::template store<3>(sums + 16 * kStride + 64, kStride);
    }
  }
}

template <class Linear>
using TileBlock = void (*)(const TileOperands& o, Epilogue<Linear>& epilogue, uint8_t* sums);
template <class Tiles, class Linear>
constexpr TileBlock<Linear> kTileBlocks[2][4] = {
    {tile_block<Tiles, 1, 1, Linear>, tile_block<Tiles, 1, 2, Linear>, tile_block<Tiles, 1, 3, Linear>,
     tile_block<Tiles, 1, 4, Linear>},
    {tile_block<Tiles, 2, 1, Linear>, tile_block<Tiles, 2, 2, Linear>, nullptr, nullptr}};

// One call's blocks in their order, with the one whose epilogue waits.
template <class Tiles, class Linear>
struct TileProduct {
  const Linear& g;
  size_t bytes;  // of an element of a and b
  Epilogue<Linear> epilogue;
  Block waiting{};
  unsigned turn = 0;
  alignas(64) uint8_t sums[2][4096];

  NX_INLINE TileProduct(const Linear& product, size_t element_bytes)
      : g(product), bytes(element_bytes), epilogue{&product, finish_of(product)} {}

  NX_INLINE void block(size_t m, size_t rows, size_t n, size_t panels) {
    const size_t row_tiles = (rows + 15) / 16, a_stride = g.lda * bytes, panel_stride = g.k * bytes * kPanel;
    const TileOperands o{g.k * bytes / 64, reinterpret_cast<const uint8_t*>(g.a) + m * a_stride, a_stride,
                         reinterpret_cast<const uint8_t*>(g.b) + n / kPanel * panel_stride, panel_stride};
    epilogue.begin(waiting, o.steps * row_tiles * panels);
    kTileBlocks<Tiles, Linear>[row_tiles - 1][panels - 1](o, epilogue, sums[turn]);
    epilogue.complete();
    const size_t cols = g.n - n < panels * kPanel ? g.n - n : panels * kPanel;
    waiting = {m, rows, n, cols, sums[turn], panels * kPanel};
    turn ^= 1;
  }
  NX_INLINE void run() {
    if (g.m == 0 || g.n == 0) return;
    const size_t n_panels = (g.n + kPanel - 1) / kPanel;
    if (g.m <= 16) {
      for (size_t p = 0; p < n_panels; p += 4) block(0, g.m, p * kPanel, n_panels - p < 4 ? n_panels - p : 4);
    } else {
      const size_t fitting = kLinearStripBytes / (g.lda * bytes + 1) / 32 * 32, most = fitting < 64 ? 64 : fitting;
      for (size_t strip = 0; strip < g.m; strip += most) {
        const size_t end = g.m - strip < most ? g.m : strip + most;
        for (size_t p = 0; p < n_panels; p += 2)
          for (size_t m = strip; m < end; m += 32)
            block(m, end - m < 32 ? end - m : 32, p * kPanel, n_panels - p < 2 ? n_panels - p : 2);
      }
    }
    epilogue.begin(waiting, 1);
    epilogue.complete();
  }
};
