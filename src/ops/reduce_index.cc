// Operators along one axis: ArgMax, ArgMin, CumSum, CumProd, TopK; their rows are in reduce.cc.
//
// Covered by tests/ops/reduce_test.cc and tests/conformance.
#include <algorithm>
#include <numeric>

#include "ops/reduce.h"

namespace narthex {
namespace {

template <class T>
Compute<T> number(T value) {
  return static_cast<Compute<T>>(value);
}

// A total order even with NaNs, which stand above everything: sorting needs one.
template <class T>
bool below(T a, T b) {
  const auto x = number(a);
  const auto y = number(b);
  if (x != x) return false;
  return y != y || x < y;
}

Dims without_axis(const Dims& dims, std::int64_t axis, bool keep) {
  Dims out = dims;
  if (keep) {
    out[static_cast<std::size_t>(axis)] = 1;
  } else {
    out.erase(out.begin() + axis);
  }
  return out;
}

Result<void> eval_arg(const Node& node, EvalContext& c, bool largest) {
  const Tensor& x = c.input(0);
  NX_TRY(const std::int64_t given, node.int_attr("axis", 0));
  NX_TRY(const std::int64_t axis, normalize_axis(given, x.rank()));
  NX_TRY(const std::int64_t keepdims, node.int_attr("keepdims", 1));
  NX_TRY(const std::int64_t last, node.int_attr("select_last_index", 0));
  NX_TRY(Tensor * y, c.allocate(0, DType::kInt64, without_axis(x.dims(), axis, keepdims != 0)));
  const AxisView view = view_around(x.dims(), axis);
  if (view.n == 0 && y->count() > 0) {
    return fail(ErrorCode::kBadInput, "dimension {} of {} is empty: it has no extremum", axis, dims_string(x.dims()));
  }
  return dispatch_numeric(x.dtype(), [&]<class T>() -> Result<void> {
    const T* from = x.as<T>().data();
    std::int64_t* to = y->as_mutable<std::int64_t>().data();
    for (std::int64_t o = 0; o < view.outer; ++o) {
      for (std::int64_t i = 0; i < view.inner; ++i) {
        const T* row = from + o * view.n * view.inner + i;
        std::int64_t best = 0;
        for (std::int64_t k = 1; k < view.n; ++k) {
          const T a = row[k * view.inner];
          const T b = row[best * view.inner];
          const bool better = largest ? below(b, a) : number(a) < number(b);
          if (better || (last != 0 && number(a) == number(b))) best = k;
        }
        *to++ = best;
      }
    }
    return {};
  });
}

// The axis is an input: a scalar, or a vector of one.
Result<std::int64_t> axis_input(const Tensor& x, const Tensor& axis) {
  NX_TRY(const std::vector<std::int64_t> values, ints_of(axis, "axis"));
  if (values.size() != 1) {
    return fail(ErrorCode::kBadModel, "axis must be one number, but has shape {}", dims_string(axis.dims()));
  }
  return normalize_axis(values[0], x.rank());
}

// Running totals along the axis; f combines two accumulators and `neutral` starts.
template <class F>
Result<void> cumulate(const Node& node, EvalContext& c, int neutral, F f) {
  const Tensor& x = c.input(0);
  NX_TRY(const std::int64_t axis, axis_input(x, c.input(1)));
  NX_TRY(const std::int64_t exclusive, node.int_attr("exclusive", 0));
  NX_TRY(const std::int64_t reverse, node.int_attr("reverse", 0));
  NX_TRY(Tensor * y, c.allocate(0, x.dtype(), x.dims()));
  const AxisView view = view_around(x.dims(), axis);
  return dispatch_numeric(x.dtype(), [&]<class T>() -> Result<void> {
    using A = Accumulator<T>;
    const T* from = x.as<T>().data();
    T* to = y->as_mutable<T>().data();
    for (std::int64_t o = 0; o < view.outer; ++o) {
      for (std::int64_t i = 0; i < view.inner; ++i) {
        A total = static_cast<A>(neutral);
        for (std::int64_t k = 0; k < view.n; ++k) {
          const std::int64_t place = (o * view.n + (reverse != 0 ? view.n - 1 - k : k)) * view.inner + i;
          const A before = total;
          total = f(total, widen(from[place]));
          to[place] = static_cast<T>(static_cast<Compute<T>>(exclusive != 0 ? before : total));
        }
      }
    }
    return {};
  });
}

}  // namespace

Result<void> eval_arg_max(const Node& node, EvalContext& c) {
  return eval_arg(node, c, true);
}
Result<void> eval_arg_min(const Node& node, EvalContext& c) {
  return eval_arg(node, c, false);
}

Result<void> infer_arg(InferContext& c) {
  const Shape* shape = c.shape(0);
  c.set(0, DType::kInt64, std::nullopt);
  if (shape == nullptr) return {};
  NX_TRY(const std::int64_t given, c.node().int_attr("axis", 0));
  NX_TRY(const std::int64_t axis, normalize_axis(given, static_cast<std::int64_t>(shape->size())));
  NX_TRY(const std::int64_t keepdims, c.node().int_attr("keepdims", 1));
  Shape out = *shape;
  if (keepdims != 0) {
    out[static_cast<std::size_t>(axis)] = Dim(1);
  } else {
    out.erase(out.begin() + axis);
  }
  c.set(0, DType::kInt64, std::move(out));
  return {};
}

Result<void> eval_cum_sum(const Node& node, EvalContext& c) {
  return cumulate(node, c, 0, []<class A>(A a, A b) { return add_wrapping(a, b); });
}
Result<void> eval_cum_prod(const Node& node, EvalContext& c) {
  return cumulate(node, c, 1, []<class A>(A a, A b) { return multiply_wrapping(a, b); });
}

// Before version 10, k was an attribute.
Result<void> normalise_top_k(const Node& node, Rewriter& rewriter) {
  if (node.find("k") == nullptr) return fail(ErrorCode::kBadModel, "attribute 'k' is missing");
  NX_TRY(const std::int64_t k, node.int_attr("k", 0));
  NX_TRY(const std::int64_t axis, node.int_attr("axis", -1));
  rewriter.emit_many("TopK", {node.inputs[0], rewriter.constant(Tensor::vector<std::int64_t>({k}))}, {{"axis", axis}},
                     node.outputs);
  return {};
}

// Ties go to the lower index. Output is always sorted, which `sorted` = 0 allows as well.
Result<void> eval_top_k(const Node& node, EvalContext& c) {
  const Tensor& x = c.input(0);
  NX_TRY(const std::int64_t given, node.int_attr("axis", -1));
  NX_TRY(const std::int64_t axis, normalize_axis(given, x.rank()));
  NX_TRY(const std::int64_t largest, node.int_attr("largest", 1));
  NX_TRY(const std::vector<std::int64_t> ks, ints_of(c.input(1), "k"));
  const AxisView view = view_around(x.dims(), axis);
  if (ks.size() != 1 || ks[0] < 0 || ks[0] > view.n) {
    return fail(ErrorCode::kBadInput, "k must be one number between 0 and {}, but is {}", view.n, dims_string(ks));
  }
  Dims dims = x.dims();
  dims[static_cast<std::size_t>(axis)] = ks[0];
  NX_TRY(Tensor values, Tensor::allocate(x.dtype(), dims, c.max_bytes()));
  NX_TRY(Tensor indices, Tensor::allocate(DType::kInt64, dims, c.max_bytes()));
  NX_TRY_VOID(dispatch_numeric(x.dtype(), [&]<class T>() -> Result<void> {
    const T* from = x.as<T>().data();
    T* best = values.as_mutable<T>().data();
    std::int64_t* places = indices.as_mutable<std::int64_t>().data();
    std::vector<std::int64_t> order(static_cast<std::size_t>(view.outer > 0 ? view.n : 0));
    for (std::int64_t o = 0; o < view.outer; ++o) {
      for (std::int64_t i = 0; i < view.inner; ++i) {
        const T* row = from + o * view.n * view.inner + i;
        std::iota(order.begin(), order.end(), 0);
        std::ranges::sort(order, [&](std::int64_t a, std::int64_t b) {
          const T& at_a = row[a * view.inner];
          const T& at_b = row[b * view.inner];
          if (largest != 0 ? below(at_b, at_a) : below(at_a, at_b)) return true;
          return !(largest != 0 ? below(at_a, at_b) : below(at_b, at_a)) && a < b;
        });
        for (std::int64_t k = 0; k < ks[0]; ++k) {
          const std::int64_t place = (o * ks[0] + k) * view.inner + i;
          places[place] = order[static_cast<std::size_t>(k)];
          best[place] = row[order[static_cast<std::size_t>(k)] * view.inner];
        }
      }
    }
    return {};
  }));
  c.set(0, std::move(values));
  c.set(1, std::move(indices));
  return {};
}

Result<void> infer_top_k(InferContext& c) {
  const Shape* shape = c.shape(0);
  c.set(0, c.dtype(0), std::nullopt);
  c.set(1, DType::kInt64, std::nullopt);
  if (shape == nullptr) return {};
  NX_TRY(const std::int64_t given, c.node().int_attr("axis", -1));
  NX_TRY(const std::int64_t axis, normalize_axis(given, static_cast<std::int64_t>(shape->size())));
  Shape out = *shape;
  const auto k = c.content(1);
  out[static_cast<std::size_t>(axis)] = k && k->size() == 1 ? k->front() : Dim::unknown();
  c.set(0, c.dtype(0), out);
  c.set(1, DType::kInt64, out);
  return {};
}

}  // namespace narthex
