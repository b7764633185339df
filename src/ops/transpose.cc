// Operators that repeat or reorder elements by strides: Transpose, Expand, Tile, DepthToSpace, SpaceToDepth.
//
// Covered by tests/ops/shape_test.cc.
#include <algorithm>
#include <numeric>

#include "ops/movement.h"

namespace narthex {
namespace {

// Permutation of the dimensions; reversed when there is no attribute.
Result<std::vector<std::int64_t>> permutation(const Node& node, std::size_t rank) {
  std::vector<std::int64_t> reversed(rank);
  std::iota(reversed.rbegin(), reversed.rend(), std::int64_t{0});
  if (node.find("perm") == nullptr) return reversed;
  NX_TRY(std::vector<std::int64_t> perm, node.ints_attr("perm"));
  NX_TRY(const auto sorted, normalize_axes(perm, static_cast<std::int64_t>(rank)));
  if (sorted.size() != rank) {
    return fail(ErrorCode::kBadModel, "perm {} does not fit rank {}", dims_string(perm), rank);
  }
  for (std::int64_t& axis : perm) axis += axis < 0 ? static_cast<std::int64_t>(rank) : 0;
  return perm;
}

Result<void> transpose(const Tensor& x, const std::vector<std::int64_t>& perm, EvalContext& c) {
  Dims dims;
  for (const std::int64_t axis : perm) dims.push_back(x.dims()[static_cast<std::size_t>(axis)]);
  NX_TRY(Tensor * out, c.allocate(0, x.dtype(), std::move(dims)));
  if (out->count() == 0) return {};
  const std::vector<std::int64_t> from = contiguous_strides(x.dims());
  std::vector<std::int64_t> strides;
  for (const std::int64_t axis : perm) strides.push_back(from[static_cast<std::size_t>(axis)]);
  copy_strided(x, *out, 0, strides);
  return {};
}

Result<void> eval_transpose(const Node& node, EvalContext& c) {
  NX_TRY(const auto perm, permutation(node, c.input(0).dims().size()));
  return transpose(c.input(0), perm, c);
}

Result<void> infer_transpose(InferContext& c) {
  c.set(0, c.dtype(0), std::nullopt);
  const Shape* from = c.shape(0);
  if (from == nullptr) {
    NX_TRY(const auto perm, c.node().ints_attr("perm"));
    if (!perm.empty()) c.set(0, c.dtype(0), unknown_shape(perm.size()));
    return {};
  }
  NX_TRY(const auto perm, permutation(c.node(), from->size()));
  Shape shape;
  for (const std::int64_t axis : perm) shape.push_back((*from)[static_cast<std::size_t>(axis)]);
  c.set(0, c.dtype(0), std::move(shape));
  infer_moved_content(c, eval_transpose, {0});
  return {};
}

Result<void> eval_expand(const Node&, EvalContext& c) {
  NX_TRY(const Dims target, ints_of(c.input(1), "the shape"));
  NX_TRY(Dims dims, broadcast_dims(c.input(0).dims(), target));
  NX_TRY(Tensor * out, c.allocate(0, c.input(0).dtype(), std::move(dims)));
  if (out->count() == 0) return {};
  copy_strided(c.input(0), *out, 0, broadcast_strides(c.input(0).dims(), out->dims()));
  return {};
}

Result<void> infer_expand(InferContext& c) {
  c.set(0, c.dtype(0), std::nullopt);
  const Shape* from = c.shape(0);
  if (from == nullptr) return {};
  const auto target = c.content(1);
  if (target) {
    c.set(0, c.dtype(0), broadcast_shapes(*from, *target));
  } else if (const auto rank = length_of(c, 1)) {
    c.set(0, c.dtype(0), broadcast_shapes(*from, unknown_shape(*rank)));
  }
  infer_moved_content(c, eval_expand, {0});
  return {};
}

Result<void> eval_tile(const Node&, EvalContext& c) {
  const Dims& from = c.input(0).dims();
  NX_TRY(const auto repeats, ints_of(c.input(1), "the repeats"));
  if (repeats.size() != from.size()) {
    return fail(ErrorCode::kBadModel, "{} repeats are given for rank {}", repeats.size(), from.size());
  }
  Dims dims = from;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (repeats[i] < 0) return fail(ErrorCode::kBadModel, "repeats {} are negative", dims_string(repeats));
    if (__builtin_mul_overflow(dims[i], repeats[i], &dims[i])) {
      return fail(ErrorCode::kLimit, "repeats {} are too large", dims_string(repeats));
    }
  }
  NX_TRY(Tensor * out, c.allocate(0, c.input(0).dtype(), std::move(dims)));
  if (out->count() == 0) return {};
  const std::vector<std::int64_t> strides = contiguous_strides(from);
  const Copier copy(c.input(0), *out);
  StridedWalk<1> walk(out->dims(), {std::vector<std::int64_t>(from.size(), 0)});
  for (std::int64_t i = 0; i < out->count(); ++i, walk.next()) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < from.size(); ++d) offset += walk.position()[d] % from[d] * strides[d];
    copy(i, offset);
  }
  return {};
}

