#include "ops/evaluate.h"

namespace narthex {
namespace {

// For each value the index of the last node that reads it; outputs of the graph are read by nobody but kept.
std::vector<std::size_t> last_uses(const Graph& graph) {
  std::vector<std::size_t> last(graph.values.size(), 0);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const ValueId id : graph.nodes[i].inputs) {
      if (id != kNoValue) last[static_cast<std::size_t>(id)] = i;
    }
  }
  for (const ValueId id : graph.outputs) last[static_cast<std::size_t>(id)] = graph.nodes.size();
  return last;
}

Result<void> check_inputs(const Graph& graph, const std::vector<Tensor>& inputs) {
  if (inputs.size() != graph.inputs.size()) {
    return fail(ErrorCode::kBadInput, "{}: {} inputs given, the graph has {}", graph.source, inputs.size(),
                graph.inputs.size());
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Value& declared = graph.value(graph.inputs[i]);
    if (declared.dtype != DType::kUndefined && declared.dtype != inputs[i].dtype()) {
      return fail(ErrorCode::kBadInput, "{}: input '{}' must be {}, but is {}", graph.source, declared.name,
                  dtype_name(declared.dtype), dtype_name(inputs[i].dtype()));
    }
  }
  return {};
}

}  // namespace

Result<std::vector<Tensor>> evaluate_node(const Graph& graph, const Node& node, std::span<const Tensor* const> inputs,
                                          const EvaluateLimits& limits) {
  NX_CHECK(node.def != nullptr && node.def->eval != nullptr, "evaluating a node that is not normalised");
  std::vector<Tensor> outputs(node.outputs.size());
  EvalContext context(inputs, outputs, limits.max_tensor_bytes);
  if (auto done = node.def->eval(node, context); !done) {
    return std::unexpected(node_error(graph, node, std::move(done).error()));
  }
  return outputs;
}

Result<std::vector<Tensor>> evaluate(const Graph& graph, std::vector<Tensor> inputs, const EvaluateLimits& limits) {
  NX_TRY_VOID(check_inputs(graph, inputs));
  std::vector<Tensor> values(graph.values.size());
  std::vector<bool> present(graph.values.size(), false);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!graph.values[i].constant) continue;
    values[i] = *graph.values[i].constant;
    present[i] = true;
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto id = static_cast<std::size_t>(graph.inputs[i]);
    values[id] = std::move(inputs[i]);
    present[id] = true;
  }
  const std::vector<std::size_t> last = last_uses(graph);
  std::vector<const Tensor*> arguments;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    arguments.clear();
    for (const ValueId id : node.inputs) {
      // An unused capture of another branch may be absent: the branch that needs it says so.
      arguments.push_back(
          id == kNoValue || !present[static_cast<std::size_t>(id)] ? nullptr : &values[static_cast<std::size_t>(id)]);
    }
    NX_TRY(std::vector<Tensor> outputs, evaluate_node(graph, node, arguments, limits));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (!node.has_output(i)) continue;
      values[static_cast<std::size_t>(node.outputs[i])] = std::move(outputs[i]);
      present[static_cast<std::size_t>(node.outputs[i])] = true;
    }
    for (const ValueId id : node.inputs) {
      if (id != kNoValue && last[static_cast<std::size_t>(id)] == n) values[static_cast<std::size_t>(id)] = Tensor();
    }
  }
  std::vector<Tensor> outputs;
  for (const ValueId id : graph.outputs) outputs.push_back(values[static_cast<std::size_t>(id)]);
  return outputs;
}

}  // namespace narthex
