// A graph as text, one node a line, for `narthex inspect --graph` and for test failures.
#pragma once

#include <string>

#include "graph/graph.h"

namespace narthex {

// "%12 last_hidden_state float32 [batch,seq,384]"; the type and shape only where they are known.
std::string value_string(const Graph& graph, ValueId id);
std::string node_string(const Graph& graph, const Node& node);
std::string print_graph(const Graph& graph);

}  // namespace narthex
