// Shape, Size, and the operators that give the same elements another shape: Reshape, Squeeze, Unsqueeze, Flatten.
//
// Outputs share the bytes of the input. Inference solves a target of Reshape for its one open dimension, because the
// count of elements does not change. Covered by tests/ops/shape_test.cc.
#include <algorithm>

#include "ops/movement.h"

namespace narthex {
namespace {

// The dimensions [first, last) that `start` and `end` of Shape-15 choose.
Result<std::pair<std::int64_t, std::int64_t>> shape_window(const Node& node, std::int64_t rank) {
  NX_TRY(std::int64_t first, node.int_attr("start", 0));
  NX_TRY(std::int64_t last, node.int_attr("end", rank));
  if (first < 0) first = std::max<std::int64_t>(first, -rank) + rank;
  if (last < 0) last = std::max<std::int64_t>(last, -rank) + rank;
  first = std::min(first, rank);
  return std::pair(first, std::clamp(last, first, rank));
}

Result<void> infer_shape(InferContext& c) {
  const Shape* shape = c.shape(0);
  c.set(0, DType::kInt64, Shape{Dim::unknown()});
  if (shape == nullptr) return {};
  NX_TRY(const auto window, shape_window(c.node(), static_cast<std::int64_t>(shape->size())));
  std::vector<Dim> content(shape->begin() + window.first, shape->begin() + window.second);
  c.set(0, DType::kInt64, Shape{Dim(window.second - window.first)});
  if (window.second - window.first <= kMaxContent) c.set_content(0, std::move(content));
  return {};
}

Result<void> eval_shape(const Node& node, EvalContext& c) {
  const Dims& dims = c.input(0).dims();
  NX_TRY(const auto window, shape_window(node, c.input(0).rank()));
  c.set(0, Tensor::vector(Dims(dims.begin() + window.first, dims.begin() + window.second)));
  return {};
}

Dim product(const Shape& shape, std::size_t first = 0, std::size_t last = SIZE_MAX) {
  Dim out(1);
  for (std::size_t i = first; i < std::min(last, shape.size()); ++i) out = out * shape[i];
  return out;
}

Result<void> infer_size(InferContext& c) {
  c.set(0, DType::kInt64, Shape{});
  if (const Shape* shape = c.shape(0)) c.set_content(0, {product(*shape)});
  return {};
}

Result<void> eval_size(const Node&, EvalContext& c) {
  c.set(0, Tensor::scalar(c.input(0).count()));
  return {};
}

Result<Dims> reshape_dims(const Dims& from, std::int64_t count, std::vector<std::int64_t> target, bool allow_zero) {
  std::optional<std::size_t> open;
  for (std::size_t i = 0; i < target.size(); ++i) {
    if (target[i] == -1) {
      if (open) return fail(ErrorCode::kBadModel, "target {} has more than one -1", dims_string(target));
      open = i;
    } else if (target[i] == 0 && !allow_zero) {
      if (i >= from.size()) {
        return fail(ErrorCode::kBadModel, "target {} copies dimension {} of a tensor of shape {}", dims_string(target),
                    i, dims_string(from));
      }
      target[i] = from[i];
    }
  }
  const auto mismatch = [&] {
    return fail(ErrorCode::kBadModel, "a tensor of shape {} cannot have shape {}", dims_string(from),
                dims_string(target));
  };
  if (open) {
    Dims others = target;
    others[*open] = 1;
    NX_TRY(const std::int64_t rest, checked_count(others));
    if (rest == 0 || count % rest != 0) return mismatch();
    target[*open] = count / rest;
  }
  NX_TRY(const std::int64_t target_count, checked_count(target));
  if (target_count != count) return mismatch();
  return target;
}

Result<void> eval_reshape(const Node& node, EvalContext& c) {
  NX_TRY(const std::int64_t allow_zero, node.int_attr("allowzero", 0));
  NX_TRY(std::vector<std::int64_t> target, ints_of(c.input(1), "the target shape"));
  NX_TRY(Dims dims, reshape_dims(c.input(0).dims(), c.input(0).count(), std::move(target), allow_zero != 0));
  c.set(0, c.input(0).reshaped(std::move(dims)));
  return {};
}

// The target with every element that surely is a dimension; nullopt stands for one that is -1, or may be -1 or 0.
std::vector<std::optional<Dim>> known_target(const std::vector<Dim>& target, const Shape* from, bool allow_zero) {
  std::vector<std::optional<Dim>> out;
  for (std::size_t i = 0; i < target.size(); ++i) {
    const auto number = target[i].constant();
    if (number == 0 && !allow_zero) {
      out.push_back(from != nullptr && i < from->size() ? std::optional((*from)[i]) : std::nullopt);
    } else if (Dim::always_at_least(target[i], Dim(allow_zero ? 0 : 1)) == true) {
      out.emplace_back(target[i]);
    } else {
      out.emplace_back(std::nullopt);
    }
  }
  return out;
}

Result<void> infer_reshape(InferContext& c) {
  NX_TRY(const std::int64_t allow_zero, c.node().int_attr("allowzero", 0));
  const Shape* from = c.shape(0);
  const auto target = c.content(1);
  if (!target) {
    const auto rank = length_of(c, 1);
    c.set(0, c.dtype(0), rank ? std::optional(unknown_shape(*rank)) : std::nullopt);
    infer_same_content(c);
    return {};
  }
  const std::vector<std::optional<Dim>> known = known_target(*target, from, allow_zero != 0);
  Dim rest(1);
  for (const auto& dim : known) rest = dim ? rest * *dim : rest;
  const auto n_open = std::ranges::count_if(known, [](const auto& dim) { return !dim; });
  Shape shape;
  for (std::size_t i = 0; i < known.size(); ++i) {
    // Next to a dimension that is 0 any number would do, unless the model says -1: then 0 is an error.
    const bool decided = (*target)[i] == Dim(-1) || Dim::always_at_least(rest, Dim(1)) == true;
    if (known[i]) {
      shape.push_back(*known[i]);
    } else if (n_open == 1 && from != nullptr && decided) {
      shape.push_back(Dim::floor_div(product(*from), rest));
    } else {
      shape.push_back(Dim::unknown());
    }
  }
  c.set(0, c.dtype(0), std::move(shape));
  infer_same_content(c);
  return {};
}

Result<void> reshape_attribute_to_input(const Node& node, Rewriter& rewriter) {
  return attribute_to_input(node, rewriter, "shape", 1);
}

Result<void> axes_attribute_to_input(const Node& node, Rewriter& rewriter) {
  return attribute_to_input(node, rewriter, "axes", 1);
}

Result<void> eval_squeeze(const Node&, EvalContext& c) {
  const Dims& dims = c.input(0).dims();
  std::vector<std::int64_t> axes;
  if (c.has(1)) {
    NX_TRY(axes, ints_of(c.input(1), "the axes"));
    NX_TRY(axes, normalize_axes(std::move(axes), c.input(0).rank()));
  } else {
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] == 1) axes.push_back(static_cast<std::int64_t>(i));
    }
  }
  Dims out;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (!std::ranges::binary_search(axes, static_cast<std::int64_t>(i))) {
      out.push_back(dims[i]);
    } else if (dims[i] != 1) {
      return fail(ErrorCode::kBadModel, "dimension {} of shape {} is not 1 and cannot be removed", i,
                  dims_string(dims));
    }
  }
  c.set(0, c.input(0).reshaped(std::move(out)));
  return {};
}

