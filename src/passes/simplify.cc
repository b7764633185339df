// Drops what does nothing: Reshape, Transpose, Cast, Expand and arithmetic that leave their input as it is, and the
// first of two Reshapes or Transposes in a row.
//
//   simplify(graph)   returns the number of nodes dropped, merged or freed of a computed target
//
// Only what shapes and types prove, and only what is exact to the bit: x * 1, x / 1 and x - 0 are, x + 0 is not for
// floating-point numbers (-0 + 0 is +0). Covered by tests/passes/simplify_test.cc.
#include <algorithm>
#include <numeric>

#include "ops/ops.h"
#include "passes/match.h"
#include "passes/passes.h"

namespace narthex {
namespace {

bool is_integer(DType dtype) {
  switch (dtype) {
    case DType::kInt8:
    case DType::kUint8:
    case DType::kInt16:
    case DType::kUint16:
    case DType::kInt32:
    case DType::kUint32:
    case DType::kInt64:
    case DType::kUint64:
      return true;
    default:
      return false;
  }
}

// Operators that give their first input other dimensions over the same elements.
bool is_view(const Node& node) {
  return is_op(node, "Reshape") || is_op(node, "Squeeze") || is_op(node, "Unsqueeze") || is_op(node, "Flatten");
}

std::optional<std::vector<std::int64_t>> permutation_of(const Graph& graph, const Node& node) {
  if (!is_op(node, "Transpose")) return std::nullopt;
  auto permutation = node.ints_attr("perm");
  if (!permutation) return std::nullopt;
  if (permutation->empty()) {
    const auto& shape = graph.value(node.inputs[0]).shape;
    if (!shape) return std::nullopt;
    permutation->resize(shape->size());
    std::iota(permutation->rbegin(), permutation->rend(), 0);
  }
  return *permutation;
}

bool is_identity(const std::vector<std::int64_t>& permutation) {
  for (std::size_t i = 0; i < permutation.size(); ++i) {
    if (permutation[i] != static_cast<std::int64_t>(i)) return false;
  }
  return true;
}

// The operand that an elementwise node passes on unchanged, or kNoValue.
ValueId neutral_operand(const Graph& graph, const Node& node) {
  if (node.inputs.size() != 2) return kNoValue;
  const bool is_mul = is_op(node, "Mul");
  const bool is_add = is_op(node, "Add");
  const bool commutes = is_mul || is_add;
  const double neutral = is_mul || is_op(node, "Div") ? 1.0 : 0.0;
  if (!commutes && !is_op(node, "Div") && !is_op(node, "Sub")) return kNoValue;
  for (const std::size_t i : {std::size_t{1}, std::size_t{0}}) {
    if (i == 0 && !commutes) break;
    const ValueId other = node.inputs[1 - i];
    if (scalar_operand(graph, node.inputs[i], other) != std::optional(neutral)) continue;
    if (is_add && !is_integer(graph.value(other).dtype)) continue;
    return other;
  }
  return kNoValue;
}

// The value that the node's only result equals, or kNoValue.
ValueId same_as(const Graph& graph, const Node& node) {
  if (node.outputs.size() != 1 || node.outputs[0] == kNoValue || !node.has_input(0)) return kNoValue;
  const ValueId in = node.inputs[0];
  const ValueId out = node.outputs[0];
  if (is_op(node, "Identity")) return in;
  if (is_view(node) || is_op(node, "Expand") || is_op(node, "Slice") || is_op(node, "Tile")) {
    // A Slice that keeps the shape keeps every element, in order, unless it runs backwards.
    if (is_op(node, "Slice") && node.has_input(4)) return kNoValue;
    return same_shape(graph, in, out) ? in : kNoValue;
  }
  if (is_op(node, "Concat") && node.inputs.size() == 1) return in;
  if (is_op(node, "Cast")) {
    const DType dtype = graph.value(in).dtype;
    return dtype != DType::kUndefined && dtype == graph.value(out).dtype ? in : kNoValue;
  }
  if (const auto permutation = permutation_of(graph, node)) return is_identity(*permutation) ? in : kNoValue;
  return neutral_operand(graph, node);
}

// A computed target of which every element is a number, the same dimension of the input (0), or the only other one (-1)
// becomes a constant: the Shape -> Gather -> Concat chain behind it dies. Symbols stand for positive numbers.
bool make_target_constant(Graph& graph, Node& node) {
  if (!is_op(node, "Reshape") || constant_of(graph, node.inputs[1]) != nullptr) return false;
  const auto& content = graph.value(node.inputs[1]).content;
  const auto& shape = graph.value(node.inputs[0]).shape;
  if (!content || !shape) return false;
  std::vector<std::int64_t> target;
  bool has_open = false;
  for (std::size_t d = 0; d < content->size(); ++d) {
    const auto number = (*content)[d].constant();
    if (number && *number <= 0 && *number != -1) return false;
    const bool open = number ? *number == -1 : !(d < shape->size() && (*content)[d] == (*shape)[d]);
    if (open && has_open) return false;
    has_open = has_open || open;
    target.push_back(open ? -1 : number.value_or(0));
  }
  node.inputs[1] = graph.add_constant(graph.value(node.inputs[1]).name, Tensor::vector(target));
  node.set("allowzero", std::int64_t{0});
  return true;
}

// Reshape(view(x)) -> Reshape(x), where the target says every dimension itself (a 0 copies one of the input's).
bool skip_inner_view(const Graph& graph, const Uses& uses, Node& node) {
  if (!is_op(node, "Reshape") || uses.producer(node.inputs[0]) == kNoNode) return false;
  const Node& inner = graph.nodes[uses.producer(node.inputs[0])];
  const auto target = ints_of_constant(graph, node.inputs[1]);
  if (!is_view(inner) || !target || std::ranges::find(*target, 0) != target->end()) return false;
  node.inputs[0] = inner.inputs[0];
  return true;
}

// Transpose(Transpose(x)) -> one Transpose of x.
bool merge_transposes(const Graph& graph, const Uses& uses, Node& node) {
  const Node* inner = is_op(node, "Transpose") ? made_by(graph, uses, node.inputs[0], "Transpose") : nullptr;
  if (inner == nullptr) return false;
  const auto outer_permutation = permutation_of(graph, node);
  const auto inner_permutation = permutation_of(graph, *inner);
  if (!outer_permutation || !inner_permutation || outer_permutation->size() != inner_permutation->size()) return false;
  std::vector<std::int64_t> merged;
  for (const std::int64_t d : *outer_permutation) {
    if (d < 0 || d >= static_cast<std::int64_t>(inner_permutation->size())) return false;
    merged.push_back((*inner_permutation)[static_cast<std::size_t>(d)]);
  }
  node.inputs[0] = inner->inputs[0];
  node.set("perm", std::move(merged));
  return true;
}

}  // namespace

Result<std::size_t> simplify(Graph& graph) {
  const Uses uses(graph);
  Replacements replacements(graph);
  std::size_t merged = 0;
  for (Node& node : graph.nodes) {
    for (ValueId& v : node.inputs) v = replacements.resolve(v);
    if (const ValueId same = same_as(graph, node); same != kNoValue) {
      replacements.add(uses, node.outputs[0], same);
    } else if (make_target_constant(graph, node) || skip_inner_view(graph, uses, node) ||
               merge_transposes(graph, uses, node)) {
      ++merged;
    }
  }
  return replacements.apply() + merged;
}

}  // namespace narthex
