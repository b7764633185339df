// The geometry of a batched matrix product with numpy semantics, shared by the float and the integer products.
//
//   matmul_dims(a, b)                 checks the shapes; 1-D operands become a row or a column that the output drops
//   for_each_matrix(dims, a, b, f)    calls f(offset of A's matrix, of B's, of Y's) in elements, batch by batch
//   infer_matmul(context, a, b, ...)  the symbolic counterpart for inputs number a and b
//
// Covered by tests/ops/matmul_test.cc.
#pragma once

#include "ops/util.h"

namespace narthex {

struct MatMulDims {
  Dims a_batch;  // dims before the last two
  Dims b_batch;
  Dims batch;  // both broadcast together
  std::int64_t m = 1;
  std::int64_t k = 1;
  std::int64_t n = 1;
  Dims out;
};

Result<MatMulDims> matmul_dims(const Dims& a, const Dims& b);
Result<void> infer_matmul(InferContext& context, std::size_t a, std::size_t b, DType dtype);

template <class F>
void for_each_matrix(const MatMulDims& d, F&& f) {
  auto scaled = [](std::vector<std::int64_t> strides, std::int64_t factor) {
    for (std::int64_t& stride : strides) stride *= factor;
    return strides;
  };
  StridedWalk<2> walk(d.batch, {scaled(broadcast_strides(d.a_batch, d.batch), d.m * d.k),
                                scaled(broadcast_strides(d.b_batch, d.batch), d.k * d.n)});
  std::int64_t n_matrices = 1;
  for (const std::int64_t dim : d.batch) n_matrices *= dim;
  for (std::int64_t i = 0; i < n_matrices; ++i, walk.next()) f(walk.offset(0), walk.offset(1), i * d.m * d.n);
}

}  // namespace narthex
