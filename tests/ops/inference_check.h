// Compares what inference says about every value of a graph with what the evaluator computes.
//
//   infer_graph(graph)                        runs the rows' `infer` in order
//   check_inference(graph, inputs, bindings)  evaluates node by node; returns how much was known, fails on any lie
#pragma once

#include <gtest/gtest.h>

#include <map>

#include "ops/evaluate.h"
#include "ops/util.h"

namespace narthex {

struct InferenceTally {
  std::size_t values = 0;
  std::size_t known_shapes = 0;  // every dimension
  std::size_t known_ranks = 0;
  std::size_t contents = 0;  // with at least one element known
};

inline void infer_graph(Graph& graph) {
  for (const Node& node : graph.nodes) {
    if (node.def == nullptr || node.def->infer == nullptr) continue;
    InferContext context(graph, node);
    const auto status = node.def->infer(context);
    ASSERT_TRUE(status) << node.op << " '" << node.name << "': " << status.error().message;
  }
}

inline void check_content(const Value& value, const Tensor& actual, const Dim::Bindings& bindings,
                          InferenceTally& tally) {
  std::vector<std::int64_t> elements;
  if (actual.dtype() == DType::kBool) {
    for (const bool element : actual.as<bool>()) elements.push_back(element);
  } else {
    const auto numbers = ints_of(actual, "content");
    ASSERT_TRUE(numbers) << value.name << ": content of a value of type " << dtype_name(actual.dtype());
    elements = *numbers;
  }
  ASSERT_EQ(value.content->size(), elements.size()) << value.name;
  bool any = elements.empty();
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const Dim& dim = (*value.content)[i];
    const auto bound = dim.evaluate(bindings);
    any = any || bound.has_value();
    EXPECT_TRUE(!bound || *bound == elements[i])
        << value.name << ": element " << i << " is inferred as " << dim.to_string() << ", but is " << elements[i];
  }
  tally.contents += any ? 1 : 0;
}

inline void check_value(const Value& value, const Tensor& actual, const Dim::Bindings& bindings,
                        InferenceTally& tally) {
  ++tally.values;
  EXPECT_TRUE(value.dtype == DType::kUndefined || value.dtype == actual.dtype())
      << value.name << ": inferred as " << dtype_name(value.dtype) << ", but is " << dtype_name(actual.dtype());
  if (value.shape) {
    ++tally.known_ranks;
    ASSERT_EQ(value.shape->size(), actual.dims().size())
        << value.name << ": inferred as " << shape_string(*value.shape) << ", but is " << dims_string(actual.dims());
    bool all = true;
    for (std::size_t d = 0; d < actual.dims().size(); ++d) {
      const auto bound = (*value.shape)[d].evaluate(bindings);
      all = all && bound.has_value();
      EXPECT_TRUE(!bound || *bound == actual.dims()[d])
          << value.name << ": inferred as " << shape_string(*value.shape) << ", but is " << dims_string(actual.dims());
    }
    tally.known_shapes += all ? 1 : 0;
  }
  if (value.content) check_content(value, actual, bindings, tally);
}

inline InferenceTally check_inference(const Graph& graph, const std::vector<Tensor>& inputs,
                                      const Dim::Bindings& bindings) {
  InferenceTally tally;
  std::vector<Tensor> values(graph.values.size());
  std::vector<bool> present(graph.values.size(), false);
  const auto put = [&](ValueId id, Tensor tensor) {
    values[static_cast<std::size_t>(id)] = std::move(tensor);
    present[static_cast<std::size_t>(id)] = true;
  };
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    if (graph.values[i].constant) put(static_cast<ValueId>(i), *graph.values[i].constant);
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) put(graph.inputs[i], inputs[i]);
  for (const Node& node : graph.nodes) {
    std::vector<const Tensor*> arguments;
    for (const ValueId id : node.inputs) {
      const bool there = id != kNoValue && present[static_cast<std::size_t>(id)];
      arguments.push_back(there ? &values[static_cast<std::size_t>(id)] : nullptr);
    }
    auto outputs = evaluate_node(graph, node, arguments);
    EXPECT_TRUE(outputs) << outputs.error().message;
    if (!outputs) return tally;
    for (std::size_t i = 0; i < outputs->size(); ++i) {
      if (!node.has_output(i)) continue;
      SCOPED_TRACE(node.op + " '" + node.name + "'");
      check_value(graph.value(node.outputs[i]), (*outputs)[i], bindings, tally);
      put(node.outputs[i], std::move((*outputs)[i]));
    }
  }
  return tally;
}

}  // namespace narthex
