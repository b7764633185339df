// Rewrites every node into the canonical operators: the ONNX domain as kCanonicalOpset spells it.
//
//   normalise(graph)   resolves each node's row, checks its number of inputs and outputs, and lets the row rewrite it
//
// Afterwards every node has `def`; Constant, Identity and Dropout are gone, and com.microsoft operators are expanded. A
// node that no row knows is an Error that names it. Subgraphs are normalised too. Covered by
// tests/ops/normalise_test.cc.
#pragma once

#include "ops/ops.h"

namespace narthex {

Result<void> normalise(Graph& graph);

}  // namespace narthex
