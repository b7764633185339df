// Graphs from models built in memory: names, order, captures, functions, and what malformed models say.
#include "graph/build.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/print.h"
#include "graph/verify.h"
#include "onnx/model_builder.h"

namespace narthex {
namespace {

using namespace onnx::build;
using ::testing::HasSubstr;

Result<Graph> built(const std::string& bytes) {
  NX_TRY(const std::shared_ptr<const onnx::Model> model, read_built(bytes, "test.onnx"));
  NX_TRY(Graph graph, build_graph(*model));
  NX_TRY_VOID(verify(graph));
  return graph;
}

std::string error_of(const std::string& bytes) {
  auto graph = built(bytes);
  return graph ? "no error" : graph.error().message;
}

const auto kX = value_info("x", DType::kFloat32, {"batch", 4});

TEST(BuildGraph, NodesInAnyOrderComeOutInTopologicalOrder) {
  const auto graph = built(model({.graph = {.nodes = {node("Neg", {"a"}, {"y"}), node("Abs", {"x"}, {"a"})},
                                            .inputs = {kX},
                                            .outputs = {value_info("y", DType::kFloat32, {"batch", 4})}}}));
  ASSERT_TRUE(graph) << graph.error().message;
  ASSERT_EQ(graph->nodes.size(), 2u);
  EXPECT_EQ(graph->nodes[0].op, "Abs");
  EXPECT_EQ(graph->value(graph->inputs[0]).shape->at(0).symbol_name(), "batch");
}

// Found by fuzzing: a byte of 249 was read as a bool, which is neither true nor false.
TEST(BuildGraph, BoolsOfAFileAreOnlyZeroAndOne) {
  const auto graph = built(model({.graph = {.nodes = {node("Identity", {"w"}, {"y"})},
                                            .initializers = {raw_tensor("w", DType::kBool, {3}, {"\0\1\xf9", 3})},
                                            .outputs = {value_info("y", DType::kBool, {3})}}}));
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_THAT(graph->value(graph->nodes[0].inputs[0]).constant->as<bool>(), testing::ElementsAre(false, true, true));
  EXPECT_EQ(graph->value(graph->nodes[0].inputs[0]).constant->data()[2], std::byte{1});
}

TEST(BuildGraph, InitializersListedAsInputsAreConstants) {
  const auto graph = built(model({.graph = {.nodes = {node("Add", {"x", "w"}, {"y"})},
                                            .initializers = {tensor<float>("w", {4}, {1, 2, 3, 4})},
                                            .inputs = {kX, value_info("w", DType::kFloat32, {4})},
                                            .outputs = {kX}}}));
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(graph->inputs.size(), 1u);
  EXPECT_TRUE(graph->value(graph->nodes[0].inputs[1]).constant);
}

TEST(BuildGraph, WhatBranchesCaptureBecomesInputsOfTheNode) {
  const auto then_graph = onnx::build::graph(
      {.nodes = {node("Add", {"x", "w"}, {"t"})}, .outputs = {value_info("t", DType::kFloat32, {})}});
  const auto else_graph =
      onnx::build::graph({.nodes = {node("Neg", {"z"}, {"e"})}, .outputs = {value_info("e", DType::kFloat32, {})}});
  const auto graph = built(
      model({.graph = {.nodes = {node("If", {"c"}, {"y"},
                                      {attr_graph("then_branch", then_graph), attr_graph("else_branch", else_graph)}),
                                 node("Abs", {"x"}, {"z"})},
                       .initializers = {tensor<float>("w", {1}, {1})},
                       .inputs = {kX, value_info("c", DType::kBool, {})},
                       .outputs = {value_info("y", DType::kFloat32, {})}}}));
  ASSERT_TRUE(graph) << graph.error().message;
  const Node& branch = graph->nodes[1];  // Abs stands first: the else branch needs it
  ASSERT_EQ(branch.op, "If");
  ASSERT_EQ(branch.inputs.size(), 4u);  // condition, x, w, z
  EXPECT_EQ(graph->value(branch.inputs[3]).name, "z");
  for (const char* name : {"then_branch", "else_branch"}) {
    EXPECT_EQ(std::get<std::shared_ptr<Graph>>(*branch.find(name))->inputs.size(), 3u) << name;
  }
}

TEST(BuildGraph, MalformedModelsNameFileNodeAndReason) {
  const auto y = value_info("y", DType::kFloat32, {});
  EXPECT_THAT(error_of(model({.graph = {.nodes = {node("Abs", {"nowhere"}, {"y"})}, .inputs = {kX}, .outputs = {y}}})),
              HasSubstr("input 'nowhere' is made by no node"));
  EXPECT_THAT(error_of(model({.graph = {.nodes = {node("Abs", {"b"}, {"y"}), node("Abs", {"y"}, {"b"})},
                                        .inputs = {kX},
                                        .outputs = {y}}})),
              HasSubstr("cycle"));
  EXPECT_THAT(error_of(model({.graph = {.nodes = {node("Abs", {"x"}, {"y"}), node("Neg", {"x"}, {"y"})},
                                        .inputs = {kX},
                                        .outputs = {y}}})),
              HasSubstr("exists already"));
  EXPECT_THAT(error_of(model({.graph = {.nodes = {}, .inputs = {kX}, .outputs = {y}}})),
              HasSubstr("test.onnx: graph output 'y' is made by no node"));
}

}  // namespace
}  // namespace narthex
