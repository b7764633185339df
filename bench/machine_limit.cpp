// The roof of this machine: how fast the linear layers of bge-small could run in every arithmetic that the processor
// has.
//
//   g++ -std=c++23 -O3 -o machine_limit bench/machine_limit.cpp -pthread && ./machine_limit [--seconds S] [--threads
//   1,2]
//
// Prints one JSON object. A row has the tokens/s of all threads, each with token rows of its own, and the milliseconds
// of a query of 11 and of 16 tokens whose columns are split over the threads, which streams all weights once. Only
// linear layers, with bias, GELU and the conversion of the result for the next layer: no attention, norms or tokenizer,
// so that a complete engine comes near these numbers from below. Weights are packed beforehand, sums stay in registers.
// Feature bits choose at run time what is measured; each arithmetic is first compared with plain loops and refused if
// it differs.
#include <immintrin.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

// The headers of gcc 12 make an undefined vector from itself, and nothing here crosses a call with one.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wpsabi"

#define NX_INLINE [[gnu::always_inline]] static inline
#define NX_TARGET_AVX2 [[gnu::target("avx2,fma")]]
#define NX_TARGET_AVXVNNI [[gnu::target("avx2,fma,avxvnni")]]
#define NX_TARGET_AVX512 [[gnu::target("avx512f,avx512bw,avx512vl,avx512dq,fma")]]
#define NX_TARGET_AVX512VNNI [[gnu::target("avx512f,avx512bw,avx512vl,avx512dq,fma,avx512vnni")]]
#define NX_TARGET_AVX512BF16 [[gnu::target("avx512f,avx512bw,avx512vl,avx512dq,fma,avx512bf16")]]
#define NX_TARGET_AMX \
  [[gnu::target("avx512f,avx512bw,avx512vl,avx512dq,fma,avx512vnni,avx512bf16,amx-tile,amx-int8,amx-bf16")]]

namespace {

constexpr int kLayers = 12;
constexpr int kHidden = 384;
constexpr int kFeedForward = 1536;
constexpr std::size_t kLayerWeights = std::size_t{kHidden} * (3 * kHidden + kHidden + 2 * kFeedForward);
constexpr double kMacsPerToken = double(kLayerWeights) * kLayers;
constexpr int kPanel = 16;          // columns side by side in packed weights
constexpr int kPassRows = 512;      // tokens of one pass of one thread
constexpr float kIntScale = 1e-4f;  // int32 sums to reals; its value does not matter here, the multiplication does

// y = gelu(x · w + bias) for some rows and panels. Four bytes of a row of x (one fp32, two bf16, four int8) meet 64
// bytes of a panel of w: those k of 16 columns. So one layout, [N/16][K/group][16][group], serves every instruction
// set, and 16 such groups one after the other are one tile of AMX.
struct Linear {
  const std::uint8_t* x;
  const std::uint8_t* w;
  const float* bias;
  std::uint8_t* y;
  int k;
  int n;
  int element_bytes;
  bool gelu;

