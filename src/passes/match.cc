#include "passes/match.h"

#include <algorithm>
#include <cmath>

#include "ops/util.h"

namespace narthex {

Uses::Uses(const Graph& graph)
    : producer_(graph.values.size(), kNoNode),
      count_(graph.values.size(), 0),
      is_output_(graph.values.size(), false),
      is_input_(graph.values.size(), false) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const ValueId v : graph.nodes[i].outputs) {
      if (v != kNoValue) producer_[static_cast<std::size_t>(v)] = i;
    }
    for (const ValueId v : graph.nodes[i].inputs) {
      if (v != kNoValue) ++count_[static_cast<std::size_t>(v)];
    }
  }
  for (const ValueId v : graph.outputs) {
    ++count_[static_cast<std::size_t>(v)];
    is_output_[static_cast<std::size_t>(v)] = true;
  }
  for (const ValueId v : graph.inputs) is_input_[static_cast<std::size_t>(v)] = true;
}

const Node* made_by(const Graph& graph, const Uses& uses, ValueId value, std::string_view op) {
  if (value == kNoValue || uses.producer(value) == kNoNode) return nullptr;
  const Node& node = graph.nodes[uses.producer(value)];
  return is_op(node, op) && node.outputs[0] == value ? &node : nullptr;
}

const Node* made_only_for_this(const Graph& graph, const Uses& uses, ValueId value, std::string_view op) {
  const Node* node = made_by(graph, uses, value, op);
  return node != nullptr && uses.count(value) == 1 && !uses.is_output(value) ? node : nullptr;
}

const Tensor* constant_of(const Graph& graph, ValueId value) {
  if (value == kNoValue || !graph.value(value).constant) return nullptr;
  return &*graph.value(value).constant;
}

std::optional<double> scalar_of(const Graph& graph, ValueId value) {
  const Tensor* tensor = constant_of(graph, value);
  if (tensor == nullptr || tensor->count() != 1) return std::nullopt;
  const auto scalar = narthex::scalar_of(*tensor, "constant");
  return scalar ? std::optional(*scalar) : std::nullopt;
}

std::optional<double> scalar_operand(const Graph& graph, ValueId value, ValueId other) {
  const auto scalar = scalar_of(graph, value);
  if (!scalar || other == kNoValue) return std::nullopt;
  const std::size_t rank = graph.value(value).constant->dims().size();
  const auto& shape = graph.value(other).shape;
  if (rank > 0 && (!shape || shape->size() < rank)) return std::nullopt;
  return scalar;
}

bool close_to(std::optional<double> value, double expected) {
  return value && std::abs(*value - expected) <= kConstantTolerance * std::abs(expected);
}

std::optional<std::pair<ValueId, double>> with_scalar(const Graph& graph, const Node& node) {
  if (!node.has_input(0) || !node.has_input(1)) return std::nullopt;
  for (const std::size_t i : {std::size_t{1}, std::size_t{0}}) {
    const ValueId other = node.inputs[1 - i];
    if (const auto scalar = scalar_operand(graph, node.inputs[i], other)) return std::pair(other, *scalar);
  }
  return std::nullopt;
}

std::optional<std::int64_t> last_dim(const Graph& graph, ValueId value) {
  if (value == kNoValue) return std::nullopt;
  const auto& shape = graph.value(value).shape;
  if (!shape || shape->empty()) return std::nullopt;
  return shape->back().constant();
}

std::optional<std::vector<std::int64_t>> ints_of_constant(const Graph& graph, ValueId value) {
  const Tensor* tensor = constant_of(graph, value);
  if (tensor == nullptr) return std::nullopt;
  auto elements = ints_of(*tensor, "constant");
  return elements ? std::optional(*std::move(elements)) : std::nullopt;
}

bool same_shape(const Graph& graph, ValueId a, ValueId b) {
  const auto& left = graph.value(a).shape;
  const auto& right = graph.value(b).shape;
  return left && right && *left == *right;
}

bool is_vector_of(const Tensor& tensor, std::int64_t n) {
  return tensor.rank() >= 1 && tensor.count() == n && tensor.dims().back() == n;
}

bool Replacements::add(const Uses& uses, ValueId old_value, ValueId new_value) {
  new_value = resolve(new_value);
  if (old_value == new_value || target_[static_cast<std::size_t>(old_value)] != kNoValue) return false;
  if (uses.is_output(old_value)) {
    const bool taken = uses.is_output(new_value) || uses.is_input(new_value) || graph_.value(new_value).constant;
    if (taken || std::ranges::find(renamed_, new_value) != renamed_.end()) return false;
    renamed_.push_back(new_value);
    graph_.value(new_value).name = graph_.value(old_value).name;
  }
  target_[static_cast<std::size_t>(old_value)] = new_value;
  ++count_;
  return true;
}

ValueId Replacements::resolve(ValueId value) const {
  while (value != kNoValue && static_cast<std::size_t>(value) < target_.size() &&
         target_[static_cast<std::size_t>(value)] != kNoValue) {
    value = target_[static_cast<std::size_t>(value)];
  }
  return value;
}

std::size_t Replacements::apply() {
  if (count_ == 0) return 0;
  for (Node& node : graph_.nodes) {
    for (ValueId& v : node.inputs) v = resolve(v);
  }
  for (ValueId& v : graph_.outputs) v = resolve(v);
  return count_;
}

void become(Node& node, std::string_view domain, std::string_view op, std::vector<ValueId> inputs,
            std::vector<Attribute> attributes) {
  node.domain = domain;
  node.op = op;
  node.opset = domain.empty() ? kCanonicalOpset : 1;
  node.def = find_op(domain, op, node.opset);
  NX_CHECK(node.def != nullptr, "a pass wrote an operator that has no row");
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
}

}  // namespace narthex
