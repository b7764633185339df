#include "passes/pipeline.h"

#include <algorithm>
#include <chrono>

#include "base/nearest.h"
#include "graph/verify.h"
#include "passes/passes.h"

namespace narthex {
namespace {

struct Pass {
  const char* name;
  Result<std::size_t> (*run)(Graph&);
};

bool contains(const auto& list, std::string_view name) {
  return std::ranges::find(list, name) != std::ranges::end(list);
}

constexpr Pass kPipeline[] = {
    {"dead-code", dead_code},
    {"symbolic-shapes", symbolic_shapes},  // Shape -> Gather -> Concat chains become constants or expressions
    {"fold-constants", fold_constants},    // and If with a constant condition becomes its branch
    {"simplify", simplify},
    {"common-subexpressions", common_subexpressions},
    {"fuse-layer-norm", fuse_layer_norm},
    {"fuse-gelu", fuse_gelu},
    {"fuse-linear", fuse_linear},  // after fuse-gelu, whose result it takes as an activation
};

Result<void> check_names(const PassOptions& options) {
  const std::vector<std::string_view> known = pass_names();
  for (const std::string& name : options.skip) {
    if (contains(known, name)) continue;
    const auto nearest = nearest_name(name, known);
    if (nearest) {
      return fail(ErrorCode::kUsage, "pass '{}' is not known; did you mean '{}'?", name, *nearest);
    }
    return fail(ErrorCode::kUsage, "pass '{}' is not known; the passes are {}", name, fmt::join(known, ", "));
  }
  return {};
}

Result<void> run_one(Graph& graph, const Pass& pass, const PassOptions& options, PassReport& report) {
  const auto start = std::chrono::steady_clock::now();
  NX_TRY(const std::size_t changes, pass.run(graph));
  report.milliseconds += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  report.changes += changes;
  if (!options.verify) return {};
  if (auto status = verify(graph); !status) {
    return fail(status.error().code, "after pass '{}': {}", pass.name, status.error().message);
  }
  return {};
}

}  // namespace

std::vector<std::string_view> pass_names() {
  std::vector<std::string_view> names;
  for (const Pass& pass : kPipeline) names.emplace_back(pass.name);
  return names;
}

Result<PipelineReport> run_passes(Graph& graph, const PassOptions& options) {
  NX_TRY_VOID(check_names(options));
  PipelineReport report;
  report.nodes_before = graph.nodes.size();
  for (const Pass& pass : kPipeline) {
    report.passes.push_back({pass.name, 0, 0, contains(options.skip, pass.name)});
  }
  for (std::size_t changed = 1; changed > 0 && report.rounds < kMaxRounds; ++report.rounds) {
    changed = 0;
    for (std::size_t i = 0; i < std::size(kPipeline); ++i) {
      if (report.passes[i].skipped) continue;
      const std::size_t before = report.passes[i].changes;
      NX_TRY_VOID(run_one(graph, kPipeline[i], options, report.passes[i]));
      changed += report.passes[i].changes - before;
    }
  }
  report.nodes_after = graph.nodes.size();
  return report;
}

}  // namespace narthex
