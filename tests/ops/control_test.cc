// Nodes that vanish, and If.
#include <gtest/gtest.h>

#include "ops/evaluate.h"
#include "ops/normalise.h"

namespace narthex {
namespace {

Node make_node(std::string op, int opset, std::vector<ValueId> inputs, std::vector<ValueId> outputs,
               std::vector<Attribute> attributes = {}) {
  return Node{op, op, "", opset, nullptr, std::move(inputs), std::move(outputs), std::move(attributes)};
}

Tensor vector3() {
  return Tensor::vector<float>({1, -2, 3});
}

TEST(Control, IdentityConstantAndDropoutVanish) {
  Graph graph;
  const ValueId x = graph.add_value("x");
  const ValueId a = graph.add_value("a");
  const ValueId b = graph.add_value("b");
  const ValueId mask = graph.add_value("mask");
  const ValueId c = graph.add_value("c");
  graph.inputs = {x};
  graph.nodes = {make_node("Identity", 13, {x}, {a}), make_node("Dropout", 12, {a}, {b, mask}),
                 make_node("Constant", 13, {}, {c}, {{"value_floats", std::vector<float>{4, 5}}})};
  graph.outputs = {b, mask, c};
  ASSERT_TRUE(normalise(graph));
  EXPECT_EQ(graph.outputs[0], x);
  ASSERT_TRUE(graph.value(graph.outputs[2]).constant);
  const auto outputs = evaluate(graph, {vector3()});
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_EQ((*outputs)[1].dims(), Dims{3});
  for (const bool kept : (*outputs)[1].as<bool>()) EXPECT_TRUE(kept);
  EXPECT_EQ((*outputs)[2].as<float>()[1], 5);
}

TEST(Control, DropoutForTrainingIsRefused) {
  Graph graph;
  const ValueId x = graph.add_value("x");
  const ValueId y = graph.add_value("y");
  const ValueId training = graph.add_constant("t", Tensor::scalar(true));
  graph.inputs = {x};
  graph.nodes = {make_node("Dropout", 13, {x, kNoValue, training}, {y})};
  graph.outputs = {y};
  const auto status = normalise(graph);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("export the model for inference"), std::string::npos);
}

TEST(Control, AConstantNeedsAValue) {
  Graph graph;
  graph.nodes = {make_node("Constant", 13, {}, {graph.add_value("c")})};
  ASSERT_FALSE(normalise(graph));
}

// A branch that applies `op` to its one captured input.
std::shared_ptr<Graph> branch(const char* op) {
  auto graph = std::make_shared<Graph>();
  graph->inputs = {graph->add_value("x")};
  graph->outputs = {graph->add_value("y")};
  graph->nodes = {make_node(op, 13, graph->inputs, graph->outputs)};
  return graph;
}

TEST(Control, IfRunsTheChosenBranchWithItsCaptures) {
  Graph graph;
  const ValueId condition = graph.add_value("condition");
  const ValueId x = graph.add_value("x");
  const ValueId y = graph.add_value("y");
  graph.inputs = {condition, x};
  graph.outputs = {y};
  graph.nodes = {
      make_node("If", 13, {condition, x}, {y}, {{"then_branch", branch("Neg")}, {"else_branch", branch("Identity")}})};
  ASSERT_TRUE(normalise(graph));
  for (const bool chosen : {true, false}) {
    const auto outputs = evaluate(graph, {Tensor::scalar(chosen), vector3()});
    ASSERT_TRUE(outputs) << outputs.error().message;
    EXPECT_EQ((*outputs)[0].as<float>()[0], chosen ? -1 : 1);
  }
  EXPECT_FALSE(evaluate(graph, {Tensor::vector<float>({1, 2}), vector3()}));
}

TEST(Control, BranchesMustBeGraphsWithAllOutputs) {
  Graph graph;
  const ValueId condition = graph.add_value("condition");
  graph.inputs = {condition};
  graph.nodes = {make_node("If", 13, {condition, condition}, {graph.add_value("y"), graph.add_value("z")},
                           {{"then_branch", branch("Neg")}, {"else_branch", branch("Neg")}})};
  ASSERT_TRUE(normalise(graph));
  const auto outputs = evaluate(graph, {Tensor::scalar(true)});
  ASSERT_FALSE(outputs);
  EXPECT_NE(outputs.error().message.find("has 2 outputs, but its 'then_branch' has 1"), std::string::npos);
}

}  // namespace
}  // namespace narthex
