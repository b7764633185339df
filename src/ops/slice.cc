// Slice, Split, Concat.
//
// Bounds of Slice clamp, so a symbolic result is an expression with minimum and maximum where the sizes do not decide
// it. Covered by tests/ops/slice_test.cc.
#include <algorithm>
#include <limits>

#include "ops/movement.h"

namespace narthex {
namespace {

struct Bounds {
  std::int64_t start = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;
};

// ONNX Slice-13 of one dimension: negative bounds count from the end, and both clamp to what the step can reach.
Bounds slice_bounds(std::int64_t size, std::int64_t start, std::int64_t end, std::int64_t step) {
  if (size == 0) return {0, 1, 0};
  const auto clamp = [&](std::int64_t bound, std::int64_t low, std::int64_t high) {
    if (bound < 0) bound = bound < -size ? low : bound + size;
    return std::clamp(bound, low, high);
  };
  Bounds out{0, step, 0};
  if (step > 0) {
    out.start = clamp(start, 0, size);
    const std::int64_t last = clamp(end, 0, size);
    if (last > out.start) out.count = (last - out.start - 1) / step + 1;
  } else {
    out.start = clamp(start, 0, size - 1);
    const std::int64_t last = clamp(end, -1, size - 1);
    // A step beyond the dimension is taken once; the smallest one could not be negated.
    if (last < out.start) out.count = step < -size ? 1 : (out.start - last - 1) / -step + 1;
  }
  return out;
}

// Axes of a Slice or Pad: all of them in order, when there is no input.
Result<std::vector<std::int64_t>> axes_or_first(const EvalContext& c, std::size_t input, std::size_t count) {
  std::vector<std::int64_t> axes;
  if (c.has(input)) {
    NX_TRY(axes, ints_of(c.input(input), "the axes"));
  } else {
    for (std::size_t i = 0; i < count; ++i) axes.push_back(static_cast<std::int64_t>(i));
  }
  for (std::int64_t& axis : axes) {
    NX_TRY(axis, normalize_axis(axis, c.input(0).rank()));
  }
  return axes;
}

Result<void> eval_slice(const Node&, EvalContext& c) {
  const Dims& from = c.input(0).dims();
  NX_TRY(const auto starts, ints_of(c.input(1), "the starts"));
  NX_TRY(const auto ends, ints_of(c.input(2), "the ends"));
  NX_TRY(const auto axes, axes_or_first(c, 3, starts.size()));
  std::vector<std::int64_t> steps(starts.size(), 1);
  if (c.has(4)) {
    NX_TRY(steps, ints_of(c.input(4), "the steps"));
  }
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size()) {
    return fail(ErrorCode::kBadModel, "{} starts, {} ends, {} axes and {} steps are given", starts.size(), ends.size(),
                axes.size(), steps.size());
  }
  std::vector<Bounds> bounds;
  for (const std::int64_t size : from) bounds.push_back({0, 1, size});
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (steps[i] == 0) return fail(ErrorCode::kBadModel, "step 0 of axis {} goes nowhere", axes[i]);
    const auto axis = static_cast<std::size_t>(axes[i]);
    bounds[axis] = slice_bounds(from[axis], starts[i], ends[i], steps[i]);
  }
  Dims dims;
  for (const Bounds& b : bounds) dims.push_back(b.count);
  NX_TRY(Tensor * out, c.allocate(0, c.input(0).dtype(), std::move(dims)));
  if (out->count() == 0) return {};
  std::vector<std::int64_t> strides = contiguous_strides(from);
  std::int64_t base = 0;
  for (std::size_t d = 0; d < strides.size(); ++d) {
    base += bounds[d].start * strides[d];
    // The step of a single element is never taken, and may be too large to multiply.
    strides[d] = bounds[d].count == 1 ? 0 : strides[d] * bounds[d].step;
  }
  copy_strided(c.input(0), *out, base, strides);
  return {};
}

