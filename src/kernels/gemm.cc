#include "kernels/gemm.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/check.h"
#include "kernels/kernels.h"

namespace narthex {
namespace {

constexpr std::align_val_t kAlignment{64};

// Waking a spinning worker and meeting it again costs about 1 us; this much work takes about 4. In multiply-adds, where
// reading a weight counts as kWeightCost of them: with few rows a product is as slow as memory.
constexpr double kMinChunkWork = 1 << 19;
constexpr double kWeightCost = 4;

double work_of(std::size_t m, std::size_t n, std::size_t k) {
  return (static_cast<double>(m) + kWeightCost) * static_cast<double>(n) *
         static_cast<double>(std::max<std::size_t>(k, 1));
}

constexpr std::size_t divide_up(std::size_t a, std::size_t b) {
  return (a + b - 1) / b;
}

// A grid of blocks over an m × n output. Rows are split first, since every row block reads all of b, which the other
// cores have in cache already; columns when there are too few rows.
struct Grid {
  std::size_t row_step, col_step, n_cols;  // n_cols: blocks per row of blocks
  std::size_t blocks;
};

Grid split(const Team& team, std::size_t m, std::size_t n, std::size_t k) {
  constexpr std::size_t kRowStep = 56, kColStep = 64;  // whole tiles of every instruction set
  const auto most = static_cast<std::size_t>(std::max(1.0, work_of(m, n, k) / kMinChunkWork));
  // Four blocks per core even out cores that are disturbed; with one core any split only costs.
  const std::size_t wanted =
      team.size() == 1 ? 1 : std::min<std::size_t>(most, 4 * static_cast<std::size_t>(team.size()));
  const std::size_t row_blocks = std::clamp<std::size_t>(m / kRowStep, 1, wanted);
  const std::size_t row_step = divide_up(m, row_blocks);
  const std::size_t col_blocks = std::clamp<std::size_t>(n / kColStep, 1, divide_up(wanted, row_blocks));
  const std::size_t col_step = divide_up(divide_up(n, col_blocks), kColStep) * kColStep;
  const std::size_t n_cols = divide_up(n, col_step);
  return {row_step, col_step, n_cols, divide_up(m, row_step) * n_cols};
}

template <class F>
void for_blocks(Team& team, std::size_t m, std::size_t n, std::size_t k, F&& f) {
  if (m == 0 || n == 0) return;
  const Grid grid = split(team, m, n, k);
  team.parallel_for(grid.blocks, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; i++) {
      const std::size_t m0 = i / grid.n_cols * grid.row_step, n0 = i % grid.n_cols * grid.col_step;
      f(m0, std::min(m - m0, grid.row_step), n0, std::min(n - n0, grid.col_step));
    }
  });
}

// Grows to the largest packed matrix its thread has seen, so that repeated calls do not allocate; what is larger than
// kKeptFloats is given back at once.
constexpr std::size_t kKeptFloats = std::size_t{1} << 21;
struct Scratch {
  AlignedFloats floats;
  std::size_t size = 0;
};
float* scratch_of_at_least(Scratch& scratch, std::size_t n) {
  if (scratch.size < n) {
    scratch.floats = allocate_floats(n);
    scratch.size = n;
  }
  return scratch.floats.get();
}

std::size_t offset(std::span<const std::size_t> offsets, std::size_t i) {
  return offsets.empty() ? 0 : offsets[i];
}

}  // namespace

void AlignedFree::operator()(void* p) const {
  ::operator delete(p, kAlignment);
}

AlignedFloats allocate_floats(std::size_t n) {
  return AlignedFloats(static_cast<float*>(::operator new(std::max<std::size_t>(n, 1) * sizeof(float), kAlignment)));
}

PackedF32 pack_weights_f32(std::size_t k, std::size_t n, const float* b, std::size_t ldb, bool transposed) {
  PackedF32 packed{k, n, allocate_floats(packed_size_f32(k, n))};
  kernels().pack_b_f32(k, n, b, ldb, transposed, packed.panels.get());
  return packed;
}

void gemm_f32_parallel(Team& team, const PackedF32& b, const GemmCall& call) {
  for_blocks(team, call.m, b.n, b.k, [&](std::size_t m, std::size_t rows, std::size_t n, std::size_t cols) {
    kernels().gemm_f32({rows, cols, b.k, call.a + m * call.lda, call.lda, b.panels.get() + n * b.k,
                        call.bias == nullptr ? nullptr : call.bias + n, call.c + m * call.ldc + n, call.ldc,
                        call.activation});
  });
}