  std::size_t x_stride() const { return std::size_t(k) * std::size_t(element_bytes); }
  std::size_t y_stride() const { return std::size_t(n) * std::size_t(element_bytes); }
  std::size_t panel_bytes() const { return x_stride() * kPanel; }
  std::uint8_t* out(int row, int column) const { return y + row * y_stride() + std::size_t(column) * element_bytes; }
};

// Φ(x) − ½ = x · P(x²) up to |x| = 3.5, within 2e-4: about as many instructions as an exact enough GELU needs.
constexpr float kGelu[] = {-8.32418298e-07f, 3.89439037e-05f,  -7.74206083e-04f,
                           8.76444033e-03f,  -6.48930045e-02f, 3.98326126e-01f};
constexpr float kGeluEnd = 3.5f;

float gelu(float x) {
  const float clamped = std::clamp(x, -kGeluEnd, kGeluEnd);
  float p = 0;
  for (const float c : kGelu) p = p * clamped * clamped + c;
  return x * (0.5f + clamped * p);
}

NX_TARGET_AVX2 NX_INLINE __m256 gelu(__m256 x) {
  const __m256 clamped = _mm256_min_ps(_mm256_max_ps(x, _mm256_set1_ps(-kGeluEnd)), _mm256_set1_ps(kGeluEnd));
  const __m256 square = _mm256_mul_ps(clamped, clamped);
  __m256 p = _mm256_set1_ps(kGelu[0]);
  for (int i = 1; i < 6; ++i) p = _mm256_fmadd_ps(p, square, _mm256_set1_ps(kGelu[i]));
  return _mm256_mul_ps(x, _mm256_fmadd_ps(clamped, p, _mm256_set1_ps(0.5f)));
}

NX_TARGET_AVX512 NX_INLINE __m512 gelu(__m512 x) {
  const __m512 clamped = _mm512_min_ps(_mm512_max_ps(x, _mm512_set1_ps(-kGeluEnd)), _mm512_set1_ps(kGeluEnd));
  const __m512 square = _mm512_mul_ps(clamped, clamped);
  __m512 p = _mm512_set1_ps(kGelu[0]);
  for (int i = 1; i < 6; ++i) p = _mm512_fmadd_ps(p, square, _mm512_set1_ps(kGelu[i]));
  return _mm512_mul_ps(x, _mm512_fmadd_ps(clamped, p, _mm512_set1_ps(0.5f)));
}

// What differs between the arithmetics that compute in vector registers: a multiply-add of 4-byte groups, and what
// becomes of two vectors of sums of one row.
struct Fp32Avx2 {
  using Sum = __m256;
  NX_TARGET_AVX2 NX_INLINE Sum mac(Sum sum, __m256i x, __m256i w) {
    return _mm256_fmadd_ps(_mm256_castsi256_ps(x), _mm256_castsi256_ps(w), sum);
  }
  NX_TARGET_AVX2 NX_INLINE void finish(Sum low, Sum high, const Linear& l, int row, int column) {
    low = _mm256_add_ps(low, _mm256_loadu_ps(l.bias + column));
    high = _mm256_add_ps(high, _mm256_loadu_ps(l.bias + column + 8));
    if (l.gelu) low = gelu(low), high = gelu(high);
    _mm256_storeu_ps(reinterpret_cast<float*>(l.out(row, column)), low);
    _mm256_storeu_ps(reinterpret_cast<float*>(l.out(row, column + 8)), high);
  }
};

struct Int8AvxVnni {
  using Sum = __v8si;
  NX_TARGET_AVXVNNI NX_INLINE Sum mac(Sum sum, __m256i x, __m256i w) {
    return (Sum)_mm256_dpbusd_avx_epi32((__m256i)sum, x, w);
  }
  NX_TARGET_AVXVNNI NX_INLINE __m256i rounded(Sum sum, const Linear& l, int column) {
    __m256 real =
        _mm256_fmadd_ps(_mm256_cvtepi32_ps((__m256i)sum), _mm256_set1_ps(kIntScale), _mm256_loadu_ps(l.bias + column));
    if (l.gelu) real = gelu(real);
    return _mm256_cvtps_epi32(real);
  }
  NX_TARGET_AVXVNNI NX_INLINE void finish(Sum low, Sum high, const Linear& l, int row, int column) {
    __m256i words = _mm256_packus_epi32(rounded(low, l, column), rounded(high, l, column + 8));
    words = _mm256_permute4x64_epi64(words, 0xd8);
    const __m128i bytes = _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(l.out(row, column)), bytes);
  }
};

struct Fp32Avx512 {
  using Sum = __m512;
  NX_TARGET_AVX512 NX_INLINE Sum mac(Sum sum, __m512i x, __m512i w) {
    return _mm512_fmadd_ps(_mm512_castsi512_ps(x), _mm512_castsi512_ps(w), sum);
  }
  NX_TARGET_AVX512 NX_INLINE void finish(Sum low, Sum high, const Linear& l, int row, int column) {
    low = _mm512_add_ps(low, _mm512_loadu_ps(l.bias + column));
    high = _mm512_add_ps(high, _mm512_loadu_ps(l.bias + column + 16));
    if (l.gelu) low = gelu(low), high = gelu(high);
    _mm512_storeu_ps(l.out(row, column), low);
    _mm512_storeu_ps(l.out(row, column + 16), high);
  }
};

