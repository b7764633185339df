// Fills in type, shape and content of every value from those of the inputs, in the order of the nodes.
//
//   symbolic_shapes(graph)   returns the number of values that became constants
//
// A Shape -> Gather -> Concat chain of which every element is known becomes a constant, so that Reshape targets stop
// being computed. What cannot be decided stays open; nothing is guessed. Covered by
// tests/passes/symbolic_shapes_test.cc.
#include <algorithm>
#include <limits>

#include "ops/ops.h"
#include "passes/passes.h"

namespace narthex {
namespace {

template <class T>
std::optional<Tensor> tensor_from(const std::vector<std::int64_t>& elements, const Dims& dims) {
  auto tensor = Tensor::allocate(dtype_of<T>(), dims);
  if (!tensor || tensor->count() != static_cast<std::int64_t>(elements.size())) return std::nullopt;
  const std::span<T> out = tensor->template as_mutable<T>();
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (elements[i] < std::int64_t{std::numeric_limits<T>::min()} ||
        elements[i] > std::int64_t{std::numeric_limits<T>::max()}) {
      return std::nullopt;
    }
    out[i] = static_cast<T>(elements[i]);
  }
  return *std::move(tensor);
}

// The value as a constant, if every dimension and every element is a number.
std::optional<Tensor> known_content(const Value& value) {
  if (!value.content || !value.shape) return std::nullopt;
  Dims dims;
  for (const Dim& d : *value.shape) {
    if (!d.constant()) return std::nullopt;
    dims.push_back(*d.constant());
  }
  std::vector<std::int64_t> elements;
  for (const Dim& element : *value.content) {
    if (!element.constant()) return std::nullopt;
    elements.push_back(*element.constant());
  }
  if (value.dtype == DType::kInt64) return tensor_from<std::int64_t>(elements, dims);
  if (value.dtype == DType::kInt32) return tensor_from<std::int32_t>(elements, dims);
  if (value.dtype == DType::kBool) return tensor_from<bool>(elements, dims);
  return std::nullopt;
}

}  // namespace

Result<std::size_t> symbolic_shapes(Graph& graph) {
  std::size_t folded = 0;
  std::vector<bool> finished(graph.nodes.size(), false);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (node.def == nullptr || node.def->infer == nullptr) continue;
    InferContext context(graph, node);
    if (auto status = node.def->infer(context); !status) {
      return std::unexpected(node_error(graph, node, std::move(status).error()));
    }
    std::vector<std::pair<ValueId, Tensor>> constants;
    bool all_constant = true;
    for (const ValueId v : node.outputs) {
      if (v == kNoValue) continue;
      auto constant = known_content(graph.value(v));
      all_constant = all_constant && constant.has_value();
      if (constant) constants.emplace_back(v, *std::move(constant));
    }
    if (!all_constant) continue;
    for (auto& [v, tensor] : constants) {
      graph.value(v).constant = std::move(tensor);
      graph.value(v).content.reset();
      ++folded;
    }
    finished[i] = true;
  }
  std::size_t next = 0;
  std::erase_if(graph.nodes, [&](const Node&) { return finished[next++]; });
  return folded;
}

}  // namespace narthex
