// MatMulInteger and QLinearMatMul: products of 8-bit matrices, exact in int32 (and wrapping there, as int32 does).
//
//   eval_matmul_integer, eval_qlinear_matmul, and their infer functions, for the rows in quant.cc
//
// A zero point is one number, one for each row of A or column of B, or an array that broadcasts to its matrix. Covered
// by tests/ops/quant_test.cc.
#include "ops/matmul.h"
#include "ops/quant.h"

namespace narthex {
namespace {

// Elements minus their zero points: all differences of 8-bit numbers fit in 16 bits.
using Centered = std::vector<std::int16_t>;

Result<std::vector<std::int64_t>> zero_strides(const Tensor& matrix, const Tensor& zero, bool is_a) {
  if (zero.count() == 1) return std::vector<std::int64_t>(matrix.dims().size(), 0);
  Dims dims = zero.dims();
  if (is_a && dims.size() == 1) dims.push_back(1);  // one for each row
  const auto both = broadcast_dims(dims, matrix.dims());
  if (!both || *both != matrix.dims()) {
    return fail(ErrorCode::kBadModel, "a zero point of shape {} does not fit a matrix of shape {}",
                dims_string(zero.dims()), dims_string(matrix.dims()));
  }
  return broadcast_strides(dims, matrix.dims());
}

Result<Centered> centered(const Tensor& matrix, const Tensor* zero, bool is_a) {
  Centered out(static_cast<std::size_t>(matrix.count()));
  if (zero != nullptr && zero->dtype() != matrix.dtype()) {
    return fail(ErrorCode::kBadModel, "a matrix of {} has a zero point of {}", dtype_name(matrix.dtype()),
                dtype_name(zero->dtype()));
  }
  NX_TRY_VOID(dispatch<std::int8_t, std::uint8_t>(matrix.dtype(), [&]<class T>() -> Result<void> {
    const std::span<const T> in = matrix.as<T>();
    if (zero == nullptr) {
      std::ranges::copy(in, out.begin());
      return {};
    }
    NX_TRY(std::vector<std::int64_t> strides, zero_strides(matrix, *zero, is_a));
    const std::span<const T> zeros = zero->as<T>();
    StridedWalk<1> walk(matrix.dims(), {std::move(strides)});
    for (std::size_t i = 0; i < in.size(); ++i, walk.next()) {
      out[i] = static_cast<std::int16_t>(in[i] - zeros[static_cast<std::size_t>(walk.offset(0))]);
    }
    return {};
  }));
  return out;
}

// Calls store(index in Y, row, column, the int32 sum) for every element of the product.
template <class F>
void multiply(const MatMulDims& d, const Centered& a, const Centered& b, F&& store) {
  std::vector<std::uint32_t> row(static_cast<std::size_t>(d.n));
  for_each_matrix(d, [&](std::int64_t a_at, std::int64_t b_at, std::int64_t y_at) {
    for (std::int64_t m = 0; m < d.m; ++m) {
      std::ranges::fill(row, 0u);
      for (std::int64_t k = 0; k < d.k; ++k) {
        const std::int32_t factor = a[static_cast<std::size_t>(a_at + m * d.k + k)];
        const std::int16_t* b_row = b.data() + b_at + k * d.n;
        for (std::size_t n = 0; n < row.size(); ++n) row[n] += static_cast<std::uint32_t>(factor * b_row[n]);
      }
      for (std::int64_t n = 0; n < d.n; ++n) {
        store(y_at + m * d.n + n, m, n, static_cast<std::int32_t>(row[static_cast<std::size_t>(n)]));
      }
    }
  });
}

// Numbers of a scale in float32: one, or `size`.
Result<std::vector<float>> scale_values(const Tensor& scale, std::int64_t size, const char* what) {
  if (scale.count() != 1 && scale.count() != size) {
    return fail(ErrorCode::kBadModel, "{} has shape {}, expected 1 or {} elements", what, dims_string(scale.dims()),
                size);
  }
  std::vector<float> values;
  NX_TRY_VOID(dispatch<float, Half, BFloat16>(scale.dtype(), [&]<class T>() -> Result<void> {
    for (const T value : scale.as<T>()) values.push_back(static_cast<float>(value));
    return {};
  }));
  return values;
}

struct Requantise {
  std::vector<float> a_scale;
  std::vector<float> b_scale;
  std::vector<float> y_scale;

