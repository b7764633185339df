// Small canonical graphs, written down in a test.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "graph/verify.h"
#include "ops/evaluate.h"
#include "ops/ops.h"

namespace narthex::testing {

class GraphMaker {
 public:
  GraphMaker() { graph_.source = "test.onnx"; }

  ValueId input(const std::string& name, DType dtype, Shape shape) {
    const ValueId id = graph_.add_value(name);
    graph_.value(id).dtype = dtype;
    graph_.value(id).shape = std::move(shape);
    graph_.inputs.push_back(id);
    return id;
  }
  ValueId constant(Tensor tensor) { return graph_.add_constant("c" + std::to_string(graph_.values.size()), tensor); }
  ValueId scalar(float value) { return constant(Tensor::scalar(value)); }
  ValueId ints(const std::vector<std::int64_t>& values) { return constant(Tensor::vector(values)); }
  ValueId floats(Dims dims, float first = 0.5F, float step = 0.25F) {
    Tensor tensor = *Tensor::allocate(DType::kFloat32, std::move(dims));
    for (float& v : tensor.as_mutable<float>()) {
      v = first;
      first = first > 2 ? first - 3 : first + step;
    }
    return constant(std::move(tensor));
  }
  std::vector<ValueId> node(const std::string& op, std::vector<ValueId> inputs, std::size_t n_outputs,
                            std::vector<Attribute> attributes = {}) {
    Node n;
    n.name = op + "_" + std::to_string(graph_.nodes.size());
    n.op = op;
    n.opset = kCanonicalOpset;
    n.def = find_op(kOnnx, op, kCanonicalOpset);
    EXPECT_NE(n.def, nullptr) << op;
    n.inputs = std::move(inputs);
    n.attributes = std::move(attributes);
    for (std::size_t i = 0; i < n_outputs; ++i) n.outputs.push_back(graph_.add_value(n.name + "_out"));
    graph_.nodes.push_back(n);
    return n.outputs;
  }
  ValueId op(const std::string& op, std::vector<ValueId> inputs, std::vector<Attribute> attributes = {}) {
    return node(op, std::move(inputs), 1, std::move(attributes))[0];
  }
  void output(ValueId value) { graph_.outputs.push_back(value); }
  Graph& graph() { return graph_; }

 private:
  Graph graph_;
};

inline Tensor random_floats(Dims dims, unsigned seed = 1) {
  Tensor tensor = *Tensor::allocate(DType::kFloat32, std::move(dims));
  for (float& v : tensor.as_mutable<float>()) {
    seed = seed * 1664525U + 1013904223U;
    v = static_cast<float>(static_cast<int>(seed >> 8) % 4001 - 2000) / 500.0F;
  }
  return tensor;
}

// How many nodes have this operator.
inline std::size_t count_op(const Graph& graph, std::string_view op) {
  std::size_t n = 0;
  for (const Node& node : graph.nodes) n += node.op == op ? 1 : 0;
  return n;
}

// The largest difference of two lists of outputs; infinite when types, dims or integers differ.
inline double largest_difference(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  if (a.size() != b.size()) return INFINITY;
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].dtype() != b[i].dtype() || a[i].dims() != b[i].dims()) return INFINITY;
    if (a[i].dtype() != DType::kFloat32) {
      if (!std::equal(a[i].data(), a[i].data() + a[i].bytes(), b[i].data())) return INFINITY;
      continue;
    }
    for (std::size_t k = 0; k < a[i].as<float>().size(); ++k) {
      const double x = a[i].as<float>()[k];
      const double y = b[i].as<float>()[k];
      if (std::isnan(x) != std::isnan(y)) return INFINITY;
      if (!std::isnan(x) && x != y) largest = std::max(largest, std::abs(x - y));
    }
  }
  return largest;
}

// Runs the pass, checks that the graph stays well formed and computes the same, and returns the number of changes.
template <class Pass>
std::size_t run_checked(Graph& graph, Pass pass, const std::vector<Tensor>& inputs, double tolerance = 1e-5) {
  const auto before = evaluate(graph, inputs);
  EXPECT_TRUE(before) << before.error().message;
  const auto changes = pass(graph);
  EXPECT_TRUE(changes) << changes.error().message;
  const auto valid = verify(graph);
  EXPECT_TRUE(valid) << valid.error().message;
  const auto after = evaluate(graph, inputs);
  EXPECT_TRUE(after) << after.error().message;
  if (before && after) {
    EXPECT_LE(largest_difference(*before, *after), tolerance);
  }
  return changes.value_or(0);
}

inline const Dim kBatch = Dim::symbol("batch");
inline const Dim kSeq = Dim::symbol("seq");

}  // namespace narthex::testing