struct Bf16Avx512 {
  using Sum = __m512;
  NX_TARGET_AVX512BF16 NX_INLINE Sum mac(Sum sum, __m512i x, __m512i w) {
    return _mm512_dpbf16_ps(sum, (__m512bh)x, (__m512bh)w);
  }
  NX_TARGET_AVX512BF16 NX_INLINE void finish(Sum low, Sum high, const Linear& l, int row, int column) {
    low = _mm512_add_ps(low, _mm512_loadu_ps(l.bias + column));
    high = _mm512_add_ps(high, _mm512_loadu_ps(l.bias + column + 16));
    if (l.gelu) low = gelu(low), high = gelu(high);
    _mm512_storeu_si512(l.out(row, column), (__m512i)_mm512_cvtne2ps_pbh(high, low));
  }
};

struct Int8Avx512 {
  using Sum = __v16si;
  NX_TARGET_AVX512VNNI NX_INLINE Sum mac(Sum sum, __m512i x, __m512i w) {
    return (Sum)_mm512_dpbusd_epi32((__m512i)sum, x, w);
  }
  NX_TARGET_AVX512VNNI NX_INLINE __m128i bytes(Sum sum, const Linear& l, int column) {
    __m512 real =
        _mm512_fmadd_ps(_mm512_cvtepi32_ps((__m512i)sum), _mm512_set1_ps(kIntScale), _mm512_loadu_ps(l.bias + column));
    if (l.gelu) real = gelu(real);
    return _mm512_cvtusepi32_epi8(_mm512_max_epi32(_mm512_cvtps_epi32(real), _mm512_setzero_si512()));
  }
  NX_TARGET_AVX512VNNI NX_INLINE void finish(Sum low, Sum high, const Linear& l, int row, int column) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(l.out(row, column)), bytes(low, l, column));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(l.out(row, column + 16)), bytes(high, l, column + 16));
  }
};

NX_TARGET_AVX2 NX_INLINE __m256i load(const std::uint8_t* w, __m256i) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(w));
}
NX_TARGET_AVX512 NX_INLINE __m512i load(const std::uint8_t* w, __m512i) {
  return _mm512_loadu_si512(w);
}
NX_TARGET_AVX2 NX_INLINE __m256i spread(std::int32_t group, __m256i) {
  return _mm256_set1_epi32(group);
}
NX_TARGET_AVX512 NX_INLINE __m512i spread(std::int32_t group, __m512i) {
  return _mm512_set1_epi32(group);
}

// A query streams every weight once, and the processor's own prefetching lags behind: 4 KB ahead made 11 tokens 1.4
// to 1.7 times as fast (Zen 5, one core) and changed nothing for many rows.
constexpr std::size_t kPrefetchBytes = 4096;
NX_INLINE void prefetch(const std::uint8_t* w) {
  _mm_prefetch(reinterpret_cast<const char*>(w + kPrefetchBytes), _MM_HINT_T0);
}

NX_INLINE std::int32_t group_at(const std::uint8_t* x) {
  std::int32_t group;
  std::memcpy(&group, x, 4);
  return group;
}

// The register block: rows R… times two vectors of columns from `column`. A macro, because a target attribute cannot be
// a parameter of a template; R is a pack and K a constant, because gcc keeps an array in registers only where every
// index is one from the start, and addresses rows without a register each only where their distance is known. The two
// vectors are the halves of a panel, or two panels.
#define NX_REGISTER_BLOCK(Name, Target, Policy, Vector, kBytes)                                                  \
  template <int K, int... R>                                                                                     \
  Target void Name##_of(std::integer_sequence<int, R...>, const Linear& l, int row, int column) {                \
    constexpr std::size_t kStride = std::size_t{K} * kBytes, kPanelBytes = kStride * kPanel;                     \
    constexpr std::size_t kNext = sizeof(Vector) == 32 ? 32 : kPanelBytes;                                       \
    const std::uint8_t* x = l.x + std::size_t(row) * kStride;                                                    \
    const std::uint8_t* const end = x + kStride;                                                                 \
    const std::uint8_t* w = l.w + std::size_t(column / kPanel) * kPanelBytes;                                    \
    Policy::Sum low[sizeof...(R)] = {}, high[sizeof...(R)] = {};                                                 \
    for (; x != end; x += 4, w += 64) {                                                                          \
      prefetch(w);                                                                                               \
      if (kNext > 64) prefetch(w + kNext);                                                                       \
      const Vector w0 = load(w, Vector{}), w1 = load(w + kNext, Vector{});                                       \
      Vector group;                                                                                              \
      ((group = spread(group_at(x + R * kStride), Vector{}), low[R] = Policy::mac(low[R], group, w0),            \
        high[R] = Policy::mac(high[R], group, w1)),                                                              \
       ...);                                                                                                     \
    }                                                                                                            \
    (Policy::finish(low[R], high[R], l, row + R, column), ...);                                                  \
  }                                                                                                              \
  template <int Rows>                                                                                            \
  void Name(const Linear& l, int row, int column) {                                                              \
    constexpr std::make_integer_sequence<int, Rows> kRows;                                                       \
    l.k == kHidden ? Name##_of<kHidden>(kRows, l, row, column) : Name##_of<kFeedForward>(kRows, l, row, column); \
  }
