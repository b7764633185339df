// Norms and softmaxes: errors, empty tensors, types and inference. Values are checked by families_test.cc.
#include "ops/normalise.h"
#include "ops/op_harness.h"

namespace narthex {
namespace {

Tensor ones(Dims dims) {
  Tensor tensor = *Tensor::allocate(DType::kFloat32, std::move(dims));
  std::ranges::fill(tensor.as_mutable<float>(), 1.0f);
  return tensor;
}

TEST(LayerNorm, ErrorsAreSentences) {
  EXPECT_EQ(run_text<float>({"LayerNormalization", {{"axis", std::int64_t{2}}}}, {ones({2, 3}), ones({3})}),
            "axis 2 is out of range for rank 2");
  EXPECT_EQ(run_text<float>({"LayerNormalization"}, {ones({2, 3}), ones({4})}),
            "shapes [4] and [2,3] do not broadcast together");
  EXPECT_EQ(run_text<float>({"LayerNormalization"}, {ones({1, 3}), ones({2, 3})}),
            "the scale of shape [2,3] does not broadcast to [1,3]");
  EXPECT_EQ(run_text<float>({"LayerNormalization"}, {ints({1, 2}), ones({2})}),
            "does not support elements of type int64");
}

TEST(LayerNorm, EmptyTensorsStayEmpty) {
  EXPECT_EQ(run_text<float>({"LayerNormalization"}, {ones({0, 3}), ones({3})}), "[0,3]");
  EXPECT_EQ(run_text<float>({"LayerNormalization"}, {ones({3, 0}), ones({1})}), "[3,0]");
  EXPECT_EQ(run_text<float>({"Softmax"}, {ones({3, 0})}), "[3,0]");
}

TEST(LayerNorm, InfersItsStatistics) {
  const Shape x = {Dim::symbol("batch"), Dim::symbol("seq"), Dim(8)};
  const auto values = infer_op({"LayerNormalization", {}, 3}, {shaped(x), shaped({Dim(8)})});
  EXPECT_EQ(shape_string(*values[0].shape), "[batch, seq, 8]");
  EXPECT_EQ(shape_string(*values[1].shape), "[batch, seq, 1]");
  EXPECT_EQ(values[2].dtype, DType::kFloat32);
}

TEST(RmsNorm, TheScaleDecidesTheType) {
  const auto y =
      run_op({"RMSNormalization"}, {ones({2, 4}), Tensor::make<Half>({4}, std::vector<Half>(4, Half(2.0f)))});
  ASSERT_TRUE(y) << y.error().message;
  EXPECT_EQ((*y)[0].dtype(), DType::kFloat16);
  EXPECT_NEAR(static_cast<float>((*y)[0].as<Half>()[0]), 2.0f, 1e-2f);
}

TEST(LpNorm, AZeroVectorStaysZero) {
  EXPECT_EQ(run_text<float>({"LpNormalization"}, {Tensor::make<float>({2, 2}, std::vector<float>{0, 0, 3, 4})}),
            "[2,2] 0 0 0.6 0.8");
  EXPECT_EQ(run_text<float>({"LpNormalization", {{"p", std::int64_t{3}}}}, {ones({2})}), "p must be 1 or 2, but is 3");
}

TEST(Softmax, BeforeOpset13AKnownLastAxisIsOneNode) {
  Graph graph;
  graph.inputs = {graph.add_value("x")};
  graph.values[0].shape = Shape{Dim::symbol("batch"), Dim(12), Dim::symbol("seq"), Dim::symbol("seq")};
  graph.outputs = {graph.add_value("y")};
  Node node;
  node.op = "Softmax";
  node.opset = 11;
  node.attributes = {{"axis", std::int64_t{3}}};
  node.inputs = {0};
  node.outputs = {1};
  graph.nodes.push_back(node);
  ASSERT_TRUE(normalise(graph));
  ASSERT_EQ(graph.nodes.size(), 1u);
  EXPECT_EQ(graph.nodes[0].op, "Softmax");
  EXPECT_EQ(*graph.nodes[0].int_attr("axis", 0), -1);
}

TEST(BatchNorm, TrainingAndWrongChannelsAreRefused) {
  const Tensor c = ones({2});
  const OpCall training = {"BatchNormalization", {{"training_mode", std::int64_t{1}}}};
  EXPECT_EQ(run_text<float>(training, {ones({1, 2, 2}), c, c, c, c}),
            "training mode is not supported: export the model for inference");
  EXPECT_EQ(run_text<float>({"InstanceNormalization"}, {ones({1, 2, 2}), c, ones({3})}),
            "input 2 has shape [3], expected one value for each of 2 channels");
  EXPECT_EQ(run_text<float>({"GroupNormalization", {{"num_groups", std::int64_t{3}}}}, {ones({1, 2, 2}), c, c}),
            "2 channels do not divide into 3 groups");
}

}  // namespace
}  // namespace narthex
