// Transposition of any rank and element size against the definition, and gather.
#include "kernels/memory.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "kernels/testing.h"

namespace narthex {
namespace {

void expect_transposed(const std::vector<std::size_t>& dims, const std::vector<std::size_t>& permutation,
                       std::size_t bytes) {
  const std::size_t rank = dims.size();
  const std::size_t count = std::accumulate(dims.begin(), dims.end(), std::size_t{1}, std::multiplies<>());
  const std::vector<std::uint8_t> x = random_bytes(count * bytes, 1);
  std::vector<std::uint8_t> y(count * bytes, 0xEE);
  transpose(dims, permutation, bytes, x.data(), y.data());
  std::vector<std::size_t> index(rank, 0);  // of y
  for (std::size_t to = 0; to < count; to++) {
    std::vector<std::size_t> in_x(rank);
    for (std::size_t i = 0; i < rank; i++) in_x[permutation[i]] = index[i];
    std::size_t from = 0;
    for (std::size_t i = 0; i < rank; i++) from = from * dims[i] + in_x[i];
    ASSERT_EQ(std::memcmp(&y[to * bytes], &x[from * bytes], bytes), 0)
        << "dims " << testing::PrintToString(dims) << " permutation " << testing::PrintToString(permutation)
        << " bytes " << bytes << " at " << testing::PrintToString(index);
    for (std::size_t i = rank; i-- > 0;) {
      if (++index[i] < dims[permutation[i]]) break;
      index[i] = 0;
    }
  }
}

TEST(Transpose, EveryPermutationUpToRankFive) {
  for (const std::vector<std::size_t>& shape : {std::vector<std::size_t>{},
                                                {7},
                                                {1},
                                                {5, 19},
                                                {1, 4},
                                                {3, 17, 5},
                                                {1, 20, 3},
                                                {2, 5, 3, 18},
                                                {1, 6, 1, 4},
                                                {2, 1, 3, 4, 5}}) {
    std::vector<std::size_t> permutation(shape.size());
    std::iota(permutation.begin(), permutation.end(), 0);
    do {
      for (const std::size_t bytes : {1U, 2U, 4U, 8U, 16U}) expect_transposed(shape, permutation, bytes);
    } while (std::ranges::next_permutation(permutation).found);
  }
}

TEST(Transpose, AttentionShapes) {
  expect_transposed({2, 33, 12, 32}, {0, 2, 1, 3}, 4);
  expect_transposed({2, 33, 12, 32}, {0, 2, 3, 1}, 4);
  expect_transposed({300, 257}, {1, 0}, 4);
}

TEST(Transpose, NothingWhenADimensionIsZero) {
  const std::size_t dims[] = {3, 0, 2}, permutation[] = {2, 1, 0};
  transpose(dims, permutation, 4, nullptr, nullptr);
}

TEST(Gather, RowsOfAnyWidthInAnyOrder) {
  for (const std::size_t width : {0U, 1U, 4U, 129U}) {
    const std::vector<std::uint8_t> table = random_bytes(10 * width, 1);
    const std::vector<std::int64_t> ids = {3, 3, 0, 9, 1};
    std::vector<std::uint8_t> y(ids.size() * width);
    gather_rows(width, table.data(), ids, y.data());
    for (std::size_t i = 0; i < ids.size(); i++)
      for (std::size_t j = 0; j < width; j++)
        ASSERT_EQ(y[i * width + j], table[static_cast<std::size_t>(ids[i]) * width + j]);
  }
}

}  // namespace
}  // namespace narthex
