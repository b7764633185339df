// Shape and index operators as older opsets spell them: attributes in place of inputs, other names, implied parts.
#include "ops/evaluate.h"
#include "ops/normalise.h"
#include "ops/op_harness.h"

namespace narthex {
namespace {

using Int = std::int64_t;
using Ints = std::vector<Int>;

// Normalises and evaluates one node written for `opset`.
Result<std::vector<Tensor>> run_old(int opset, OpCall call, const std::vector<Tensor>& inputs) {
  Graph graph;
  graph.source = "test";
  Node node;
  node.op = call.op;
  node.opset = opset;
  node.attributes = std::move(call.attributes);
  for (const Tensor& input : inputs) {
    node.inputs.push_back(graph.add_value("x"));
    graph.values.back().dtype = input.dtype();
    graph.inputs.push_back(node.inputs.back());
  }
  for (std::size_t i = 0; i < call.n_outputs; ++i) node.outputs.push_back(graph.add_value("y"));
  graph.outputs = node.outputs;
  graph.nodes.push_back(std::move(node));
  NX_TRY_VOID(normalise(graph));
  return evaluate(graph, inputs);
}

std::string text_of(const Result<std::vector<Tensor>>& outputs) {
  if (!outputs) return outputs.error().message;
  std::string text;
  for (const Tensor& output : *outputs) {
    text += (text.empty() ? "" : "; ") + dims_string(output.dims());
    for (std::int64_t i = 0; i < output.count(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      text += output.dtype() == DType::kInt64 ? fmt::format(" {}", output.as<Int>()[at])
                                              : fmt::format(" {}", output.as<float>()[at]);
    }
  }
  return text;
}

TEST(OlderSpellings, SliceHadAttributes) {
  const Tensor x = matrix(2, 3, {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(text_of(run_old(9, {"Slice", {{"starts", Ints{0, 1}}, {"ends", Ints{1, 9}}}}, {x})), "[1,2] 1 2");
  EXPECT_EQ(text_of(run_old(7, {"Slice", {{"starts", Ints{-1}}, {"ends", Ints{9}}, {"axes", Ints{1}}}}, {x})),
            "[2,1] 2 5");
  EXPECT_EQ(text_of(run_old(9, {"Slice", {{"starts", Ints{0}}}}, {x})),
            "test: node '' (Slice): attributes 'starts' and 'ends' are needed");
}

TEST(OlderSpellings, SplitHadSizesAsAttributeAndEqualPartsImplied) {
  const Tensor x = ints({1, 2, 3, 4});
  EXPECT_EQ(text_of(run_old(11, {"Split", {{"split", Ints{1, 3}}}, 2}, {x})), "[1] 1; [3] 2 3 4");
  EXPECT_EQ(text_of(run_old(11, {"Split", {}, 2}, {x})), "[2] 1 2; [2] 3 4");
  EXPECT_EQ(text_of(run_old(13, {"Split", {}, 2}, {x})), "[2] 1 2; [2] 3 4");
  EXPECT_EQ(text_of(run_old(13, {"Split", {}, 2}, {x, ints({3, 1})})), "[3] 1 2 3; [1] 4");
}

TEST(OlderSpellings, PadHadAmountsAndValueAsAttributes) {
  const Tensor x = Tensor::vector(std::vector<float>{1, 2});
  EXPECT_EQ(text_of(run_old(7, {"Pad", {{"pads", Ints{1, 1}}, {"value", 0.5F}}}, {x})), "[4] 0.5 1 2 0.5");
  EXPECT_EQ(text_of(run_old(9, {"Pad", {{"pads", Ints{0, 2}}, {"mode", std::string("edge")}}}, {x})), "[4] 1 2 2 2");
}

TEST(OlderSpellings, AxesOfSqueezeAndUnsqueezeWereAttributes) {
  const Tensor x = matrix(1, 2, {1, 2});
  EXPECT_EQ(text_of(run_old(11, {"Squeeze", {{"axes", Ints{0}}}}, {x})), "[2] 1 2");
  EXPECT_EQ(text_of(run_old(11, {"Squeeze"}, {x})), "[2] 1 2");
  EXPECT_EQ(text_of(run_old(11, {"Unsqueeze", {{"axes", Ints{0, -1}}}}, {x})), "[1,1,2,1] 1 2");
}

TEST(OlderSpellings, ScatterIsScatterElements) {
  EXPECT_EQ(text_of(run_old(9, {"Scatter"}, {ints({1, 2, 3}), ints({1}), ints({7})})), "[3] 1 7 3");
}

}  // namespace
}  // namespace narthex
