// Shared by the files of the arithmetic family: loops over broadcast operands, and the infer functions.
//
//   zip<In, Out>(a, b, y, f)         y = f(a, b) with numpy broadcasting
//   infer_elements<kOp>              type, shape, and the contents of small integer tensors as expressions
//
// Covered by tests/ops/arithmetic_test.cc, arithmetic_infer_test.cc and tests/conformance.
#pragma once

#include "ops/util.h"

namespace narthex {

// Both inputs must have one type; the dims of the broadcast output.
Result<Dims> same_type_broadcast(const Tensor& a, const Tensor& b);

// y[i] = f(a[i], b[i]); `dims` are those of y. f returns a value, or a Result for operations that can fail.
template <class A, class B, class Out, class F>
Result<void> zip(const Tensor& a, const Tensor& b, Tensor& y, F f) {
  const std::span<const A> x = a.as<A>();
  const std::span<const B> z = b.as<B>();
  const std::span<Out> out = y.as_mutable<Out>();
  StridedWalk<2> walk(y.dims(), {broadcast_strides(a.dims(), y.dims()), broadcast_strides(b.dims(), y.dims())});
  for (Out& element : out) {
    const A left = x[static_cast<std::size_t>(walk.offset(0))];
    const B right = z[static_cast<std::size_t>(walk.offset(1))];
    if constexpr (std::is_same_v<decltype(f(left, right)), Result<Out>>) {
      NX_TRY(element, f(left, right));
    } else {
      element = f(left, right);
    }
    walk.next();
  }
  return {};
}

// The integer of T's width that the exact sum, difference or product leaves modulo 2^bits.
template <class T>
T wrapped(std::uint64_t value) {
  return static_cast<T>(value);
}
template <class T>
std::uint64_t bits_of(T value) {
  return static_cast<std::uint64_t>(value);
}

enum class ElementOp {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMod,
  kMin,
  kMax,
  kEqual,
  kGreater,
  kGreaterOrEqual,
  kLess,
  kLessOrEqual,
  kAnd,
  kOr,
  kXor
};

// arithmetic_infer.cc
Result<void> infer_elements(InferContext& c, ElementOp op);
Result<void> infer_where(InferContext& c);
template <ElementOp kOp>
Result<void> infer_elements(InferContext& c) {
  return infer_elements(c, kOp);
}

// arithmetic_logic.cc: comparisons, logic, bits, Where
Result<void> eval_equal(const Node& node, EvalContext& c);
Result<void> eval_greater(const Node& node, EvalContext& c);
Result<void> eval_greater_or_equal(const Node& node, EvalContext& c);
Result<void> eval_less(const Node& node, EvalContext& c);
Result<void> eval_less_or_equal(const Node& node, EvalContext& c);
Result<void> eval_and(const Node& node, EvalContext& c);
Result<void> eval_or(const Node& node, EvalContext& c);
Result<void> eval_xor(const Node& node, EvalContext& c);
Result<void> eval_bitwise_and(const Node& node, EvalContext& c);
Result<void> eval_bitwise_or(const Node& node, EvalContext& c);
Result<void> eval_bitwise_xor(const Node& node, EvalContext& c);
Result<void> eval_bit_shift(const Node& node, EvalContext& c);
Result<void> eval_where(const Node& node, EvalContext& c);

}  // namespace narthex
