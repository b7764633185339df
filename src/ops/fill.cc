// Operators that make a tensor from numbers: ConstantOfShape, Range, EyeLike, OneHot.
//
// Covered by tests/ops/fill_test.cc.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/movement.h"

namespace narthex {
namespace {

// The one-element tensor that ConstantOfShape repeats: float 0 when there is no attribute.
Result<Tensor> fill_value(const Node& node) {
  const AttributeValue* attribute = node.find("value");
  if (attribute == nullptr) return Tensor::scalar(0.0F);
  const Tensor* tensor = std::get_if<Tensor>(attribute);
  if (tensor == nullptr || tensor->count() != 1) {
    return fail(ErrorCode::kBadModel, "attribute 'value' must be a tensor of one element");
  }
  return *tensor;
}

Result<void> eval_constant_of_shape(const Node& node, EvalContext& c) {
  NX_TRY(const Tensor value, fill_value(node));
  NX_TRY(Dims dims, ints_of(c.input(0), "the shape"));
  NX_TRY(Tensor * out, c.allocate(0, value.dtype(), std::move(dims)));
  const Copier copy(value, *out);
  for (std::int64_t i = 0; i < out->count(); ++i) copy(i, 0);
  return {};
}

Result<void> infer_constant_of_shape(InferContext& c) {
  NX_TRY(const Tensor value, fill_value(c.node()));
  const auto content = c.content(0);
  const auto rank = length_of(c, 0);
  std::optional<Shape> shape;
  if (content) {
    shape = *content;
  } else if (rank) {
    shape = unknown_shape(*rank);
  }
  c.set(0, value.dtype(), shape);
  const auto dims = shape ? constant_dims(&*shape) : std::nullopt;
  const auto count = dims ? checked_count(*dims) : fail(ErrorCode::kLimit, "not known");
  if (!count || *count > kMaxContent) return {};
  if (value.dtype() == DType::kBool) {
    c.set_content(0, std::vector<Dim>(static_cast<std::size_t>(*count), Dim(value.as<bool>()[0] ? 1 : 0)));
  } else if (const auto number = ints_of(value, "value")) {
    c.set_content(0, std::vector<Dim>(static_cast<std::size_t>(*count), Dim((*number)[0])));
  }
  return {};
}

// max(ceil((limit − start) / delta), 0) of floats, in float64.
Result<std::int64_t> float_range_count(double start, double limit, double delta) {
  const double count = std::ceil((limit - start) / delta);
  if (std::isnan(count) || count > static_cast<double>(std::int64_t{1} << 53)) {
    return fail(ErrorCode::kBadModel, "a range from {} to {} in steps of {} has no end", start, limit, delta);
  }
  return count > 0 ? static_cast<std::int64_t>(count) : 0;
}

Result<std::int64_t> integer_range_count(std::int64_t start, std::int64_t limit, std::int64_t delta) {
  if (delta == 0) return fail(ErrorCode::kBadModel, "a range in steps of 0 has no end");
  if (delta > 0 ? start >= limit : start <= limit) return 0;
  // Unsigned distances cannot overflow.
  const auto distance = delta > 0 ? static_cast<std::uint64_t>(limit) - static_cast<std::uint64_t>(start)
                                  : static_cast<std::uint64_t>(start) - static_cast<std::uint64_t>(limit);
  const std::uint64_t step = delta > 0 ? static_cast<std::uint64_t>(delta) : 0 - static_cast<std::uint64_t>(delta);
  const std::uint64_t count = (distance - 1) / step + 1;
  if (count > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return fail(ErrorCode::kLimit, "a range of {} elements is too large", count);
  }
  return static_cast<std::int64_t>(count);
}

Result<void> eval_range(const Node&, EvalContext& c) {
  const DType dtype = c.input(0).dtype();
  for (std::size_t i = 0; i < 3; ++i) {
    if (c.input(i).dtype() != dtype || c.input(i).count() != 1) {
      return fail(ErrorCode::kBadModel, "start, limit and delta must be scalars of one type");
    }
  }
  return dispatch_numeric(dtype, [&]<class T>() -> Result<void> {
    const auto at = [&](std::size_t i) { return static_cast<Compute<T>>(c.input(i).as<T>()[0]); };
    std::int64_t count = 0;
    if constexpr (std::is_integral_v<T>) {
      NX_TRY(count, integer_range_count(static_cast<std::int64_t>(at(0)), static_cast<std::int64_t>(at(1)),
                                        static_cast<std::int64_t>(at(2))));
    } else {
      NX_TRY(count, float_range_count(at(0), at(1), at(2)));
    }
    NX_TRY(Tensor * out, c.allocate(0, dtype, {count}));
    const auto elements = out->as_mutable<T>();
    for (std::size_t i = 0; i < elements.size(); ++i) {
      if constexpr (std::is_integral_v<T>) {
        elements[i] = static_cast<T>(static_cast<std::uint64_t>(at(0)) + i * static_cast<std::uint64_t>(at(2)));
      } else {
        elements[i] = static_cast<T>(static_cast<Compute<T>>(at(0) + static_cast<Compute<T>>(i) * at(2)));
      }
    }
    return {};
  });
}

Result<void> infer_range(InferContext& c) {
  c.set(0, c.dtype(0), Shape{Dim::unknown()});
  const auto start = c.content(0);
  const auto limit = c.content(1);
  const auto delta = c.content(2);
  if (start && limit && delta && start->size() == 1 && limit->size() == 1 && delta->size() == 1) {
    const auto step = (*delta)[0].constant();
    if (!step || *step == 0) return {};
    // ceil(x / d) = −floor(−x / d)
    const Dim count = Dim(0) - Dim::floor_div((*start)[0] - (*limit)[0], Dim(*step));
    const Dim length = Dim::max(count, Dim(0));
    c.set(0, c.dtype(0), Shape{length});
    const auto n = length.constant();
    if (!n || *n > kMaxContent) return {};
    std::vector<Dim> content;
    for (std::int64_t i = 0; i < *n; ++i) content.push_back((*start)[0] + Dim(i) * Dim(*step));
    c.set_content(0, std::move(content));
    return {};
  }
  std::array<double, 3> numbers{};
  for (std::size_t i = 0; i < 3; ++i) {
    const Tensor* tensor = c.constant(i);
    const auto number = tensor != nullptr ? scalar_of(*tensor, "input") : fail(ErrorCode::kBadModel, "not known");
    if (!number || tensor->dtype() == DType::kInt64 || tensor->dtype() == DType::kUint64) return {};
    numbers[i] = *number;
  }
  if (const auto n = float_range_count(numbers[0], numbers[1], numbers[2])) c.set(0, c.dtype(0), Shape{Dim(*n)});
  return {};
}

Result<DType> dtype_attribute(const Node& node, DType fallback) {
  NX_TRY(const std::int64_t number, node.int_attr("dtype", static_cast<std::int64_t>(fallback)));
  if (number < 0 || number > 255) return fail(ErrorCode::kBadModel, "attribute 'dtype' {} is not a type", number);
  return static_cast<DType>(number);
}

Result<void> eval_eye_like(const Node& node, EvalContext& c) {
  if (c.input(0).rank() != 2) return fail(ErrorCode::kBadModel, "needs a matrix, but has rank {}", c.input(0).rank());
  NX_TRY(const DType dtype, dtype_attribute(node, c.input(0).dtype()));
  NX_TRY(const std::int64_t k, node.int_attr("k", 0));
  return dispatch<float, double, Half, BFloat16, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t,
                  std::uint32_t, std::int64_t, std::uint64_t, bool>(dtype, [&]<class T>() -> Result<void> {
    NX_TRY(Tensor * out, c.allocate(0, dtype, c.input(0).dims()));
    const std::int64_t n_columns = out->dims()[1];
    const auto elements = out->as_mutable<T>();
    std::ranges::fill(elements, static_cast<T>(static_cast<Compute<T>>(0)));
    for (std::int64_t row = 0; row < (out->count() > 0 ? out->dims()[0] : 0); ++row) {
      if (k < -row || k >= n_columns - row) continue;
      elements[static_cast<std::size_t>(row * n_columns + row + k)] = static_cast<T>(static_cast<Compute<T>>(1));
    }
    return {};
  });
}

Result<void> infer_eye_like(InferContext& c) {
  NX_TRY(const DType dtype, dtype_attribute(c.node(), c.dtype(0)));
  c.set(0, dtype, c.shape(0) != nullptr ? std::optional(*c.shape(0)) : std::nullopt);
  return {};
}

// Where the new dimension stands: axis −1 is after the last.
Result<std::int64_t> one_hot_axis(const Node& node, std::size_t rank) {
  NX_TRY(const std::int64_t axis, node.int_attr("axis", -1));
  return normalize_axis(axis, static_cast<std::int64_t>(rank) + 1);
}

Result<void> eval_one_hot(const Node& node, EvalContext& c) {
  const Tensor& values = c.input(2);
  if (values.count() != 2) return fail(ErrorCode::kBadModel, "the values must be [off, on]");
  NX_TRY(const double depth_value, scalar_of(c.input(1), "the depth"));
  if (!(depth_value >= 0 && depth_value < 9e15)) {
    return fail(ErrorCode::kBadModel, "depth {} is not a size", depth_value);
  }
  const auto depth = static_cast<std::int64_t>(depth_value);
  Dims dims = c.input(0).dims();
  NX_TRY(const std::int64_t axis, one_hot_axis(node, dims.size()));
  dims.insert(dims.begin() + axis, depth);
  NX_TRY(Tensor * out, c.allocate(0, values.dtype(), std::move(dims)));
  const Copier copy(values, *out);
  for (std::int64_t i = 0; i < out->count(); ++i) copy(i, 0);
  if (out->count() == 0) return {};
  const std::int64_t inner = split_at(out->dims(), axis).inner;
  return dispatch_numeric(c.input(0).dtype(), [&]<class T>() -> Result<void> {
    const auto indices = c.input(0).as<T>();
    for (std::size_t i = 0; i < indices.size(); ++i) {
      // An index outside [−depth, depth) leaves the whole row off.
      const auto index = static_cast<double>(static_cast<Compute<T>>(indices[i]));
      if (!(index >= -depth_value && index < depth_value)) continue;
      auto position = static_cast<std::int64_t>(index);
      if (position < 0) position += depth;
      const auto at = static_cast<std::int64_t>(i);
      copy((at / inner * depth + position) * inner + at % inner, 1);
    }
    return {};
  });
}

Result<void> infer_one_hot(InferContext& c) {
  c.set(0, c.dtype(2), std::nullopt);
  const Shape* indices = c.shape(0);
  if (indices == nullptr) return {};
  NX_TRY(const std::int64_t axis, one_hot_axis(c.node(), indices->size()));
  const auto depth = c.content(1);
  Shape shape = *indices;
  shape.insert(shape.begin() + axis, depth && depth->size() == 1 ? (*depth)[0] : Dim::unknown());
  c.set(0, c.dtype(2), std::move(shape));
  return {};
}

constexpr OpDef kFillOps[] = {
    {"ConstantOfShape", kOnnx, 9, 1, 1, 1, 1, nullptr, infer_constant_of_shape, eval_constant_of_shape},
    {"Range", kOnnx, 11, 3, 3, 1, 1, nullptr, infer_range, eval_range},
    {"EyeLike", kOnnx, 9, 1, 1, 1, 1, nullptr, infer_eye_like, eval_eye_like},
    {"OneHot", kOnnx, 9, 3, 3, 1, 1, nullptr, infer_one_hot, eval_one_hot},
};

}  // namespace

std::span<const OpDef> fill_ops() {
  return kFillOps;
}

}  // namespace narthex
