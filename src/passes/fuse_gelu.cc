// Finds GELU written out in elementary operators and writes Gelu in its place.
//
//   fuse_gelu(graph)   returns the number of activations found
//
//   erf:   x * 0.5 * (1 + erf(x / sqrt 2))                              in any association, x / sqrt 2 as Div or Mul
//   tanh:  x * 0.5 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))    x^3 as Pow or as products
//
// Constants must be right within kConstantTolerance, and nothing else may use what lies inside. Covered by
// tests/passes/fuse_gelu_test.cc.
#include <algorithm>
#include <numbers>

#include "ops/ops.h"
#include "passes/match.h"
#include "passes/passes.h"

namespace narthex {
namespace {

// A product tree as its factors and one number.
struct Product {
  std::vector<ValueId> factors;
  double scalar = 1;
};

class Matcher {
 public:
  explicit Matcher(const Graph& graph) : graph_(graph), uses_(graph) {}

  // {x, "none" or "tanh"} if `root` is the last product of a GELU.
  std::optional<std::pair<ValueId, const char*>> gelu(const Node& root) const {
    const Product product = flatten(root);
    if (product.factors.size() != 2 || !close_to(product.scalar, 0.5)) return std::nullopt;
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
      const ValueId x = product.factors[i];
      const Node* add = inner(product.factors[1 - i], "Add");
      const auto gate = add == nullptr ? std::nullopt : with_scalar(graph_, *add);
      if (!gate || gate->second != 1.0) continue;
      if (is_erf_gate(gate->first, x)) return std::pair(x, "none");
      if (is_tanh_gate(gate->first, x)) return std::pair(x, "tanh");
    }
    return std::nullopt;
  }

 private:
  const Node* inner(ValueId value, std::string_view op) const { return made_only_for_this(graph_, uses_, value, op); }

  Product flatten(const Node& root) const {
    Product product;
    add_factors(root, product, 0);
    return product;
  }

  // Depth 3 holds every association of two factors and a number; deeper trees are something else.
  void add_factors(const Node& node, Product& product, int depth) const {
    if (const auto scaled = with_scalar(graph_, node); scaled && is_op(node, "Mul")) {
      product.scalar *= scaled->second;
      add_factor(scaled->first, product, depth);
    } else if (const auto divisor = scalar_operand(graph_, node.inputs[1], node.inputs[0]);
               is_op(node, "Div") && divisor && *divisor != 0) {
      product.scalar /= *divisor;
      add_factor(node.inputs[0], product, depth);
    } else {
      for (const ValueId v : node.inputs) add_factor(v, product, depth);
    }
  }

  void add_factor(ValueId value, Product& product, int depth) const {
    const Node* mul = inner(value, "Mul");
    const Node* div = inner(value, "Div");
    const bool by_scalar = div != nullptr && scalar_operand(graph_, div->inputs[1], div->inputs[0]);
    if (depth < 3 && (mul != nullptr || by_scalar)) {
      add_factors(mul != nullptr ? *mul : *div, product, depth + 1);
    } else {
      product.factors.push_back(value);
    }
  }

  // value = erf(x / sqrt 2)
  bool is_erf_gate(ValueId value, ValueId x) const {
    const Node* erf = inner(value, "Erf");
    return erf != nullptr && is_scaled(erf->inputs[0], x, 1 / std::numbers::sqrt2);
  }

  // value = x * factor, in one node.
  bool is_scaled(ValueId value, ValueId x, double factor) const {
    if (const Node* div = inner(value, "Div")) {
      return div->inputs[0] == x && close_to(scalar_operand(graph_, div->inputs[1], x), 1 / factor);
    }
    const Node* mul = inner(value, "Mul");
    const auto scaled = mul == nullptr ? std::nullopt : with_scalar(graph_, *mul);
    return scaled && scaled->first == x && close_to(scaled->second, factor);
  }

  // value = tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))
  bool is_tanh_gate(ValueId value, ValueId x) const {
    const Node* tanh = inner(value, "Tanh");
    const Node* outer = tanh == nullptr ? nullptr : inner(tanh->inputs[0], "Mul");
    const auto scaled = outer == nullptr ? std::nullopt : with_scalar(graph_, *outer);
    if (!scaled || !close_to(scaled->second, std::sqrt(2 / std::numbers::pi))) return false;
    const Node* sum = inner(scaled->first, "Add");
    if (sum == nullptr) return false;
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
      if (sum->inputs[i] == x && is_cubic_term(sum->inputs[1 - i], x)) return true;
    }
    return false;
  }

  // value = 0.044715 * x^3
  bool is_cubic_term(ValueId value, ValueId x) const {
    const Node* mul = inner(value, "Mul");
    if (mul == nullptr) return false;
    const Product product = flatten(*mul);
    if (!close_to(product.scalar, 0.044715)) return false;
    if (product.factors.size() == 1) {
      const Node* pow = inner(product.factors[0], "Pow");
      return pow != nullptr && pow->inputs[0] == x && scalar_operand(graph_, pow->inputs[1], x) == std::optional(3.0);
    }
    return product.factors.size() == 3 && std::ranges::all_of(product.factors, [x](ValueId f) { return f == x; });
  }

  const Graph& graph_;
  Uses uses_;
};

}  // namespace

Result<std::size_t> fuse_gelu(Graph& graph) {
  const Matcher matcher(graph);
  std::size_t found = 0;
  for (Node& node : graph.nodes) {
    if (!is_op(node, "Mul") && !is_op(node, "Div")) continue;
    const auto match = matcher.gelu(node);
    if (!match) continue;
    become(node, kOnnx, "Gelu", {match->first}, {{"approximate", std::string(match->second)}});
    ++found;
  }
  return found;
}

}  // namespace narthex
