// From a canonical graph to an Encoder, by meaning: each value is followed through the graph as what it is (token rows
// seen through reshapes and transposes, scores, probabilities, something that depends on the length only), whatever way
// the exporter spelled it.
//
//   recognise(graph, options)   graph after the passes of pipeline.h
//
// What is not understood leaves its outputs out and says so. Covered by tests/plan/recognise_test.cc.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "plan/encoder.h"

namespace narthex {

struct RecogniseOptions {
  std::size_t max_positions = 512;   // tables of positions are made up to here; fewer if the graph has fewer
  std::int64_t position_offset = 0;  // of the first token, where the graph has an input position_ids
};

struct Recognition {
  std::optional<Encoder> encoder;  // when at least one output was recognised
  // Per graph output: empty when recognised, else a sentence naming the node and what was expected.
  std::vector<std::string> refusals;
  // For `inspect`: "attention" → 12, "layer-norm" → 25, "linear+gelu" → 12, "mask: key padding" → 1 …
  std::map<std::string, std::size_t> counts;
};

Recognition recognise(const Graph& graph, const RecogniseOptions& options);

}  // namespace narthex
