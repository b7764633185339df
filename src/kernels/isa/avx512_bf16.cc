// The bfloat16 product with AVX512-BF16: two products and their sum in one instruction.
#if defined(__AVX512BF16__)
#if defined(__GNUC__) && !defined(__clang__)
// gcc 12's own intrinsics pass deliberately undefined registers and are warned about when inlined (gcc bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>

#include <x86intrin.h>

#include "kernels/isa/isa.h"

namespace narthex::avx512_bf16 {
namespace {

#include "kernels/isa/vec_avx512.h"

// clang-format off
#include "kernels/math.inl.h"
#include "kernels/elementwise.inl.h"
#include "kernels/rowwise.inl.h"
#include "kernels/activate.inl.h"
#include "kernels/linear.inl.h"
// clang-format on

struct PairDots {
  static constexpr int kRows = 14, kPanels = 2, kThinRows = 6, kThinPanels = 4;
  using Acc = Vec16f;
  using Row = Vec16i;
  static NX_INLINE Acc zero() { return splat(0.0F); }
  static NX_INLINE Row row(const uint8_t* b) { return load_bits(b); }
  static NX_INLINE Acc step(Acc acc, uint32_t four, Row row) {
    const __m512i pair = _mm512_set1_epi32(static_cast<int>(four));
    return {_mm512_dpbf16_ps(acc.v, reinterpret_cast<__m512bh>(row.v), reinterpret_cast<__m512bh>(pair))};
  }
  static NX_INLINE void put(Acc acc, uint8_t* sums) { store(reinterpret_cast<float*>(sums), acc); }
};

}  // namespace

namespace {

// Ticks of the fastest of several runs of `step` on 8 independent sums: its throughput, whatever else the core does.
template <class Step>
uint64_t fastest_run(Step step) {
  uint64_t best = UINT64_MAX;
  for (int run = 0; run < 16; run++) {
    __m512 sums[8];
    for (__m512& sum : sums) sum = _mm512_setzero_ps();
    const uint64_t begin = __rdtsc();
    for (int i = 0; i < 64; i++)
#pragma GCC unroll 8
      for (__m512& sum : sums) {
        sum = step(sum);
        __asm__ volatile("" : "+v"(sum));  // neither dropped nor joined
      }
    const uint64_t ticks = __rdtsc() - begin;
    if (ticks < best) best = ticks;
  }
  return best;
}

}  // namespace

// One such instruction does the work of two fused multiply-adds with their operands ready, of about four when bfloat16
// must be widened first. Measured: as fast as an fma on Zen 4 and 5; four times slower on Emerald Rapids, which means
// tiles to be used for this.
bool pays() {
  const __m512 one = _mm512_set1_ps(1.0F);
  const __m512i pairs = _mm512_set1_epi32(0x3F803F80);
  const uint64_t fma = fastest_run([&](__m512 sum) { return _mm512_fmadd_ps(one, one, sum); });
  const uint64_t dot = fastest_run([&](__m512 sum) {
    return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(pairs), reinterpret_cast<__m512bh>(pairs));
  });
  return dot < 2 * fma + fma / 2;
}

void linear_bf16(const LinearBf16& g) {
  linear_all<PairDots>(g, 2);
}

}  // namespace narthex::avx512_bf16
#endif
