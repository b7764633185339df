// Comparisons, logic, bit operations and Where; their rows are in arithmetic.cc.
//
// Covered by tests/ops/arithmetic_test.cc and tests/conformance.
#include <cstring>
#include <functional>

#include "ops/arithmetic.h"

namespace narthex {
namespace {

template <class F>
Result<void> compare(EvalContext& c) {
  const Tensor& a = c.input(0);
  const Tensor& b = c.input(1);
  NX_TRY(Dims dims, same_type_broadcast(a, b));
  NX_TRY(Tensor * y, c.allocate(0, DType::kBool, std::move(dims)));
  return dispatch_numeric(a.dtype(), [&]<class T>() {
    return zip<T, T, bool>(a, b, *y,
                           [](T x, T z) { return F()(static_cast<Compute<T>>(x), static_cast<Compute<T>>(z)); });
  });
}

template <class F>
Result<void> combine_bools(EvalContext& c) {
  NX_TRY(Dims dims, same_type_broadcast(c.input(0), c.input(1)));
  NX_TRY(Tensor * y, c.allocate(0, DType::kBool, std::move(dims)));
  return dispatch<bool>(c.input(0).dtype(), [&]<class T>() { return zip<T, T, T>(c.input(0), c.input(1), *y, F()); });
}

template <class F>
Result<void> combine_integers(EvalContext& c, F f) {
  const Tensor& a = c.input(0);
  NX_TRY(Dims dims, same_type_broadcast(a, c.input(1)));
  NX_TRY(Tensor * y, c.allocate(0, a.dtype(), std::move(dims)));
  return dispatch_integer(a.dtype(), [&]<class T>() {
    return zip<T, T, T>(a, c.input(1), *y, [&](T x, T z) { return static_cast<T>(f(x, z)); });
  });
}

Result<void> equal_strings(const Tensor& a, const Tensor& b, Tensor& y) {
  StridedWalk<2> walk(y.dims(), {broadcast_strides(a.dims(), y.dims()), broadcast_strides(b.dims(), y.dims())});
  for (bool& element : y.as_mutable<bool>()) {
    element =
        a.strings()[static_cast<std::size_t>(walk.offset(0))] == b.strings()[static_cast<std::size_t>(walk.offset(1))];
    walk.next();
  }
  return {};
}

}  // namespace

Result<void> eval_equal(const Node&, EvalContext& c) {
  const DType dtype = c.input(0).dtype();
  if (dtype == DType::kBool) return combine_bools<std::equal_to<bool>>(c);
  if (dtype != DType::kString) return compare<std::equal_to<>>(c);
  NX_TRY(Dims dims, same_type_broadcast(c.input(0), c.input(1)));
  NX_TRY(Tensor * y, c.allocate(0, DType::kBool, std::move(dims)));
  return equal_strings(c.input(0), c.input(1), *y);
}
Result<void> eval_greater(const Node&, EvalContext& c) {
  return compare<std::greater<>>(c);
}
Result<void> eval_greater_or_equal(const Node&, EvalContext& c) {
  return compare<std::greater_equal<>>(c);
}
Result<void> eval_less(const Node&, EvalContext& c) {
  return compare<std::less<>>(c);
}
Result<void> eval_less_or_equal(const Node&, EvalContext& c) {
  return compare<std::less_equal<>>(c);
}

Result<void> eval_and(const Node&, EvalContext& c) {
  return combine_bools<std::logical_and<bool>>(c);
}
Result<void> eval_or(const Node&, EvalContext& c) {
  return combine_bools<std::logical_or<bool>>(c);
}
Result<void> eval_xor(const Node&, EvalContext& c) {
  return combine_bools<std::not_equal_to<bool>>(c);
}

Result<void> eval_bitwise_and(const Node&, EvalContext& c) {
  return combine_integers(c, std::bit_and<>());
}
Result<void> eval_bitwise_or(const Node&, EvalContext& c) {
  return combine_integers(c, std::bit_or<>());
}
Result<void> eval_bitwise_xor(const Node&, EvalContext& c) {
  return combine_integers(c, std::bit_xor<>());
}

// A shift by a negative amount or by the whole width leaves only what moves in: zeros, or copies of the sign.
Result<void> eval_bit_shift(const Node& node, EvalContext& c) {
  NX_TRY(const std::string direction, node.string_attr("direction", ""));
  if (direction != "LEFT" && direction != "RIGHT") {
    return fail(ErrorCode::kBadModel, "attribute 'direction' must be 'LEFT' or 'RIGHT', but is '{}'", direction);
  }
  const bool left = direction == "LEFT";
  return combine_integers(c, [left]<class T>(T x, T amount) -> T {
    const std::uint64_t by = bits_of(amount);  // negative amounts become huge
    const bool out = by >= sizeof(T) * 8;
    if (left) return out ? T{0} : wrapped<T>(bits_of(x) << by);
    if (out) return x < T{0} ? wrapped<T>(~std::uint64_t{0}) : T{0};
    return static_cast<T>(x >> by);
  });
}

Result<void> eval_where(const Node&, EvalContext& c) {
  const Tensor& condition = c.input(0);
  const Tensor& a = c.input(1);
  const Tensor& b = c.input(2);
  if (condition.dtype() != DType::kBool) {
    return fail(ErrorCode::kBadModel, "the condition must be bool, but is {}", dtype_name(condition.dtype()));
  }
  NX_TRY(const Dims values, same_type_broadcast(a, b));
  NX_TRY(Dims dims, broadcast_dims(condition.dims(), values));
  NX_TRY(Tensor * y, c.allocate(0, a.dtype(), std::move(dims)));
  StridedWalk<3> walk(y->dims(), {broadcast_strides(condition.dims(), y->dims()),
                                  broadcast_strides(a.dims(), y->dims()), broadcast_strides(b.dims(), y->dims())});
  const std::span<const bool> choose = condition.as<bool>();
  const std::size_t size = dtype_size(a.dtype());
  for (std::size_t i = 0; i < static_cast<std::size_t>(y->count()); ++i) {
    const bool first = choose[static_cast<std::size_t>(walk.offset(0))];
    const Tensor& source = first ? a : b;
    const auto from = static_cast<std::size_t>(walk.offset(first ? 1 : 2));
    if (a.dtype() == DType::kString) {
      y->mutable_strings()[i] = source.strings()[from];
    } else {
      std::memcpy(y->mutable_data() + i * size, source.data() + from * size, size);
    }
    walk.next();
  }
  return {};
}

}  // namespace narthex
