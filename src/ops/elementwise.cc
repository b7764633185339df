// Unary operators: y[i] = f(x[i]). Floating types are computed in float64 and rounded once.
//
//   elementwise_ops()   the rows of the family; activations with attributes are in elementwise_activation.cc
//
// Covered by tests/ops/elementwise_test.cc and tests/conformance.
#include "ops/elementwise.h"

#include <cmath>

namespace narthex {
namespace {

using Function = double (*)(double);

template <Function kF>
Result<void> eval_float(const Node&, EvalContext& c) {
  return map_float(c, kF);
}

double sigmoid(double x) {
  // Both branches keep exp's argument ≤ 0: no overflow, and full precision at both ends.
  return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
}
double softplus(double x) {
  return std::fmax(x, 0.0) + std::log1p(std::exp(-std::fabs(x)));
}
double mish(double x) {
  return x * std::tanh(std::isnan(x) ? x : softplus(x));
}
double softplus_or_nan(double x) {
  return std::isnan(x) ? x : softplus(x);
}
double hard_swish(double x) {
  // A NaN fails both comparisons and passes through.
  double gate = x / 6 + 0.5;
  if (gate < 0) gate = 0;
  if (gate > 1) gate = 1;
  return x * gate;
}
double softsign(double x) {
  return x / (1 + std::fabs(x));
}
double reciprocal(double x) {
  return 1 / x;
}

// Wraps like the machine: the smallest integer is its own negative.
template <class T>
T negative(T x) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(std::uint64_t{0} - static_cast<std::uint64_t>(x));
  } else {
    return static_cast<T>(-static_cast<Compute<T>>(x));
  }
}

struct Abs {
  template <class T>
  static T of(T x) {
    if constexpr (std::is_integral_v<T>) return x < T{0} ? negative(x) : x;
    return from_double<T>(std::fabs(to_double(x)));
  }
};
struct Neg {
  template <class T>
  static T of(T x) {
    return negative(x);
  }
};
struct Sign {
  template <class T>
  static T of(T x) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>((x > T{0}) - (x < T{0}));
    } else {
      const double v = to_double(x);
      return std::isnan(v) ? x : from_double<T>((v > 0) - (v < 0));
    }
  }
};
struct Relu {
  template <class T>
  static T of(T x) {
    return static_cast<Compute<T>>(x) < Compute<T>{0} ? T{} : x;
  }
};

template <class F>
Result<void> eval_numeric(const Node&, EvalContext& c) {
  return dispatch_numeric(c.input(0).dtype(), [&]<class T>() { return map_elements<T>(c, F::template of<T>); });
}

template <class T, class F>
Result<void> test_elements(EvalContext& c, F f) {
  const Tensor& x = c.input(0);
  NX_TRY(Tensor * y, c.allocate(0, DType::kBool, x.dims()));
  const std::span<const T> from = x.as<T>();
  const std::span<bool> to = y->as_mutable<bool>();
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = f(to_double(from[i]));
  return {};
}

Result<void> eval_is_nan(const Node&, EvalContext& c) {
  return dispatch_float(c.input(0).dtype(),
                        [&]<class T>() { return test_elements<T>(c, [](double x) { return std::isnan(x); }); });
}

Result<void> eval_is_inf(const Node& node, EvalContext& c) {
  NX_TRY(const std::int64_t negative_too, node.int_attr("detect_negative", 1));
  NX_TRY(const std::int64_t positive_too, node.int_attr("detect_positive", 1));
  return dispatch_float(c.input(0).dtype(), [&]<class T>() {
    return test_elements<T>(c,
                            [=](double x) { return std::isinf(x) && (x > 0 ? positive_too != 0 : negative_too != 0); });
  });
}

Result<void> eval_not(const Node&, EvalContext& c) {
  return dispatch<bool>(c.input(0).dtype(), [&]<class T>() { return map_elements<T>(c, [](T x) { return !x; }); });
}

Result<void> eval_bitwise_not(const Node&, EvalContext& c) {
  return dispatch_integer(c.input(0).dtype(),
                          [&]<class T>() { return map_elements<T>(c, [](T x) { return static_cast<T>(~x); }); });
}

Result<void> infer_bool_like_first(InferContext& c) {
  const Shape* shape = c.shape(0);
  c.set(0, DType::kBool, shape != nullptr ? std::optional(*shape) : std::nullopt);
  return {};
}

Result<void> infer_not(InferContext& c) {
  NX_TRY_VOID(infer_bool_like_first(c));
  if (auto content = c.content(0)) {
    for (Dim& x : *content) x = Dim(1) - x;
    c.set_content(0, *std::move(content));
  }
  return {};
}

Result<void> infer_neg(InferContext& c) {
  NX_TRY_VOID(infer_like_first(c));
  if (auto content = c.content(0)) {
    for (Dim& x : *content) x = Dim(0) - x;
    c.set_content(0, *std::move(content));
  }
  return {};
}

