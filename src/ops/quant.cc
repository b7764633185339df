// QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear, and the table of the family.
//
//   quant_ops()   the table; the integer products are in quant_matmul.cc
//
// A scale is one number, one for each index of `axis`, or one for each block of block_size along `axis`. Arithmetic is
// float32 in the order of ONNX Runtime, so that DynamicQuantizeLinear gives its very bytes. Covered by
// tests/ops/quant_test.cc.
#include "ops/quant.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/float8.h"

namespace narthex {

std::optional<QuantRange> quant_range(DType dtype) {
  switch (dtype) {
    case DType::kUint8:
      return QuantRange{0, 255};
    case DType::kInt8:
      return QuantRange{-128, 127};
    case DType::kUint16:
      return QuantRange{0, 65535};
    case DType::kInt16:
      return QuantRange{-32768, 32767};
    case DType::kUint4:
      return QuantRange{0, 15};
    case DType::kInt4:
      return QuantRange{-8, 7};
    case DType::kUint2:
      return QuantRange{0, 3};
    case DType::kInt2:
      return QuantRange{-2, 1};
    default:
      return std::nullopt;
  }
}

double quantised(float value, double zero_point, const QuantRange& range) {
  if (std::isnan(value)) return range.min;
  return std::clamp(static_cast<double>(std::nearbyint(value)) + zero_point, range.min, range.max);
}

namespace {

const SmallFloat* small_float(DType dtype) {
  switch (dtype) {
    case DType::kFloat8E4M3FN:
      return &kFloat8E4M3FN;
    case DType::kFloat8E4M3FNUZ:
      return &kFloat8E4M3FNUZ;
    case DType::kFloat8E5M2:
      return &kFloat8E5M2;
    case DType::kFloat8E5M2FNUZ:
      return &kFloat8E5M2FNUZ;
    case DType::kFloat4E2M1:
      return &kFloat4E2M1;
    default:
      return nullptr;
  }
}

template <class T>
double load_as(const std::byte* data, std::int64_t i) {
  return static_cast<double>(static_cast<Compute<T>>(reinterpret_cast<const T*>(data)[i]));
}
template <const SmallFloat& kFormat>
double load_small(const std::byte* data, std::int64_t i) {
  return static_cast<double>(small_float_value(static_cast<std::uint8_t>(data[i]), kFormat));
}

// Reads element i of any type that may be quantised, or be a scale or zero point.
using Loader = double (*)(const std::byte* data, std::int64_t i);
Result<Loader> loader(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return load_as<float>;
    case DType::kFloat64:
      return load_as<double>;
    case DType::kFloat16:
      return load_as<Half>;
    case DType::kBFloat16:
      return load_as<BFloat16>;
    case DType::kUint8:
    case DType::kUint4:
    case DType::kUint2:
      return load_as<std::uint8_t>;
    case DType::kInt8:
    case DType::kInt4:
    case DType::kInt2:
      return load_as<std::int8_t>;
    case DType::kUint16:
      return load_as<std::uint16_t>;
    case DType::kInt16:
      return load_as<std::int16_t>;
    case DType::kInt32:
      return load_as<std::int32_t>;
    case DType::kFloat8E4M3FN:
      return load_small<kFloat8E4M3FN>;
    case DType::kFloat8E4M3FNUZ:
      return load_small<kFloat8E4M3FNUZ>;
    case DType::kFloat8E5M2:
      return load_small<kFloat8E5M2>;
    case DType::kFloat8E5M2FNUZ:
      return load_small<kFloat8E5M2FNUZ>;
    case DType::kFloat4E2M1:
      return load_small<kFloat4E2M1>;
    case DType::kFloat8E8M0:
      return +[](const std::byte* data, std::int64_t i) {
        return static_cast<double>(e8m0_value(static_cast<std::uint8_t>(data[i])));
      };
    default:
      return fail(ErrorCode::kUnsupported, "does not support elements of type {}", dtype_name(dtype));
  }
}

// Which scale belongs to element i of x.
struct ScaleView {
  bool is_scalar = true;
  std::int64_t size = 1;      // of x along the axis
  std::int64_t inner = 1;     // elements after the axis
  std::int64_t block = 1;     // 0: no blocks, one scale for each index
  std::int64_t n_blocks = 1;  // along the axis

