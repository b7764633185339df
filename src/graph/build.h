// Turns a decoded .onnx file into a Graph: names become numbers, functions are inlined, captures become inputs.
//
//   build_graph(model)   errors name the file, the node and what is wrong with it
//
// Nodes are put in topological order, whatever their order in the file; a cycle, a value made twice or a name that
// nothing makes is an error. Initializers become constants, also those that old files list as inputs. Types and shapes
// that the file claims for values inside the graph are not trusted: only those of the inputs are kept. Covered by
// tests/graph/build_test.cc.
#pragma once

#include "graph/graph.h"
#include "onnx/model.h"

namespace narthex {

inline constexpr int kMinOpset = 7;
inline constexpr int kMaxOpset = 28;  // newer files may change what an operator means; they are refused

// After inlining of functions: a file of some kilobytes could otherwise unfold without end.
inline constexpr std::size_t kMaxGraphNodes = 1'000'000;
inline constexpr int kMaxFunctionDepth = 16;

Result<Graph> build_graph(const onnx::Model& model);

}  // namespace narthex