void gemm_f32_batched(Team& team, const BatchedGemmF32& call) {
  const std::size_t products = call.c_offsets.size();
  NX_CHECK(call.a_offsets.empty() || call.a_offsets.size() == products, "one offset of a per product");
  NX_CHECK(call.b_offsets.empty() || call.b_offsets.size() == products, "one offset of b per product");
  if (products == 0 || call.m == 0 || call.n == 0) return;
  const std::size_t packed_size = packed_size_f32(call.k, call.n);
  const auto product = [&](std::size_t i, const float* packed, std::size_t m, std::size_t rows, std::size_t n,
                           std::size_t cols) {
    kernels().gemm_f32({rows, cols, call.k, call.a + offset(call.a_offsets, i) + m * call.lda, call.lda,
                        packed + n * call.k, nullptr, call.c + offset(call.c_offsets, i) + m * call.ldc + n, call.ldc,
                        Activation::kNone});
  };
  const auto pack = [&](std::size_t i, float* packed) {
    kernels().pack_b_f32(call.k, call.n, call.b + offset(call.b_offsets, i), call.ldb, call.b_transposed, packed);
  };
  thread_local Scratch scratch;
  if (products < static_cast<std::size_t>(team.size())) {
    float* packed = scratch_of_at_least(scratch, packed_size);
    for (std::size_t i = 0; i < products; i++) {
      if (i == 0 || offset(call.b_offsets, i) != offset(call.b_offsets, i - 1)) pack(i, packed);
      for_blocks(team, call.m, call.n, call.k, [&](std::size_t m, std::size_t rows, std::size_t n, std::size_t cols) {
        product(i, packed, m, rows, n, cols);
      });
    }
    if (scratch.size > kKeptFloats) scratch = {};
    return;
  }
  const std::size_t grain =
      static_cast<std::size_t>(std::clamp(kMinChunkWork / work_of(call.m, call.n, call.k), 1.0, 1e6));
  team.parallel_for(products, grain, [&](std::size_t begin, std::size_t end) {
    float* packed = scratch_of_at_least(scratch, packed_size);
    for (std::size_t i = begin; i < end; i++) {
      if (i == begin || offset(call.b_offsets, i) != offset(call.b_offsets, i - 1)) pack(i, packed);
      product(i, packed, 0, call.m, 0, call.n);
    }
    if (scratch.size > kKeptFloats) scratch = {};
  });
}

PackedInt8 pack_weights_int8(std::size_t k, std::size_t n, const void* b, std::size_t ldb, bool is_signed,
                             std::span<const std::int32_t> zeros) {
  NX_CHECK(zeros.size() <= 1 || zeros.size() == n, "no, one or n zero points");
  const std::size_t groups = divide_up(k, 4);
  PackedInt8 packed{k, n, std::vector<std::int8_t>(divide_up(n, kPanel) * groups * 64), {}, {}};
  packed.colsums.resize(n);
  const auto* bytes = static_cast<const std::uint8_t*>(b);
  const std::int32_t shift = is_signed ? 0 : 128;
  for (std::size_t i = 0; i < k; i++) {
    for (std::size_t j = 0; j < n; j++) {
      const std::uint8_t byte = bytes[i * ldb + j];
      const std::int32_t value = is_signed ? static_cast<std::int8_t>(byte) : byte - shift;
      packed.panels[(j / kPanel * groups + i / 4) * 64 + j % kPanel * 4 + i % 4] = static_cast<std::int8_t>(value);
      packed.colsums[j] =
          static_cast<std::int32_t>(static_cast<std::uint32_t>(packed.colsums[j]) + static_cast<std::uint32_t>(value));
    }
  }
  const auto zero_of = [&](std::size_t j) { return zeros.empty() ? 0 : zeros[zeros.size() == 1 ? 0 : j]; };
  bool any = false;
  for (std::size_t j = 0; j < n; j++) any = any || zero_of(j) != shift;
  if (any) {
    packed.zeros.resize(n);
    for (std::size_t j = 0; j < n; j++) packed.zeros[j] = zero_of(j) - shift;
  }
  return packed;
}

void gemm_int8_parallel(Team& team, const PackedInt8& b, const GemmInt8Call& call) {
  const std::size_t panel_bytes = divide_up(b.k, 4) * 64;
  const auto* a = static_cast<const std::uint8_t*>(call.a);
  for_blocks(team, call.m, b.n, b.k, [&](std::size_t m, std::size_t rows, std::size_t n, std::size_t cols) {
    kernels().gemm_int8({rows, cols, b.k, a + m * call.lda, call.lda, call.a_signed, call.a_zero,
                         b.panels.data() + n / kPanel * panel_bytes, b.zeros.empty() ? nullptr : b.zeros.data() + n,
                         b.colsums.data() + n, call.c + m * call.ldc + n, call.ldc});
  });
}

}  // namespace narthex
