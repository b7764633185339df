// Activations with attributes, Clip, and the gated forms, which become Sigmoid and Mul.
//
// Rows are in elementwise.cc. Formulas are those of the ONNX operator pages, computed in float64 and rounded once.
// Covered by tests/ops/elementwise_test.cc and tests/conformance.
#include <cmath>
#include <limits>
#include <numbers>

#include "ops/elementwise.h"
#include "ops/number.h"

namespace narthex {

Result<void> eval_leaky_relu(const Node& node, EvalContext& c) {
  NX_TRY(const double alpha, node.float_attr("alpha", 0.01F));
  return map_float(c, [=](double x) { return x < 0 ? alpha * x : x; });
}

Result<void> eval_elu(const Node& node, EvalContext& c) {
  NX_TRY(const double alpha, node.float_attr("alpha", 1.0F));
  return map_float(c, [=](double x) { return x < 0 ? alpha * std::expm1(x) : x; });
}

Result<void> eval_selu(const Node& node, EvalContext& c) {
  NX_TRY(const double alpha, node.float_attr("alpha", 1.67326319217681884765625F));
  NX_TRY(const double gamma, node.float_attr("gamma", 1.05070102214813232421875F));
  return map_float(c, [=](double x) { return gamma * (x > 0 ? x : alpha * std::expm1(x)); });
}

Result<void> eval_celu(const Node& node, EvalContext& c) {
  NX_TRY(const double alpha, node.float_attr("alpha", 1.0F));
  return map_float(c, [=](double x) { return x > 0 ? x : alpha * std::expm1(x / alpha); });
}

Result<void> eval_gelu(const Node& node, EvalContext& c) {
  NX_TRY(const std::string approximate, node.string_attr("approximate", "none"));
  if (approximate == "none") {
    return map_float(c, [](double x) { return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2)); });
  }
  if (approximate == "tanh") {
    const double scale = std::sqrt(2 / std::numbers::pi);
    return map_float(c, [=](double x) { return 0.5 * x * (1 + std::tanh(scale * (x + 0.044715 * x * x * x))); });
  }
  return fail(ErrorCode::kBadModel, "attribute 'approximate' must be 'none' or 'tanh', but is '{}'", approximate);
}

Result<void> eval_hard_sigmoid(const Node& node, EvalContext& c) {
  NX_TRY(const double alpha, node.float_attr("alpha", 0.2F));
  NX_TRY(const double beta, node.float_attr("beta", 0.5F));
  return map_float(c, [=](double x) {
    const double y = alpha * x + beta;
    return y < 0 ? 0 : y > 1 ? 1 : y;  // a NaN passes
  });
}

Result<void> eval_thresholded_relu(const Node& node, EvalContext& c) {
  NX_TRY(const double alpha, node.float_attr("alpha", 1.0F));
  return map_float(c, [=](double x) { return x > alpha || std::isnan(x) ? x : 0.0; });
}

// y = x < 0 ? slope · x : x, with the slope broadcast to x (not the other way). Integers wrap.
Result<void> eval_prelu(const Node&, EvalContext& c) {
  const Tensor& x = c.input(0);
  const Tensor& slope = c.input(1);
  if (slope.dtype() != x.dtype()) {
    return fail(ErrorCode::kBadModel, "inputs have types {} and {}", dtype_name(x.dtype()), dtype_name(slope.dtype()));
  }
  NX_TRY(const Dims dims, broadcast_dims(x.dims(), slope.dims()));
  if (dims != x.dims()) {
    return fail(ErrorCode::kBadModel, "a slope of shape {} does not broadcast to {}", dims_string(slope.dims()),
                dims_string(x.dims()));
  }
  return dispatch_numeric(x.dtype(), [&]<class T>() -> Result<void> {
    StridedWalk<1> walk(dims, {broadcast_strides(slope.dims(), dims)});
    const std::span<const T> slopes = slope.as<T>();
    return map_elements<T>(c, [&](T v) {
      const T s = slopes[static_cast<std::size_t>(walk.offset(0))];
      walk.next();
      if constexpr (std::is_integral_v<T>) {
        return v < T{0} ? static_cast<T>(static_cast<std::uint64_t>(v) * static_cast<std::uint64_t>(s)) : v;
      } else {
        return to_double(v) < 0 ? from_double<T>(to_double(v) * to_double(s)) : v;
      }
    });
  });
}

