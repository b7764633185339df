// MatMul and Gemm, and the geometry of products in matmul.h.
//
//   matmul_ops()   the table of the family; Einsum is in matmul_einsum.cc
//
// Floats are accumulated in float64 and rounded once; integers wrap modulo 2^64 before they are cut to their width, as
// two's complement arithmetic would. Covered by tests/ops/matmul_test.cc.
#include "ops/matmul.h"

#include <limits>

#include "ops/matmul_einsum.h"

namespace narthex {

Result<MatMulDims> matmul_dims(const Dims& a, const Dims& b) {
  if (a.empty() || b.empty()) return fail(ErrorCode::kBadModel, "cannot multiply a scalar as a matrix");
  MatMulDims d;
  const bool a_is_row = a.size() == 1;
  const bool b_is_column = b.size() == 1;
  d.m = a_is_row ? 1 : a[a.size() - 2];
  d.k = a.back();
  d.n = b_is_column ? 1 : b.back();
  const std::int64_t b_rows = b_is_column ? b[0] : b[b.size() - 2];
  if (d.k != b_rows) {
    return fail(ErrorCode::kBadModel, "the columns of {} do not match the rows of {}", dims_string(a), dims_string(b));
  }
  if (!a_is_row) d.a_batch.assign(a.begin(), a.end() - 2);
  if (!b_is_column) d.b_batch.assign(b.begin(), b.end() - 2);
  NX_TRY(d.batch, broadcast_dims(d.a_batch, d.b_batch));
  d.out = d.batch;
  if (!a_is_row) d.out.push_back(d.m);
  if (!b_is_column) d.out.push_back(d.n);
  return d;
}

Result<void> infer_matmul(InferContext& context, std::size_t a, std::size_t b, DType dtype) {
  const Shape* x = context.shape(a);
  const Shape* y = context.shape(b);
  if (x == nullptr || y == nullptr) {
    context.set(0, dtype, std::nullopt);
    return {};
  }
  if (x->empty() || y->empty()) return fail(ErrorCode::kBadModel, "cannot multiply a scalar as a matrix");
  const Dim& columns = x->back();
  const Dim& rows = y->size() == 1 ? y->front() : (*y)[y->size() - 2];
  if (columns.is_constant() && rows.is_constant() && !(columns == rows)) {
    return fail(ErrorCode::kBadModel, "the columns of {} do not match the rows of {}", shape_string(*x),
                shape_string(*y));
  }
  const auto batch = [](const Shape& s) { return s.size() < 2 ? Shape() : Shape(s.begin(), s.end() - 2); };
  Shape out = broadcast_shapes(batch(*x), batch(*y));
  if (x->size() > 1) out.push_back((*x)[x->size() - 2]);
  if (y->size() > 1) out.push_back(y->back());
  context.set(0, dtype, std::move(out));
  return {};
}

namespace {

// Sums in T's wide type: float64, or 64 bits that wrap.
template <class T>
using Sum = std::conditional_t<std::is_integral_v<T>, std::uint64_t, double>;

template <class T>
Sum<T> widen(T value) {
  return static_cast<Sum<T>>(static_cast<Compute<T>>(value));
}
template <class T>
T narrow(Sum<T> value) {
  return static_cast<T>(static_cast<Compute<T>>(value));
}

Result<void> eval_matmul(const Node&, EvalContext& c) {
  const Tensor& a = c.input(0);
  const Tensor& b = c.input(1);
  if (a.dtype() != b.dtype()) return fail(ErrorCode::kBadModel, "its inputs have different types");
  NX_TRY(const MatMulDims d, matmul_dims(a.dims(), b.dims()));
  NX_TRY(Tensor * y, c.allocate(0, a.dtype(), d.out));
  if (y->count() == 0) return {};
  return dispatch_numeric(a.dtype(), [&]<class T>() -> Result<void> {
    const std::span<const T> x = a.as<T>();
    const std::span<const T> w = b.as<T>();
    const std::span<T> out = y->as_mutable<T>();
    std::vector<Sum<T>> row(static_cast<std::size_t>(d.n));
    for_each_matrix(d, [&](std::int64_t a_at, std::int64_t b_at, std::int64_t y_at) {
      for (std::int64_t m = 0; m < d.m; ++m) {
        std::ranges::fill(row, Sum<T>{0});
        for (std::int64_t k = 0; k < d.k; ++k) {
          const Sum<T> factor = widen(x[static_cast<std::size_t>(a_at + m * d.k + k)]);
          const T* w_row = w.data() + b_at + k * d.n;
          for (std::size_t n = 0; n < row.size(); ++n) row[n] += factor * widen(w_row[n]);
        }
        T* y_row = out.data() + y_at + m * d.n;
        for (std::size_t n = 0; n < row.size(); ++n) y_row[n] = narrow<T>(row[n]);
      }
    });
    return {};
  });
}

Result<void> infer_matmul_op(InferContext& context) {
  return infer_matmul(context, 0, 1, context.dtype(0));
}

// alpha and beta are floats even for integer matrices: 1 keeps the product exact, anything else goes through float64.
template <class T>
Sum<T> scaled(Sum<T> value, float factor) {
  if (factor == 1.0f) return value;
  if constexpr (std::is_integral_v<T>) {
    double product = 0;
    if constexpr (std::is_signed_v<T>) {
      product = static_cast<double>(static_cast<std::int64_t>(value)) * static_cast<double>(factor);
    } else {
      product = static_cast<double>(value) * static_cast<double>(factor);
    }
    constexpr double kLimit = 9.2e18;  // inside int64, so that the conversion is defined
    if (!(product > -kLimit)) product = -kLimit;
    if (product > kLimit) product = kLimit;
    return static_cast<Sum<T>>(static_cast<std::int64_t>(product));
  } else {
    return value * static_cast<double>(factor);
  }
}

Result<void> eval_gemm(const Node& node, EvalContext& c) {
  NX_TRY(const std::int64_t trans_a, node.int_attr("transA", 0));
  NX_TRY(const std::int64_t trans_b, node.int_attr("transB", 0));
  NX_TRY(const float alpha, node.float_attr("alpha", 1));
  NX_TRY(const float beta, node.float_attr("beta", 1));
  const Tensor& a = c.input(0);
  const Tensor& b = c.input(1);
  if (a.rank() != 2 || b.rank() != 2) {
    return fail(ErrorCode::kBadModel, "multiplies matrices, but its inputs have shapes {} and {}",
                dims_string(a.dims()), dims_string(b.dims()));
  }
  const Dims a_dims = trans_a != 0 ? Dims{a.dims()[1], a.dims()[0]} : a.dims();
  const Dims b_dims = trans_b != 0 ? Dims{b.dims()[1], b.dims()[0]} : b.dims();
  NX_TRY(const MatMulDims d, matmul_dims(a_dims, b_dims));
  const bool has_c = c.has(2);
  if (a.dtype() != b.dtype() || (has_c && c.input(2).dtype() != a.dtype())) {
    return fail(ErrorCode::kBadModel, "its inputs have different types");
  }
  std::vector<std::int64_t> c_strides(2, 0);
  if (has_c) {
    NX_TRY(const Dims both, broadcast_dims(c.input(2).dims(), d.out));
    if (both != d.out) {
      return fail(ErrorCode::kBadModel, "C of shape {} does not broadcast to {}", dims_string(c.input(2).dims()),
                  dims_string(d.out));
    }
    c_strides = broadcast_strides(c.input(2).dims(), d.out);
  }
  NX_TRY(Tensor * y, c.allocate(0, a.dtype(), d.out));
  if (y->count() == 0) return {};
  const std::int64_t a_m = trans_a != 0 ? 1 : d.k;
  const std::int64_t a_k = trans_a != 0 ? d.m : 1;
  const std::int64_t b_k = trans_b != 0 ? 1 : d.n;
  const std::int64_t b_n = trans_b != 0 ? d.k : 1;
  return dispatch_numeric(a.dtype(), [&]<class T>() -> Result<void> {
    const T* x = a.as<T>().data();
    const T* w = b.as<T>().data();
    const T* bias = has_c ? c.input(2).as<T>().data() : nullptr;
    T* out = y->as_mutable<T>().data();
    for (std::int64_t m = 0; m < d.m; ++m) {
      for (std::int64_t n = 0; n < d.n; ++n) {
        Sum<T> sum{0};
        for (std::int64_t k = 0; k < d.k; ++k) sum += widen(x[m * a_m + k * a_k]) * widen(w[k * b_k + n * b_n]);
        sum = scaled<T>(sum, alpha);
        if (bias != nullptr && beta != 0) sum += scaled<T>(widen(bias[m * c_strides[0] + n * c_strides[1]]), beta);
        out[m * d.n + n] = narrow<T>(sum);
      }
    }
    return {};
  });
}

Result<void> infer_gemm(InferContext& context) {
  NX_TRY(const std::int64_t trans_a, context.node().int_attr("transA", 0));
  NX_TRY(const std::int64_t trans_b, context.node().int_attr("transB", 0));
  const Shape* a = context.shape(0);
  const Shape* b = context.shape(1);
  if ((a != nullptr && a->size() != 2) || (b != nullptr && b->size() != 2)) {
    return fail(ErrorCode::kBadModel, "multiplies matrices, but an input is not one");
  }
  const Dim m = a != nullptr ? (*a)[trans_a != 0 ? 1 : 0] : Dim::unknown();
  const Dim n = b != nullptr ? (*b)[trans_b != 0 ? 0 : 1] : Dim::unknown();
  context.set(0, context.dtype(0), Shape{m, n});
  return {};
}

constexpr OpDef kMatMulOps[] = {
    // name, domain, since, inputs, outputs, normalise, infer, eval
    {"MatMul", kOnnx, 1, 2, 2, 1, 1, nullptr, infer_matmul_op, eval_matmul},
    {"Gemm", kOnnx, 7, 2, 3, 1, 1, nullptr, infer_gemm, eval_gemm},
    {"Einsum", kOnnx, 12, 1, kAny, 1, 1, nullptr, infer_einsum, eval_einsum},
};

}  // namespace

std::span<const OpDef> matmul_ops() {
  return kMatMulOps;
}

}  // namespace narthex