NX_REGISTER_BLOCK(block_fp32_avx2, NX_TARGET_AVX2, Fp32Avx2, __m256i, 4)
NX_REGISTER_BLOCK(block_int8_avxvnni, NX_TARGET_AVXVNNI, Int8AvxVnni, __m256i, 1)
NX_REGISTER_BLOCK(block_fp32_avx512, NX_TARGET_AVX512, Fp32Avx512, __m512i, 4)
NX_REGISTER_BLOCK(block_bf16_avx512, NX_TARGET_AVX512BF16, Bf16Avx512, __m512i, 2)
NX_REGISTER_BLOCK(block_int8_avx512, NX_TARGET_AVX512VNNI, Int8Avx512, __m512i, 1)

// AMX, tiles: 0–3 sums, 4–5 rows of x, 6–7 columns of w. `rows` above 16 are two tiles of rows by two panels, else one
// by four panels. configure_tiles() has set how many rows the tiles 0–5 have.
template <bool Int8>
NX_TARGET_AMX void block_amx(const Linear& l, int rows, int row, int column) {
  alignas(64) float sums[32 * 32];  // 16 × 64 or 32 × 32
  const std::uint8_t* x = l.x + row * l.x_stride();
  const std::uint8_t* w = l.w + std::size_t(column / kPanel) * l.panel_bytes();
  const std::size_t stride = l.x_stride(), panel = l.panel_bytes();
  const bool two_by_two = rows > 16;
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (std::size_t at = 0; at < stride; at += 64, w += 1024) {
    _tile_loadd(4, x + at, stride);
    _tile_loadd(6, w, 64);
    _tile_loadd(7, w + panel, 64);
    if (two_by_two) _tile_loadd(5, x + 16 * stride + at, stride);
    if constexpr (Int8) {
      _tile_dpbusd(0, 4, 6);
      _tile_dpbusd(1, 4, 7);
    } else {
      _tile_dpbf16ps(0, 4, 6);
      _tile_dpbf16ps(1, 4, 7);
    }
    if (two_by_two) {
      if constexpr (Int8) {
        _tile_dpbusd(2, 5, 6);
        _tile_dpbusd(3, 5, 7);
      } else {
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
      }
    } else {
      _tile_loadd(6, w + 2 * panel, 64);
      _tile_loadd(7, w + 3 * panel, 64);
      if constexpr (Int8) {
        _tile_dpbusd(2, 4, 6);
        _tile_dpbusd(3, 4, 7);
      } else {
        _tile_dpbf16ps(2, 4, 6);
        _tile_dpbf16ps(3, 4, 7);
      }
    }
  }
  const int columns = two_by_two ? 32 : 64;
  _tile_stored(0, sums, columns * 4);
  _tile_stored(1, sums + 16, columns * 4);
  _tile_stored(2, two_by_two ? sums + 16 * 32 : sums + 32, columns * 4);
  _tile_stored(3, two_by_two ? sums + 16 * 32 + 16 : sums + 48, columns * 4);
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < columns; c += 32) {
      const __m512 low = _mm512_load_ps(sums + r * columns + c), high = _mm512_load_ps(sums + r * columns + c + 16);
      if constexpr (Int8) {
        Int8Avx512::finish((__v16si)low, (__v16si)high, l, row + r, column + c);
      } else {
        Bf16Avx512::finish(low, high, l, row + r, column + c);
      }
    }
  }
}

