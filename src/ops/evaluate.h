// The reference evaluator: runs a normalised graph node by node with each row's `eval`.
//
//   evaluate(graph, inputs)   inputs in the order of graph.inputs; outputs in the order of graph.outputs
//
// Slow and obvious on purpose: plans, passes and kernels are checked against it. Values die after their last use.
// Covered by tests/ops/normalise_test.cc and tests/conformance.
#pragma once

#include "ops/ops.h"

namespace narthex {

struct EvaluateLimits {
  std::uint64_t max_tensor_bytes = std::uint64_t{1} << 31;
};

Result<std::vector<Tensor>> evaluate(const Graph& graph, std::vector<Tensor> inputs, const EvaluateLimits& limits = {});

// One node, its inputs given (nullptr where absent). Errors name file and node.
Result<std::vector<Tensor>> evaluate_node(const Graph& graph, const Node& node, std::span<const Tensor* const> inputs,
                                          const EvaluateLimits& limits = {});

}  // namespace narthex
