// Finds layer normalisation written out in elementary operators and writes LayerNormalization in its place.
//
//   fuse_layer_norm(graph)   returns the number of norms found
//
//   y = (x - mean) / sqrt(mean((x - mean)^2) + epsilon) * gamma [+ beta]     over the last dimension
//
// The square may be Pow(d, 2) or Mul(d, d), the difference may be computed once or twice, the division may be a product
// with a Reciprocal, and operands of Add and Mul may stand in any order. float32 only: in float16 the written-out form
// rounds differently. Covered by tests/passes/fuse_layer_norm_test.cc.
#include <algorithm>

#include "ops/ops.h"
#include "passes/match.h"
#include "passes/passes.h"

namespace narthex {
namespace {

struct Norm {
  ValueId x = kNoValue;
  double epsilon = 0;
};

class Matcher {
 public:
  explicit Matcher(const Graph& graph) : graph_(graph), uses_(graph) {}
  const Uses& uses() const { return uses_; }

  // value = (x - mean) / sqrt(variance + epsilon)
  std::optional<Norm> normalised(ValueId value) const {
    if (const Node* div = inner(value, "Div")) return scaled(div->inputs[0], div->inputs[1]);
    const Node* mul = inner(value, "Mul");
    if (mul == nullptr) return std::nullopt;
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
      const Node* reciprocal = inner(mul->inputs[i], "Reciprocal");
      if (reciprocal == nullptr) continue;
      if (const auto norm = scaled(mul->inputs[1 - i], reciprocal->inputs[0])) return norm;
    }
    return std::nullopt;
  }

 private:
  // A node that only this pattern uses. Values that the pattern itself uses twice are counted by the caller.
  const Node* inner(ValueId value, std::string_view op) const { return made_only_for_this(graph_, uses_, value, op); }

  std::optional<Norm> scaled(ValueId centred, ValueId deviation) const {
    const Node* sqrt = inner(deviation, "Sqrt");
    const Node* add = sqrt == nullptr ? nullptr : inner(sqrt->inputs[0], "Add");
    const auto variance = add == nullptr ? std::nullopt : with_scalar(graph_, *add);
    const Node* mean_of_square = variance ? mean_over_last(variance->first) : nullptr;
    if (mean_of_square == nullptr || uses_.count(mean_of_square->outputs[0]) != 1) return std::nullopt;
    const ValueId difference = squared(mean_of_square->inputs[0]);
    if (difference == kNoValue) return std::nullopt;
    const Node* left = made_by(graph_, uses_, centred, "Sub");
    const Node* right = made_by(graph_, uses_, difference, "Sub");
    if (left == nullptr || right == nullptr || !only_used_here(*left, *right, mean_of_square->inputs[0])) {
      return std::nullopt;
    }
    const ValueId x = left->inputs[0];
    if (right->inputs[0] != x || !is_mean_of(left->inputs[1], x) || !is_mean_of(right->inputs[1], x)) {
      return std::nullopt;
    }
    return Norm{x, variance->second};
  }

  // d of Pow(d, 2) or Mul(d, d).
  ValueId squared(ValueId value) const {
    if (const Node* pow = inner(value, "Pow")) {
      const auto exponent = scalar_operand(graph_, pow->inputs[1], pow->inputs[0]);
      return exponent == std::optional(2.0) ? pow->inputs[0] : kNoValue;
    }
    const Node* mul = inner(value, "Mul");
    return mul != nullptr && mul->inputs[0] == mul->inputs[1] ? mul->inputs[0] : kNoValue;
  }

  const Node* mean_over_last(ValueId value) const {
    const Node* mean = made_by(graph_, uses_, value, "ReduceMean");
    if (mean == nullptr || !mean->has_input(1) || mean->int_attr("keepdims", 1).value_or(0) != 1) return nullptr;
    const auto axes = ints_of_constant(graph_, mean->inputs[1]);
    const auto& shape = graph_.value(mean->inputs[0]).shape;
    if (!axes || axes->size() != 1) return nullptr;
    const bool last = (*axes)[0] == -1 || (shape && (*axes)[0] + 1 == static_cast<std::int64_t>(shape->size()));
    return last ? mean : nullptr;
  }

