// Arithmetic on broadcast operands: Add, Sub, Mul, Div, Mod, Pow, and the variadic Sum, Mean, Min, Max.
//
//   arithmetic_ops()   the rows of the family; comparisons, logic, bits and Where are in arithmetic_logic.cc
//
// Integers wrap modulo their width, integer division truncates toward zero, and dividing an integer by zero is an
// Error. Covered by tests/ops/arithmetic_test.cc and tests/conformance.
#include "ops/arithmetic.h"

#include <cmath>

#include "ops/number.h"

namespace narthex {

Result<Dims> same_type_broadcast(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype()) {
    return fail(ErrorCode::kBadModel, "inputs have types {} and {}, expected one type", dtype_name(a.dtype()),
                dtype_name(b.dtype()));
  }
  return broadcast_dims(a.dims(), b.dims());
}

namespace {

struct Add {
  template <class T>
  static T of(T a, T b) {
    if constexpr (std::is_integral_v<T>) return wrapped<T>(bits_of(a) + bits_of(b));
    return static_cast<T>(static_cast<Compute<T>>(a) + static_cast<Compute<T>>(b));
  }
};
struct Sub {
  template <class T>
  static T of(T a, T b) {
    if constexpr (std::is_integral_v<T>) return wrapped<T>(bits_of(a) - bits_of(b));
    return static_cast<T>(static_cast<Compute<T>>(a) - static_cast<Compute<T>>(b));
  }
};
struct Mul {
  template <class T>
  static T of(T a, T b) {
    if constexpr (std::is_integral_v<T>) return wrapped<T>(bits_of(a) * bits_of(b));
    return static_cast<T>(static_cast<Compute<T>>(a) * static_cast<Compute<T>>(b));
  }
};
struct Div {
  template <class T>
  static Result<T> of(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      if (b == T{0}) return fail(ErrorCode::kBadInput, "divides an integer by zero");
      if constexpr (std::is_signed_v<T>) {
        if (b == T{-1}) return wrapped<T>(0 - bits_of(a));  // the smallest integer has no positive twin
      }
      return static_cast<T>(a / b);
    } else {
      return static_cast<T>(static_cast<Compute<T>>(a) / static_cast<Compute<T>>(b));
    }
  }
};
// The remainder with the sign of the divisor.
struct FloorMod {
  template <class T>
  static Result<T> of(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      if (b == T{0}) return fail(ErrorCode::kBadInput, "divides an integer by zero");
      if constexpr (std::is_signed_v<T>) {
        if (b == T{-1}) return T{0};
        const T rest = static_cast<T>(a % b);
        return rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
      }
      return static_cast<T>(a % b);
    } else {
      using C = Compute<T>;
      const C y = static_cast<C>(b);
      C rest = std::fmod(static_cast<C>(a), y);
      if (rest == 0) {
        rest = std::copysign(C{0}, y);
      } else if ((rest < 0) != (y < 0)) {
        rest += y;
      }
      return static_cast<T>(rest);
    }
  }
};
// The remainder with the sign of the dividend.
struct TruncMod {
  template <class T>
  static Result<T> of(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      if (b == T{0}) return fail(ErrorCode::kBadInput, "divides an integer by zero");
      if constexpr (std::is_signed_v<T>) {
        if (b == T{-1}) return T{0};
      }
      return static_cast<T>(a % b);
    } else {
      return static_cast<T>(std::fmod(static_cast<Compute<T>>(a), static_cast<Compute<T>>(b)));
    }
  }
};
// NaN if either is NaN, as numpy and ONNX Runtime.
struct Min {
  template <class T>
  static T of(T a, T b) {
    const auto x = static_cast<Compute<T>>(a);
    const auto y = static_cast<Compute<T>>(b);
    return x < y || x != x ? a : b;
  }
};
struct Max {
  template <class T>
  static T of(T a, T b) {
    const auto x = static_cast<Compute<T>>(a);
    const auto y = static_cast<Compute<T>>(b);
    return x > y || x != x ? a : b;
  }
};

template <class F>
Result<Tensor> combine(const Tensor& a, const Tensor& b, std::uint64_t max_bytes) {
  NX_TRY(Dims dims, same_type_broadcast(a, b));
  NX_TRY(Tensor y, Tensor::allocate(a.dtype(), std::move(dims), max_bytes));
  NX_TRY_VOID(dispatch_numeric(a.dtype(), [&]<class T>() { return zip<T, T, T>(a, b, y, F::template of<T>); }));
  return y;
}

template <class F>
Result<void> eval_binary(const Node&, EvalContext& c) {
  NX_TRY(Tensor y, combine<F>(c.input(0), c.input(1), c.max_bytes()));
  c.set(0, std::move(y));
  return {};
}

Result<void> eval_mod(const Node& node, EvalContext& c) {
  NX_TRY(const std::int64_t fmod, node.int_attr("fmod", 0));
  return fmod != 0 ? eval_binary<TruncMod>(node, c) : eval_binary<FloorMod>(node, c);
}

// Left to right over any number of inputs.
template <class F>
Result<Tensor> fold(const EvalContext& c) {
  Tensor y;
  for (std::size_t i = 0; i < c.n_inputs(); ++i) {
    if (!c.has(i)) return fail(ErrorCode::kBadModel, "input {} is missing", i);
    if (i == 0) {
      y = c.input(0);
    } else {
      NX_TRY(y, combine<F>(y, c.input(i), c.max_bytes()));
    }
  }
  return y;
}

template <class F>
Result<void> eval_variadic(const Node&, EvalContext& c) {
  NX_TRY(Tensor y, fold<F>(c));
  c.set(0, std::move(y));
  return {};
}

