// Gather, GatherElements, GatherND: elements chosen by a tensor of indices, negative ones counting from the end.
//
// Covered by tests/ops/index_test.cc.
#include "ops/movement.h"

namespace narthex {
namespace {

Result<void> eval_gather(const Node& node, EvalContext& c) {
  const Tensor& data = c.input(0);
  NX_TRY(std::int64_t axis, node.int_attr("axis", 0));
  NX_TRY(axis, normalize_axis(axis, data.rank()));
  NX_TRY(const auto indices, ints_of(c.input(1), "the indices"));
  Dims dims(data.dims().begin(), data.dims().begin() + axis);
  dims.insert(dims.end(), c.input(1).dims().begin(), c.input(1).dims().end());
  dims.insert(dims.end(), data.dims().begin() + axis + 1, data.dims().end());
  NX_TRY(Tensor * out, c.allocate(0, data.dtype(), std::move(dims)));
  if (out->count() == 0) return {};
  const AxisSplit split = split_at(data.dims(), axis);
  const Copier copy(data, *out);
  std::int64_t to = 0;
  for (std::int64_t o = 0; o < split.outer; ++o) {
    for (const std::int64_t raw : indices) {
      NX_TRY(const std::int64_t index, checked_index(raw, split.axis));
      copy(to, (o * split.axis + index) * split.inner, split.inner);
      to += split.inner;
    }
  }
  return {};
}

Result<void> infer_gather(InferContext& c) {
  c.set(0, c.dtype(0), std::nullopt);
  const Shape* data = c.shape(0);
  const Shape* indices = c.shape(1);
  if (data == nullptr || indices == nullptr) return {};
  NX_TRY(std::int64_t axis, c.node().int_attr("axis", 0));
  NX_TRY(axis, normalize_axis(axis, static_cast<std::int64_t>(data->size())));
  Shape shape(data->begin(), data->begin() + axis);
  shape.insert(shape.end(), indices->begin(), indices->end());
  shape.insert(shape.end(), data->begin() + axis + 1, data->end());
  c.set(0, c.dtype(0), std::move(shape));
  infer_moved_content(c, eval_gather, {0});
  return {};
}

Result<void> eval_gather_elements(const Node& node, EvalContext& c) {
  const Tensor& data = c.input(0);
  const Tensor& index_tensor = c.input(1);
  NX_TRY(std::int64_t axis, node.int_attr("axis", 0));
  NX_TRY(axis, normalize_axis(axis, data.rank()));
  NX_TRY(const auto indices, ints_of(index_tensor, "the indices"));
  bool fits = index_tensor.rank() == data.rank();
  for (std::size_t i = 0; fits && i < data.dims().size(); ++i) {
    fits = static_cast<std::int64_t>(i) == axis || index_tensor.dims()[i] <= data.dims()[i];
  }
  if (!fits) {
    return fail(ErrorCode::kBadModel, "indices of shape {} do not fit data of shape {}",
                dims_string(index_tensor.dims()), dims_string(data.dims()));
  }
  NX_TRY(Tensor * out, c.allocate(0, data.dtype(), index_tensor.dims()));
  if (out->count() == 0) return {};
  const auto a = static_cast<std::size_t>(axis);
  if (data.count() == 0) return fail(ErrorCode::kBadModel, "indices point into a tensor without elements");
  std::vector<std::int64_t> strides = contiguous_strides(data.dims());
  const std::int64_t axis_stride = std::exchange(strides[a], 0);
  const Copier copy(data, *out);
  StridedWalk<1> walk(out->dims(), {strides});
  for (std::int64_t i = 0; i < out->count(); ++i, walk.next()) {
    NX_TRY(const std::int64_t index, checked_index(indices[static_cast<std::size_t>(i)], data.dims()[a]));
    copy(i, walk.offset(0) + index * axis_stride);
  }
  return {};
}

Result<void> infer_gather_elements(InferContext& c) {
  const Shape* indices = c.shape(1);
  c.set(0, c.dtype(0), indices != nullptr ? std::optional(*indices) : std::nullopt);
  infer_moved_content(c, eval_gather_elements, {0});
  return {};
}

struct BatchAxes {
  std::size_t batch;  // leading dimensions that data and indices share
  std::size_t tuple;  // length of the last dimension of the indices
};

Result<BatchAxes> check_gather_nd(std::int64_t batch, const Dims& data, const Dims& indices) {
  const auto fits = [&] {
    if (batch < 0 || indices.empty() || static_cast<std::size_t>(batch) >= indices.size()) return false;
    const auto room = static_cast<std::int64_t>(data.size()) - batch;
    if (indices.back() < 0 || room < indices.back()) return false;
    return std::equal(indices.begin(), indices.begin() + batch, data.begin());
  };
  if (!fits()) {
    return fail(ErrorCode::kBadModel, "indices of shape {} with {} batch dimensions do not fit data of shape {}",
                dims_string(indices), batch, dims_string(data));
  }
  return BatchAxes{static_cast<std::size_t>(batch), static_cast<std::size_t>(indices.back())};
}

Result<void> eval_gather_nd(const Node& node, EvalContext& c) {
  const Tensor& data = c.input(0);
  const Dims& index_dims = c.input(1).dims();
  NX_TRY(const std::int64_t batch_dims, node.int_attr("batch_dims", 0));
  NX_TRY(const BatchAxes axes, check_gather_nd(batch_dims, data.dims(), index_dims));
  NX_TRY(const auto indices, ints_of(c.input(1), "the indices"));
  const std::size_t first_inner = axes.batch + axes.tuple;
  Dims dims(index_dims.begin(), index_dims.end() - 1);
  dims.insert(dims.end(), data.dims().begin() + static_cast<std::ptrdiff_t>(first_inner), data.dims().end());
  NX_TRY(Tensor * out, c.allocate(0, data.dtype(), dims));
  if (out->count() == 0) return {};
  if (data.count() == 0) return fail(ErrorCode::kBadModel, "indices point into a tensor without elements");
  const std::vector<std::int64_t> strides = contiguous_strides(data.dims());
  const std::int64_t inner = first_inner == 0 ? data.count() : strides[first_inner - 1];
  const std::int64_t batch_size = axes.batch == 0 ? data.count() : strides[axes.batch - 1];
  std::int64_t n_batches = 1;
  for (std::size_t i = 0; i < axes.batch; ++i) n_batches *= index_dims[i];
  const std::int64_t n_tuples = out->count() / inner;
  const Copier copy(data, *out);
  for (std::int64_t t = 0; t < n_tuples; ++t) {
    std::int64_t from = t / (n_tuples / n_batches) * batch_size;
    for (std::size_t k = 0; k < axes.tuple; ++k) {
      const std::int64_t raw = indices[static_cast<std::size_t>(t) * axes.tuple + k];
      NX_TRY(const std::int64_t index, checked_index(raw, data.dims()[axes.batch + k]));
      from += index * strides[axes.batch + k];
    }
    copy(t * inner, from, inner);
  }
  return {};
}

Result<void> infer_gather_nd(InferContext& c) {
  c.set(0, c.dtype(0), std::nullopt);
  const Shape* data = c.shape(0);
  const Shape* indices = c.shape(1);
  if (data == nullptr || indices == nullptr || indices->empty()) return {};
  NX_TRY(const std::int64_t batch, c.node().int_attr("batch_dims", 0));
  const auto tuple = indices->back().constant();
  if (!tuple) return {};
  const auto rank = static_cast<std::int64_t>(data->size());
  if (batch < 0 || *tuple < 0 || batch > rank || *tuple > rank - batch) {
    return fail(ErrorCode::kBadModel, "indices of {} numbers after {} batch dimensions do not fit rank {}", *tuple,
                batch, rank);
  }
  Shape shape(indices->begin(), indices->end() - 1);
  shape.insert(shape.end(), data->begin() + batch + *tuple, data->end());
  c.set(0, c.dtype(0), std::move(shape));
  infer_moved_content(c, eval_gather_nd, {0});
  return {};
}

constexpr OpDef kIndexOps[] = {
    {"Gather", kOnnx, 1, 2, 2, 1, 1, nullptr, infer_gather, eval_gather},
    {"GatherElements", kOnnx, 11, 2, 2, 1, 1, nullptr, infer_gather_elements, eval_gather_elements},
    {"GatherND", kOnnx, 11, 2, 2, 1, 1, nullptr, infer_gather_nd, eval_gather_nd},
};

}  // namespace

std::span<const OpDef> index_ops() {
  return kIndexOps;
}

}  // namespace narthex