NX_TARGET_AMX void configure_tiles(int rows) {
  struct alignas(64) {
    std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
    std::uint16_t row_bytes[16] = {};
    std::uint8_t rows[16] = {};
  } tiles;
  for (int tile = 0; tile < 8; ++tile) {
    tiles.row_bytes[tile] = 64;
    tiles.rows[tile] = std::uint8_t(tile < 6 ? std::min(rows, 16) : 16);
  }
  _tile_loadconfig(&tiles);
}

// Linux hands out the tile registers only when asked.
bool may_use_amx() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

using Block = void (*)(const Linear&, int row, int column);
#define NX_BLOCKS(Name, Max)                                                              \
  [] {                                                                                    \
    return []<int... R>(std::integer_sequence<int, R...>) {                               \
      return std::array<Block, 14>{(R < Max ? Name<(R < Max ? R : 0) + 1> : nullptr)...}; \
    }(std::make_integer_sequence<int, 14>{});                                             \
  }()

struct Arithmetic {
  const char* precision;
  const char* isa;  // as NARTHEX_ISA names it, and what it needs
  const char* needs;
  int element_bytes;
  int block_rows;
  int block_columns;
  int peak_macs_per_cycle;  // of one core with two units of full vector width, or one tile unit
  bool available;
  std::array<Block, 14> blocks;  // by rows − 1; none for AMX
  bool amx() const { return blocks[0] == nullptr; }

  void run(const Linear& l, int rows, int row, int column) const {
    if (!amx()) {
      blocks[std::size_t(rows - 1)](l, row, column);
    } else if (element_bytes == 1) {
      block_amx<true>(l, rows, row, column);
    } else {
      block_amx<false>(l, rows, row, column);
    }
  }
  int columns_of(int rows) const { return amx() && rows <= 16 ? 64 : block_columns; }
};

