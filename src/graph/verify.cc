#include "graph/verify.h"

namespace narthex {
namespace {

bool in_range(const Graph& graph, ValueId id) {
  return id >= 0 && static_cast<std::size_t>(id) < graph.values.size();
}

Result<void> verify_node(const Graph& graph, const Node& node, std::vector<bool>& made) {
  const auto bad = [&](std::string message) {
    return std::unexpected(node_error(graph, node, {ErrorCode::kBadModel, std::move(message)}));
  };
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId id = node.inputs[i];
    if (id == kNoValue) continue;
    if (!in_range(graph, id)) return bad(fmt::format("input {} is value {}, which does not exist", i, id));
    if (!made[static_cast<std::size_t>(id)]) {
      return bad(fmt::format("input {} ('{}') is made by no earlier node", i, graph.value(id).name));
    }
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const ValueId id = node.outputs[i];
    if (id == kNoValue) continue;
    if (!in_range(graph, id)) return bad(fmt::format("output {} is value {}, which does not exist", i, id));
    if (made[static_cast<std::size_t>(id)])
      return bad(fmt::format("makes '{}', which exists already", graph.value(id).name));
    made[static_cast<std::size_t>(id)] = true;
  }
  for (const Attribute& attribute : node.attributes) {
    if (const auto* subgraph = std::get_if<std::shared_ptr<Graph>>(&attribute.value)) NX_TRY_VOID(verify(**subgraph));
  }
  return {};
}

}  // namespace

Result<void> verify(const Graph& graph) {
  std::vector<bool> made(graph.values.size(), false);
  for (std::size_t i = 0; i < graph.values.size(); ++i) made[i] = graph.values[i].constant.has_value();
  for (const ValueId id : graph.inputs) {
    if (!in_range(graph, id)) return fail(ErrorCode::kBadModel, "{}: graph input {} does not exist", graph.source, id);
    made[static_cast<std::size_t>(id)] = true;
  }
  for (const Node& node : graph.nodes) NX_TRY_VOID(verify_node(graph, node, made));
  for (const ValueId id : graph.outputs) {
    if (!in_range(graph, id) || !made[static_cast<std::size_t>(id)]) {
      return fail(ErrorCode::kBadModel, "{}: graph output {} is made by no node", graph.source, id);
    }
  }
  return {};
}

}  // namespace narthex
