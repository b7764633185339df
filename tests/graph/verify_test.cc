#include "graph/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace narthex {
namespace {

using ::testing::HasSubstr;

// x → Abs → a → Neg → y
Graph chain() {
  Graph graph;
  graph.source = "chain.onnx";
  const ValueId x = graph.add_value("x");
  const ValueId a = graph.add_value("a");
  const ValueId y = graph.add_value("y");
  graph.inputs = {x};
  graph.outputs = {y};
  Node abs;
  abs.name = "first";
  abs.op = "Abs";
  abs.inputs = {x};
  abs.outputs = {a};
  Node neg;
  neg.name = "second";
  neg.op = "Neg";
  neg.inputs = {a};
  neg.outputs = {y};
  graph.nodes = {abs, neg};
  return graph;
}

std::string error_of(const Graph& graph) {
  const auto verified = verify(graph);
  return verified ? "" : verified.error().message;
}

TEST(Verify, AWellFormedGraphPasses) {
  EXPECT_EQ(error_of(chain()), "");
}

TEST(Verify, EachRuleIsSaidByItsNode) {
  Graph graph = chain();
  std::swap(graph.nodes[0], graph.nodes[1]);
  EXPECT_THAT(error_of(graph), HasSubstr("chain.onnx: node 'second' (Neg): input 0 ('a') is made by no earlier node"));
  graph = chain();
  graph.nodes[1].outputs = graph.nodes[0].outputs;
  EXPECT_THAT(error_of(graph), HasSubstr("node 'second' (Neg): makes 'a', which exists already"));
  graph = chain();
  graph.nodes[0].inputs = {99};
  EXPECT_THAT(error_of(graph), HasSubstr("input 0 is value 99, which does not exist"));
  graph = chain();
  graph.nodes.pop_back();
  EXPECT_THAT(error_of(graph), HasSubstr("graph output 2 is made by no node"));
}

TEST(Verify, SubgraphsObeyTheSameRules) {
  Graph graph = chain();
  auto branch = std::make_shared<Graph>(chain());
  branch->nodes.pop_back();
  graph.nodes[0].set("then_branch", branch);
  EXPECT_THAT(error_of(graph), HasSubstr("is made by no node"));
}

}  // namespace
}  // namespace narthex
