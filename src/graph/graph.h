// The intermediate representation: values and nodes in topological order.
//
//   build_graph(model)   (graph/build.h) makes one from an .onnx file: functions inlined, subgraphs as attributes
//   print_graph, verify  (graph/print.h, graph/verify.h)
//
// Values are numbered; a node refers to its inputs and outputs by number, kNoValue standing for an absent optional one.
// A subgraph (a branch of If) names nothing of its parent: what it captures are its own inputs, in the order of the
// extra inputs that the parent's node carries after its declared ones. Covered by tests/graph.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "graph/dim.h"
#include "graph/tensor.h"

namespace narthex {

struct OpDef;  // ops/ops.h
struct Graph;

using ValueId = std::int32_t;
inline constexpr ValueId kNoValue = -1;

using AttributeValue =
    std::variant<std::int64_t, float, std::string, Tensor, std::vector<std::int64_t>, std::vector<float>,
                 std::vector<std::string>, std::vector<Tensor>, std::shared_ptr<Graph>>;
struct Attribute {
  std::string name;
  AttributeValue value;
};

struct Node {
  std::string name;
  std::string op;              // "MatMul"
  std::string domain;          // "" is the ONNX domain
  int opset = 0;               // version of `domain` that the node was written for
  const OpDef* def = nullptr;  // set by normalise(); nodes of a normalised graph all have one
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::vector<Attribute> attributes;

  bool has_input(std::size_t i) const { return i < inputs.size() && inputs[i] != kNoValue; }
  bool has_output(std::size_t i) const { return i < outputs.size() && outputs[i] != kNoValue; }
  const AttributeValue* find(std::string_view attribute) const;
  void set(std::string_view attribute, AttributeValue value);

  // The attribute, or the default when absent; an Error if it has another type.
  Result<std::int64_t> int_attr(std::string_view attribute, std::int64_t fallback) const;
  Result<float> float_attr(std::string_view attribute, float fallback) const;
  Result<std::string> string_attr(std::string_view attribute, std::string_view fallback) const;
  Result<std::vector<std::int64_t>> ints_attr(std::string_view attribute,
                                              std::vector<std::int64_t> fallback = {}) const;
};

// What is known of a value before anything runs.
struct Value {
  std::string name;
  DType dtype = DType::kUndefined;
  std::optional<Shape> shape;      // nullopt: the rank is unknown
  std::optional<Tensor> constant;  // initializers and folded values
  std::optional<std::vector<Dim>>
      content;  // elements of a small integer tensor as expressions (Shape chains), row-major
};

struct Graph {
  std::string source;  // file name for messages
  std::string name;
  std::vector<Value> values;
  std::vector<Node> nodes;  // every node stands after the nodes that make its inputs
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;

  Value& value(ValueId id) { return values[static_cast<std::size_t>(id)]; }
  const Value& value(ValueId id) const { return values[static_cast<std::size_t>(id)]; }
  ValueId add_value(std::string name) {
    values.push_back(Value{std::move(name), DType::kUndefined, {}, {}, {}});
    return static_cast<ValueId>(values.size() - 1);
  }
  ValueId add_constant(std::string name, Tensor tensor);
};

// "model.onnx: node 'Softmax_13' (Softmax): message"
Error node_error(const Graph& graph, const Node& node, Error error);

}  // namespace narthex