// A symbolic bound moved into [low, high]; nullopt when it is not known whether it counts from the end.
std::optional<Dim> clamped(const Dim& bound, const Dim& size, const Dim& low, const Dim& high) {
  const auto number = bound.constant();
  // Exporters write the largest and smallest integer for "to the end"; no dimension comes near.
  if (number && *number >= std::numeric_limits<std::int32_t>::max()) return high;
  if (number && *number <= std::numeric_limits<std::int32_t>::min()) return low;
  if (Dim::always_at_least(bound, Dim(0)) == true) return Dim::min(bound, high);
  if (Dim::always_at_least(Dim(-1), bound) == true) return Dim::min(Dim::max(bound + size, low), high);
  return std::nullopt;
}

Dim sliced_dim(const Dim& size, const Dim& start, const Dim& end, std::int64_t step) {
  const auto n = size.constant();
  const auto s = start.constant();
  const auto e = end.constant();
  if (n && s && e && *n >= 0) return Dim(slice_bounds(*n, *s, *e, step).count);
  if (step < 0 && Dim::always_at_least(size, Dim(1)) != true) return Dim::unknown();
  const Dim high = step > 0 ? size : size - Dim(1);
  const auto first = clamped(start, size, Dim(0), high);
  const auto last = clamped(end, size, Dim(step > 0 ? 0 : -1), high);
  if (!first || !last) return Dim::unknown();
  // ceil((last − first) / step), and never below 0
  return Dim::max(Dim(0) - Dim::floor_div(*first - *last, Dim(step)), Dim(0));
}

// The axes that a Slice or Pad names, or nullopt; `count` is how many bounds there are.
Result<std::optional<std::vector<std::int64_t>>> known_axes(const InferContext& c, std::size_t input,
                                                            std::optional<std::size_t> count, std::size_t rank) {
  std::vector<std::int64_t> axes;
  if (c.has(input)) {
    const auto known = constant_content(c, input);
    if (!known) return std::nullopt;
    axes = *known;
  } else if (count) {
    for (std::size_t i = 0; i < *count; ++i) axes.push_back(static_cast<std::int64_t>(i));
  } else {
    return std::nullopt;
  }
  for (std::int64_t& axis : axes) {
    NX_TRY(axis, normalize_axis(axis, static_cast<std::int64_t>(rank)));
  }
  return axes;
}

Result<void> infer_slice(InferContext& c) {
  c.set(0, c.dtype(0), std::nullopt);
  const Shape* from = c.shape(0);
  if (from == nullptr) return {};
  const auto starts = c.content(1);
  const auto ends = c.content(2);
  const auto count = starts ? std::optional(starts->size()) : ends ? std::optional(ends->size()) : length_of(c, 1);
  NX_TRY(const auto axes, known_axes(c, 3, count, from->size()));
  if (!axes) {
    c.set(0, c.dtype(0), unknown_shape(from->size()));
    return {};
  }
  const auto steps = c.has(4) ? constant_content(c, 4) : std::vector<std::int64_t>(axes->size(), 1);
  Shape shape = *from;
  for (std::size_t i = 0; i < axes->size(); ++i) {
    Dim& dim = shape[static_cast<std::size_t>((*axes)[i])];
    const bool known = starts && ends && steps && starts->size() == axes->size() && ends->size() == axes->size() &&
                       steps->size() == axes->size() && (*steps)[i] != 0;
    dim = known ? sliced_dim(dim, (*starts)[i], (*ends)[i], (*steps)[i]) : Dim::unknown();
  }
  c.set(0, c.dtype(0), std::move(shape));
  infer_moved_content(c, eval_slice, {0});
  return {};
}

// Bounds were attributes until opset 9.
Result<void> slice_attributes_to_inputs(const Node& node, Rewriter& rewriter) {
  std::vector<ValueId> inputs{node.inputs[0]};
  for (const char* name : {"starts", "ends", "axes"}) {
    if (node.find(name) == nullptr) continue;
    NX_TRY(const auto values, node.ints_attr(name));
    inputs.push_back(rewriter.constant(Tensor::vector(values)));
  }
  if (inputs.size() < 3) return fail(ErrorCode::kBadModel, "attributes 'starts' and 'ends' are needed");
  rewriter.emit("Slice", std::move(inputs), {}, node.outputs[0]);
  return {};
}

