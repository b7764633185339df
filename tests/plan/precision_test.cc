// Precision by measured loss: what is measured is true, and what int8 does not suit falls back.
#include "plan/precision.h"

#include "plan/packed_tools.h"

namespace narthex::testing {
namespace {

std::vector<std::vector<std::int32_t>> calibration(const EncoderShape& shape) {
  const Texts texts = random_texts(shape, {5, 40, 90, 1, 17, 64, 33, 12}, 77);
  std::vector<std::vector<std::int32_t>> sequences;
  for (std::size_t s = 0; s < texts.n_sequences(); ++s)
    sequences.emplace_back(texts.ids.begin() + static_cast<std::ptrdiff_t>(texts.starts[s]),
                           texts.ids.begin() + static_cast<std::ptrdiff_t>(texts.starts[s + 1]));
  return sequences;
}

PrecisePlan chosen(const Encoder& encoder, const EncoderShape& shape, Precision precision, Precision fallback) {
  PrecisionOptions options;
  options.precision = precision;
  options.fallback = fallback;
  options.pool = step::PoolKind::kMean;
  options.calibration = calibration(shape);
  Team team(2);
  return choose_precision(encoder, options, team);
}

// The first layer's feed-forward as a small difference of large products, which 8 bits cannot hold: columns of the
// first product come in equal pairs, and the second's rows are 300 + w and -300.
void spoil_feed_forward(Encoder& encoder, const EncoderShape& shape) {
  bool done = false;
  for (Step& step : encoder.steps) {
    auto* linear = std::get_if<step::Linear>(&step);
    if (linear == nullptr || done) continue;
    std::vector<float> weight(linear->weight.as<float>().begin(), linear->weight.as<float>().end());
    const std::size_t k = linear->in.width, n = weight.size() / k;
    if (n == shape.inner) {
      for (std::size_t i = 0; i < weight.size(); i += 2) weight[i + 1] = weight[i];
      linear->bias.reset();
    } else if (k == shape.inner) {
      for (std::size_t i = 0; i < weight.size(); ++i) weight[i] = i / n % 2 == 0 ? 300 + weight[i] : -300;
      done = true;
    }
    linear->weight = Tensor::make<float>(linear->weight.dims(), weight);
  }
}

TEST(Precision, Fp32IsNotMeasured) {
  const EncoderShape shape;
  const PrecisePlan result = chosen(EncoderMaker(shape, 1).make(), shape, Precision::kFp32, Precision::kFp32);
  EXPECT_EQ(result.report.loss.texts, 0U);
  EXPECT_EQ(result.report.n_products, 8U);
  EXPECT_TRUE(result.report.fallback_products.empty());
}

TEST(Precision, Bf16LosesLittle) {
  const EncoderShape shape;
  const PrecisePlan result = chosen(EncoderMaker(shape, 1).make(), shape, Precision::kBf16, Precision::kFp32);
  EXPECT_EQ(result.report.loss.texts, 8U);
  EXPECT_GT(result.report.loss.worst_cosine, 0.9995);
  EXPECT_LT(result.report.loss.worst_cosine, 1.0);
  EXPECT_GE(result.report.loss.mean_cosine, result.report.loss.worst_cosine);
  EXPECT_EQ(result.plan.step_counts().at("linear bf16"), 8U);
}

TEST(Precision, Int8StaysWhereItSuits) {
  const EncoderShape shape;
  const PrecisePlan result = chosen(EncoderMaker(shape, 1).make(), shape, Precision::kInt8, Precision::kBf16);
  EXPECT_GE(result.report.loss.worst_cosine, kInt8WorstCosine);
  EXPECT_TRUE(result.report.fallback_products.empty());
  EXPECT_EQ(result.plan.step_counts().at("linear int8"), 8U);
}

TEST(Precision, WhatInt8SpoilsFallsBackUntilTheLossIsSmall) {
  const EncoderShape shape;
  Encoder encoder = EncoderMaker(shape, 1).make();
  spoil_feed_forward(encoder, shape);
  const PrecisePlan result = chosen(encoder, shape, Precision::kInt8, Precision::kFp32);
  const PrecisionReport& report = result.report;
  // Four products a layer: Q, K and V, the context, and two of the feed-forward.
  EXPECT_TRUE(std::ranges::count(report.fallback_products, 3U)) << report.loss.worst_cosine;
  EXPECT_LT(report.fallback_products.size(), report.n_products);
  EXPECT_GE(report.loss.worst_cosine, kInt8WorstCosine);
  const auto counts = result.plan.step_counts();
  EXPECT_EQ(counts.at("linear fp32"), report.fallback_products.size());
  EXPECT_EQ(counts.at("linear int8"), report.n_products - report.fallback_products.size());
}

TEST(Precision, TheSameTextsGiveTheSamePlan) {
  const EncoderShape shape;
  Encoder encoder = EncoderMaker(shape, 1).make();
  spoil_feed_forward(encoder, shape);
  const PrecisePlan a = chosen(encoder, shape, Precision::kInt8, Precision::kBf16);
  const PrecisePlan b = chosen(encoder, shape, Precision::kInt8, Precision::kBf16);
  EXPECT_EQ(a.report.fallback_products, b.report.fallback_products);
  EXPECT_EQ(a.report.loss.worst_cosine, b.report.loss.worst_cosine);
  Team team(1);
  const Texts texts = random_texts(shape, {3, 50}, 5);
  EXPECT_TRUE(same_bytes(run_plan(a.plan, texts, team), run_plan(b.plan, texts, team)));
}

TEST(Precision, WithoutTextsNothingIsMeasured) {
  PrecisionOptions options;
  options.precision = Precision::kInt8;
  const EncoderShape shape;
  Team team(1);
  const PrecisePlan result = choose_precision(EncoderMaker(shape, 1).make(), options, team);
  EXPECT_EQ(result.report.loss.texts, 0U);
  EXPECT_EQ(result.plan.step_counts().at("linear int8"), 8U);
}

}  // namespace
}  // namespace narthex::testing
