#include "ops/movement.h"

#include <algorithm>

namespace narthex {

void copy_strided(const Tensor& from, Tensor& to, std::int64_t base, const std::vector<std::int64_t>& strides) {
  if (to.count() == 0) return;
  const Copier copy(from, to);
  // The innermost dimension is one piece when it is contiguous on both sides.
  const bool pieces = to.rank() > 0 && strides.back() == 1;
  const std::int64_t piece = pieces ? to.dims().back() : 1;
  Dims outer = to.dims();
  std::vector<std::int64_t> outer_strides = strides;
  if (pieces) {
    outer.pop_back();
    outer_strides.pop_back();
  }
  StridedWalk<1> walk(outer, {outer_strides});
  for (std::int64_t i = 0; i < to.count(); i += piece, walk.next()) copy(i, base + walk.offset(0), piece);
}

AxisSplit split_at(const Dims& dims, std::int64_t axis) {
  AxisSplit out;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(dims.size()); ++i) {
    (i < axis ? out.outer : i == axis ? out.axis : out.inner) *= dims[static_cast<std::size_t>(i)];
  }
  return out;
}

Result<std::int64_t> checked_index(std::int64_t index, std::int64_t size) {
  if (index < -size || index >= size) {
    return fail(ErrorCode::kBadModel, "index {} is out of range for a dimension of {}", index, size);
  }
  return index < 0 ? index + size : index;
}

Shape unknown_shape(std::size_t rank) {
  Shape shape;
  for (std::size_t i = 0; i < rank; ++i) shape.push_back(Dim::unknown());
  return shape;
}

std::optional<std::size_t> length_of(const InferContext& context, std::size_t input) {
  const Shape* shape = context.shape(input);
  if (shape == nullptr || shape->size() != 1) return std::nullopt;
  const auto length = (*shape)[0].constant();
  if (!length || *length < 0 || *length > kMaxContent) return std::nullopt;
  return static_cast<std::size_t>(*length);
}

std::optional<Dims> constant_dims(const Shape* shape) {
  if (shape == nullptr) return std::nullopt;
  Dims dims;
  for (const Dim& dim : *shape) {
    const auto value = dim.constant();
    if (!value || *value < 0) return std::nullopt;
    dims.push_back(*value);
  }
  return dims;
}

std::optional<std::vector<std::int64_t>> constant_content(const InferContext& context, std::size_t input) {
  if (const Tensor* tensor = context.constant(input)) {
    auto values = ints_of(*tensor, "input");
    if (values) return *std::move(values);
  }
  const auto content = context.content(input);
  if (!content) return std::nullopt;
  std::vector<std::int64_t> out;
  for (const Dim& element : *content) {
    const auto value = element.constant();
    if (!value) return std::nullopt;
    out.push_back(*value);
  }
  return out;
}

Dim same_dim(const Dim& a, const Dim& b) {
  if (a.is_constant()) return a;
  if (b.is_constant()) return b;
  return a.is_unknown() ? b : a;
}

void infer_same_content(InferContext& context) {
  if (auto content = context.content(0)) context.set_content(0, *std::move(content));
}

namespace {

std::optional<Tensor> int64_tensor(const Dims& dims, const std::vector<std::int64_t>& values) {
  const auto count = checked_count(dims);
  if (!count || *count != static_cast<std::int64_t>(values.size())) return std::nullopt;
  return Tensor::make<std::int64_t>(dims, values);
}

}  // namespace

void infer_moved_content(InferContext& context, EvalFn eval, std::initializer_list<std::size_t> data) {
  std::vector<Dim> elements;  // of all data inputs, end to end
  std::vector<Tensor> tensors(context.n_inputs());
  std::vector<const Tensor*> inputs(context.n_inputs(), nullptr);
  for (std::size_t i = 0; i < context.n_inputs(); ++i) {
    if (!context.has(i)) continue;
    const auto dims = constant_dims(context.shape(i));
    if (!dims) return;
    std::vector<std::int64_t> values;
    if (data.size() == 0 || std::ranges::find(data, i) != data.end()) {
      const auto content = context.content(i);
      if (!content) return;
      for (const Dim& element : *content) {
        values.push_back(static_cast<std::int64_t>(elements.size()));
        elements.push_back(element);
      }
    } else {
      auto known = constant_content(context, i);
      if (!known) return;
      values = *std::move(known);
    }
    auto tensor = int64_tensor(*dims, values);
    if (!tensor) return;
    tensors[i] = *std::move(tensor);
    inputs[i] = &tensors[i];
  }
  std::vector<Tensor> outputs(context.node().outputs.size());
  EvalContext run(inputs, outputs, kMaxContent * sizeof(std::int64_t));
  if (!eval(context.node(), run)) return;  // too large, or wrong: then running it says so
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].dtype() != DType::kInt64) continue;
    Shape shape(outputs[i].dims().begin(), outputs[i].dims().end());
    std::vector<Dim> content;
    for (const std::int64_t id : outputs[i].as<std::int64_t>())
      content.push_back(elements[static_cast<std::size_t>(id)]);
    context.set(i, context.dtype(*(data.size() == 0 ? std::initializer_list<std::size_t>{0} : data).begin()), shape);
    context.set_content(i, std::move(content));
  }
}

}  // namespace narthex
