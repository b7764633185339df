// What the passes share: who makes and who uses a value, small pattern pieces, and edits.
//
//   Uses uses(graph);   built once per sweep; edits of the graph do not update it
//
// Patterns ask for constants by value within kConstantTolerance, whatever their rank, and take the operands of
// commutative operators in either order. Covered by the tests of the passes.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace narthex {

inline constexpr std::size_t kNoNode = static_cast<std::size_t>(-1);
// Relative. Exporters write sqrt(2) and 1/sqrt(2) as float32 (2e-8 off); 1.4142 (1e-5 off) would move results by more
// than float32 does, so such a model keeps its own arithmetic.
inline constexpr double kConstantTolerance = 1e-6;

class Uses {
 public:
  explicit Uses(const Graph& graph);
  // The node that makes the value, or kNoNode for inputs and constants.
  std::size_t producer(ValueId value) const { return producer_[static_cast<std::size_t>(value)]; }
  // Inputs of nodes that refer to the value, plus outputs of the graph that are the value.
  std::size_t count(ValueId value) const { return count_[static_cast<std::size_t>(value)]; }
  bool is_output(ValueId value) const { return is_output_[static_cast<std::size_t>(value)]; }
  bool is_input(ValueId value) const { return is_input_[static_cast<std::size_t>(value)]; }

 private:
  std::vector<std::size_t> producer_;
  std::vector<std::size_t> count_;
  std::vector<bool> is_output_;
  std::vector<bool> is_input_;
};

inline bool is_op(const Node& node, std::string_view op) {
  return node.domain.empty() && node.op == op;
}

// The node of the ONNX domain with this operator that makes `value`, or nullptr.
const Node* made_by(const Graph& graph, const Uses& uses, ValueId value, std::string_view op);
// The same, and nothing but one input of one node uses the value: it vanishes when that node is rewritten.
const Node* made_only_for_this(const Graph& graph, const Uses& uses, ValueId value, std::string_view op);

const Tensor* constant_of(const Graph& graph, ValueId value);
// The one element of a floating-point or integer constant.
std::optional<double> scalar_of(const Graph& graph, ValueId value);
// scalar_of() for an operand of an elementwise node whose other operand is `other`, provided the constant does not
// raise the rank of the result.
std::optional<double> scalar_operand(const Graph& graph, ValueId value, ValueId other);
bool close_to(std::optional<double> value, double expected);
// For a binary node with a scalar constant on either side: {other operand, the scalar}; commutative operators only.
std::optional<std::pair<ValueId, double>> with_scalar(const Graph& graph, const Node& node);
// The last dimension of a value, when it is a known number.
std::optional<std::int64_t> last_dim(const Graph& graph, ValueId value);
// Elements of an int64 constant input; nullopt when it is not one.
std::optional<std::vector<std::int64_t>> ints_of_constant(const Graph& graph, ValueId value);
bool same_shape(const Graph& graph, ValueId a, ValueId b);
// The constant as a vector of n elements, when it has n elements and all its dimensions but the last are 1.
bool is_vector_of(const Tensor& tensor, std::int64_t n);

// Collects replacements and applies them in one sweep. A graph output is replaced only by a value that can take over
// its name: not an input, not another output.
class Replacements {
 public:
  explicit Replacements(Graph& graph) : graph_(graph), target_(graph.values.size(), kNoValue) {}
  bool add(const Uses& uses, ValueId old_value, ValueId new_value);
  ValueId resolve(ValueId value) const;
  // Rewrites inputs of nodes and outputs of the graph; returns the number of replacements.
  std::size_t apply();

 private:
  Graph& graph_;
  std::vector<ValueId> target_;
  std::vector<ValueId> renamed_;
  std::size_t count_ = 0;
};

// Makes the node a canonical one of another operator; outputs and name stay.
void become(Node& node, std::string_view domain, std::string_view op, std::vector<ValueId> inputs,
            std::vector<Attribute> attributes = {});

}  // namespace narthex
