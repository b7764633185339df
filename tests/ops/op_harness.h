// Calls one operator's row directly: `eval` on tensors, `infer` on described values.
//
//   run_op({"Slice"}, {x, starts, ends})            outputs, or the sentence that the row returns; Tensor() is absent
//   infer_op({"Reshape"}, {shaped({kBatch, kSeq}), sizes({kBatch, Dim(-1)})})
#pragma once

#include <gtest/gtest.h>

#include "ops/ops.h"

namespace narthex {

struct OpCall {
  std::string op;
  std::vector<Attribute> attributes = {};
  std::size_t n_outputs = 1;
};

inline Node node_of(const OpCall& call) {
  Node node;
  node.op = call.op;
  node.opset = kCanonicalOpset;
  node.attributes = call.attributes;
  node.def = find_op(kOnnx, call.op, kCanonicalOpset);
  NX_CHECK(node.def != nullptr && node.def->eval != nullptr, "a test of an operator without a row");
  return node;
}

inline Result<std::vector<Tensor>> run_op(const OpCall& call, const std::vector<Tensor>& inputs) {
  Node node = node_of(call);
  node.inputs.resize(inputs.size());
  node.outputs.resize(call.n_outputs);
  std::vector<Tensor> outputs(call.n_outputs);
  std::vector<const Tensor*> arguments;
  for (const Tensor& input : inputs) arguments.push_back(input.dtype() == DType::kUndefined ? nullptr : &input);
  EvalContext context(arguments, outputs, std::uint64_t{1} << 24);
  NX_TRY_VOID(node.def->eval(node, context));
  return outputs;
}

// The first output's elements after its dims, for short comparisons; the message when it failed.
template <class T>
std::string run_text(const OpCall& call, const std::vector<Tensor>& inputs) {
  const auto outputs = run_op(call, inputs);
  if (!outputs) return outputs.error().message;
  std::string text = dims_string(outputs->front().dims());
  for (const T element : outputs->front().template as<T>()) text += fmt::format(" {}", element);
  return text;
}

inline Tensor ints(const std::vector<std::int64_t>& values) {
  return Tensor::vector(values);
}
inline Tensor matrix(std::int64_t rows, std::int64_t columns, std::vector<std::int64_t> values) {
  return Tensor::make<std::int64_t>({rows, columns}, values);
}

inline Value shaped(Shape shape) {
  return Value{"", DType::kFloat32, std::move(shape), {}, {}};
}
// A vector of known integer expressions.
inline Value sizes(std::vector<Dim> content) {
  return Value{"", DType::kInt64, Shape{Dim(static_cast<std::int64_t>(content.size()))}, {}, std::move(content)};
}
inline Value scalar_size(Dim content) {
  return Value{"", DType::kInt64, Shape{}, {}, std::vector{std::move(content)}};
}

inline std::vector<Value> infer_op(const OpCall& call, const std::vector<Value>& inputs) {
  Graph graph;
  graph.nodes.push_back(node_of(call));
  Node& node = graph.nodes.back();
  for (const Value& input : inputs) {
    node.inputs.push_back(graph.add_value(""));
    graph.values.back() = input;
  }
  for (std::size_t i = 0; i < call.n_outputs; ++i) node.outputs.push_back(graph.add_value(""));
  InferContext context(graph, graph.nodes.back());
  const auto status = node.def->infer(context);
  EXPECT_TRUE(status) << status.error().message;
  return {graph.values.end() - static_cast<std::ptrdiff_t>(call.n_outputs), graph.values.end()};
}

// "[batch, seq]", or "?" for an unknown rank; with the content, "[2] = batch, seq".
inline std::string infer_text(const OpCall& call, const std::vector<Value>& inputs) {
  const Value value = infer_op(call, inputs).front();
  if (!value.shape) return "?";
  std::string text = shape_string(*value.shape);
  if (!value.content) return text;
  text += " =";
  for (const Dim& element : *value.content) text += " " + element.to_string() + ",";
  if (text.back() == ',') text.pop_back();
  return text;
}

}  // namespace narthex
