// What tests of the recogniser share: graphs as it takes them, sequences without padding, and the comparison of what
// was recognised with what the graph computes.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "graph/build.h"
#include "onnx/read.h"
#include "ops/evaluate.h"
#include "ops/normalise.h"
#include "passes/pipeline.h"
#include "plan/encoder_reference.h"
#include "plan/recognise.h"

namespace narthex::testing {

inline const std::filesystem::path kGraphs = std::filesystem::path(NARTHEX_SOURCE_DIR) / "tests/data/graphs";

inline Graph load_normalised(const std::filesystem::path& path) {
  const auto model = onnx::read_model(path);
  EXPECT_TRUE(model) << model.error().message;
  auto graph = build_graph(**model);
  EXPECT_TRUE(graph) << graph.error().message;
  const auto done = normalise(*graph);
  EXPECT_TRUE(done) << done.error().message;
  return *std::move(graph);
}

inline Graph load_canonical(const std::filesystem::path& path) {
  Graph graph = load_normalised(path);
  const auto done = run_passes(graph);
  EXPECT_TRUE(done) << done.error().message;
  return graph;
}

// One sequence as a plan gets it.
struct Sequence {
  std::vector<std::int64_t> ids, types;
};

inline std::size_t table_entries(const Encoder& encoder, step::Index index) {
  for (const Step& step : encoder.steps) {
    const auto* embed = std::get_if<step::Embed>(&step);
    if (embed != nullptr && embed->index == index) return static_cast<std::size_t>(embed->table.dims()[0]);
  }
  return 1;
}

inline Sequence random_sequence(const Encoder& encoder, std::size_t length, unsigned seed) {
  std::mt19937 random(seed);
  const std::size_t n_ids = table_entries(encoder, step::Index::kTokenIds);
  const std::size_t n_types = table_entries(encoder, step::Index::kTokenTypes);
  Sequence sequence;
  while (sequence.ids.size() < length) {
    const auto id = static_cast<std::int64_t>(random() % n_ids);
    if (std::ranges::find(encoder.excluded_ids, id) != encoder.excluded_ids.end()) continue;
    sequence.ids.push_back(id);
    sequence.types.push_back(static_cast<std::int64_t>(random() % n_types));
  }
  return sequence;
}

// The sequence alone, in the graph's order of inputs: a mask of ones, positions from 0.
inline std::vector<Tensor> graph_inputs(const Graph& graph, const Sequence& sequence) {
  std::vector<Tensor> inputs;
  for (const ValueId v : graph.inputs) {
    const std::string& name = graph.value(v).name;
    std::vector<std::int64_t> elements(sequence.ids.size(), 1);
    if (name == "input_ids") elements = sequence.ids;
    if (name == "token_type_ids") elements = sequence.types;
    if (name == "position_ids") {
      for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<std::int64_t>(i);
    }
    const Dims dims = {1, static_cast<std::int64_t>(elements.size())};
    if (graph.value(v).dtype == DType::kInt32) {
      inputs.push_back(Tensor::vector(std::vector<std::int32_t>(elements.begin(), elements.end())).reshaped(dims));
    } else {
      inputs.push_back(Tensor::vector(elements).reshaped(dims));
    }
  }
  return inputs;
}

// The largest |a − b|, relative to the largest element where that is above 1; infinite where they differ in shape, in
// what is not a number, or are infinite in different places.
inline double difference(const Matrix& a, const Tensor& b) {
  if (b.dtype() != DType::kFloat32) return INFINITY;
  const std::span<const float> elements = b.as<float>();
  std::size_t at = 0;
  double largest = 0, scale = 1;
  for (const auto& row : a) {
    for (const double x : row) {
      if (at >= elements.size()) return INFINITY;
      const auto y = static_cast<double>(elements[at++]);
      if (std::isnan(x) && std::isnan(y)) continue;
      if (std::isnan(x) || std::isnan(y)) return INFINITY;
      if (x == y) continue;
      largest = std::max(largest, std::abs(x - y));
      scale = std::max(scale, std::abs(y));
    }
  }
  return at == elements.size() ? largest / scale : INFINITY;
}

inline std::string refusals_of(const Recognition& recognition) {
  std::string all;
  for (const std::string& refusal : recognition.refusals) all += refusal + "; ";
  return all;
}

}  // namespace narthex::testing