std::vector<Arithmetic> arithmetics() {
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  const bool vnni = avx512 && __builtin_cpu_supports("avx512vnni"),
             bf16 = avx512 && __builtin_cpu_supports("avx512bf16");
  const bool amx = vnni && bf16 && __builtin_cpu_supports("amx-tile") && may_use_amx();
  const std::array<Block, 14> none = {};
  return {
      {"fp32", "avx2", "AVX2, FMA", 4, 6, 16, 16, avx2, NX_BLOCKS(block_fp32_avx2, 6)},
      {"int8", "avx2", "AVX-VNNI", 1, 6, 16, 64, avx2 && __builtin_cpu_supports("avxvnni"),
       NX_BLOCKS(block_int8_avxvnni, 6)},
      {"fp32", "avx512", "AVX-512", 4, 14, 32, 32, avx512, NX_BLOCKS(block_fp32_avx512, 14)},
      {"bf16", "avx512", "AVX512-BF16", 2, 14, 32, 64, bf16, NX_BLOCKS(block_bf16_avx512, 14)},
      {"int8", "avx512", "AVX512-VNNI", 1, 14, 32, 128, vnni, NX_BLOCKS(block_int8_avx512, 14)},
      {"bf16", "amx", "AMX-BF16", 2, 32, 32, 512, amx && __builtin_cpu_supports("amx-bf16"), none},
      {"int8", "amx", "AMX-INT8", 1, 32, 32, 1024, amx && __builtin_cpu_supports("amx-int8"), none},
  };
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// From a chain of multiplications, each of which waits three cycles for the one before it.
double clock_ghz() {
  double best = 0;
  for (int turn = 0; turn < 50; ++turn) {
    std::uint64_t x = 3;
    const double start = seconds_now();
    for (int i = 0; i < 200'000; ++i) {
      asm volatile(
          "imul %0, %0\nimul %0, %0\nimul %0, %0\nimul %0, %0\nimul %0, %0\nimul %0, %0\nimul %0, %0\nimul %0, %0"
          : "+r"(x));
    }
    best = std::max(best, 2e5 * 8 * 3 / (seconds_now() - start) / 1e9);
  }
  return best;
}

std::uint8_t* allocate(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::perror("machine_limit: mmap"), std::exit(1);
  madvise(memory, bytes, MADV_HUGEPAGE);
  return static_cast<std::uint8_t*>(memory);
}

// Numbers of about the size that a trained model has: sums neither overflow nor fade into denormals.
void fill(std::uint8_t* to, std::size_t n, int element_bytes, float size) {
  std::minstd_rand random(7);
  for (std::size_t i = 0; i < n; ++i) {
    const float value = size * (float(random()) / float(std::minstd_rand::max()) * 2 - 1);
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    const std::uint16_t top = std::uint16_t(bits >> 16);
    if (element_bytes == 4) std::memcpy(to + 4 * i, &value, 4);
    if (element_bytes == 2) std::memcpy(to + 2 * i, &top, 2);
    if (element_bytes == 1) to[i] = std::uint8_t(random() >> 8);
  }
}

double element(const std::uint8_t* at, std::size_t i, int element_bytes, bool is_weight) {
  if (element_bytes == 1) return is_weight ? double(std::int8_t(at[i])) : double(at[i]);
  std::uint32_t bits = 0;
  std::memcpy(reinterpret_cast<char*>(&bits) + (4 - element_bytes), at + i * std::size_t(element_bytes),
              std::size_t(element_bytes));
  return std::bit_cast<float>(bits);
}

// Every number of rows that a block may have, against loops that anyone can read.
bool computes_right(const Arithmetic& a) {
  const int k = kHidden, n = 128, bytes = a.element_bytes, group = 4 / bytes;
  std::vector<std::uint8_t> x(std::size_t(32 * k * bytes)), w(std::size_t(n * k * bytes)),
      y(std::size_t(32 * n * bytes));
  std::vector<float> bias(n, 0.25f);
  fill(x.data(), std::size_t(32 * k), bytes, 1);
  fill(w.data(), std::size_t(n * k), bytes, 0.2f);
  const Linear l{x.data(), w.data(), bias.data(), y.data(), k, n, bytes, true};
  for (int rows = 1; rows <= a.block_rows; rows += a.amx() && rows >= 16 ? 16 : 1) {
    if (a.amx()) configure_tiles(rows);
    for (int column = 0; column < n; column += a.columns_of(rows)) a.run(l, rows, 0, column);
    for (int m = 0; m < rows; ++m) {
      for (int c = 0; c < n; ++c) {
        double sum = 0;
        for (int i = 0; i < k; ++i) {
          const int at = ((c / kPanel * (k / group) + i / group) * kPanel + c % kPanel) * group + i % group;
          sum +=
              element(x.data(), std::size_t(m * k + i), bytes, false) * element(w.data(), std::size_t(at), bytes, true);
        }
        double want = gelu(float(bytes == 1 ? sum * kIntScale : sum) + bias[std::size_t(c)]);
        if (bytes == 1) want = std::clamp(std::nearbyint(want), 0.0, 255.0);
        const double got = element(y.data(), std::size_t(m * n + c), bytes, false);
        const double allowed = bytes == 4 ? 1e-4 : bytes == 2 ? 2e-2 : 1;
        if (!(std::abs(got - want) <= allowed * std::max(1.0, std::abs(want)))) return false;
      }
    }
  }
  return true;
}

class Barrier {
 public:
  explicit Barrier(int n) : n_(n) {}
  void wait() {
    const int phase = phase_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) == n_ - 1) {
      arrived_.store(0, std::memory_order_relaxed);
      phase_.store(phase + 1, std::memory_order_release);
    } else {
      while (phase_.load(std::memory_order_acquire) == phase) _mm_pause();
    }
  }

 private:
  const int n_;
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<int> phase_{0};
};

std::vector<int> usable_cpus() {
  cpu_set_t set;
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
    }
  }
  return cpus;
}

void stay_on(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof set, &set);
}