Result<void> eval_mean(const Node&, EvalContext& c) {
  NX_TRY(const Tensor sum, fold<Add>(c));
  NX_TRY(Tensor * y, c.allocate(0, sum.dtype(), sum.dims()));
  return dispatch_float(sum.dtype(), [&]<class T>() -> Result<void> {
    const std::span<const T> from = sum.as<T>();
    const std::span<T> to = y->as_mutable<T>();
    const auto n = static_cast<Compute<T>>(c.n_inputs());
    for (std::size_t i = 0; i < from.size(); ++i) to[i] = static_cast<T>(static_cast<Compute<T>>(from[i]) / n);
    return {};
  });
}

// Of an integer base to a non-negative integer exponent: exact, modulo the width.
template <class T>
T integer_power(T base, std::uint64_t exponent) {
  std::uint64_t result = 1;
  for (std::uint64_t square = bits_of(base); exponent > 0; exponent >>= 1, square *= square) {
    if ((exponent & 1) != 0) result *= square;
  }
  return wrapped<T>(result);
}

struct Pow {
  template <class T, class E>
  static T of(T a, E b) {
    if constexpr (std::is_integral_v<T> && std::is_integral_v<E>) {
      if (b >= E{0}) return integer_power(a, bits_of(b));
    }
    const double base = static_cast<double>(static_cast<Compute<T>>(a));
    const double y = std::pow(base, static_cast<double>(static_cast<Compute<E>>(b)));
    if constexpr (std::is_integral_v<T>) {
      return truncate<T>(y);
    } else {
      return static_cast<T>(static_cast<Compute<T>>(y));
    }
  }
};

// The exponent may have another type than the base, whose type the output has.
Result<void> eval_pow(const Node&, EvalContext& c) {
  const Tensor& a = c.input(0);
  const Tensor& b = c.input(1);
  NX_TRY(Dims dims, broadcast_dims(a.dims(), b.dims()));
  NX_TRY(Tensor * y, c.allocate(0, a.dtype(), std::move(dims)));
  return dispatch<std::int32_t, std::int64_t, Half, BFloat16, float, double>(a.dtype(), [&]<class T>() {
    return dispatch_numeric(b.dtype(), [&]<class E>() { return zip<T, E, T>(a, b, *y, Pow::of<T, E>); });
  });
}

}  // namespace

std::span<const OpDef> arithmetic_ops() {
  // Before version 7 operands were broadcast by attributes; no encoder in use is that old, and such nodes are refused.
  using enum ElementOp;
  static constexpr OpDef kOps[] = {
      // name  domain since in  out  normalise infer  eval
      {"Add", kOnnx, 7, 2, 2, 1, 1, nullptr, infer_elements<kAdd>, eval_binary<Add>},
      {"Sub", kOnnx, 7, 2, 2, 1, 1, nullptr, infer_elements<kSub>, eval_binary<Sub>},
      {"Mul", kOnnx, 7, 2, 2, 1, 1, nullptr, infer_elements<kMul>, eval_binary<Mul>},
      {"Div", kOnnx, 7, 2, 2, 1, 1, nullptr, infer_elements<kDiv>, eval_binary<Div>},
      {"Mod", kOnnx, 10, 2, 2, 1, 1, nullptr, infer_elements<kMod>, eval_mod},
      {"Pow", kOnnx, 7, 2, 2, 1, 1, nullptr, infer_broadcast, eval_pow},
      {"Sum", kOnnx, 6, 1, kAny, 1, 1, nullptr, infer_broadcast, eval_variadic<Add>},
      {"Mean", kOnnx, 6, 1, kAny, 1, 1, nullptr, infer_broadcast, eval_mean},
      {"Min", kOnnx, 6, 1, kAny, 1, 1, nullptr, infer_elements<kMin>, eval_variadic<Min>},
      {"Max", kOnnx, 6, 1, kAny, 1, 1, nullptr, infer_elements<kMax>, eval_variadic<Max>},
      {"Equal", kOnnx, 7, 2, 2, 1, 1, nullptr, infer_elements<kEqual>, eval_equal},
      {"Greater", kOnnx, 7, 2, 2, 1, 1, nullptr, infer_elements<kGreater>, eval_greater},
      {"GreaterOrEqual", kOnnx, 12, 2, 2, 1, 1, nullptr, infer_elements<kGreaterOrEqual>, eval_greater_or_equal},
      {"Less", kOnnx, 7, 2, 2, 1, 1, nullptr, infer_elements<kLess>, eval_less},
      {"LessOrEqual", kOnnx, 12, 2, 2, 1, 1, nullptr, infer_elements<kLessOrEqual>, eval_less_or_equal},
      {"And", kOnnx, 7, 2, 2, 1, 1, nullptr, infer_elements<kAnd>, eval_and},
      {"Or", kOnnx, 7, 2, 2, 1, 1, nullptr, infer_elements<kOr>, eval_or},
      {"Xor", kOnnx, 7, 2, 2, 1, 1, nullptr, infer_elements<kXor>, eval_xor},
      {"BitwiseAnd", kOnnx, 18, 2, 2, 1, 1, nullptr, infer_broadcast, eval_bitwise_and},
      {"BitwiseOr", kOnnx, 18, 2, 2, 1, 1, nullptr, infer_broadcast, eval_bitwise_or},
      {"BitwiseXor", kOnnx, 18, 2, 2, 1, 1, nullptr, infer_broadcast, eval_bitwise_xor},
      {"BitShift", kOnnx, 11, 2, 2, 1, 1, nullptr, infer_broadcast, eval_bit_shift},
      {"Where", kOnnx, 9, 3, 3, 1, 1, nullptr, infer_where, eval_where},
  };
  return kOps;
}

}  // namespace narthex
