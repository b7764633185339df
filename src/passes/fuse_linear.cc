// Joins a product by a constant matrix with its bias and its activation: narthex.Linear.
//
//   fuse_linear(graph)   returns the number of joins made
//
//   MatMul(x, W[k, n]) + bias[n]  or  Gemm(x, W, bias) with alpha = beta = 1  ->  Linear(x, W, bias)
//   Gelu | Relu | Tanh of a Linear                                            ->  Linear with that activation
//
// float32 only; a MatMul without a bias stays one unless an activation follows. Covered by
// tests/passes/fuse_linear_test.cc.
#include <array>

#include "ops/ops.h"
#include "passes/match.h"
#include "passes/passes.h"

namespace narthex {
namespace {

// W as a constant float32 matrix.
const Tensor* matrix_of(const Graph& graph, ValueId value) {
  const Tensor* matrix = constant_of(graph, value);
  return matrix != nullptr && matrix->rank() == 2 && matrix->dtype() == DType::kFloat32 ? matrix : nullptr;
}

bool is_bias(const Graph& graph, ValueId value, std::int64_t n) {
  const Tensor* bias = constant_of(graph, value);
  return bias != nullptr && bias->rank() == 1 && is_vector_of(*bias, n) && bias->dtype() == DType::kFloat32;
}

bool is_linear(const Node& node) {
  return node.domain == kNarthex && node.op == "Linear";
}

bool join_bias(Graph& graph, const Uses& uses, Node& node) {
  if (!is_op(node, "Add")) return false;
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    const Node* product = made_only_for_this(graph, uses, node.inputs[i], "MatMul");
    if (product == nullptr) continue;
    const Tensor* matrix = matrix_of(graph, product->inputs[1]);
    const auto& shape = graph.value(product->inputs[0]).shape;
    // Of a vector x the product is a vector too, and then an Add may broadcast it.
    if (matrix == nullptr || !shape || shape->size() < 2) continue;
    if (!is_bias(graph, node.inputs[1 - i], matrix->dims()[1])) continue;
    const std::vector<ValueId> inputs = {product->inputs[0], product->inputs[1], node.inputs[1 - i]};
    become(node, kNarthex, "Linear", inputs);
    return true;
  }
  return false;
}

bool replace_gemm(Graph& graph, Node& node) {
  if (!is_op(node, "Gemm") || node.int_attr("transA", 0).value_or(1) != 0 ||
      node.float_attr("alpha", 1).value_or(0) != 1) {
    return false;
  }
  const Tensor* matrix = matrix_of(graph, node.inputs[1]);
  if (matrix == nullptr) return false;
  const bool transposed = node.int_attr("transB", 0).value_or(0) != 0;
  const std::int64_t n = matrix->dims()[transposed ? 0 : 1];
  std::vector<ValueId> inputs = {node.inputs[0], node.inputs[1]};
  if (node.has_input(2)) {
    if (node.float_attr("beta", 1).value_or(0) != 1 || !is_bias(graph, node.inputs[2], n)) return false;
    inputs.push_back(node.inputs[2]);
  }
  std::vector<Attribute> attributes;
  if (transposed) attributes.push_back({"transposed", std::int64_t{1}});
  become(node, kNarthex, "Linear", std::move(inputs), std::move(attributes));
  return true;
}

// The name that Linear's attribute gives to an activation node, or nullptr.
const char* activation_of(const Node& node) {
  if (is_op(node, "Relu")) return "relu";
  if (is_op(node, "Tanh")) return "tanh";
  if (!is_op(node, "Gelu")) return nullptr;
  return node.string_attr("approximate", "none").value_or("") == "tanh" ? "gelu_tanh" : "gelu";
}

bool join_activation(Graph& graph, const Uses& uses, Node& node) {
  const char* activation = activation_of(node);
  if (activation == nullptr) return false;
  const ValueId in = node.inputs[0];
  if (uses.producer(in) == kNoNode || uses.count(in) != 1 || uses.is_output(in)) return false;
  const Node& product = graph.nodes[uses.producer(in)];
  std::vector<Attribute> attributes;
  if (is_linear(product)) {
    if (product.find("activation") != nullptr) return false;
    attributes = product.attributes;
  } else {
    const auto& shape = graph.value(product.inputs[0]).shape;
    if (!is_op(product, "MatMul") || matrix_of(graph, product.inputs[1]) == nullptr || !shape || shape->size() < 2) {
      return false;
    }
  }
  attributes.push_back({"activation", std::string(activation)});
  const std::vector<ValueId> inputs = product.inputs;
  become(node, kNarthex, "Linear", inputs, std::move(attributes));
  return true;
}

}  // namespace

Result<std::size_t> fuse_linear(Graph& graph) {
  const Uses uses(graph);
  std::size_t joined = 0;
  for (Node& node : graph.nodes) {
    if (join_bias(graph, uses, node) || replace_gemm(graph, node) || join_activation(graph, uses, node)) ++joined;
  }
  return joined;
}

}  // namespace narthex