// Sizes of the n parts: given, or equal ones of which the last may be smaller.
Result<std::vector<std::int64_t>> split_sizes(const Node& node, const EvalContext& c, std::int64_t size) {
  const auto n = static_cast<std::int64_t>(c.n_outputs());
  std::vector<std::int64_t> sizes;
  if (c.has(1)) {
    NX_TRY(sizes, ints_of(c.input(1), "the sizes"));
  } else {
    NX_TRY(const std::int64_t parts, node.int_attr("num_outputs", n));
    if (parts != n) return fail(ErrorCode::kBadModel, "num_outputs is {}, but there are {} outputs", parts, n);
    const std::int64_t part = size / n + (size % n != 0 ? 1 : 0);
    sizes.assign(static_cast<std::size_t>(n), part);
    sizes.back() = size - part * (n - 1);
  }
  std::int64_t rest = size;
  for (const std::int64_t part : sizes) {
    if (part < 0 || part > rest) {
      rest = -1;
      break;
    }
    rest -= part;
  }
  if (static_cast<std::int64_t>(sizes.size()) != n || rest != 0) {
    return fail(ErrorCode::kBadModel, "a dimension of {} does not split into {} outputs of sizes {}", size, n,
                dims_string(sizes));
  }
  return sizes;
}

Result<void> eval_split(const Node& node, EvalContext& c) {
  const Tensor& x = c.input(0);
  NX_TRY(std::int64_t axis, node.int_attr("axis", 0));
  NX_TRY(axis, normalize_axis(axis, x.rank()));
  const auto a = static_cast<std::size_t>(axis);
  NX_TRY(const auto sizes, split_sizes(node, c, x.dims()[a]));
  std::int64_t first = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    Dims dims = x.dims();
    dims[a] = sizes[i];
    NX_TRY(Tensor * out, c.allocate(i, x.dtype(), std::move(dims)));
    if (out->count() == 0) continue;
    const AxisSplit split = split_at(x.dims(), axis);
    const Copier copy(x, *out);
    const std::int64_t piece = sizes[i] * split.inner;
    for (std::int64_t o = 0; o < split.outer; ++o) {
      copy(o * piece, (o * split.axis + first) * split.inner, piece);
    }
    first += sizes[i];
  }
  return {};
}

Result<void> infer_split(InferContext& c) {
  const std::size_t n = c.node().outputs.size();
  for (std::size_t i = 0; i < n; ++i) c.set(i, c.dtype(0), std::nullopt);
  const Shape* from = c.shape(0);
  if (from == nullptr) return {};
  NX_TRY(std::int64_t axis, c.node().int_attr("axis", 0));
  NX_TRY(axis, normalize_axis(axis, static_cast<std::int64_t>(from->size())));
  const auto a = static_cast<std::size_t>(axis);
  const auto sizes = c.content(1);
  const Dim size = (*from)[a];
  const Dim parts(static_cast<std::int64_t>(n));
  const Dim part = Dim(0) - Dim::floor_div(Dim(0) - size, parts);
  for (std::size_t i = 0; i < n; ++i) {
    Shape shape = *from;
    if (c.has(1)) {
      shape[a] = sizes && sizes->size() == n ? (*sizes)[i] : n == 1 ? size : Dim::unknown();
    } else {
      shape[a] = i + 1 < n ? part : size - part * (parts - Dim(1));
    }
    c.set(i, c.dtype(0), std::move(shape));
  }
  infer_moved_content(c, eval_split, {0});
  return {};
}

// Sizes were an attribute until opset 12, and equal parts had no attribute until 18.
Result<void> respell_split(const Node& node, Rewriter& rewriter) {
  std::vector<ValueId> inputs = node.inputs;
  std::vector<Attribute> attributes;
  for (const Attribute& attribute : node.attributes) {
    if (attribute.name != "split") attributes.push_back(attribute);
  }
  if (node.find("split") != nullptr) {
    NX_TRY(const auto sizes, node.ints_attr("split"));
    inputs.resize(2, kNoValue);
    inputs[1] = rewriter.constant(Tensor::vector(sizes));
  } else if (!node.has_input(1)) {
    attributes.push_back({"num_outputs", static_cast<std::int64_t>(node.outputs.size())});
  }
  rewriter.emit_many("Split", std::move(inputs), std::move(attributes), node.outputs);
  return {};
}