// The weights and activations of one arithmetic.
struct Model {
  explicit Model(const Arithmetic& a) : arithmetic(a) {
    const std::size_t bytes = std::size_t(a.element_bytes);
    weights = allocate(kLayerWeights * kLayers * bytes + 4 * kPrefetchBytes);
    fill(weights, kLayerWeights * kLayers, a.element_bytes, 0.08f);
    fill(reinterpret_cast<std::uint8_t*>(bias.data()), bias.size(), 4, 0.5f);
  }
  ~Model() { munmap(weights, kLayerWeights * kLayers * std::size_t(arithmetic.element_bytes) + 4 * kPrefetchBytes); }
  Model(const Model&) = delete;

  const Arithmetic& arithmetic;
  std::uint8_t* weights;
  std::vector<float> bias = std::vector<float>(kFeedForward);
};

struct Activations {
  Activations(int rows, int element_bytes)
      : bytes(std::size_t(rows) * kFeedForward * std::size_t(element_bytes) + 4096) {
    for (std::uint8_t** buffer : {&hidden, &wide, &attended}) *buffer = allocate(bytes);
    fill(hidden, std::size_t(rows) * kHidden, element_bytes, 1);
  }
  ~Activations() {
    for (std::uint8_t* buffer : {hidden, wide, attended}) munmap(buffer, bytes);
  }
  Activations(const Activations&) = delete;

  std::size_t bytes;
  std::uint8_t *hidden, *wide, *attended;
};

// The four linear layers of each of the twelve blocks; `linear` is called with each in turn.
template <class F>
void forward(const Model& model, const Activations& to, F&& linear) {
  const int bytes = model.arithmetic.element_bytes;
  const std::uint8_t* w = model.weights;
  const auto next = [&](const std::uint8_t* x, int k, std::uint8_t* y, int n, bool gelu) {
    linear(Linear{x, w, model.bias.data(), y, k, n, bytes, gelu});
    w += std::size_t(k) * std::size_t(n) * std::size_t(bytes);
  };
  for (int layer = 0; layer < kLayers; ++layer) {
    next(to.hidden, kHidden, to.wide, 3 * kHidden, false);
    next(to.hidden, kHidden, to.attended, kHidden, false);  // what attention would hand over
    next(to.attended, kHidden, to.wide, kFeedForward, true);
    next(to.wide, kFeedForward, to.hidden, kHidden, false);
  }
}

constexpr int kWindows = 5;  // the best window counts: neighbours on the machine only ever slow things down

template <class F>
void on_team(const std::vector<int>& cpus, int threads, F&& work) {
  std::vector<std::thread> team;
  for (int t = 0; t < threads; ++t) {
    team.emplace_back([&, t] {
      stay_on(cpus[std::size_t(t)]);
      work(t);
    });
  }
  for (std::thread& thread : team) thread.join();
}

double tokens_per_s(const Model& model, const std::vector<int>& cpus, int threads, double seconds) {
  const Arithmetic& a = model.arithmetic;
  const int rows = kPassRows / a.block_rows * a.block_rows;
  Barrier barrier(threads);
  std::vector<std::array<double, kWindows>> rates(std::size_t(threads), std::array<double, kWindows>{});
  on_team(cpus, threads, [&](int t) {
    if (a.amx()) configure_tiles(16);
    const Activations own(rows, a.element_bytes);
    const auto pass = [&] {
      forward(model, own, [&](const Linear& l) {
        for (int column = 0; column < l.n; column += a.block_columns) {
          for (int row = 0; row < rows; row += a.block_rows) a.run(l, a.block_rows, row, column);
        }
      });
    };
    pass();
    for (double& rate : rates[std::size_t(t)]) {
      barrier.wait();
      const double start = seconds_now(), end = start + seconds / kWindows;
      int passes = 0;
      do pass(), ++passes;
      while (seconds_now() < end);
      rate = passes * rows / (seconds_now() - start);
    }
  });
  double best = 0;
  for (int window = 0; window < kWindows; ++window) {
    double sum = 0;
    for (const auto& rate : rates) sum += rate[std::size_t(window)];
    best = std::max(best, sum);
  }
  return best;
}

