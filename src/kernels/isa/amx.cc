// Products on the tile registers of AMX (int8 and bf16). The other kernels of this table are those of AVX-512.
// The registers must be configured by begin_products() on the thread that multiplies, and the process must have the
// kernel's permission (base/cpu.h).
#if defined(__AVX512F__)
#if defined(__GNUC__) && !defined(__clang__)
// gcc 12's own intrinsics pass deliberately undefined registers and are warned about when inlined (gcc bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>

#include "kernels/isa/isa.h"

namespace narthex::amx {
namespace {

// clang-format off
#include "kernels/isa/vec_avx512.h"
#include "kernels/isa/tiles_amx.h"
#include "kernels/math.inl.h"
#include "kernels/elementwise.inl.h"
#include "kernels/rowwise.inl.h"
#include "kernels/activate.inl.h"
#include "kernels/linear.inl.h"
#include "kernels/linear_tiles.inl.h"
// clang-format on

}  // namespace

void begin_products() {
  AmxTiles::configure();
}
void end_products() {
  AmxTiles::release();
}
void linear_bf16(const LinearBf16& g) {
  TileProduct<AmxTiles, LinearBf16>(g, 2).run();
}
void linear_int8(const LinearInt8& g) {
  TileProduct<AmxTiles, LinearInt8>(g, 1).run();
}

}  // namespace narthex::amx
#endif
