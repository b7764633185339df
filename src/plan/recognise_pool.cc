// Reductions over the tokens, which make rows of the sequence, and the length of a row.
#include <algorithm>
#include <cmath>

#include "ops/util.h"
#include "plan/recognise_run.h"

namespace narthex::recognition {
namespace {

// Dims after reducing one axis.
Dims reduced_dims(Dims dims, std::size_t axis, bool keep) {
  if (keep) {
    dims[axis] = 1;
  } else {
    dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
  }
  return dims;
}

// codes with `axis` moved to the front: [axis, all others].
std::vector<std::int64_t> axis_first(const Tensor& codes, std::size_t axis) {
  const Dims& dims = codes.dims();
  std::size_t inner = 1;
  for (std::size_t i = axis + 1; i < dims.size(); ++i) inner *= static_cast<std::size_t>(dims[i]);
  const auto n = static_cast<std::size_t>(dims[axis]);
  const auto count = static_cast<std::size_t>(codes.count());
  std::vector<std::int64_t> out(count);
  for (std::size_t at = 0; at < count; ++at) {
    const std::size_t outer = at / (n * inner);
    const std::size_t along = at / inner % n;
    out[along * (count / n) + outer * inner + at % inner] = codes.as<std::int64_t>()[at];
  }
  return out;
}

}  // namespace

Result<void> Run::see_reduce(const Node& node) {
  const std::string& name = graph_.value(node.outputs[0]).name;
  if (known(node.inputs[0]) || !node.has_input(1) || !known(node.inputs[1])) {
    return fail(ErrorCode::kUnsupported, "expected rows and known axes");
  }
  NX_TRY(const Tensor codes, rows_of(seen(node.inputs[0]), name));
  NX_TRY(const Tensor axes_tensor, lengths_.at(node.inputs[1], length_));
  NX_TRY(std::vector<std::int64_t> axes, ints_of(axes_tensor, "axes"));
  NX_TRY(axes, normalize_axes(std::move(axes), codes.rank()));
  NX_TRY(const std::int64_t keep, node.int_attr("keepdims", 1));
  if (axes.size() != 1) return fail(ErrorCode::kUnsupported, "a reduction over {} axes", axes.size());
  const auto axis = static_cast<std::size_t>(axes[0]);
  NX_TRY(const Layout layout, layout_of(codes));
  const bool over_row = static_cast<std::size_t>(codes.dims()[axis]) == layout.width && layout.width > 1 &&
                        matrix_of(codes) && axis + 1 == codes.dims().size();
  if (over_row && (node.op == "ReduceL2" || node.op == "ReduceSumSquare" || node.op == "ReduceSum")) {
    return square_sum(node, codes, reduced_dims(codes.dims(), axis, keep != 0));
  }
  if (entity(layout.entity).per_sequence || static_cast<std::size_t>(codes.dims()[axis]) != length_) {
    return fail(ErrorCode::kUnsupported, "expected a reduction over the tokens");
  }
  if (node.op != "ReduceSum" && node.op != "ReduceMean" && node.op != "ReduceMax") {
    return fail(ErrorCode::kUnsupported, "{} over the tokens is no pooling of a plan", node.op);
  }
  const std::vector<std::int64_t> words = axis_first(codes, axis);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const Code code = decode(words[i]);
    if (code.token != i / layout.width || code.column != layout.first + i % layout.width) {
      return fail(ErrorCode::kUnsupported, "expected a reduction over the tokens");
    }
  }
  const auto kind = node.op == "ReduceSum"    ? step::PoolKind::kSum
                    : node.op == "ReduceMean" ? step::PoolKind::kMean
                                              : step::PoolKind::kMax;
  NX_TRY(const EntityId out, pooled(columns_of(layout), kind, name));
  NX_TRY(Tensor result, dense_codes(out, reduced_dims(codes.dims(), axis, keep != 0)));
  set(node, std::move(result));
  return {};
}

