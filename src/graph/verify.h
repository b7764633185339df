// Checks that a graph is well formed: what every pass may rely on and must leave behind.
//
//   verify(graph)   an Error names the first node or value that breaks a rule
//
// Rules: every id is in range; a value has one maker (a node, the inputs, or it is constant); nodes stand after what
// they use; outputs are made by something; every graph attribute obeys the same. Covered by tests/graph/verify_test.cc.
#pragma once

#include "graph/graph.h"

namespace narthex {

Result<void> verify(const Graph& graph);

}  // namespace narthex
