#include "kernels/memory.h"

#include <array>
#include <cstring>

#include "base/check.h"
#include "kernels/kernels.h"

namespace narthex {
namespace {

// Dimensions in the output's order, with the distance in x between neighbours along each.
struct Layout {
  std::size_t rank = 0;
  std::array<std::size_t, kMaxTransposeRank> dims{}, strides{};
};

// Leaves out dimensions of 1 and joins neighbours that stay neighbours: (b, s, h, d) → (b, h, s, d) is three
// dimensions of whole rows, and most transpositions become one of matrices.
Layout simplified(std::span<const std::size_t> dims, std::span<const std::size_t> permutation) {
  std::array<std::size_t, kMaxTransposeRank> strides{};
  std::size_t stride = 1;
  for (std::size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= dims[i];
  }
  Layout out;
  for (const std::size_t axis : permutation) {
    if (dims[axis] == 1) continue;
    if (out.rank > 0 && out.strides[out.rank - 1] == strides[axis] * dims[axis]) {
      out.dims[out.rank - 1] *= dims[axis];
      out.strides[out.rank - 1] = strides[axis];
    } else {
      out.dims[out.rank] = dims[axis];
      out.strides[out.rank++] = strides[axis];
    }
  }
  return out;
}

// y[n, m] = transposition of x [m, n] with rows ldx and ldy elements apart.
template <class T>
void transpose_matrix(std::size_t m, std::size_t n, const T* x, std::size_t ldx, T* y, std::size_t ldy) {
  constexpr std::size_t kBlock = 16;
  for (std::size_t i0 = 0; i0 < m; i0 += kBlock) {
    const std::size_t i1 = i0 + kBlock < m ? i0 + kBlock : m;
    for (std::size_t j = 0; j < n; j++)
      for (std::size_t i = i0; i < i1; i++) y[j * ldy + i] = x[i * ldx + j];
  }
}
void transpose_matrix(std::size_t m, std::size_t n, const std::uint32_t* x, std::size_t ldx, std::uint32_t* y,
                      std::size_t ldy) {
  kernels().transpose_f32(m, n, reinterpret_cast<const float*>(x), ldx, reinterpret_cast<float*>(y), ldy);
}

struct Pair64 {
  std::uint64_t half[2];
};

// Calls f(offset in x) for every index of the dimensions before `until`, in the output's order.
template <class F>
void for_each_outer(const Layout& l, std::size_t until, F f) {
  std::array<std::size_t, kMaxTransposeRank> index{};
  std::size_t at = 0;
  for (;;) {
    f(at);
    std::size_t i = until;
    for (; i > 0; i--) {
      at += l.strides[i - 1];
      if (++index[i - 1] < l.dims[i - 1]) break;
      at -= l.dims[i - 1] * l.strides[i - 1];
      index[i - 1] = 0;
    }
    if (i == 0) return;
  }
}

template <class T>
void transpose_elements(const Layout& l, const T* x, T* y) {
  const std::size_t inner = l.dims[l.rank - 1];
  if (l.strides[l.rank - 1] == 1) {  // whole rows move
    for_each_outer(l, l.rank - 1, [&](std::size_t at) {
      std::memcpy(y, x + at, inner * sizeof(T));
      y += inner;
    });
    return;
  }
  // x's innermost dimension is `row` of the output: with the output's innermost one it makes a matrix to transpose.
  std::size_t row = 0;
  while (l.strides[row] != 1) row++;
  std::size_t row_stride = 1;  // in y
  for (std::size_t i = row + 1; i < l.rank; i++) row_stride *= l.dims[i];
  Layout outer;
  std::array<std::size_t, kMaxTransposeRank> y_strides{};
  std::size_t y_stride = inner;
  for (std::size_t i = l.rank - 1; i-- > 0;) {
    y_strides[i] = y_stride;
    y_stride *= l.dims[i];
  }
  Layout outer_y;
  for (std::size_t i = 0; i + 1 < l.rank; i++) {
    if (i == row) continue;
    outer.dims[outer.rank] = outer_y.dims[outer.rank] = l.dims[i];
    outer.strides[outer.rank] = l.strides[i];
    outer_y.strides[outer.rank++] = y_strides[i];
  }
  std::array<std::size_t, kMaxTransposeRank> index{};
  std::size_t from = 0, to = 0;
  for (;;) {
    transpose_matrix(inner, l.dims[row], x + from, l.strides[l.rank - 1], y + to, row_stride);
    std::size_t i = outer.rank;
    for (; i > 0; i--) {
      from += outer.strides[i - 1];
      to += outer_y.strides[i - 1];
      if (++index[i - 1] < outer.dims[i - 1]) break;
      from -= outer.dims[i - 1] * outer.strides[i - 1];
      to -= outer.dims[i - 1] * outer_y.strides[i - 1];
      index[i - 1] = 0;
    }
    if (i == 0) return;
  }
}

}  // namespace

void gather_rows(std::size_t row_bytes, const void* table, std::span<const std::int64_t> ids, void* y) {
  const auto* from = static_cast<const std::byte*>(table);
  auto* to = static_cast<std::byte*>(y);
  for (const std::int64_t id : ids) {
    if (row_bytes > 0) std::memcpy(to, from + static_cast<std::size_t>(id) * row_bytes, row_bytes);
    to += row_bytes;
  }
}

void transpose(std::span<const std::size_t> dims, std::span<const std::size_t> permutation, std::size_t element_bytes,
               const void* x, void* y) {
  NX_CHECK(dims.size() == permutation.size() && dims.size() <= kMaxTransposeRank, "a permutation of the dimensions");
  for (const std::size_t d : dims)
    if (d == 0) return;
  const Layout l = simplified(dims, permutation);
  if (l.rank == 0) {
    std::memcpy(y, x, element_bytes);
    return;
  }
  switch (element_bytes) {
    case 1:
      return transpose_elements(l, static_cast<const std::uint8_t*>(x), static_cast<std::uint8_t*>(y));
    case 2:
      return transpose_elements(l, static_cast<const std::uint16_t*>(x), static_cast<std::uint16_t*>(y));
    case 4:
      return transpose_elements(l, static_cast<const std::uint32_t*>(x), static_cast<std::uint32_t*>(y));
    case 8:
      return transpose_elements(l, static_cast<const std::uint64_t*>(x), static_cast<std::uint64_t*>(y));
    case 16:
      return transpose_elements(l, static_cast<const Pair64*>(x), static_cast<Pair64*>(y));
    default:
      NX_CHECK(false, "elements of 1, 2, 4, 8 or 16 bytes");
  }
}

}  // namespace narthex
