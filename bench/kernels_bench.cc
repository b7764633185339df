// Speed of the products on every table of this machine, as a share of what its instructions can do on one core.
//
//   kernels_bench [TABLE]        e.g. taskset -c 1 build/release/kernels_bench avx512
//
// The peak is measured by loops of nothing but the multiplying instructions of the table, on registers. A product over
// few rows is limited by reading its weights instead; its line says how many bytes of them a second. Each figure is the
// best of several turns. Not a test: nothing here fails.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>

#include "kernels/formats.h"
#include "kernels/gemm.h"
#include "kernels/kernels.h"

namespace narthex {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Best seconds per call.
template <class F>
double best_time(F&& f) {
  double best = 1e9;
  for (int turn = 0; turn < 12; turn++) {
    int calls = 0;
    const double start = now();
    double end = start;
    for (; end - start < 0.006; end = now()) {
      f();
      calls++;
    }
    best = std::min(best, (end - start) / calls);
  }
  return best;
}

#if defined(__x86_64__)
// Twelve independent sums, 4 times: enough to hide any latency.
#define NX_12(one) \
  one("0") one("1") one("2") one("3") one("4") one("5") one("6") one("7") one("8") one("9") one("10") one("11")
#define NX_PEAK_LOOP(name, features, setup, one)                                                                     \
  __attribute__((target(features))) void name(std::int64_t n) {                                                      \
    asm volatile(setup "1:\n" NX_12(one) NX_12(one) NX_12(one) NX_12(one) "dec %0\n jnz 1b\n vzeroupper\n"           \
                 : "+r"(n)                                                                                           \
                 :                                                                                                   \
                 : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", \
                   "xmm12", "xmm13", "xmm14", "xmm15", "memory");                                                    \
  }
#define NX_CLEAR(i) "vpxor %%xmm" i ", %%xmm" i ", %%xmm" i "\n"
#define NX_SETUP NX_12(NX_CLEAR) NX_CLEAR("12") NX_CLEAR("13") NX_CLEAR("14") NX_CLEAR("15")
#define NX_FMA_YMM(i) "vfmadd231ps %%ymm12, %%ymm13, %%ymm" i "\n"
#define NX_FMA_ZMM(i) "vfmadd231ps %%zmm12, %%zmm13, %%zmm" i "\n"
#define NX_MADD_YMM(i) "vpmaddwd %%ymm12, %%ymm13, %%ymm14\n vpaddd %%ymm14, %%ymm" i ", %%ymm" i "\n"
#define NX_MADD_ZMM(i) "vpmaddwd %%zmm12, %%zmm13, %%zmm14\n vpaddd %%zmm14, %%zmm" i ", %%zmm" i "\n"
#define NX_DP_YMM(i) "%{vex%} vpdpbusd %%ymm12, %%ymm13, %%ymm" i "\n"
#define NX_DP_ZMM(i) "vpdpbusd %%zmm12, %%zmm13, %%zmm" i "\n"
#define NX_BF_ZMM(i) "vdpbf16ps %%zmm12, %%zmm13, %%zmm" i "\n"
NX_PEAK_LOOP(fma_ymm, "avx2,fma", NX_SETUP, NX_FMA_YMM)
NX_PEAK_LOOP(fma_zmm, "avx512f", NX_SETUP, NX_FMA_ZMM)
NX_PEAK_LOOP(madd_ymm, "avx2", NX_SETUP, NX_MADD_YMM)
NX_PEAK_LOOP(madd_zmm, "avx512bw", NX_SETUP, NX_MADD_ZMM)
NX_PEAK_LOOP(dp_ymm, "avxvnni", NX_SETUP, NX_DP_YMM)
NX_PEAK_LOOP(dp_zmm, "avx512vnni", NX_SETUP, NX_DP_ZMM)
NX_PEAK_LOOP(bf_zmm, "avx512bf16", NX_SETUP, NX_BF_ZMM)

void tiles_int8(std::int64_t n) {
  asm volatile(
      "1:\n tdpbusd %%tmm6, %%tmm4, %%tmm0\n tdpbusd %%tmm7, %%tmm4, %%tmm1\n tdpbusd %%tmm6, %%tmm5, %%tmm2\n"
      "tdpbusd %%tmm7, %%tmm5, %%tmm3\n dec %0\n jnz 1b\n"
      : "+r"(n));
}
void tiles_bf16(std::int64_t n) {
  asm volatile(
      "1:\n tdpbf16ps %%tmm6, %%tmm4, %%tmm0\n tdpbf16ps %%tmm7, %%tmm4, %%tmm1\n tdpbf16ps %%tmm6, %%tmm5, %%tmm2\n"
      "tdpbf16ps %%tmm7, %%tmm5, %%tmm3\n dec %0\n jnz 1b\n"
      : "+r"(n));
}

double rate_of(void (*loop)(std::int64_t), double macs_per_turn) {
  constexpr std::int64_t kTurns = 20000;
  return macs_per_turn * kTurns / best_time([&] { loop(kTurns); });
}
// Multiply-adds a second of the instructions that the table's kernel uses; 0 where that says nothing.
double peak(const KernelTable& t, RowFormat format) {
  const bool wide = t.isa >= Isa::kAvx512, vnni = t.name.find("vnni") != std::string_view::npos;
  if (t.isa == Isa::kScalar) return 0;
  if (t.isa == Isa::kAmx && format != RowFormat::kF32) {
    t.begin_products();
    const double rate =
        format == RowFormat::kU8 ? rate_of(tiles_int8, 4 * 16 * 16 * 64) : rate_of(tiles_bf16, 4 * 16 * 16 * 32);
    t.end_products();
    return rate;
  }
  if (format == RowFormat::kU8) {
    if (vnni) return wide ? rate_of(dp_zmm, 48 * 64) : rate_of(dp_ymm, 48 * 32);
    return wide ? rate_of(madd_zmm, 48 * 32) : rate_of(madd_ymm, 48 * 16);
  }
  if (format == RowFormat::kBf16 && t.name.ends_with("bf16")) return rate_of(bf_zmm, 48 * 32);
  return wide ? rate_of(fma_zmm, 48 * 16) : rate_of(fma_ymm, 48 * 8);
}
#else
double peak(const KernelTable&, RowFormat) {
  return 0;
}
#endif

struct Shape {
  std::size_t m, n, k;
};
// The linear layers of bge-small: a query, short texts, a group of the packed plan, a long text.
constexpr std::size_t kRows[] = {1, 11, 32, 64, 128, 192, 512};
constexpr Shape kLayers[] = {{0, 1152, 384}, {0, 384, 384}, {0, 1536, 384}, {0, 384, 1536}};

void print(std::string_view what, Activation activation, const Shape& s, double seconds, double peak_rate,
           std::size_t weights) {
  const double rate = static_cast<double>(s.m * s.n * s.k) / seconds;
  std::printf("  %-11s %4zu x %4zu x %4zu %-5s %9.1f GMAC/s", what.data(), s.m, s.n, s.k,
              activation == Activation::kNone ? "" : "gelu", rate * 1e-9);
  if (peak_rate > 0) std::printf("  %5.1f %% of peak", 100 * rate / peak_rate);
  if (s.m <= 16) std::printf("  %6.1f GB/s of weights", static_cast<double>(weights) / seconds * 1e-9);
  std::printf("\n");
}

void bench_shape(const KernelTable& t, RowFormat format, std::string_view what, double peak_rate, const Shape& s) {
  for (const Activation activation : {Activation::kNone, Activation::kGeluErf}) {
    if (activation != Activation::kNone && (s.n != 1536 || s.m < 11)) continue;
    const std::size_t rows = (s.m + 15) / 16 * 16, weights = packed_bytes(format, s.k, s.n);
    // Weights of a thin product take turns, so that they come from the last cache as in a model and not from the
    // first.
    const std::size_t copies = s.m <= 16 ? std::max<std::size_t>(1, (std::size_t{6} << 20) / weights) : 1;
    std::vector<std::uint8_t> a(rows * s.k * element_bytes(format) + 64), b(weights * copies + 64);
    std::vector<float> c(s.m * s.n), scale(std::max(s.m, s.n), 0.001F), bias(s.n, 0.5F);
    std::vector<std::int32_t> integers(std::max(s.m, s.n), 3);
    auto* aligned_a = a.data() + (64 - reinterpret_cast<std::uintptr_t>(a.data()) % 64);
    auto* aligned_b = b.data() + (64 - reinterpret_cast<std::uintptr_t>(b.data()) % 64);
    std::size_t turn = 0;
    t.begin_products();
    const double seconds = best_time([&] {
      const auto* weights_now = aligned_b + turn++ % copies * weights;
      if (format == RowFormat::kU8) {
        t.linear_int8({s.m, s.n, s.k, aligned_a, s.k, scale.data(), integers.data(),
                       reinterpret_cast<const std::int8_t*>(weights_now), scale.data(), integers.data(), bias.data(),
                       c.data(), s.n, false, activation});
      } else if (format == RowFormat::kBf16) {
        t.linear_bf16({s.m, s.n, s.k, reinterpret_cast<const std::uint16_t*>(aligned_a), s.k,
                       reinterpret_cast<const std::uint16_t*>(weights_now), bias.data(), c.data(), s.n, false,
                       activation});
      } else {
        t.gemm_f32({s.m, s.n, s.k, reinterpret_cast<const float*>(aligned_a), s.k,
                    reinterpret_cast<const float*>(weights_now), bias.data(), c.data(), s.n, activation});
      }
    });
    t.end_products();
    print(what, activation, s, seconds, peak_rate, weights);
  }
}

void bench(const KernelTable& t, RowFormat format, std::string_view what) {
  const double peak_rate = peak(t, format);
  for (const std::size_t m : kRows)
    for (const Shape& layer : kLayers) bench_shape(t, format, what, peak_rate, {m, layer.n, layer.k});
}

}  // namespace
}  // namespace narthex

int main(int argc, char** argv) {
  using namespace narthex;
  for (const KernelTable& t : supported_tables()) {
    if (argc > 1 ? t.name != argv[1] : t.isa == Isa::kScalar) continue;
    std::printf("%s\n", t.name.data());
    bench(t, RowFormat::kF32, "gemm_f32");
    bench(t, RowFormat::kBf16, "linear_bf16");
    bench(t, RowFormat::kU8, "linear_int8");
  }
}