  std::int64_t at(std::int64_t i) const {
    if (is_scalar) return 0;
    const std::int64_t index = i / inner % size;
    if (block == 0) return index;
    return (i / inner / size * n_blocks + index / block) * inner + i % inner;
  }
};

Result<ScaleView> scale_view(const Node& node, const Tensor& x, const Tensor& scale) {
  NX_TRY(std::int64_t axis, node.int_attr("axis", 1));
  NX_TRY(const std::int64_t block, node.int_attr("block_size", 0));
  ScaleView view;
  if (block < 0) return fail(ErrorCode::kBadModel, "block_size must not be negative, but is {}", block);
  if (scale.count() == 1 && scale.rank() < 2) return view;
  NX_TRY(axis, normalize_axis(axis, x.rank()));
  view.is_scalar = false;
  view.block = block;
  view.size = x.dims()[static_cast<std::size_t>(axis)];
  if (x.count() == 0) return view;  // nothing will be asked
  for (std::size_t d = static_cast<std::size_t>(axis) + 1; d < x.dims().size(); ++d) view.inner *= x.dims()[d];
  Dims expected = {view.size};
  if (block > 0) {
    view.n_blocks = (view.size - 1) / block + 1;
    expected = x.dims();
    expected[static_cast<std::size_t>(axis)] = view.n_blocks;
  }
  if (scale.dims() != expected) {
    return fail(ErrorCode::kBadModel, "the scale has shape {}, expected {}", dims_string(scale.dims()),
                dims_string(expected));
  }
  return view;
}

// A scale and its zero point, read element by element.
struct Scales {
  ScaleView view;
  const std::byte* scale = nullptr;
  const std::byte* zero = nullptr;  // nullptr: 0 throughout
  Loader load_scale = nullptr;
  Loader load_zero = nullptr;
  bool one_zero = true;

  float scale_at(std::int64_t i) const { return static_cast<float>(load_scale(scale, view.at(i))); }
  double zero_at(std::int64_t i) const { return zero == nullptr ? 0 : load_zero(zero, one_zero ? 0 : view.at(i)); }
};

Result<Scales> read_scales(const Node& node, const EvalContext& c) {
  Scales s;
  const Tensor& scale = c.input(1);
  NX_TRY(s.view, scale_view(node, c.input(0), scale));
  NX_TRY(s.load_scale, loader(scale.dtype()));
  s.scale = scale.data();
  if (!c.has(2)) return s;
  const Tensor& zero = c.input(2);
  NX_TRY(s.load_zero, loader(zero.dtype()));
  s.zero = zero.data();
  s.one_zero = zero.count() == 1;
  if (!s.one_zero && zero.dims() != scale.dims()) {
    return fail(ErrorCode::kBadModel, "the zero point has shape {}, expected that of the scale, {}",
                dims_string(zero.dims()), dims_string(scale.dims()));
  }
  return s;
}

Result<DType> quantised_dtype(const Node& node, DType zero_point) {
  NX_TRY(const std::int64_t declared, node.int_attr("output_dtype", 0));
  const DType wanted = declared > 0 && declared < 256 ? static_cast<DType>(declared) : DType::kUndefined;
  if (declared != 0 && zero_point != DType::kUndefined && wanted != zero_point) {
    return fail(ErrorCode::kBadModel, "output_dtype is {}, but the zero point is {}", dtype_name(wanted),
                dtype_name(zero_point));
  }
  if (zero_point != DType::kUndefined) return zero_point;
  return declared != 0 ? wanted : DType::kUint8;
}

void store_integer(DType dtype, std::byte* out, std::int64_t i, double value) {
  switch (dtype) {
    case DType::kUint16:
      reinterpret_cast<std::uint16_t*>(out)[i] = static_cast<std::uint16_t>(value);
      break;
    case DType::kInt16:
      reinterpret_cast<std::int16_t*>(out)[i] = static_cast<std::int16_t>(value);
      break;
    case DType::kUint8:
    case DType::kUint4:
    case DType::kUint2:
      reinterpret_cast<std::uint8_t*>(out)[i] = static_cast<std::uint8_t>(value);
      break;
    default:
      reinterpret_cast<std::int8_t*>(out)[i] = static_cast<std::int8_t>(value);
  }
}

Result<void> eval_quantize(const Node& node, EvalContext& c) {
  const Tensor& x = c.input(0);
  NX_TRY(const DType dtype, quantised_dtype(node, c.has(2) ? c.input(2).dtype() : DType::kUndefined));
  NX_TRY(const std::int64_t saturate, node.int_attr("saturate", 1));
  NX_TRY(const std::int64_t precision, node.int_attr("precision", 0));
  NX_TRY(const Scales scales, read_scales(node, c));
  NX_TRY(const Loader load, loader(x.dtype()));
  const std::optional<QuantRange> range = quant_range(dtype);
  const SmallFloat* format = small_float(dtype);
  if (!range && format == nullptr) {
    return fail(ErrorCode::kUnsupported, "cannot quantise to {}", dtype_name(dtype));
  }
  NX_TRY(Tensor * y, c.allocate(0, dtype, x.dims()));
  std::byte* out = y->mutable_data();
  for (std::int64_t i = 0; i < x.count(); ++i) {
    float value = static_cast<float>(load(x.data(), i)) / scales.scale_at(i);
    if (precision == static_cast<std::int64_t>(DType::kFloat16)) value = static_cast<float>(Half(value));
    if (precision == static_cast<std::int64_t>(DType::kBFloat16)) value = static_cast<float>(BFloat16(value));
    if (range) {
      store_integer(dtype, out, i, quantised(value, scales.zero_at(i), *range));
    } else {
      if (dtype == DType::kFloat4E2M1) value += static_cast<float>(scales.zero_at(i));
      out[i] = static_cast<std::byte>(small_float_bits(value, *format, saturate != 0));
    }
  }
  return {};
}

Result<void> infer_quantize(InferContext& context) {
  const Shape* x = context.shape(0);
  DType dtype = DType::kUndefined;  // an undecided zero point decides later
  if (!context.has(2) || context.dtype(2) != DType::kUndefined) {
    NX_TRY(dtype, quantised_dtype(context.node(), context.dtype(2)));
  }
  context.set(0, dtype, x != nullptr ? std::optional(*x) : std::nullopt);
  return {};
}

Result<DType> dequantised_dtype(const Node& node, DType scale) {
  NX_TRY(const std::int64_t declared, node.int_attr("output_dtype", 0));
  if (declared == 0) return scale;
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16, DType::kFloat64}) {
    if (declared == static_cast<std::int64_t>(dtype)) return dtype;
  }
  return fail(ErrorCode::kUnsupported, "output_dtype {} is not a floating-point type", declared);
}

