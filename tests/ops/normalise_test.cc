// Rewriting into canonical operators, and the evaluator that runs them, on whole small models.
#include "ops/normalise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/build.h"
#include "onnx/model_builder.h"
#include "ops/evaluate.h"

namespace narthex {
namespace {

using namespace onnx::build;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<Graph> canonical(const std::string& bytes) {
  NX_TRY(const std::shared_ptr<const onnx::Model> model, read_built(bytes, "test.onnx"));
  NX_TRY(Graph graph, build_graph(*model));
  NX_TRY_VOID(normalise(graph));
  return graph;
}

std::string unary(const std::string& one_node) {
  return model({.graph = {.nodes = {one_node},
                          .inputs = {value_info("x", DType::kFloat32, {2})},
                          .outputs = {value_info("y", DType::kFloat32, {2})}}});
}

TEST(Normalise, WhatNoRowKnowsIsNamedWithItsDomainAndOpset) {
  const auto graph = canonical(unary(node("Frobnicate", {"x"}, {"y"}, {}, {.name = "n1"})));
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(graph.error().message, HasSubstr("test.onnx: node 'n1' (Frobnicate): operator 'Frobnicate' (opset"));
}

TEST(Normalise, WrongNumbersOfInputsAreSaid) {
  EXPECT_THAT(canonical(unary(node("Add", {"x"}, {"y"}))).error().message, HasSubstr("has 1 inputs, expected 2"));
  EXPECT_THAT(canonical(unary(node("Add", {"", "x"}, {"y"}))).error().message, HasSubstr("input 0 is missing"));
}

TEST(Normalise, IdentitiesVanishAlsoBeforeAnOutput) {
  const auto graph = canonical(model(
      {.graph = {.nodes = {node("Identity", {"x"}, {"a"}), node("Abs", {"a"}, {"b"}), node("Identity", {"b"}, {"y"})},
                 .inputs = {value_info("x", DType::kFloat32, {2})},
                 .outputs = {value_info("y", DType::kFloat32, {2})}}}));
  ASSERT_TRUE(graph) << graph.error().message;
  ASSERT_EQ(graph->nodes.size(), 1u);
  EXPECT_EQ(graph->nodes[0].inputs[0], graph->inputs[0]);
  EXPECT_EQ(graph->outputs[0], graph->nodes[0].outputs[0]);
}

TEST(Evaluate, ABranchSeesWhatItCaptures) {
  const auto branch = [](const char* op) {
    return onnx::build::graph(
        {.nodes = {node(op, {"x", "w"}, {"r"})}, .outputs = {value_info("r", DType::kFloat32, {2})}});
  };
  const auto graph = canonical(model(
      {.graph = {.nodes = {node("If", {"c"}, {"y"},
                                {attr_graph("then_branch", branch("Add")), attr_graph("else_branch", branch("Mul"))})},
                 .initializers = {tensor<float>("w", {2}, {10, 20})},
                 .inputs = {value_info("c", DType::kBool, {}), value_info("x", DType::kFloat32, {2})},
                 .outputs = {value_info("y", DType::kFloat32, {2})}}}));
  ASSERT_TRUE(graph) << graph.error().message;
  const auto run = [&](bool condition) {
    const auto outputs = evaluate(*graph, {Tensor::scalar(condition), Tensor::vector<float>({1, 2})});
    EXPECT_TRUE(outputs) << outputs.error().message;
    const auto values = outputs->front().as<float>();
    return std::vector<float>(values.begin(), values.end());
  };
  EXPECT_THAT(run(true), ElementsAre(11, 22));
  EXPECT_THAT(run(false), ElementsAre(10, 40));
}

TEST(Evaluate, InputsOfAnotherTypeOrNumberAreRefused) {
  const auto graph = canonical(unary(node("Abs", {"x"}, {"y"})));
  ASSERT_TRUE(graph);
  EXPECT_THAT(evaluate(*graph, {Tensor::scalar<std::int64_t>(1)}).error().message,
              HasSubstr("input 'x' must be float, but is int64"));
  EXPECT_THAT(evaluate(*graph, {}).error().message, HasSubstr("0 inputs given, the graph has 1"));
}

}  // namespace
}  // namespace narthex
