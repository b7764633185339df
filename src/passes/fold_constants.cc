// Evaluates nodes whose inputs are all constants, and puts the chosen branch in the place of an If.
//
//   fold_constants(graph)   returns the number of nodes folded or replaced
//
// A result over kMaxFoldedBytes is kept only if it has no more elements than the largest constant it is made from (a
// transposed or dequantised weight), and all results together stay within a budget that the model's own constants set:
// a small file must not grow into a large program. A node that fails on its constants stays, and says so when it runs.
// Covered by tests/passes/fold_constants_test.cc.
#include <algorithm>
#include <array>

#include "ops/ops.h"
#include "passes/match.h"
#include "passes/passes.h"

namespace narthex {
namespace {

// Reference products are slow: they are folded only where every operand is small.
constexpr std::array kExpensive = {"MatMul", "Gemm", "Einsum", "MatMulInteger", "QLinearMatMul", "Attention", "Conv"};
constexpr std::array kImpure = {"RandomNormal",      "RandomNormalLike", "RandomUniform",
                                "RandomUniformLike", "Bernoulli",        "Multinomial"};

template <class Names>
bool is_one_of(const Node& node, const Names& names) {
  return std::ranges::any_of(names, [&](const char* name) { return node.op == name; });
}

struct Budget {
  std::uint64_t left;
  explicit Budget(const Graph& graph) {
    std::uint64_t bytes = 16 * kMaxFoldedBytes;
    for (const Value& v : graph.values) {
      if (v.constant) bytes += v.constant->bytes();
    }
    left = std::min(8 * bytes, Tensor::kMaxBytes / 2);
  }
};

// Bytes that one result of the node may have.
std::uint64_t result_limit(const Graph& graph, const Node& node, const Budget& budget) {
  std::int64_t largest = 0;
  for (const ValueId v : node.inputs) {
    if (v != kNoValue) largest = std::max(largest, graph.value(v).constant->count());
  }
  const auto of_inputs = static_cast<std::uint64_t>(largest) * sizeof(double);
  return std::min(std::max(of_inputs, kMaxFoldedBytes), budget.left);
}

bool result_fits(const Graph& graph, const Node& node, const Tensor& result) {
  if (result.bytes() <= kMaxFoldedBytes) return true;
  return std::ranges::any_of(
      node.inputs, [&](ValueId v) { return v != kNoValue && graph.value(v).constant->count() >= result.count(); });
}

bool is_foldable(const Graph& graph, const Node& node) {
  if (node.def == nullptr || node.def->eval == nullptr || is_one_of(node, kImpure)) return false;
  const bool expensive = is_one_of(node, kExpensive);
  for (const ValueId v : node.inputs) {
    if (v == kNoValue) continue;
    const Tensor* constant = constant_of(graph, v);
    if (constant == nullptr || (expensive && constant->bytes() > kMaxFoldedBytes)) return false;
  }
  return true;
}

// Evaluates the node and stores its results; false when it is left as it is.
bool fold(Graph& graph, const Node& node, Budget& budget) {
  std::vector<const Tensor*> inputs;
  inputs.reserve(node.inputs.size());
  for (const ValueId v : node.inputs) inputs.push_back(constant_of(graph, v));
  std::vector<Tensor> results(node.outputs.size());
  EvalContext context(inputs, results, result_limit(graph, node, budget));
  if (!node.def->eval(node, context)) return false;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (node.outputs[i] == kNoValue) continue;
    if (results[i].dtype() == DType::kUndefined || !result_fits(graph, node, results[i])) return false;
    bytes += results[i].bytes();
  }
  if (bytes > budget.left) return false;
  budget.left -= bytes;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (node.outputs[i] == kNoValue) continue;
    Value& value = graph.value(node.outputs[i]);
    value.dtype = results[i].dtype();
    value.shape = Shape(results[i].dims().begin(), results[i].dims().end());
    value.content.reset();
    value.constant = std::move(results[i]);
  }
  return true;
}

// Whether the branch's output is something that it did not make: a captured value or a constant.
bool is_passed_on(const Graph& body, ValueId output) {
  return body.value(output).constant || std::ranges::find(body.inputs, output) != body.inputs.end();
}

// The branch that an If with a constant condition takes, or nullptr.
std::shared_ptr<Graph> chosen_branch(const Graph& graph, const Uses& uses, const Node& node) {
  if (!is_op(node, "If") || !node.has_input(0)) return nullptr;
  const auto condition = scalar_of(graph, node.inputs[0]);
  if (!condition) return nullptr;
  const AttributeValue* branch = node.find(*condition != 0 ? "then_branch" : "else_branch");
  const auto* body = branch == nullptr ? nullptr : std::get_if<std::shared_ptr<Graph>>(branch);
  if (body == nullptr || *body == nullptr || (*body)->inputs.size() + 1 != node.inputs.size() ||
      (*body)->outputs.size() < node.outputs.size()) {
    return nullptr;
  }
  // Then a node has to stand between: the If itself.
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const ValueId out = node.outputs[i];
    const bool twice = std::ranges::count((*body)->outputs, (*body)->outputs[i]) > 1;
    if (out != kNoValue && uses.is_output(out) && (twice || is_passed_on(**body, (*body)->outputs[i]))) return nullptr;
  }
  return *body;
}

// Appends the branch's nodes to `nodes` under new value numbers. What the branch passes on replaces the If's output.
void splice(Graph& graph, const Uses& uses, const Node& node, const Graph& body, std::vector<Node>& nodes,
            Replacements& replacements) {
  std::vector<ValueId> mapped(body.values.size(), kNoValue);
  for (std::size_t i = 0; i < body.inputs.size(); ++i) {
    mapped[static_cast<std::size_t>(body.inputs[i])] = node.inputs[i + 1];
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    ValueId& slot = mapped[static_cast<std::size_t>(body.outputs[i])];
    const bool made_inside = slot == kNoValue && !body.value(body.outputs[i]).constant;
    if (made_inside && node.outputs[i] != kNoValue) slot = node.outputs[i];
  }
  const auto to_parent = [&](ValueId v) {
    if (v == kNoValue) return kNoValue;
    ValueId& slot = mapped[static_cast<std::size_t>(v)];
    if (slot == kNoValue) {
      graph.values.push_back(body.value(v));
      slot = static_cast<ValueId>(graph.values.size() - 1);
    }
    return slot;
  };
  for (const Node& inner : body.nodes) {
    Node copy = inner;
    for (ValueId& v : copy.inputs) v = to_parent(v);
    for (ValueId& v : copy.outputs) v = to_parent(v);
    nodes.push_back(std::move(copy));
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const ValueId source = to_parent(body.outputs[i]);
    if (node.outputs[i] != kNoValue && source != node.outputs[i]) replacements.add(uses, node.outputs[i], source);
  }
}

}  // namespace

Result<std::size_t> fold_constants(Graph& graph) {
  Budget budget(graph);
  const Uses uses(graph);
  Replacements replacements(graph);
  std::size_t changed = 0;
  std::vector<Node> nodes;
  nodes.reserve(graph.nodes.size());
  for (Node& node : graph.nodes) {
    if (const auto branch = chosen_branch(graph, uses, node)) {
      splice(graph, uses, node, *branch, nodes, replacements);
      ++changed;
    } else if (is_foldable(graph, node) && fold(graph, node, budget)) {
      ++changed;
    } else {
      nodes.push_back(std::move(node));
    }
  }
  graph.nodes = std::move(nodes);
  replacements.apply();
  return changed;
}

}  // namespace narthex
