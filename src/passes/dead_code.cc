// Removes nodes that no output depends on, and frees constants that no node uses.
//
// Values keep their numbers: an unused value is only an empty entry. Inputs of the graph stay, used or not.
// Covered by tests/passes/dead_code_test.cc.
#include <vector>

#include "passes/passes.h"

namespace narthex {

Result<std::size_t> dead_code(Graph& graph) {
  std::vector<bool> live(graph.values.size(), false);
  for (const ValueId v : graph.outputs) live[static_cast<std::size_t>(v)] = true;
  std::vector<Node> kept;
  kept.reserve(graph.nodes.size());
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    Node& node = graph.nodes[i];
    bool needed = false;
    for (const ValueId v : node.outputs) needed = needed || (v != kNoValue && live[static_cast<std::size_t>(v)]);
    if (!needed) continue;
    for (const ValueId v : node.inputs) {
      if (v != kNoValue) live[static_cast<std::size_t>(v)] = true;
    }
    kept.push_back(std::move(node));
  }
  const std::size_t removed = graph.nodes.size() - kept.size();
  graph.nodes.assign(std::make_move_iterator(kept.rbegin()), std::make_move_iterator(kept.rend()));
  for (std::size_t v = 0; v < graph.values.size(); ++v) {
    if (!live[v]) graph.values[v].constant.reset();
  }
  return removed;
}

}  // namespace narthex
