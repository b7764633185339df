// Shared by the files of the elementwise family: one output element from the input element at the same place.
//
//   map_numeric<F>, map_float   the loops; evaluators of elementwise.cc and elementwise_activation.cc are made of them
//
// Covered by tests/ops/elementwise_test.cc and tests/conformance.
#pragma once

#include "ops/util.h"

namespace narthex {

template <class T>
double to_double(T value) {
  return static_cast<double>(static_cast<Compute<T>>(value));
}
// Rounds to float32 on the way to the 16-bit types.
template <class T>
T from_double(double value) {
  return static_cast<T>(static_cast<Compute<T>>(value));
}

template <class T, class F>
Result<void> map_elements(EvalContext& c, F f) {
  const Tensor& x = c.input(0);
  NX_TRY(Tensor * y, c.allocate(0, x.dtype(), x.dims()));
  const std::span<const T> from = x.as<T>();
  const std::span<T> to = y->as_mutable<T>();
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = f(from[i]);
  return {};
}

// f: double → double, for the floating types.
template <class F>
Result<void> map_float(EvalContext& c, F f) {
  return dispatch_float(c.input(0).dtype(), [&]<class T>() -> Result<void> {
    return map_elements<T>(c, [&](T x) { return from_double<T>(f(to_double(x))); });
  });
}

// elementwise_activation.cc
Result<void> eval_leaky_relu(const Node& node, EvalContext& c);
Result<void> eval_elu(const Node& node, EvalContext& c);
Result<void> eval_selu(const Node& node, EvalContext& c);
Result<void> eval_celu(const Node& node, EvalContext& c);
Result<void> eval_gelu(const Node& node, EvalContext& c);
Result<void> eval_hard_sigmoid(const Node& node, EvalContext& c);
Result<void> eval_thresholded_relu(const Node& node, EvalContext& c);
Result<void> eval_prelu(const Node& node, EvalContext& c);
Result<void> eval_shrink(const Node& node, EvalContext& c);
Result<void> eval_clip(const Node& node, EvalContext& c);
Result<void> normalise_clip(const Node& node, Rewriter& rewriter);
Result<void> normalise_swish(const Node& node, Rewriter& rewriter);
Result<void> normalise_swiglu(const Node& node, Rewriter& rewriter);

}  // namespace narthex