  static float pick(const std::vector<float>& values, std::int64_t i) {
    return values.size() == 1 ? values[0] : values[static_cast<std::size_t>(i)];
  }
  // a · b / y, rounded to the scales' type S at each step.
  template <class S>
  float factor(std::int64_t m, std::int64_t n) const {
    const auto product = static_cast<float>(static_cast<S>(pick(a_scale, m) * pick(b_scale, n)));
    return static_cast<float>(static_cast<S>(product / pick(y_scale, m)));
  }
};

}  // namespace

Result<void> eval_matmul_integer(const Node&, EvalContext& c) {
  NX_TRY(const MatMulDims d, matmul_dims(c.input(0).dims(), c.input(1).dims()));
  NX_TRY(const Centered a, centered(c.input(0), c.has(2) ? &c.input(2) : nullptr, true));
  NX_TRY(const Centered b, centered(c.input(1), c.has(3) ? &c.input(3) : nullptr, false));
  NX_TRY(Tensor * y, c.allocate(0, DType::kInt32, d.out));
  if (y->count() == 0) return {};
  std::int32_t* out = y->as_mutable<std::int32_t>().data();
  multiply(d, a, b, [&](std::int64_t at, std::int64_t, std::int64_t, std::int32_t sum) { out[at] = sum; });
  return {};
}

Result<void> infer_matmul_integer(InferContext& context) {
  return infer_matmul(context, 0, 1, DType::kInt32);
}

Result<void> eval_qlinear_matmul(const Node&, EvalContext& c) {
  for (std::size_t i = 0; i < 8; ++i) {
    if (!c.has(i)) return fail(ErrorCode::kBadModel, "input {} is missing", i);
  }
  NX_TRY(const MatMulDims d, matmul_dims(c.input(0).dims(), c.input(3).dims()));
  NX_TRY(const Centered a, centered(c.input(0), &c.input(2), true));
  NX_TRY(const Centered b, centered(c.input(3), &c.input(5), false));
  Requantise requantise;
  NX_TRY(requantise.a_scale, scale_values(c.input(1), d.m, "a_scale"));
  NX_TRY(requantise.b_scale, scale_values(c.input(4), d.n, "b_scale"));
  NX_TRY(requantise.y_scale, scale_values(c.input(6), d.m, "y_scale"));
  const Tensor& zero = c.input(7);
  if (zero.count() != 1 && zero.count() != d.m) {
    return fail(ErrorCode::kBadModel, "y_zero_point has shape {}, expected 1 or {} elements", dims_string(zero.dims()),
                d.m);
  }
  NX_TRY(Tensor * y, c.allocate(0, zero.dtype(), d.out));
  if (y->count() == 0) return {};
  return dispatch<std::int8_t, std::uint8_t>(zero.dtype(), [&]<class T>() -> Result<void> {
    const QuantRange range = *quant_range(zero.dtype());
    T* out = y->as_mutable<T>().data();
    return dispatch<float, Half, BFloat16>(c.input(1).dtype(), [&]<class S>() -> Result<void> {
      multiply(d, a, b, [&](std::int64_t at, std::int64_t m, std::int64_t n, std::int32_t sum) {
        const T offset = zero.as<T>()[zero.count() == 1 ? 0 : static_cast<std::size_t>(m)];
        const float value = static_cast<float>(sum) * requantise.factor<S>(m, n);
        out[at] = static_cast<T>(quantised(value, offset, range));
      });
      return {};
    });
  });
}

Result<void> infer_qlinear_matmul(InferContext& context) {
  return infer_matmul(context, 0, 3, context.dtype(7));
}

}  // namespace narthex
