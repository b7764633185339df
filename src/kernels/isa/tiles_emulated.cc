// The products of isa/amx.cc with tile registers in plain C++: the same control flow, for sanitizers and for machines
// without AMX. No table offers it; tests/kernels/linear_test.cc puts these four kernels into a copy of the scalar one.
// Its registers are checked as the processor checks them: using them outside of begin_products() … end_products()
// traps.
#define NX_PLAIN
#include "kernels/isa/isa.h"

namespace narthex::tiles_emulated {
namespace {

#include "kernels/isa/vec_scalar.h"

constexpr int kTileRows = 16, kTileBytes = 64;
struct Tile {
  uint8_t bytes[kTileRows][kTileBytes];
};
thread_local bool configured = false;
thread_local Tile tiles[8];

struct EmulatedTiles {
  static void check() {
    if (!configured) __builtin_trap();
  }
  static void configure() {
    configured = true;
    __builtin_memset(tiles, 0, sizeof tiles);
  }
  static void release() { configured = false; }
  template <int T>
  static void zero() {
    check();
    __builtin_memset(&tiles[T], 0, sizeof tiles[T]);
  }
  template <int T>
  static void load(const uint8_t* p, size_t stride) {
    check();
    for (int r = 0; r < kTileRows; r++) __builtin_memcpy(tiles[T].bytes[r], p + r * stride, kTileBytes);
  }
  template <int T>
  static void store(uint8_t* p, size_t stride) {
    check();
    for (int r = 0; r < kTileRows; r++) __builtin_memcpy(p + r * stride, tiles[T].bytes[r], kTileBytes);
  }
  template <int C, int A, int B>
  static void dot_int8() {
    check();
    for (int m = 0; m < 16; m++) {
      uint32_t sums[16];
      __builtin_memcpy(sums, tiles[C].bytes[m], sizeof sums);
      for (int k = 0; k < 64; k++)
        for (int n = 0; n < 16; n++) {
          const int b = static_cast<int8_t>(tiles[B].bytes[k / 4][n * 4 + k % 4]);
          sums[n] += static_cast<uint32_t>(tiles[A].bytes[m][k] * b);
        }
      __builtin_memcpy(tiles[C].bytes[m], sums, sizeof sums);
    }
  }
  // One multiply-add after another; the processor keeps the even and the odd k apart until the end of a tile.
  template <int C, int A, int B>
  static void dot_bf16() {
    check();
    for (int m = 0; m < 16; m++) {
      float sums[16];
      __builtin_memcpy(sums, tiles[C].bytes[m], sizeof sums);
      for (int k = 0; k < 32; k++)
        for (int n = 0; n < 16; n++) {
          sums[n] =
              __builtin_fmaf(bf16(&tiles[A].bytes[m][k * 2]), bf16(&tiles[B].bytes[k / 2][n * 4 + k % 2 * 2]), sums[n]);
        }
      __builtin_memcpy(tiles[C].bytes[m], sums, sizeof sums);
    }
  }

 private:
  static float bf16(const uint8_t* p) {
    const uint8_t wide[4] = {0, 0, p[0], p[1]};
    float x;
    __builtin_memcpy(&x, wide, 4);
    return x;
  }
};

// clang-format off
#include "kernels/math.inl.h"
#include "kernels/elementwise.inl.h"
#include "kernels/rowwise.inl.h"
#include "kernels/activate.inl.h"
#include "kernels/linear.inl.h"
#include "kernels/linear_tiles.inl.h"
// clang-format on

}  // namespace

void begin_products() {
  EmulatedTiles::configure();
}
void end_products() {
  EmulatedTiles::release();
}
void linear_bf16(const LinearBf16& g) {
  EmulatedTiles::check();
  TileProduct<EmulatedTiles, LinearBf16>(g, 2).run();
}
void linear_int8(const LinearInt8& g) {
  EmulatedTiles::check();
  TileProduct<EmulatedTiles, LinearInt8>(g, 1).run();
}

}  // namespace narthex::tiles_emulated
