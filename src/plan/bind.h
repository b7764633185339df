// Whether tensors fit the inputs that a graph declares: number, type, rank, fixed dimensions, and that one name
// ("batch") means one positive number throughout.
//
//   check_inputs(graph, inputs)   the passes rely on it: a graph simplified for equal names would be wrong for others
//
// Covered by tests/plan/bind_test.cc.
#pragma once

#include <span>

#include "graph/graph.h"

namespace narthex {

Result<void> check_inputs(const Graph& graph, std::span<const Tensor> inputs);

}  // namespace narthex