  bool is_mean_of(ValueId value, ValueId x) const {
    const Node* mean = mean_over_last(value);
    return mean != nullptr && mean->inputs[0] == x && !uses_.is_output(value);
  }

  // The differences (one node or two) and the mean feed nothing outside the pattern.
  bool only_used_here(const Node& left, const Node& right, ValueId square) const {
    const Node* by_mul = made_by(graph_, uses_, square, "Mul");
    const std::size_t in_square = by_mul != nullptr ? 2 : 1;
    const bool one_mean = left.inputs[1] == right.inputs[1];
    if (&left == &right) {
      return !uses_.is_output(left.outputs[0]) && uses_.count(left.outputs[0]) == 1 + in_square &&
             uses_.count(left.inputs[1]) == 1;
    }
    return !uses_.is_output(left.outputs[0]) && !uses_.is_output(right.outputs[0]) &&
           uses_.count(left.outputs[0]) == 1 && uses_.count(right.outputs[0]) == in_square &&
           uses_.count(left.inputs[1]) == (one_mean ? 2U : 1U) && uses_.count(right.inputs[1]) == (one_mean ? 2U : 1U);
  }

  const Graph& graph_;
  Uses uses_;
};

// The other operand of a node whose one operand is a constant vector of n: {other, constant}.
std::optional<std::pair<ValueId, ValueId>> with_vector(const Graph& graph, const Node& node, std::int64_t n) {
  for (const std::size_t i : {std::size_t{1}, std::size_t{0}}) {
    const Tensor* constant = constant_of(graph, node.inputs[i]);
    const ValueId other = node.inputs[1 - i];
    const auto& shape = graph.value(other).shape;
    if (constant == nullptr || !is_vector_of(*constant, n) || constant->dtype() != DType::kFloat32) continue;
    if (!shape || constant->dims().size() > shape->size()) continue;
    return std::pair(other, node.inputs[i]);
  }
  return std::nullopt;
}

ValueId as_vector(Graph& graph, ValueId value) {
  const Tensor tensor = *graph.value(value).constant;
  if (tensor.rank() == 1) return value;
  return graph.add_constant(graph.value(value).name, tensor.reshaped({tensor.count()}));
}

// With the bias when `root` is the Add that adds it, without when it is the Mul.
bool rewrite(Graph& graph, const Matcher& matcher, std::size_t root, bool with_bias) {
  const Node& node = graph.nodes[root];
  if (!is_op(node, with_bias ? "Add" : "Mul")) return false;
  const auto n = last_dim(graph, node.outputs[0]);
  if (!n) return false;
  ValueId beta = kNoValue;
  const Node* product = &node;
  if (with_bias) {
    const auto biased = with_vector(graph, node, *n);
    if (!biased) return false;
    product = made_only_for_this(graph, matcher.uses(), biased->first, "Mul");
    if (product == nullptr) return false;
    beta = biased->second;
  }
  const auto scaled = with_vector(graph, *product, *n);
  if (!scaled) return false;
  const auto norm = matcher.normalised(scaled->first);
  if (!norm || graph.value(norm->x).dtype != DType::kFloat32 || last_dim(graph, norm->x) != n) return false;
  std::vector<ValueId> inputs = {norm->x, as_vector(graph, scaled->second)};
  if (beta != kNoValue) inputs.push_back(as_vector(graph, beta));
  become(graph.nodes[root], kOnnx, "LayerNormalization", std::move(inputs),
         {{"axis", std::int64_t{-1}}, {"epsilon", static_cast<float>(norm->epsilon)}});
  return true;
}

}  // namespace

Result<std::size_t> fuse_layer_norm(Graph& graph) {
  std::size_t found = 0;
  for (const bool with_bias : {true, false}) {
    const Matcher matcher(graph);
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) found += rewrite(graph, matcher, i, with_bias) ? 1 : 0;
    // The second sweep counts uses anew, and those of the replaced nodes must not count.
    if (with_bias) NX_TRY_VOID(dead_code(graph));
  }
  return found;
}

}  // namespace narthex
