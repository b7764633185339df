// The passes over a canonical graph, one file each; pipeline.cc lists them in order.
//
//   Result<std::size_t> pass(Graph&)   rewrites in place and returns how many things it changed; 0 means "nothing left"
//
// Every pass keeps the topological order of nodes and the meaning of the graph's inputs and outputs. A pass may leave
// dead nodes behind: dead_code removes them. Covered by tests/passes, one test file per pass.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "graph/graph.h"

namespace narthex {

// Types and shapes of all values; integer chains whose elements are all known become constants.
Result<std::size_t> symbolic_shapes(Graph& graph);
// Nodes whose inputs are all constant become constants; an If with a constant condition becomes its branch.
Result<std::size_t> fold_constants(Graph& graph);
// Drops no-op and doubled Reshape, Transpose, Cast, Expand, and arithmetic with a neutral constant.
Result<std::size_t> simplify(Graph& graph);
// Equal nodes over equal inputs, and small equal constants, are kept once.
Result<std::size_t> common_subexpressions(Graph& graph);
// Nodes that nothing uses, and the memory of constants that nothing uses.
Result<std::size_t> dead_code(Graph& graph);
// ReduceMean, Sub, Pow, ReduceMean, Add, Sqrt, Div, Mul, Add -> LayerNormalization.
Result<std::size_t> fuse_layer_norm(Graph& graph);
// x * 0.5 * (1 + erf(x / sqrt 2)) and the tanh form -> Gelu.
Result<std::size_t> fuse_gelu(Graph& graph);
// MatMul or Gemm by a constant matrix, its bias and its activation -> narthex.Linear.
Result<std::size_t> fuse_linear(Graph& graph);

// Larger results are folded only where they have no more elements than a constant they are made from: a model that
// broadcasts a 4-byte mask to 1 GB must stay small.
inline constexpr std::uint64_t kMaxFoldedBytes = std::uint64_t{1} << 20;

}  // namespace narthex