Result<void> eval_concat(const Node& node, EvalContext& c) {
  const Tensor& first = c.input(0);
  if (node.find("axis") == nullptr) return fail(ErrorCode::kBadModel, "attribute 'axis' is missing");
  NX_TRY(std::int64_t axis, node.int_attr("axis", 0));
  NX_TRY(axis, normalize_axis(axis, first.rank()));
  const auto a = static_cast<std::size_t>(axis);
  Dims dims = first.dims();
  dims[a] = 0;
  for (std::size_t i = 0; i < c.n_inputs(); ++i) {
    if (!c.has(i)) return fail(ErrorCode::kBadModel, "input {} is missing", i);
    Dims other = c.input(i).dims();
    if (other.size() == dims.size()) other[a] = dims[a];
    if (other != dims || c.input(i).dtype() != first.dtype()) {
      return fail(ErrorCode::kBadModel, "input {} ({} {}) does not fit input 0 ({} {}) along axis {}", i,
                  dtype_name(c.input(i).dtype()), dims_string(c.input(i).dims()), dtype_name(first.dtype()),
                  dims_string(first.dims()), axis);
    }
    if (__builtin_add_overflow(dims[a], c.input(i).dims()[a], &dims[a])) {
      return fail(ErrorCode::kLimit, "the result is too large");
    }
  }
  NX_TRY(Tensor * out, c.allocate(0, first.dtype(), std::move(dims)));
  if (out->count() == 0) return {};
  const AxisSplit split = split_at(out->dims(), axis);
  std::int64_t at = 0;
  for (std::size_t i = 0; i < c.n_inputs(); ++i) {
    const Copier copy(c.input(i), *out);
    const std::int64_t piece = c.input(i).dims()[a] * split.inner;
    for (std::int64_t o = 0; o < split.outer; ++o) {
      copy((o * split.axis + at) * split.inner, o * piece, piece);
    }
    at += c.input(i).dims()[a];
  }
  return {};
}

Result<void> infer_concat(InferContext& c) {
  c.set(0, c.dtype(0), std::nullopt);
  const Shape* known = nullptr;
  for (std::size_t i = 0; i < c.n_inputs() && known == nullptr; ++i) known = c.shape(i);
  if (known == nullptr) return {};
  NX_TRY(std::int64_t axis, c.node().int_attr("axis", 0));
  NX_TRY(axis, normalize_axis(axis, static_cast<std::int64_t>(known->size())));
  const auto a = static_cast<std::size_t>(axis);
  Shape shape = *known;
  Dim sum;
  for (std::size_t i = 0; i < c.n_inputs(); ++i) {
    const Shape* other = c.shape(i);
    sum = sum + (other != nullptr && other->size() == shape.size() ? (*other)[a] : Dim::unknown());
    if (other == nullptr || other->size() != shape.size()) continue;
    for (std::size_t d = 0; d < shape.size(); ++d) shape[d] = same_dim(shape[d], (*other)[d]);
  }
  shape[a] = sum;
  c.set(0, c.dtype(0), std::move(shape));
  infer_moved_content(c, eval_concat, {});
  return {};
}

constexpr OpDef kSliceOps[] = {
    {"Slice", kOnnx, 1, 1, 1, 1, 1, slice_attributes_to_inputs, nullptr, nullptr},
    {"Slice", kOnnx, 10, 3, 5, 1, 1, nullptr, infer_slice, eval_slice},
    {"Split", kOnnx, 1, 1, 2, 1, kAny, respell_split, nullptr, nullptr},
    {"Split", kOnnx, 18, 1, 2, 1, kAny, nullptr, infer_split, eval_split},
    {"Concat", kOnnx, 4, 1, kAny, 1, 1, nullptr, infer_concat, eval_concat},
};

}  // namespace

std::span<const OpDef> slice_ops() {
  return kSliceOps;
}

}  // namespace narthex