Result<void> eval_dequantize(const Node& node, EvalContext& c) {
  const Tensor& x = c.input(0);
  if (c.has(2) && c.input(2).dtype() != x.dtype()) {
    return fail(ErrorCode::kBadModel, "the input is {}, but its zero point is {}", dtype_name(x.dtype()),
                dtype_name(c.input(2).dtype()));
  }
  NX_TRY(const DType dtype, dequantised_dtype(node, c.input(1).dtype()));
  NX_TRY(const Scales scales, read_scales(node, c));
  NX_TRY(const Loader load, loader(x.dtype()));
  NX_TRY(Tensor * y, c.allocate(0, dtype, x.dims()));
  return dispatch_float(dtype, [&]<class T>() -> Result<void> {
    T* out = y->as_mutable<T>().data();
    for (std::int64_t i = 0; i < x.count(); ++i) {
      const auto difference = static_cast<float>(load(x.data(), i) - scales.zero_at(i));
      out[i] = static_cast<T>(static_cast<Compute<T>>(difference * scales.scale_at(i)));
    }
    return {};
  });
}

Result<void> infer_dequantize(InferContext& context) {
  const Shape* x = context.shape(0);
  NX_TRY(const DType dtype, dequantised_dtype(context.node(), context.dtype(1)));
  context.set(0, dtype, x != nullptr ? std::optional(*x) : std::nullopt);
  return {};
}

// ONNX Runtime's arithmetic, in float32 and in its order: the range is widened to hold 0, scale = (max − min) / 255,
// zero point = round(clamp(0 − min / scale)), y = clamp(round(x / scale) + zero point).
Result<void> eval_dynamic_quantize(const Node&, EvalContext& c) {
  const Tensor& x = c.input(0);
  if (x.dtype() != DType::kFloat32) {
    return fail(ErrorCode::kUnsupported, "does not support elements of type {}", dtype_name(x.dtype()));
  }
  const std::span<const float> in = x.as<float>();
  float min = 0;
  float max = 0;
  for (const float value : in) {
    min = std::min(min, value);
    max = std::max(max, value);
  }
  const QuantRange range{0, 255};
  const float scale = max == min ? 1.0f : (max - min) / 255.0f;
  const double zero_point = quantised(0.0f - min / scale, 0, range);
  NX_TRY(Tensor * y, c.allocate(0, DType::kUint8, x.dims()));
  const std::span<std::uint8_t> out = y->as_mutable<std::uint8_t>();
  for (std::size_t i = 0; i < in.size(); ++i) {
    out[i] = static_cast<std::uint8_t>(quantised(in[i] / scale, zero_point, range));
  }
  c.set(1, Tensor::scalar(scale));
  c.set(2, Tensor::scalar(static_cast<std::uint8_t>(zero_point)));
  return {};
}

Result<void> infer_dynamic_quantize(InferContext& context) {
  const Shape* x = context.shape(0);
  context.set(0, DType::kUint8, x != nullptr ? std::optional(*x) : std::nullopt);
  context.set(1, DType::kFloat32, Shape{});
  context.set(2, DType::kUint8, Shape{});
  return {};
}

constexpr OpDef kQuantOps[] = {
    // name, domain, since, inputs, outputs, normalise, infer, eval
    {"QuantizeLinear", kOnnx, 10, 2, 3, 1, 1, nullptr, infer_quantize, eval_quantize},
    {"DequantizeLinear", kOnnx, 10, 2, 3, 1, 1, nullptr, infer_dequantize, eval_dequantize},
    {"DynamicQuantizeLinear", kOnnx, 11, 1, 1, 3, 3, nullptr, infer_dynamic_quantize, eval_dynamic_quantize},
    {"MatMulInteger", kOnnx, 10, 2, 4, 1, 1, nullptr, infer_matmul_integer, eval_matmul_integer},
    {"QLinearMatMul", kOnnx, 10, 8, 8, 1, 1, nullptr, infer_qlinear_matmul, eval_qlinear_matmul},
};

}  // namespace

std::span<const OpDef> quant_ops() {
  return kQuantOps;
}

}  // namespace narthex
