// Shared by the files of the reduce family.
//
// Covered by tests/ops/reduce_test.cc and tests/conformance.
#pragma once

#include <cstdint>

#include "ops/util.h"

namespace narthex {

// Sums and products are accumulated in float64, or in 64-bit integers that wrap.
template <class T>
using Accumulator = std::conditional_t<std::is_integral_v<T>,
                                       std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>, double>;

template <class T>
Accumulator<T> widen(T value) {
  return static_cast<Accumulator<T>>(static_cast<Compute<T>>(value));
}
template <class A>
A add_wrapping(A a, A b) {
  if constexpr (std::is_integral_v<A>) {
    return static_cast<A>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  } else {
    return a + b;
  }
}
template <class A>
A multiply_wrapping(A a, A b) {
  if constexpr (std::is_integral_v<A>) {
    return static_cast<A>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  } else {
    return a * b;
  }
}

// A tensor seen as [outer, n, inner] around one axis.
struct AxisView {
  std::int64_t outer = 1;
  std::int64_t n = 1;
  std::int64_t inner = 1;
};
AxisView view_around(const Dims& dims, std::int64_t axis);

// reduce_index.cc: ArgMax, ArgMin, CumSum, CumProd, TopK
Result<void> eval_arg_max(const Node& node, EvalContext& c);
Result<void> eval_arg_min(const Node& node, EvalContext& c);
Result<void> infer_arg(InferContext& c);
Result<void> eval_cum_sum(const Node& node, EvalContext& c);
Result<void> eval_cum_prod(const Node& node, EvalContext& c);
Result<void> normalise_top_k(const Node& node, Rewriter& rewriter);
Result<void> eval_top_k(const Node& node, EvalContext& c);
Result<void> infer_top_k(InferContext& c);

}  // namespace narthex
