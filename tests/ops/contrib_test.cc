// Every com.microsoft operator against ONNX Runtime: the golden models of tests/ops/data/contrib.
#include <vector>

#include "ops/golden.h"

namespace narthex {
namespace {

TEST(Contrib, EveryExpansionGivesTheOutputsOfOnnxRuntime) {
  const auto files = golden_models("contrib");
  EXPECT_GE(files.size(), 110u);
  for (const auto& file : files) check_golden(file);
}

TEST(Contrib, EveryOperatorHasAGoldenModel) {
  std::vector<std::string> covered;
  for (const auto& file : golden_models("contrib")) {
    const auto model = onnx::read_model(file);
    ASSERT_TRUE(model) << model.error().message;
    for (const onnx::Node& node : (*model)->graph.nodes) {
      if (node.domain == kMs) covered.push_back(node.op_type);
    }
  }
  for (const OpDef& def : contrib_ops()) EXPECT_GT(std::ranges::count(covered, def.name), 0) << def.name;
}

// What one com.microsoft node says when it is normalised; its inputs are values without shapes, or constants.
std::string refusal(Node node, const std::vector<std::optional<Tensor>>& inputs, std::size_t n_outputs = 1) {
  Graph graph;
  graph.source = "m";
  node.name = "n";
  node.domain = kMs;
  node.opset = 1;
  for (const auto& input : inputs) {
    node.inputs.push_back(input ? graph.add_constant("c", *input) : graph.add_value("x"));
  }
  for (std::size_t i = 0; i < n_outputs; ++i) node.outputs.push_back(graph.add_value("y"));
  graph.nodes.push_back(std::move(node));
  const auto done = normalise(graph);
  return done ? "normalised" : done.error().message;
}

Node ms_node(std::string op, std::vector<Attribute> attributes) {
  Node node;
  node.op = std::move(op);
  node.attributes = std::move(attributes);
  return node;
}

TEST(Contrib, WhatIsNotSupportedIsRefusedByName) {
  const std::optional<Tensor> x;
  const Attribute heads = {"num_heads", std::int64_t{2}};
  EXPECT_EQ(refusal(ms_node("Attention", {heads, {"do_rotary", std::int64_t{1}}}), {x, x}),
            "m: node 'n' (Attention): attribute 'do_rotary' = 1 is not supported");
  EXPECT_EQ(refusal(ms_node("Attention", {heads}), {x, x, x, x, x, x, x}),
            "m: node 'n' (Attention): input 6 ('past_sequence_length') is not supported");
  EXPECT_EQ(refusal(ms_node("Attention", {heads}), {x, x, x, x}),
            "m: node 'n' (Attention): the rank of its mask is not known");
  EXPECT_EQ(refusal(ms_node("Attention", {}), {x, x}), "m: node 'n' (Attention): num_heads must be positive, but is 0");
  EXPECT_EQ(refusal(ms_node("Attention", {heads, {"qkv_hidden_sizes", std::vector<std::int64_t>{1}}}), {x, x}),
            "m: node 'n' (Attention): qkv_hidden_sizes has 1 entries, expected 3");
  EXPECT_EQ(refusal(ms_node("FusedGemm", {{"activation", std::string("Cube")}}), {x, x}),
            "m: node 'n' (FusedGemm): activation 'Cube' is not supported");
  EXPECT_EQ(refusal(ms_node("MultiHeadAttention", {heads}), {x, x, x}, 4),
            "m: node 'n' (MultiHeadAttention): output 3 ('qk') is not supported");
}

TEST(Contrib, BlockQuantisedWeightsThatDoNotFitAreRefused) {
  const std::optional<Tensor> x;
  const auto nbits = [](std::int64_t n, std::int64_t k, std::int64_t block) {
    return ms_node("MatMulNBits", {{"N", n}, {"K", k}, {"block_size", block}});
  };
  const Tensor weights = Tensor::make<std::uint8_t>({1, 1, 16}, std::vector<std::uint8_t>(16));
  const Tensor scales = Tensor::make<float>({1, 1}, std::vector<float>{1});
  EXPECT_EQ(refusal(nbits(1, 32, 32), {x, weights, scales}), "normalised");
  EXPECT_EQ(refusal(nbits(1, 32, 32), {x, x, scales}), "m: node 'n' (MatMulNBits): the weights must be constant");
  EXPECT_EQ(refusal(nbits(1, 32, 24), {x, weights, scales}),
            "m: node 'n' (MatMulNBits): block_size must be a power of two from 16, but is 24");
  EXPECT_EQ(
      refusal(nbits(2, 32, 32), {x, weights, scales}),
      "m: node 'n' (MatMulNBits): packed 4-bit numbers of type uint8 and shape [1,1,16] do not hold 2 rows of 32");
  const std::int64_t huge = std::int64_t{1} << 62;
  EXPECT_EQ(refusal(nbits(huge, huge, 32), {x, weights, scales}),
            fmt::format("m: node 'n' (MatMulNBits): N = {0} and K = {0} do not fit weights of shape [1,1,16]", huge));
}

}  // namespace
}  // namespace narthex
