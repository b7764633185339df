// Functions of the model are inlined: arguments, attributes, defaults, and what an endless one says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/build.h"
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

std::string model_with(const std::string& function_bytes, const std::string& call) {
  return model({.graph = {.nodes = {call},
                          .inputs = {value_info("x", DType::kFloat32, {2})},
                          .outputs = {value_info("y", DType::kFloat32, {2})}},
                .extra_opsets = {opset("mine", 1)},
                .functions = {function_bytes}});
}

const auto kSlope =
    function({.name = "Slope",
              .domain = "mine",
              .inputs = {"a", "b"},
              .outputs = {"r"},
              .nodes = {node("LeakyRelu", {"a"}, {"t"}, {attr_ref("alpha", "slope", onnx::AttrType::kFloat)}),
                        node("Clip", {"t", "b"}, {"r"})},
              .default_attributes = {attr_float("slope", 0.25f)}});

TEST(Functions, ACallBecomesItsBodyWithTheGivenAttribute) {
  const auto graph =
      built(model_with(kSlope, node("Slope", {"x", ""}, {"y"}, {attr_float("slope", 0.5f)}, {.domain = "mine"})));
  ASSERT_TRUE(graph) << graph.error().message;
  ASSERT_EQ(graph->nodes.size(), 2u);
  EXPECT_EQ(graph->nodes[0].float_attr("alpha", 0).value(), 0.5f);
  EXPECT_EQ(graph->nodes[0].opset, 17);
  EXPECT_FALSE(graph->nodes[1].has_input(1)) << "the argument that the call leaves out";
  EXPECT_EQ(graph->outputs[0], graph->nodes[1].outputs[0]);
}

TEST(Functions, AnAttributeThatTheCallLeavesOutHasItsDefault) {
  const auto graph = built(model_with(kSlope, node("Slope", {"x"}, {"y"}, {}, {.domain = "mine"})));
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(graph->nodes[0].float_attr("alpha", 0).value(), 0.25f);
}

TEST(Functions, OneThatCallsItselfIsAnErrorAndNotAnEndlessLoop) {
  const auto endless = function({.name = "Endless",
                                 .domain = "mine",
                                 .inputs = {"a"},
                                 .outputs = {"r"},
                                 .nodes = {node("Endless", {"a"}, {"r"}, {}, {.domain = "mine"})},
                                 .opsets = {opset("", 17), opset("mine", 1)}});
  const auto graph = built(model_with(endless, node("Endless", {"x"}, {"y"}, {}, {.domain = "mine"})));
  ASSERT_FALSE(graph);
  EXPECT_THAT(graph.error().message, HasSubstr("function 'Endless' is nested more than 16 deep, or calls itself"));
}

TEST(Functions, MoreArgumentsThanDeclaredAreRefused) {
  const auto graph = built(model_with(kSlope, node("Slope", {"x", "x", "x"}, {"y"}, {}, {.domain = "mine"})));
  ASSERT_FALSE(graph);
  EXPECT_THAT(graph.error().message, HasSubstr("has 3 inputs and 1 outputs, but the function declares 2 and 1"));
}

}  // namespace
}  // namespace narthex
