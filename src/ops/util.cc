#include "ops/util.h"

#include <algorithm>

namespace narthex {

Result<std::int64_t> normalize_axis(std::int64_t axis, std::int64_t rank) {
  if (axis < -rank || axis >= rank) {
    return fail(ErrorCode::kBadModel, "axis {} is out of range for rank {}", axis, rank);
  }
  return axis < 0 ? axis + rank : axis;
}

Result<std::vector<std::int64_t>> normalize_axes(std::vector<std::int64_t> axes, std::int64_t rank) {
  for (std::int64_t& axis : axes) {
    NX_TRY(axis, normalize_axis(axis, rank));
  }
  std::ranges::sort(axes);
  if (std::ranges::adjacent_find(axes) != axes.end()) {
    return fail(ErrorCode::kBadModel, "axes {} name one dimension twice", dims_string(axes));
  }
  return axes;
}

Result<std::vector<std::int64_t>> ints_of(const Tensor& tensor, std::string_view what) {
  if (tensor.dtype() == DType::kInt64) {
    const auto values = tensor.as<std::int64_t>();
    return std::vector<std::int64_t>(values.begin(), values.end());
  }
  if (tensor.dtype() == DType::kInt32) {
    const auto values = tensor.as<std::int32_t>();
    return std::vector<std::int64_t>(values.begin(), values.end());
  }
  return fail(ErrorCode::kBadModel, "{} must be int32 or int64, but is {}", what, dtype_name(tensor.dtype()));
}

Result<double> scalar_of(const Tensor& tensor, std::string_view what) {
  if (tensor.count() != 1) {
    return fail(ErrorCode::kBadModel, "{} must have one element, but has shape {}", what, dims_string(tensor.dims()));
  }
  double value = 0;
  if (tensor.dtype() == DType::kBool) return tensor.as<bool>()[0] ? 1.0 : 0.0;
  NX_TRY_VOID(dispatch_numeric(tensor.dtype(), [&]<class T>() -> Result<void> {
    value = static_cast<double>(static_cast<Compute<T>>(tensor.as<T>()[0]));
    return {};
  }));
  return value;
}

Result<Dims> broadcast_dims(const Dims& a, const Dims& b) {
  Dims out(std::max(a.size(), b.size()));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) {
      return fail(ErrorCode::kBadModel, "shapes {} and {} do not broadcast together", dims_string(a), dims_string(b));
    }
    out[out.size() - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

Shape broadcast_shapes(const Shape& a, const Shape& b) {
  Shape out(std::max(a.size(), b.size()));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Dim x = i < a.size() ? a[a.size() - 1 - i] : Dim(1);
    const Dim y = i < b.size() ? b[b.size() - 1 - i] : Dim(1);
    Dim& z = out[out.size() - 1 - i];
    if (x == y || y == Dim(1)) {
      z = x;
    } else if (x == Dim(1)) {
      z = y;
    } else if (x.is_constant() || y.is_constant()) {
      z = x.is_constant() ? x : y;  // a constant over 1 decides, whatever the other is
    } else if (Dim::always_at_least(x, Dim(1)) == true && Dim::always_at_least(y, Dim(1)) == true) {
      z = Dim::max(x, y);  // in a valid run they are equal, or one of them is 1
    } else {
      z = Dim::unknown();
    }
  }
  return out;
}

std::vector<std::int64_t> contiguous_strides(const Dims& dims) {
  std::vector<std::int64_t> strides(dims.size(), 1);
  for (std::size_t i = dims.size(); i-- > 1;) {
    // Without elements the other dims may be anything: their product wraps, and nothing is read with it.
    strides[i - 1] =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(strides[i]) * static_cast<std::uint64_t>(dims[i]));
  }
  return strides;
}

std::vector<std::int64_t> broadcast_strides(const Dims& dims, const Dims& out_dims) {
  const std::vector<std::int64_t> own = contiguous_strides(dims);
  std::vector<std::int64_t> strides(out_dims.size(), 0);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const std::size_t out = out_dims.size() - dims.size() + i;
    strides[out] = dims[i] == 1 ? 0 : own[i];
  }
  return strides;
}

Result<void> infer_like_first(InferContext& context) {
  const Shape* shape = context.shape(0);
  context.set(0, context.dtype(0), shape != nullptr ? std::optional(*shape) : std::nullopt);
  return {};
}

namespace {

Result<void> infer_broadcast_as(InferContext& context, DType dtype) {
  Shape shape;
  for (std::size_t i = 0; i < context.n_inputs(); ++i) {
    const Shape* input = context.shape(i);
    if (input == nullptr) {
      context.set(0, dtype, std::nullopt);
      return {};
    }
    shape = broadcast_shapes(shape, *input);
  }
  context.set(0, dtype, shape);
  return {};
}

}  // namespace

Result<void> infer_broadcast(InferContext& context) {
  return infer_broadcast_as(context, context.dtype(0));
}
Result<void> infer_broadcast_bool(InferContext& context) {
  return infer_broadcast_as(context, DType::kBool);
}

Result<void> attribute_to_input(const Node& node, Rewriter& rewriter, std::string_view attribute,
                                std::size_t position) {
  std::vector<ValueId> inputs = node.inputs;
  std::vector<Attribute> attributes;
  for (const Attribute& a : node.attributes) {
    if (a.name != attribute) attributes.push_back(a);
  }
  if (node.find(attribute) != nullptr) {
    NX_TRY(const std::vector<std::int64_t> values, node.ints_attr(attribute));
    inputs.resize(std::max(inputs.size(), position + 1), kNoValue);
    inputs[position] = rewriter.constant(Tensor::vector(values));
  }
  rewriter.emit_many(node.op, std::move(inputs), std::move(attributes), node.outputs);
  return {};
}

}  // namespace narthex