double query_ms(const Model& model, const std::vector<int>& cpus, int threads, int tokens, double seconds) {
  const Arithmetic& a = model.arithmetic;
  const int columns = a.columns_of(tokens);
  // Rows in blocks of nearly equal size: 16 are 8 and 8, not 14 and 2.
  const int n_blocks = (tokens + a.block_rows - 1) / a.block_rows;
  Barrier barrier(threads);
  const Activations shared(16, a.element_bytes);
  double best = 1e9;
  std::atomic<bool> more = true;
  on_team(cpus, threads, [&](int t) {
    if (a.amx()) configure_tiles(tokens);
    const auto pass = [&] {
      forward(model, shared, [&](const Linear& l) {
        const int n = l.n / columns;
        for (int c = n * t / threads; c < n * (t + 1) / threads; ++c) {
          for (int b = 0; b < n_blocks; ++b) {
            const int first = tokens * b / n_blocks;
            a.run(l, tokens * (b + 1) / n_blocks - first, first, c * columns);
          }
        }
        barrier.wait();
      });
    };
    for (int window = 0; window < kWindows; ++window) {
      std::vector<double> times;
      const double end = seconds_now() + seconds / kWindows;
      do {
        const double start = seconds_now();
        pass();
        times.push_back(seconds_now() - start);
        if (t == 0) more = seconds_now() < end;
        barrier.wait();
      } while (more);
      std::nth_element(times.begin(), times.begin() + std::ptrdiff_t(times.size() / 2), times.end());
      if (t == 0) best = std::min(best, times[times.size() / 2]);
      barrier.wait();
    }
  });
  return 1e3 * best;
}

struct Arguments {
  double seconds = 1;
  std::vector<int> threads;
};

Arguments parse(int argc, char** argv, int n_cpus) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--seconds" && i + 1 < argc) {
      arguments.seconds = std::clamp(std::atof(argv[++i]), 0.05, 60.0);
    } else if (name == "--threads" && i + 1 < argc) {
      for (char* at = argv[++i]; *at != '\0';) {
        char* end = at;
        arguments.threads.push_back(int(std::strtol(at, &end, 10)));
        if (end == at) arguments.threads.back() = 0;
        at = *end == ',' ? end + 1 : end == at ? at + std::strlen(at) : end;
      }
    } else {
      std::fprintf(stderr, "usage: machine_limit [--seconds S] [--threads 1,2]\n");
      std::exit(2);
    }
  }
  if (arguments.threads.empty()) {
    arguments.threads.push_back(1);
    if (n_cpus > 1) arguments.threads.push_back(n_cpus);
  }
  for (const int threads : arguments.threads) {
    if (threads < 1 || threads > n_cpus) {
      std::fprintf(stderr, "machine_limit: --threads: from 1 to %d here\n", n_cpus);
      std::exit(2);
    }
  }
  return arguments;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<int> cpus = usable_cpus();
  const Arguments arguments = parse(argc, argv, int(cpus.size()));
  const double ghz = clock_ghz();
  std::printf("{\"cpus\": %zu, \"clock_ghz\": %.2f, \"macs_per_token\": %.0f, \"rows\": [", cpus.size(), ghz,
              kMacsPerToken);
  const char* separator = "\n";
  for (const Arithmetic& a : arithmetics()) {
    if (!a.available) continue;
    if (!computes_right(a)) {
      std::fprintf(stderr, "machine_limit: %s on %s differs from plain loops: not measured\n", a.precision, a.needs);
      continue;
    }
    const Model model(a);
    for (const int threads : arguments.threads) {
      const double rate = tokens_per_s(model, cpus, threads, arguments.seconds);
      std::printf(
          "%s  {\"precision\": \"%s\", \"isa\": \"%s\", \"instructions\": \"%s\", \"threads\": %d, "
          "\"tokens_per_s\": %.0f, \"query_11_ms\": %.3f, \"query_16_ms\": %.3f, \"macs_per_cycle\": %.1f, "
          "\"peak_macs_per_cycle\": %d}",
          separator, a.precision, a.isa, a.needs, threads, rate, query_ms(model, cpus, threads, 11, arguments.seconds),
          query_ms(model, cpus, threads, 16, arguments.seconds), rate * kMacsPerToken / threads / (ghz * 1e9),
          a.peak_macs_per_cycle);
      std::fflush(stdout);
      separator = ",\n";
    }
  }
  std::printf("\n]}\n");
}
