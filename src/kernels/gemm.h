// Matrix products over a Team: packing, splitting and the batched form.
//
//   PackedF32 w = pack_weights_f32(k, n, b, ldb, transposed);      once, at load
//   gemm_f32_parallel(team, w, {m, a, lda, bias, c, ldc, act});    per call
//
// Each output element is computed by the same chain of operations however the work is split, so results do not depend
// on the team. Covered by tests/kernels/gemm_test.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/team.h"
#include "kernels/args.h"

namespace narthex {

// Floats at a 64-byte boundary, not initialised.
struct AlignedFree {
  void operator()(void* p) const;
};
using AlignedFloats = std::unique_ptr<float[], AlignedFree>;
AlignedFloats allocate_floats(std::size_t n);

constexpr std::size_t round_up_to_panel(std::size_t n) {
  return (n + kPanel - 1) / kPanel * kPanel;
}
// Floats that pack_b_f32 writes.
constexpr std::size_t packed_size_f32(std::size_t k, std::size_t n) {
  return k * round_up_to_panel(n);
}

struct PackedF32 {
  std::size_t k = 0, n = 0;
  AlignedFloats panels;  // packed_size_f32(k, n)
};
// b is [k, n] with rows ldb apart, or [n, k] when `transposed` (the layout of a Linear layer's weight).
PackedF32 pack_weights_f32(std::size_t k, std::size_t n, const float* b, std::size_t ldb, bool transposed);

struct GemmCall {
  std::size_t m = 0;
  const float* a = nullptr;
  std::size_t lda = 0;
  const float* bias = nullptr;  // n values, or null
  float* c = nullptr;
  std::size_t ldc = 0;
  Activation activation = Activation::kNone;
};
void gemm_f32_parallel(Team& team, const PackedF32& b, const GemmCall& call);

// c[i] = a[i] · b[i] for each pair of matrices of a batch, with b packed on the way. The offsets (in elements, one per
// product) let any broadcast be expressed; two products must not write the same c. Empty offsets mean all 0.
struct BatchedGemmF32 {
  std::size_t m = 0, n = 0, k = 0;
  const float* a = nullptr;
  std::size_t lda = 0;
  std::span<const std::size_t> a_offsets;
  const float* b = nullptr;
  std::size_t ldb = 0;
  bool b_transposed = false;  // b is [n, k]
  std::span<const std::size_t> b_offsets;
  float* c = nullptr;
  std::size_t ldc = 0;
  std::span<const std::size_t> c_offsets;  // its length is the number of products
};
void gemm_f32_batched(Team& team, const BatchedGemmF32& call);

struct PackedInt8 {
  std::size_t k = 0, n = 0;
  std::vector<std::int8_t> panels;    // [ceil(n / 16)][ceil(k / 4)][16][4]
  std::vector<std::int32_t> zeros;    // n, or empty when all are 0
  std::vector<std::int32_t> colsums;  // n
};
// b is [k, n] of u8 or s8 (then `is_signed`), rows ldb apart. zeros: none, one, or n zero points in b's own type. u8 is
// stored less 128, so that the products are always u8·s8.
PackedInt8 pack_weights_int8(std::size_t k, std::size_t n, const void* b, std::size_t ldb, bool is_signed,
                             std::span<const std::int32_t> zeros);

struct GemmInt8Call {
  std::size_t m = 0;
  const void* a = nullptr;
  std::size_t lda = 0;
  bool a_signed = false;
  std::int32_t a_zero = 0;
  std::int32_t* c = nullptr;
  std::size_t ldc = 0;
};
void gemm_int8_parallel(Team& team, const PackedInt8& b, const GemmInt8Call& call);

}  // namespace narthex
