// The whole list on small graphs and on the exported encoders of tests/data/graphs.
#include "passes/pipeline.h"

#include <filesystem>

#include "graph/build.h"
#include "onnx/read.h"
#include "ops/normalise.h"
#include "passes/graph_maker.h"
#include "passes/passes.h"

namespace narthex::testing {
namespace {

TEST(Pipeline, UnknownPassNamesTheNearest) {
  GraphMaker m;
  PassOptions options;
  options.skip = {"fuse-gelus"};
  const auto report = run_passes(m.graph(), options);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().message, "pass 'fuse-gelus' is not known; did you mean 'fuse-gelu'?");
}

TEST(Pipeline, SkippedPassDoesNotRun) {
  for (const bool skip : {false, true}) {
    GraphMaker m;
    const ValueId x = m.input("x", DType::kFloat32, {kBatch, 4});
    m.output(m.op("Add", {m.op("MatMul", {x, m.floats({4, 2})}), m.floats({2})}));
    PassOptions options;
    if (skip) options.skip = {"fuse-linear"};
    const auto report = run_passes(m.graph(), options);
    ASSERT_TRUE(report);
    EXPECT_EQ(count_op(m.graph(), "Linear"), skip ? 0U : 1U);
    for (const PassReport& pass : report->passes) EXPECT_EQ(pass.skipped, skip && pass.name == "fuse-linear");
  }
}

std::vector<std::filesystem::path> exported_graphs() {
  std::vector<std::filesystem::path> paths;
  const auto folder = std::filesystem::path(NARTHEX_SOURCE_DIR) / "tests/data/graphs";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".onnx") paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  return paths;
}

Graph load(const std::filesystem::path& path) {
  const auto model = onnx::read_model(path);
  EXPECT_TRUE(model) << model.error().message;
  auto graph = build_graph(**model);
  EXPECT_TRUE(graph) << graph.error().message;
  const auto done = normalise(*graph);
  EXPECT_TRUE(done) << done.error().message;
  return *std::move(graph);
}

// One text of five tokens, the last two of them padding.
std::vector<Tensor> encoder_inputs(const Graph& graph) {
  std::vector<Tensor> inputs;
  for (const ValueId v : graph.inputs) {
    std::vector<std::int64_t> ids = {7, 11, 23, 1, 1};
    const std::string& name = graph.value(v).name;
    if (name.find("mask") != std::string::npos) ids = {1, 1, 1, 0, 0};
    if (name.find("type") != std::string::npos) ids = {0, 0, 1, 1, 0};
    inputs.push_back(Tensor::vector(ids).reshaped({1, 5}));
  }
  return inputs;
}

TEST(Pipeline, EveryPassLeavesEveryExportedGraphAsItComputes) {
  const auto paths = exported_graphs();
  EXPECT_EQ(paths.size(), 20U);
  for (const auto& path : paths) {
    SCOPED_TRACE(path.filename());
    Graph graph = load(path);
    const std::vector<Tensor> inputs = encoder_inputs(graph);
    const auto expected = evaluate(graph, inputs);
    ASSERT_TRUE(expected) << expected.error().message;
    const std::size_t nodes_before = graph.nodes.size();
    for (int round = 0; round < 2; ++round) {
      for (const std::string_view name : pass_names()) {
        SCOPED_TRACE(name);
        PassOptions only{{}, true};
        for (const std::string_view other : pass_names()) {
          if (other != name) only.skip.emplace_back(other);
        }
        const auto report = run_passes(graph, only);
        ASSERT_TRUE(report) << report.error().message;
        const auto now = evaluate(graph, inputs);
        ASSERT_TRUE(now) << now.error().message;
        ASSERT_LE(largest_difference(*expected, *now), 1e-5);
      }
    }
    EXPECT_LT(graph.nodes.size(), nodes_before);
    EXPECT_EQ(count_op(graph, "Erf"), 0U);
    EXPECT_EQ(count_op(graph, "ReduceMean"), 0U);
  }
}

}  // namespace
}  // namespace narthex::testing