Result<void> infer_squeeze(InferContext& c) {
  c.set(0, c.dtype(0), std::nullopt);
  infer_same_content(c);
  const Shape* from = c.shape(0);
  if (from == nullptr) return {};
  Shape shape;
  if (!c.has(1)) {
    for (const Dim& dim : *from) {
      if (dim == Dim(1)) continue;
      // Whether a dimension that may be 1 stays decides the rank.
      if (!dim.is_constant() && Dim::always_at_least(dim, Dim(2)) != true) return {};
      shape.push_back(dim);
    }
  } else {
    auto axes = constant_content(c, 1);
    if (!axes) return {};
    NX_TRY(axes, normalize_axes(*std::move(axes), static_cast<std::int64_t>(from->size())));
    for (std::size_t i = 0; i < from->size(); ++i) {
      if (!std::ranges::binary_search(*axes, static_cast<std::int64_t>(i))) shape.push_back((*from)[i]);
    }
  }
  c.set(0, c.dtype(0), std::move(shape));
  return {};
}

// Where the new dimensions of Unsqueeze stand, among rank + number of axes.
Result<std::vector<std::int64_t>> new_axes(std::vector<std::int64_t> axes, std::size_t rank) {
  const auto out_rank = static_cast<std::int64_t>(rank + axes.size());
  return normalize_axes(std::move(axes), out_rank);
}

