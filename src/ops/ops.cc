#include "ops/ops.h"

#include <algorithm>
#include <map>

namespace narthex {
namespace {

using Key = std::pair<std::string_view, std::string_view>;  // domain, name

// Rows of one operator, oldest first.
const std::map<Key, std::vector<const OpDef*>>& index() {
  static const auto* const table = [] {
    auto* rows = new std::map<Key, std::vector<const OpDef*>>;
    for (const std::span<const OpDef> family : op_families()) {
      for (const OpDef& def : family) (*rows)[{def.domain, def.name}].push_back(&def);
    }
    for (auto& [key, defs] : *rows) {
      std::ranges::sort(defs, {}, [](const OpDef* def) { return def->since; });
    }
    return rows;
  }();
  return *table;
}

}  // namespace

std::vector<std::span<const OpDef>> op_families() {
  return {elementwise_ops(), arithmetic_ops(), cast_ops(),    reduce_ops(),  shape_ops(),
          fill_ops(),        transpose_ops(),  index_ops(),   scatter_ops(), slice_ops(),
          pad_ops(),         select_ops(),     matmul_ops(),  norm_ops(),    attention_ops(),
          quant_ops(),       control_ops(),    contrib_ops(), fused_ops()};
}

const OpDef* find_op(std::string_view domain, std::string_view name, int opset) {
  if (domain == "ai.onnx") domain = kOnnx;
  const auto found = index().find({domain, name});
  if (found == index().end()) return nullptr;
  const OpDef* best = nullptr;
  for (const OpDef* def : found->second) {
    if (def->since <= opset) best = def;
  }
  return best;
}

std::optional<std::vector<Dim>> InferContext::content(std::size_t i) const {
  if (!has(i)) return std::nullopt;
  if (value(i).content) return value(i).content;
  const Tensor* tensor = constant(i);
  if (tensor == nullptr || tensor->count() > 64) return std::nullopt;
  std::vector<Dim> elements;
  if (tensor->dtype() == DType::kInt64) {
    for (const std::int64_t element : tensor->as<std::int64_t>()) elements.emplace_back(element);
  } else if (tensor->dtype() == DType::kInt32) {
    for (const std::int32_t element : tensor->as<std::int32_t>()) elements.emplace_back(std::int64_t{element});
  } else if (tensor->dtype() == DType::kBool) {
    for (const bool element : tensor->as<bool>()) elements.emplace_back(std::int64_t{element});
  } else {
    return std::nullopt;
  }
  return elements;
}

void InferContext::set(std::size_t output, DType dtype, std::optional<Shape> shape) {
  if (!node_.has_output(output)) return;
  Value& v = graph_.value(node_.outputs[output]);
  v.dtype = dtype;
  v.shape = std::move(shape);
}

void InferContext::set_content(std::size_t output, std::vector<Dim> content) {
  if (!node_.has_output(output)) return;
  graph_.value(node_.outputs[output]).content = std::move(content);
}

Result<Tensor*> EvalContext::allocate(std::size_t output, DType dtype, Dims dims) {
  NX_TRY(Tensor tensor, Tensor::allocate(dtype, std::move(dims), max_bytes_));
  if (output >= outputs_.size()) return fail(ErrorCode::kBadModel, "has no output {}", output);
  outputs_[output] = std::move(tensor);
  return &outputs_[output];
}

}  // namespace narthex
