#include "models/encoder_inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace narthex {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Graph graph_with(const std::vector<std::pair<std::string, Shape>>& inputs, DType dtype = DType::kInt64) {
  Graph graph;
  graph.source = "model.onnx";
  for (const auto& [name, shape] : inputs) {
    const ValueId id = graph.add_value(name);
    graph.value(id).dtype = dtype;
    graph.value(id).shape = shape;
    graph.inputs.push_back(id);
  }
  return graph;
}

Encoding sequence(std::vector<std::int32_t> ids) {
  Encoding encoding;
  encoding.type_ids.assign(ids.size(), 0);
  encoding.ids = std::move(ids);
  return encoding;
}

const Shape kOpen = {Dim::symbol("batch"), Dim::symbol("seq")};

TEST(EncoderInputs, OnlyDeclaredInputsAreMadeInTheirOrder) {
  const auto inputs = EncoderInputs::create(graph_with({{"attention_mask", kOpen}, {"input_ids", kOpen}}), 0, 0);
  ASSERT_TRUE(inputs) << inputs.error().message;
  const Encoding a = sequence({5, 6, 7});
  const Encoding* batch[] = {&a};
  const auto tensors = inputs->make(batch);
  ASSERT_TRUE(tensors);
  ASSERT_EQ(tensors->size(), 2u);
  EXPECT_THAT((*tensors)[0].as<std::int64_t>(), ElementsAre(1, 1, 1));
  EXPECT_THAT((*tensors)[1].as<std::int64_t>(), ElementsAre(5, 6, 7));
}

TEST(EncoderInputs, PositionsOfTheRobertaFamilyStartBehindThePadding) {
  const auto inputs = EncoderInputs::create(graph_with({{"input_ids", kOpen}, {"position_ids", kOpen}}), 2, 1);
  const Encoding a = sequence({5, 6, 7});
  const Encoding* batch[] = {&a};
  const auto tensors = inputs->make(batch);
  EXPECT_THAT((*tensors)[1].as<std::int64_t>(), ElementsAre(2, 3, 4));
}

TEST(EncoderInputs, AFixedShapeIsFilledWithMaskedPadding) {
  const auto inputs =
      EncoderInputs::create(graph_with({{"input_ids", {2, 4}}, {"attention_mask", {2, 4}}}, DType::kInt32), 0, 9);
  ASSERT_TRUE(inputs);
  EXPECT_EQ(inputs->fixed_length(), 4u);
  const Encoding a = sequence({5, 6, 7});
  const Encoding* batch[] = {&a};
  const auto tensors = inputs->make(batch);
  EXPECT_THAT((*tensors)[0].as<std::int32_t>(), ElementsAre(5, 6, 7, 9, 5, 6, 7, 9));
  EXPECT_THAT((*tensors)[1].as<std::int32_t>(), ElementsAre(1, 1, 1, 0, 1, 1, 1, 0));
}

TEST(EncoderInputs, AnInputWithoutMeaningIsNamed) {
  EXPECT_THAT(EncoderInputs::create(graph_with({{"input_ids", kOpen}, {"pixel_values", kOpen}}), 0, 0).error().message,
              HasSubstr("model.onnx: graph input 'pixel_values' has no known meaning"));
  EXPECT_THAT(EncoderInputs::create(graph_with({{"attention_mask", kOpen}}), 0, 0).error().message,
              HasSubstr("has no graph input 'input_ids'"));
  EXPECT_THAT(EncoderInputs::create(graph_with({{"input_ids", {Dim::symbol("n")}}}), 0, 0).error().message,
              HasSubstr("expected [batch, sequence]"));
}

}  // namespace
}  // namespace narthex
