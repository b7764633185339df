// The ordered list of passes, and the loop that runs it.
//
//   run_passes(graph, options)   until a round changes nothing, at most kMaxRounds times
//
// Every pass has a name, can be skipped by it, is timed, and is followed by verify() where options ask for it (debug
// builds do). Covered by tests/passes/pipeline_test.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace narthex {

struct PassOptions {
  std::vector<std::string> skip;  // names of passes
#ifdef NDEBUG
  bool verify = false;
#else
  bool verify = true;
#endif
};

struct PassReport {
  std::string_view name;
  std::size_t changes = 0;  // over all rounds
  double milliseconds = 0;
  bool skipped = false;
};

struct PipelineReport {
  std::vector<PassReport> passes;  // in the order of the list
  std::size_t rounds = 0;
  std::size_t nodes_before = 0;
  std::size_t nodes_after = 0;
};

// Folding an If or a shape exposes more to the passes before it; real files need two or three rounds.
inline constexpr std::size_t kMaxRounds = 6;

Result<PipelineReport> run_passes(Graph& graph, const PassOptions& options = {});
std::vector<std::string_view> pass_names();

}  // namespace narthex
