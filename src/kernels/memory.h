// Kernels that only move elements: gather of rows and transposition. Any element type, by its size.
//
// Covered by tests/kernels/memory_test.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace narthex {

// y[i, :] = table[ids[i], :]. Precondition: every id is in [0, n_table_rows); the caller has checked them.
void gather_rows(std::size_t row_bytes, const void* table, std::span<const std::int64_t> ids, void* y);

// y = x with its dimensions in the order `permutation`, as numpy.transpose. Both are dense and do not overlap.
// element_bytes is 1, 2, 4, 8 or 16; the rank at most kMaxTransposeRank.
inline constexpr std::size_t kMaxTransposeRank = 16;
void transpose(std::span<const std::size_t> dims, std::span<const std::size_t> permutation, std::size_t element_bytes,
               const void* x, void* y);

}  // namespace narthex