Result<void> infer_tile(InferContext& c) {
  c.set(0, c.dtype(0), std::nullopt);
  const Shape* from = c.shape(0);
  if (from == nullptr) return {};
  Shape shape = unknown_shape(from->size());
  const auto repeats = c.content(1);
  if (repeats && repeats->size() == from->size()) {
    for (std::size_t i = 0; i < shape.size(); ++i) shape[i] = (*from)[i] * (*repeats)[i];
  }
  c.set(0, c.dtype(0), std::move(shape));
  infer_moved_content(c, eval_tile, {0});
  return {};
}

struct Blocks {
  std::int64_t size;
  bool column_first = false;  // CRD: the channel is the outermost part of the depth
};

Result<Blocks> blocks_of(const Node& node) {
  NX_TRY(const std::int64_t size, node.int_attr("blocksize", 0));
  NX_TRY(const std::string mode, node.string_attr("mode", "DCR"));
  if (size < 1 || size > (1 << 20)) return fail(ErrorCode::kBadModel, "blocksize {} is not possible", size);
  if (mode != "DCR" && mode != "CRD") return fail(ErrorCode::kBadModel, "mode '{}' is not known", mode);
  return Blocks{size, mode == "CRD"};
}

// Views x as `split`, permutes that, and gives the result the shape `dims`.
Result<void> permute_blocks(const Tensor& x, Dims split, const std::vector<std::int64_t>& perm, Dims dims,
                            EvalContext& c) {
  Tensor permuted;
  EvalContext inner({}, {&permuted, 1}, c.max_bytes());
  NX_TRY_VOID(transpose(x.reshaped(std::move(split)), perm, inner));
  c.set(0, permuted.reshaped(std::move(dims)));
  return {};
}

Result<void> eval_depth_to_space(const Node& node, EvalContext& c) {
  NX_TRY(const Blocks blocks, blocks_of(node));
  const Dims& d = c.input(0).dims();
  const std::int64_t b = blocks.size;
  if (d.size() != 4 || c.input(0).count() == 0 || d[1] % (b * b) != 0) {
    return fail(ErrorCode::kBadModel, "shape {} has no depth to split by {}x{}", dims_string(d), b, b);
  }
  const std::int64_t depth = d[1] / (b * b);
  const Dims out{d[0], depth, d[2] * b, d[3] * b};
  if (blocks.column_first) {
    return permute_blocks(c.input(0), {d[0], depth, b, b, d[2], d[3]}, {0, 1, 4, 2, 5, 3}, out, c);
  }
  return permute_blocks(c.input(0), {d[0], b, b, depth, d[2], d[3]}, {0, 3, 4, 1, 5, 2}, out, c);
}

Result<void> eval_space_to_depth(const Node& node, EvalContext& c) {
  NX_TRY(const Blocks blocks, blocks_of(node));
  const Dims& d = c.input(0).dims();
  const std::int64_t b = blocks.size;
  if (d.size() != 4 || c.input(0).count() == 0 || d[2] % b != 0 || d[3] % b != 0) {
    return fail(ErrorCode::kBadModel, "shape {} has no blocks of {}x{}", dims_string(d), b, b);
  }
  const Dims out{d[0], d[1] * b * b, d[2] / b, d[3] / b};
  const Dims split{d[0], d[1], d[2] / b, b, d[3] / b, b};
  if (blocks.column_first) return permute_blocks(c.input(0), split, {0, 1, 3, 5, 2, 4}, out, c);
  return permute_blocks(c.input(0), split, {0, 3, 5, 1, 2, 4}, out, c);
}

Result<void> infer_depth_to_space(InferContext& c) {
  NX_TRY(const Blocks blocks, blocks_of(c.node()));
  c.set(0, c.dtype(0), unknown_shape(4));
  const Shape* from = c.shape(0);
  if (from == nullptr || from->size() != 4) return {};
  const Dim b(blocks.size);
  c.set(0, c.dtype(0), Shape{(*from)[0], Dim::floor_div((*from)[1], b * b), (*from)[2] * b, (*from)[3] * b});
  return {};
}

Result<void> infer_space_to_depth(InferContext& c) {
  NX_TRY(const Blocks blocks, blocks_of(c.node()));
  c.set(0, c.dtype(0), unknown_shape(4));
  const Shape* from = c.shape(0);
  if (from == nullptr || from->size() != 4) return {};
  const Dim b(blocks.size);
  c.set(0, c.dtype(0),
        Shape{(*from)[0], (*from)[1] * b * b, Dim::floor_div((*from)[2], b), Dim::floor_div((*from)[3], b)});
  return {};
}

constexpr OpDef kTransposeOps[] = {
    {"Transpose", kOnnx, 1, 1, 1, 1, 1, nullptr, infer_transpose, eval_transpose},
    {"Expand", kOnnx, 8, 2, 2, 1, 1, nullptr, infer_expand, eval_expand},
    {"Tile", kOnnx, 6, 2, 2, 1, 1, nullptr, infer_tile, eval_tile},
    {"DepthToSpace", kOnnx, 1, 1, 1, 1, 1, nullptr, infer_depth_to_space, eval_depth_to_space},
    {"SpaceToDepth", kOnnx, 1, 1, 1, 1, 1, nullptr, infer_space_to_depth, eval_space_to_depth},
};

}  // namespace

std::span<const OpDef> transpose_ops() {
  return kTransposeOps;
}

}  // namespace narthex