Result<void> eval_unsqueeze(const Node&, EvalContext& c) {
  NX_TRY(std::vector<std::int64_t> axes, ints_of(c.input(1), "the axes"));
  NX_TRY(axes, new_axes(std::move(axes), c.input(0).dims().size()));
  Dims out = c.input(0).dims();
  for (const std::int64_t axis : axes) out.insert(out.begin() + axis, 1);
  c.set(0, c.input(0).reshaped(std::move(out)));
  return {};
}

Result<void> infer_unsqueeze(InferContext& c) {
  c.set(0, c.dtype(0), std::nullopt);
  infer_same_content(c);
  const Shape* from = c.shape(0);
  if (from == nullptr) return {};
  auto axes = constant_content(c, 1);
  if (!axes) {
    if (const auto added = length_of(c, 1)) c.set(0, c.dtype(0), unknown_shape(from->size() + *added));
    return {};
  }
  NX_TRY(axes, new_axes(*std::move(axes), from->size()));
  Shape shape = *from;
  for (const std::int64_t axis : *axes) shape.insert(shape.begin() + axis, Dim(1));
  c.set(0, c.dtype(0), std::move(shape));
  return {};
}

// [d0·…·d(axis−1), d(axis)·…]; the axis may equal the rank.
Result<std::size_t> flatten_axis(const Node& node, std::size_t rank) {
  NX_TRY(std::int64_t axis, node.int_attr("axis", 1));
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (axis < -signed_rank || axis > signed_rank) {
    return fail(ErrorCode::kBadModel, "axis {} is out of range for rank {}", axis, rank);
  }
  return static_cast<std::size_t>(axis < 0 ? axis + signed_rank : axis);
}

Result<void> eval_flatten(const Node& node, EvalContext& c) {
  const Dims& dims = c.input(0).dims();
  NX_TRY(const std::size_t axis, flatten_axis(node, dims.size()));
  const auto middle = dims.begin() + static_cast<std::ptrdiff_t>(axis);
  NX_TRY(const std::int64_t before, checked_count(Dims(dims.begin(), middle)));
  NX_TRY(const std::int64_t after, checked_count(Dims(middle, dims.end())));
  c.set(0, c.input(0).reshaped({before, after}));
  return {};
}

Result<void> infer_flatten(InferContext& c) {
  const Shape* from = c.shape(0);
  if (from == nullptr) {
    c.set(0, c.dtype(0), unknown_shape(2));
  } else {
    NX_TRY(const std::size_t axis, flatten_axis(c.node(), from->size()));
    c.set(0, c.dtype(0), Shape{product(*from, 0, axis), product(*from, axis)});
  }
  infer_same_content(c);
  return {};
}

constexpr OpDef kShapeOps[] = {
    {"Shape", kOnnx, 1, 1, 1, 1, 1, nullptr, infer_shape, eval_shape},
    {"Size", kOnnx, 1, 1, 1, 1, 1, nullptr, infer_size, eval_size},
    {"Reshape", kOnnx, 1, 1, 1, 1, 1, reshape_attribute_to_input, nullptr, nullptr},
    {"Reshape", kOnnx, 5, 2, 2, 1, 1, nullptr, infer_reshape, eval_reshape},
    {"Squeeze", kOnnx, 1, 1, 1, 1, 1, axes_attribute_to_input, nullptr, nullptr},
    {"Squeeze", kOnnx, 13, 1, 2, 1, 1, nullptr, infer_squeeze, eval_squeeze},
    {"Unsqueeze", kOnnx, 1, 1, 1, 1, 1, axes_attribute_to_input, nullptr, nullptr},
    {"Unsqueeze", kOnnx, 13, 2, 2, 1, 1, nullptr, infer_unsqueeze, eval_unsqueeze},
    {"Flatten", kOnnx, 1, 1, 1, 1, 1, nullptr, infer_flatten, eval_flatten},
};

}  // namespace

std::span<const OpDef> shape_ops() {
  return kShapeOps;
}

}  // namespace narthex