Result<void> eval_shrink(const Node& node, EvalContext& c) {
  NX_TRY(const double bias, node.float_attr("bias", 0.0F));
  NX_TRY(const double lambda, node.float_attr("lambd", 0.5F));
  return dispatch_numeric(c.input(0).dtype(), [&]<class T>() {
    return map_elements<T>(c, [=](T value) {
      const double x = to_double(value);
      if (!(x < -lambda) && !(x > lambda)) return std::isnan(x) ? value : T{};
      const double y = x < -lambda ? x + bias : x - bias;
      if constexpr (std::is_integral_v<T>) {
        return truncate<T>(y);
      } else {
        return from_double<T>(y);
      }
    });
  });
}

namespace {

// The bound that input i gives, else the largest finite number of T, or the least.
template <class T>
T clip_bound(const EvalContext& c, std::size_t i) {
  using C = Compute<T>;
  if (c.has(i)) return c.input(i).as<T>()[0];
  if constexpr (std::is_same_v<T, Half>) {
    constexpr float kMax = 65504;
    return Half(i == 1 ? -kMax : kMax);
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    const float max = std::ldexp(255.0F, 120);
    return BFloat16(i == 1 ? -max : max);
  } else {
    return i == 1 ? std::numeric_limits<C>::lowest() : std::numeric_limits<C>::max();
  }
}

}  // namespace

// y = min(max(x, low), high): where low > high, the result is high. A NaN passes. An infinity never does: the bounds
// that are not given are the finite limits of the type.
Result<void> eval_clip(const Node&, EvalContext& c) {
  const Tensor& x = c.input(0);
  for (std::size_t i = 1; i <= 2; ++i) {
    if (!c.has(i)) continue;
    if (c.input(i).count() != 1 || c.input(i).dtype() != x.dtype()) {
      return fail(ErrorCode::kBadModel, "input {} must be one {}, but is a {} of shape {}", i, dtype_name(x.dtype()),
                  dtype_name(c.input(i).dtype()), dims_string(c.input(i).dims()));
    }
  }
  return dispatch_numeric(x.dtype(), [&]<class T>() {
    const T low = clip_bound<T>(c, 1);
    const T high = clip_bound<T>(c, 2);
    return map_elements<T>(c, [=](T value) {
      using C = Compute<T>;
      if (static_cast<C>(value) < static_cast<C>(low)) value = low;
      if (static_cast<C>(value) > static_cast<C>(high)) value = high;
      return value;
    });
  });
}

namespace {

// `value` as a constant of the type of `like`, by CastLike where that type is not known yet.
ValueId constant_like(Rewriter& rewriter, float value, ValueId like) {
  switch (rewriter.graph().value(like).dtype) {
    case DType::kFloat32:
      return rewriter.constant(Tensor::scalar(value));
    case DType::kFloat64:
      return rewriter.constant(Tensor::scalar<double>(value));
    case DType::kFloat16:
      return rewriter.constant(Tensor::scalar(Half(value)));
    case DType::kBFloat16:
      return rewriter.constant(Tensor::scalar(BFloat16(value)));
    default:
      return rewriter.emit("CastLike", {rewriter.constant(Tensor::scalar(value)), like});
  }
}

ValueId emit_swish(Rewriter& rewriter, ValueId x, float alpha, ValueId output) {
  ValueId gate = x;
  if (alpha != 1.0F) gate = rewriter.emit("Mul", {x, constant_like(rewriter, alpha, x)});
  return rewriter.emit("Mul", {x, rewriter.emit("Sigmoid", {gate})}, {}, output);
}

}  // namespace

// Before opset 11 the bounds were attributes, and only floating types were allowed.
Result<void> normalise_clip(const Node& node, Rewriter& rewriter) {
  std::vector<ValueId> inputs{node.inputs[0], kNoValue, kNoValue};
  constexpr const char* kBounds[] = {"min", "max"};
  for (std::size_t i = 0; i < 2; ++i) {
    if (node.find(kBounds[i]) == nullptr) continue;
    NX_TRY(const float bound, node.float_attr(kBounds[i], 0));
    inputs[i + 1] = constant_like(rewriter, bound, node.inputs[0]);
  }
  rewriter.emit("Clip", std::move(inputs), {}, node.outputs[0]);
  return {};
}

Result<void> normalise_swish(const Node& node, Rewriter& rewriter) {
  NX_TRY(const float alpha, node.float_attr("alpha", 1.0F));
  emit_swish(rewriter, node.inputs[0], alpha, node.outputs[0]);
  return {};
}

// swish(A) · B
Result<void> normalise_swiglu(const Node& node, Rewriter& rewriter) {
  NX_TRY(const float alpha, node.float_attr("alpha", 1.0F));
  const ValueId gate = emit_swish(rewriter, node.inputs[0], alpha, kNoValue);
  rewriter.emit("Mul", {gate, node.inputs[1]}, {}, node.outputs[0]);
  return {};
}

}  // namespace narthex
