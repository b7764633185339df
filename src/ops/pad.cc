// Pad: constant, reflect, edge and wrap; negative amounts crop first. CenterCropPad is a Pad of computed amounts.
//
// Covered by tests/ops/slice_test.cc.
#include <algorithm>

#include "ops/movement.h"

namespace narthex {
namespace {

constexpr std::int64_t kOutside = -1;

struct Amount {
  std::int64_t before = 0;
  std::int64_t after = 0;
};

// The source index of padded position `i` of a dimension with `kept` elements after cropping.
std::int64_t source_of(const std::string& mode, std::int64_t i, std::int64_t kept) {
  if (i >= 0 && i < kept) return i;
  if (mode == "constant") return kOutside;
  if (mode == "edge") return i < 0 ? 0 : kept - 1;
  const auto modulo = [](std::int64_t a, std::int64_t b) { return (a % b + b) % b; };
  if (mode == "wrap") return modulo(i, kept);
  if (kept == 1) return 0;
  const std::int64_t at = modulo(i, 2 * (kept - 1));  // there and back, without repeating the edges
  return at < kept ? at : 2 * (kept - 1) - at;
}

// One dimension of the source, and where it lies in the padded one.
struct PaddedDim {
  std::int64_t cropped;  // elements left away in front
  std::int64_t kept;
  std::int64_t before;  // padding in front
  std::int64_t stride;
};

Result<PaddedDim> padded_dim(const std::string& mode, std::int64_t size, Amount amount, std::int64_t stride) {
  const std::int64_t cropped = std::max<std::int64_t>(-amount.before, 0);
  const std::int64_t kept = std::max<std::int64_t>(size - cropped + std::min<std::int64_t>(amount.after, 0), 0);
  if (kept == 0 && mode != "constant") {
    return fail(ErrorCode::kBadModel, "a dimension of {} elements has none left for mode '{}'", size, mode);
  }
  return PaddedDim{cropped, kept, std::max<std::int64_t>(amount.before, 0), stride};
}

Result<std::vector<Amount>> amounts_of(const EvalContext& c) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  const std::int64_t rank = c.input(0).rank();
  NX_TRY(const auto pads, ints_of(c.input(1), "the pads"));
  std::vector<std::int64_t> axes;
  if (c.has(3)) {
    NX_TRY(axes, ints_of(c.input(3), "the axes"));
  } else {
    for (std::int64_t i = 0; i < rank; ++i) axes.push_back(i);
  }
  if (pads.size() != 2 * axes.size()) {
    return fail(ErrorCode::kBadModel, "{} pads are given for {} axes", pads.size(), axes.size());
  }
  std::vector<Amount> amounts(static_cast<std::size_t>(rank));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    NX_TRY(const std::int64_t axis, normalize_axis(axes[i], rank));
    const Amount amount{pads[i], pads[axes.size() + i]};
    const std::int64_t size = c.input(0).dims()[static_cast<std::size_t>(axis)];
    if (std::max({amount.before, amount.after, size}) > kMost || std::min(amount.before, amount.after) < -kMost ||
        size + amount.before + amount.after < 0) {
      return fail(ErrorCode::kBadModel, "pads {} do not fit shape {}", dims_string(pads),
                  dims_string(c.input(0).dims()));
    }
    amounts[static_cast<std::size_t>(axis)] = amount;
  }
  return amounts;
}

Result<void> fill(const EvalContext& c, Tensor& out) {
  if (!c.has(2)) {
    if (out.dtype() != DType::kString && out.count() > 0) std::memset(out.mutable_data(), 0, out.bytes());
    return {};
  }
  const Tensor& value = c.input(2);
  if (value.dtype() != out.dtype() || value.count() != 1) {
    return fail(ErrorCode::kBadModel, "the value must be one {}, but is {} {}", dtype_name(out.dtype()),
                dtype_name(value.dtype()), dims_string(value.dims()));
  }
  const Copier copy(value, out);
  for (std::int64_t i = 0; i < out.count(); ++i) copy(i, 0);
  return {};
}

Result<std::string> mode_of(const Node& node) {
  NX_TRY(std::string mode, node.string_attr("mode", "constant"));
  if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap") {
    return fail(ErrorCode::kBadModel, "mode '{}' is not known", mode);
  }
  return mode;
}

Result<void> eval_pad(const Node& node, EvalContext& c) {
  const Tensor& x = c.input(0);
  NX_TRY(const std::string mode, mode_of(node));
  NX_TRY(const std::vector<Amount> amounts, amounts_of(c));
  Dims dims = x.dims();
  for (std::size_t d = 0; d < dims.size(); ++d) dims[d] += amounts[d].before + amounts[d].after;
  NX_TRY(Tensor * out, c.allocate(0, x.dtype(), std::move(dims)));
  NX_TRY_VOID(fill(c, *out));
  if (out->count() == 0) return {};
  // Strides of a tensor without elements may overflow, and there is nothing to read: all of it is padding.
  const std::vector<std::int64_t> strides =
      x.count() > 0 ? contiguous_strides(x.dims()) : std::vector<std::int64_t>(amounts.size(), 0);
  std::vector<PaddedDim> padded;
  for (std::size_t d = 0; d < amounts.size(); ++d) {
    NX_TRY(const PaddedDim dim, padded_dim(mode, x.dims()[d], amounts[d], strides[d]));
    padded.push_back(dim);
  }
  if (x.count() == 0) return {};
  const Copier copy(x, *out);
  StridedWalk<1> walk(out->dims(), {std::vector<std::int64_t>(strides.size(), 0)});
  for (std::int64_t i = 0; i < out->count(); ++i, walk.next()) {
    std::int64_t from = 0;
    for (std::size_t d = 0; d < padded.size() && from != kOutside; ++d) {
      const std::int64_t source = source_of(mode, walk.position()[d] - padded[d].before, padded[d].kept);
      from = source == kOutside ? kOutside : from + (source + padded[d].cropped) * padded[d].stride;
    }
    if (from != kOutside) copy(i, from);
  }
  return {};
}

