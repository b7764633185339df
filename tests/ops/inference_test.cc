// Inference is never wrong: on the encoder graphs of every exporter, each shape and content that is inferred, bound to
// concrete sizes, equals what the evaluator computes.
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "graph/build.h"
#include "onnx/read.h"
#include "ops/inference_check.h"
#include "ops/normalise.h"

namespace narthex {
namespace {

// Token ids below 100, and masks whose first token is always there.
std::vector<Tensor> encoder_inputs(const Graph& graph, std::int64_t batch, std::int64_t seq) {
  std::mt19937 random(3);
  std::vector<Tensor> inputs;
  for (const ValueId id : graph.inputs) {
    const bool is_mask = graph.value(id).name.find("mask") != std::string::npos;
    const bool is_type = graph.value(id).name.find("type") != std::string::npos;
    std::vector<std::int64_t> values(static_cast<std::size_t>(batch * seq));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const bool first = i % static_cast<std::size_t>(seq) == 0;
      const auto number = static_cast<std::int64_t>(random() % 90);
      values[i] = is_type ? 0 : is_mask ? std::int64_t{first || number % 4 != 0} : 5 + number;
    }
    inputs.push_back(Tensor::make<std::int64_t>({batch, seq}, values));
  }
  return inputs;
}

TEST(Inference, EveryValueOfTheEncoderGraphs) {
  std::size_t n_graphs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(NARTHEX_SOURCE_DIR "/tests/data/graphs")) {
    if (entry.path().extension() != ".onnx") continue;
    SCOPED_TRACE(entry.path().filename().string());
    const auto model = onnx::read_model(entry.path());
    ASSERT_TRUE(model) << model.error().message;
    auto graph = build_graph(**model);
    ASSERT_TRUE(graph) << graph.error().message;
    const auto normalised = normalise(*graph);
    ASSERT_TRUE(normalised) << normalised.error().message;
    infer_graph(*graph);
    for (const auto& [batch, seq] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {1, 9}, {3, 6}}) {
      // This exporter computes one cosine table for the whole batch; ONNX Runtime refuses batches over 1 as well.
      if (batch > 1 && entry.path().filename() == "x_modern_dyn_23_sdpa.onnx") continue;
      const Dim::Bindings bindings = [batch, seq](std::string_view name) -> std::optional<std::int64_t> {
        return name == "batch" ? std::optional(batch) : name == "seq" ? std::optional(seq) : std::nullopt;
      };
      const InferenceTally tally = check_inference(*graph, encoder_inputs(*graph, batch, seq), bindings);
      EXPECT_EQ(tally.known_shapes, tally.values);
    }
    ++n_graphs;
  }
  EXPECT_EQ(n_graphs, 20U);
}

}  // namespace
}  // namespace narthex