// Abs and Relu of what is known not to be negative change nothing.
Result<void> infer_identity_if_not_negative(InferContext& c) {
  NX_TRY_VOID(infer_like_first(c));
  auto content = c.content(0);
  if (!content) return {};
  for (const Dim& x : *content) {
    if (Dim::always_at_least(x, Dim(0)) != true) return {};
  }
  c.set_content(0, *std::move(content));
  return {};
}

}  // namespace

#define NX_UNARY(name, since, function) \
  {name, kOnnx, since, 1, 1, 1, 1, nullptr, infer_like_first, eval_float<function>}

std::span<const OpDef> elementwise_ops() {
  // Versions below the one in which an operator lost its legacy `consumed_inputs` attribute mean the same.
  static constexpr OpDef kOps[] = {
      // name         domain since in  out  normalise infer  eval
      NX_UNARY("Sqrt", 1, std::sqrt),
      NX_UNARY("Exp", 1, std::exp),
      NX_UNARY("Log", 1, std::log),
      NX_UNARY("Erf", 9, std::erf),
      NX_UNARY("Sin", 7, std::sin),
      NX_UNARY("Cos", 7, std::cos),
      NX_UNARY("Tan", 7, std::tan),
      NX_UNARY("Asin", 7, std::asin),
      NX_UNARY("Acos", 7, std::acos),
      NX_UNARY("Atan", 7, std::atan),
      NX_UNARY("Sinh", 9, std::sinh),
      NX_UNARY("Cosh", 9, std::cosh),
      NX_UNARY("Asinh", 9, std::asinh),
      NX_UNARY("Acosh", 9, std::acosh),
      NX_UNARY("Atanh", 9, std::atanh),
      NX_UNARY("Tanh", 1, std::tanh),
      NX_UNARY("Floor", 1, std::floor),
      NX_UNARY("Ceil", 1, std::ceil),
      NX_UNARY("Round", 11, std::nearbyint),  // the default rounding mode: halves to even
      NX_UNARY("Reciprocal", 1, reciprocal),
      NX_UNARY("Sigmoid", 1, sigmoid),
      NX_UNARY("Softplus", 1, softplus_or_nan),
      NX_UNARY("Softsign", 1, softsign),
      NX_UNARY("HardSwish", 14, hard_swish),
      NX_UNARY("Mish", 18, mish),
      {"Abs", kOnnx, 1, 1, 1, 1, 1, nullptr, infer_identity_if_not_negative, eval_numeric<Abs>},
      {"Neg", kOnnx, 1, 1, 1, 1, 1, nullptr, infer_neg, eval_numeric<Neg>},
      {"Sign", kOnnx, 9, 1, 1, 1, 1, nullptr, infer_like_first, eval_numeric<Sign>},
      {"Relu", kOnnx, 1, 1, 1, 1, 1, nullptr, infer_identity_if_not_negative, eval_numeric<Relu>},
      {"Not", kOnnx, 1, 1, 1, 1, 1, nullptr, infer_not, eval_not},
      {"BitwiseNot", kOnnx, 18, 1, 1, 1, 1, nullptr, infer_like_first, eval_bitwise_not},
      {"IsNaN", kOnnx, 9, 1, 1, 1, 1, nullptr, infer_bool_like_first, eval_is_nan},
      {"IsInf", kOnnx, 10, 1, 1, 1, 1, nullptr, infer_bool_like_first, eval_is_inf},
      {"LeakyRelu", kOnnx, 1, 1, 1, 1, 1, nullptr, infer_like_first, eval_leaky_relu},
      {"Elu", kOnnx, 1, 1, 1, 1, 1, nullptr, infer_like_first, eval_elu},
      {"Selu", kOnnx, 6, 1, 1, 1, 1, nullptr, infer_like_first, eval_selu},  // other defaults before 6
      {"Celu", kOnnx, 12, 1, 1, 1, 1, nullptr, infer_like_first, eval_celu},
      {"Gelu", kOnnx, 20, 1, 1, 1, 1, nullptr, infer_like_first, eval_gelu},
      {"HardSigmoid", kOnnx, 1, 1, 1, 1, 1, nullptr, infer_like_first, eval_hard_sigmoid},
      {"ThresholdedRelu", kOnnx, 10, 1, 1, 1, 1, nullptr, infer_like_first, eval_thresholded_relu},
      {"PRelu", kOnnx, 7, 2, 2, 1, 1, nullptr, infer_like_first, eval_prelu},
      {"Shrink", kOnnx, 9, 1, 1, 1, 1, nullptr, infer_like_first, eval_shrink},
      {"Clip", kOnnx, 1, 1, 1, 1, 1, normalise_clip, nullptr, nullptr},
      {"Clip", kOnnx, 11, 1, 3, 1, 1, nullptr, infer_like_first, eval_clip},
      {"Swish", kOnnx, 24, 1, 1, 1, 1, normalise_swish, nullptr, nullptr},
      {"SwiGLU", kOnnx, 28, 2, 2, 1, 1, normalise_swiglu, nullptr, nullptr},
  };
  return kOps;
}

#undef NX_UNARY

}  // namespace narthex