// One element a row: the sum of squares, or its root.
Result<void> Run::square_sum(const Node& node, const Tensor& codes, const Dims& dims) {
  NX_TRY(const Layout layout, layout_of(codes));
  Columns source = columns_of(layout);
  if (node.op == "ReduceSum") {
    const auto* square = made_by<step::Binary>(source.rows);
    if (square == nullptr || square->kind != step::BinaryKind::kMultiply || square->a.rows != square->b.rows ||
        square->a.first != square->b.first || source.width != square->a.width) {
      return fail(ErrorCode::kUnsupported, "only squares are summed over the features of a row");
    }
    source = square->a;
  }
  sources_.push_back(source);
  const EntityKind kind = node.op == "ReduceL2" ? EntityKind::kNorm : EntityKind::kSquareSum;
  const EntityId out = add_entity({kind, sources_.size() - 1, 1, entity(layout.entity).per_sequence, 0});
  NX_TRY(Tensor result, dense_codes(out, dims));
  set(node, std::move(result));
  return {};
}

Result<void> Run::see_sqrt(const Node& node) {
  const Seen& value = seen(node.inputs[0]);
  if (value.kind != Seen::Kind::kCodes) return fail(ErrorCode::kUnsupported, "a root of what is no sum of squares");
  NX_TRY(const EntityId id, entity_of(value.lanes[0]));
  Entity root = entity(id);
  if (root.kind != EntityKind::kSquareSum) {
    return fail(ErrorCode::kUnsupported, "a root of what is no sum of squares");
  }
  root.kind = EntityKind::kNorm;
  const Tensor codes = value.lanes[0];
  set(node, moved(codes, add_entity(root), 0));
  return {};
}

Result<void> Run::norm_with_floor(const Node& node, const Tensor& codes, double floor) {
  NX_TRY(const EntityId id, entity_of(codes));
  Entity norm = entity(id);
  norm.floor = std::max(norm.floor, static_cast<float>(floor));
  set(node, moved(codes, add_entity(norm), 0));
  return {};
}

Result<void> Run::divided_by_norm(const Node& node, const Tensor& a, const Tensor& b) {
  const std::string& name = graph_.value(node.outputs[0]).name;
  NX_TRY(const Dims dims, broadcast_dims(a.dims(), b.dims()));
  NX_TRY(const Layout layout, layout_of(a));
  NX_TRY(const EntityId id, entity_of(b));
  const Columns source = sources_[entity(id).index];
  const Columns in = columns_of(layout);
  if (dims != a.dims() || source.rows != in.rows || source.first != in.first || source.width != in.width) {
    return fail(ErrorCode::kUnsupported, "rows are divided by the length of others");
  }
  const Tensor norms = broadcast(b, dims);
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.count()); ++i) {
    if (decode(a.as<std::int64_t>()[i]).token != decode(norms.as<std::int64_t>()[i]).token) {
      return fail(ErrorCode::kUnsupported, "rows are divided by the length of others");
    }
  }
  NX_TRY(const EntityId out, add_rows(layout.width, entity(layout.entity).per_sequence, name));
  emit(step::L2Normalize{0, in, entity(id).floor}, out);
  set(node, moved(a, out, layout.first));
  return {};
}

Result<void> Run::see_lp_norm(const Node& node) {
  const std::string& name = graph_.value(node.outputs[0]).name;
  NX_TRY(const std::int64_t p, node.int_attr("p", 2));
  NX_TRY(const std::int64_t axis, node.int_attr("axis", -1));
  NX_TRY(const Tensor codes, rows_of(seen(node.inputs[0]), name));
  NX_TRY(const Layout layout, matrix_of(codes));
  if (p != 2 || (axis != -1 && axis + 1 != codes.rank())) {
    return fail(ErrorCode::kUnsupported, "expected the 2-norm of rows");
  }
  NX_TRY(const EntityId out, add_rows(layout.width, entity(layout.entity).per_sequence, name));
  emit(step::L2Normalize{0, columns_of(layout), 0}, out);
  set(node, moved(codes, out, layout.first));
  return {};
}

}  // namespace narthex::recognition