// Pads and crops evenly on both sides; of an odd difference the greater half is behind.
Result<void> eval_center_crop_pad(const Node& node, EvalContext& c) {
  const Dims& from = c.input(0).dims();
  NX_TRY(const auto target, ints_of(c.input(1), "the shape"));
  NX_TRY(std::vector<std::int64_t> axes, node.ints_attr("axes"));
  if (node.find("axes") == nullptr) {
    for (std::size_t i = 0; i < from.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  }
  if (axes.size() != target.size()) {
    return fail(ErrorCode::kBadModel, "{} sizes are given for {} axes", target.size(), axes.size());
  }
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  std::vector<std::int64_t> pads(2 * axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    NX_TRY(axes[i], normalize_axis(axes[i], c.input(0).rank()));
    const std::int64_t size = from[static_cast<std::size_t>(axes[i])];
    if (target[i] < 0 || target[i] > kMost || size > kMost) {
      return fail(ErrorCode::kBadModel, "the shape {} is not possible", dims_string(target));
    }
    const std::int64_t more = target[i] - size;
    pads[i] = more / 2;  // toward zero, so that a crop too has its smaller half in front
    pads[axes.size() + i] = more - more / 2;
  }
  const Tensor pad_tensor = Tensor::vector(pads);
  const Tensor axis_tensor = Tensor::vector(axes);
  const Tensor* inputs[] = {&c.input(0), &pad_tensor, nullptr, &axis_tensor};
  Tensor out;
  EvalContext inner(inputs, {&out, 1}, c.max_bytes());
  NX_TRY_VOID(eval_pad(Node(), inner));
  c.set(0, std::move(out));
  return {};
}

Result<void> infer_center_crop_pad(InferContext& c) {
  c.set(0, c.dtype(0), std::nullopt);
  const Shape* from = c.shape(0);
  if (from == nullptr) return {};
  Shape shape = unknown_shape(from->size());
  const auto target = c.content(1);
  if (c.node().find("axes") == nullptr) {
    if (target && target->size() == shape.size()) shape = *target;
  } else if (target) {
    NX_TRY(const auto axes, c.node().ints_attr("axes"));
    shape = *from;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      NX_TRY(const std::int64_t axis, normalize_axis(axes[i], static_cast<std::int64_t>(from->size())));
      shape[static_cast<std::size_t>(axis)] = i < target->size() ? (*target)[i] : Dim::unknown();
    }
  }
  c.set(0, c.dtype(0), std::move(shape));
  return {};
}

Result<void> infer_pad(InferContext& c) {
  c.set(0, c.dtype(0), std::nullopt);
  const Shape* from = c.shape(0);
  if (from == nullptr) return {};
  const auto pads = c.content(1);
  const auto axes = c.has(3) ? constant_content(c, 3) : std::nullopt;
  const std::size_t count = c.has(3) ? (axes ? axes->size() : 0) : from->size();
  if (!pads || pads->size() != 2 * count || (c.has(3) && !axes)) {
    c.set(0, c.dtype(0), unknown_shape(from->size()));
    return {};
  }
  Shape shape = *from;
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t axis = axes ? (*axes)[i] : static_cast<std::int64_t>(i);
    NX_TRY(axis, normalize_axis(axis, static_cast<std::int64_t>(from->size())));
    const auto a = static_cast<std::size_t>(axis);
    shape[a] = (*from)[a] + (*pads)[i] + (*pads)[count + i];
  }
  c.set(0, c.dtype(0), std::move(shape));
  if (c.has(2)) infer_moved_content(c, eval_pad, {0, 2});
  return {};
}

// Amounts and value were attributes until opset 10; the value is a float whatever the type of the data.
Result<void> pad_attributes_to_inputs(const Node& node, Rewriter& rewriter) {
  const char* name = node.find("pads") != nullptr ? "pads" : "paddings";
  if (node.find(name) == nullptr) return fail(ErrorCode::kBadModel, "attribute 'pads' is missing");
  NX_TRY(const auto pads, node.ints_attr(name));
  NX_TRY(const float value, node.float_attr("value", 0));
  NX_TRY(std::string mode, mode_of(node));
  std::vector<ValueId> inputs{node.inputs[0], rewriter.constant(Tensor::vector(pads))};
  if (value != 0) {
    inputs.push_back(rewriter.emit("CastLike", {rewriter.constant(Tensor::scalar(value)), node.inputs[0]}));
  }
  rewriter.emit("Pad", std::move(inputs), {{"mode", std::move(mode)}}, node.outputs[0]);
  return {};
}

constexpr OpDef kPadOps[] = {
    {"Pad", kOnnx, 1, 1, 1, 1, 1, pad_attributes_to_inputs, nullptr, nullptr},
    {"Pad", kOnnx, 11, 2, 4, 1, 1, nullptr, infer_pad, eval_pad},
    {"CenterCropPad", kOnnx, 18, 2, 2, 1, 1, nullptr, infer_center_crop_pad, eval_center_crop_pad},
};

}  // namespace

std::span<const OpDef> pad_ops() {
  return kPadOps;
}

}  // namespace narthex
