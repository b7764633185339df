// What lowering makes of an encoder: how many steps of which kind, poolings, outputs and overrides.
#include "plan/lower.h"

#include "plan/packed_tools.h"
#include "plan/packed_validate.h"

namespace narthex::testing {
namespace {

using Counts = std::map<std::string, std::size_t>;

EncoderShape bert() {
  EncoderShape shape;
  shape.d = shape.d_value = 32;
  return shape;
}

TEST(Lower, BertIsAGatherAndSevenStepsALayer) {
  const Encoder encoder = EncoderMaker(bert(), 1).make();
  // Q, K and V are one product, sums are part of norms, rows are encoded where they are made.
  EXPECT_EQ(lower_at(encoder, Precision::kFp32).step_counts(),
            (Counts{{"gather", 1}, {"norm", 5}, {"linear fp32", 8}, {"attention fp32", 2}}));
  EXPECT_EQ(lower_at(encoder, Precision::kBf16).step_counts(),
            (Counts{{"gather", 1}, {"norm", 5}, {"linear bf16", 8}, {"attention bf16", 2}}));
  EXPECT_EQ(lower_at(encoder, Precision::kInt8).step_counts(),
            (Counts{{"gather", 1}, {"norm", 5}, {"linear int8", 8}, {"attention int8", 2}, {"encode", 4}}));
}

TEST(Lower, FirstTokensAloneAreComputedBehindTheLastAttentionAndNothingTwice) {
  const Encoder encoder = EncoderMaker(bert(), 1).make();
  const PackedPlan plan = lower_at(encoder, Precision::kBf16, step::PoolKind::kFirst);
  EXPECT_EQ(plan.step_counts(),
            (Counts{{"gather", 1}, {"norm", 5}, {"linear bf16", 8}, {"attention bf16", 2}, {"pooling", 1}}));
  bool behind = false;
  for (const packed::Step& step : plan.steps) {
    if (const auto* attention = std::get_if<packed::Attention>(&step)) behind = attention->first_query_only;
    if (const auto* linear = std::get_if<packed::Linear>(&step)) {
      EXPECT_EQ(plan.slots[linear->out.slot].per_sequence, behind);
    }
    if (const auto* norm = std::get_if<packed::Norm>(&step)) {
      EXPECT_EQ(plan.slots[norm->x.slot].per_sequence, behind);
    }
  }
  EXPECT_TRUE(behind);
}

TEST(Lower, AGateIsOneStepWithItsActivation) {
  EncoderShape shape = bert();
  shape.gated = true;
  const PackedPlan plan = lower_at(EncoderMaker(shape, 1).make(), Precision::kBf16);
  const Counts counts = plan.step_counts();
  EXPECT_EQ(counts.at("gated unit"), 2U);
  EXPECT_FALSE(counts.contains("unary"));
  EXPECT_FALSE(counts.contains("binary"));
}

TEST(Lower, RotationsAreInPlace) {
  EncoderShape shape = bert();
  shape.rotary = 32;
  const Counts counts = lower_at(EncoderMaker(shape, 1).make(), Precision::kFp32).step_counts();
  EXPECT_EQ(counts.at("rotation"), 4U);
  EXPECT_FALSE(counts.contains("unary"));
}

TEST(Lower, EveryPoolingEqualsTheReference) {
  Team team(2);
  using step::PoolKind;
  for (const PoolKind kind : {PoolKind::kFirst, PoolKind::kLast, PoolKind::kMean, PoolKind::kSum, PoolKind::kMax}) {
    for (std::uint64_t seed = 50; seed < 54; ++seed) {
      EncoderShape shape = random_shape_of(seed);
      shape.outputs = 0;
      const Encoder encoder = EncoderMaker(shape, seed).make();
      const Texts texts = random_texts(shape, {1, 20, 7}, seed);
      const PackedPlan plan = lower_at(encoder, Precision::kFp32, kind);
      EXPECT_TRUE(plan.output_per_sequence());
      // A sum over n tokens has n times their rounding.
      const double bound = kind == PoolKind::kSum ? 1e-4 : 5e-6;
      EXPECT_LE(worst_error(plan, encoder, texts, team, 0, kind), bound) << "seed " << seed << ", kind " << int(kind);
    }
  }
}

TEST(Lower, AnOutputOfSequencesIsNotPooledAgain) {
  EncoderShape shape;
  shape.outputs = 3;
  const Encoder encoder = EncoderMaker(shape, 3).make();
  Team team(1);
  const Texts texts = random_texts(shape, {4, 9}, 1);
  EXPECT_TRUE(same_bytes(run_plan(lower_at(encoder, Precision::kFp32, step::PoolKind::kMean), texts, team),
                         run_plan(lower_at(encoder, Precision::kFp32), texts, team)));
}

// Of two outputs each has only the steps that it needs.
TEST(Lower, OnlyTheChosenOutputIsComputed) {
  EncoderShape shape;
  shape.outputs = 3;
  Encoder encoder = EncoderMaker(shape, 3).make();
  for (const Step& step : encoder.steps)
    if (const auto* pool = std::get_if<step::Pool>(&step)) encoder.outputs.push_back({1, pool->in.rows});
  ASSERT_EQ(encoder.outputs.size(), 2U);
  Team team(1);
  const Texts texts = random_texts(shape, {4, 9}, 1);
  for (const std::size_t output : {0U, 1U}) {
    LowerOptions options;
    options.output = output;
    const PackedPlan plan = lower(encoder, options);
    EXPECT_EQ(plan.step_counts().contains("pooling"), output == 0);
    EXPECT_LE(worst_error(plan, encoder, texts, team, output), 5e-6);
  }
}

TEST(Lower, PrecisionIsChosenPerProductAndPerAttention) {
  const Encoder encoder = EncoderMaker(bert(), 1).make();
  LowerOptions options;
  options.precision = Precision::kInt8;
  options.linear_precision = {Precision::kBf16, std::nullopt, Precision::kFp32};
  options.attention_precision = {std::nullopt, Precision::kBf16};
  const PackedPlan plan = lower(encoder, options);
  const Counts counts = plan.step_counts();
  EXPECT_EQ(counts.at("linear bf16"), 1U);
  EXPECT_EQ(counts.at("linear fp32"), 1U);
  EXPECT_EQ(counts.at("linear int8"), 6U);
  EXPECT_EQ(counts.at("attention int8"), 1U);
  EXPECT_EQ(counts.at("attention bf16"), 1U);
  Team team(1);
  EXPECT_LE(worst_error(plan, encoder, random_texts(bert(), {1, 30}, 1), team), 0.1);
}

// Any mixture reads what it expects: formats meet at every seam of the plan.
TEST(Lower, RandomMixturesOfPrecisionsAreValidAndClose) {
  Team team(2);
  for (std::uint64_t seed = 200; seed < 230; ++seed) {
    std::mt19937_64 random(seed);
    const EncoderShape shape = random_shape_of(seed);
    const Encoder encoder = EncoderMaker(shape, seed).make();
    LowerOptions options;
    for (std::size_t i = 0; i < 8 * shape.layers; ++i) {
      options.linear_precision.emplace_back(kPrecisions[random() % 3]);
      options.attention_precision.emplace_back(kPrecisions[random() % 3]);
    }
    const PackedPlan plan = lower(encoder, options);
    const auto valid = validate(plan);
    ASSERT_TRUE(valid) << "seed " << seed << ": " << valid.error().message;
    EXPECT_LE(worst_error(plan, encoder, random_texts(shape, {1, 23}, seed), team), 0.1) << "seed " << seed;
  }
}

// One column of the inputs is a hundred times as large as the others, as trained encoders have them.
TEST(Lower, SmoothingRescuesInt8FromLargeColumns) {
  EncoderShape shape = bert();
  shape.layers = 1;
  Encoder encoder = EncoderMaker(shape, 4).make();
  auto& norm =
      *std::ranges::find_if(encoder.steps, [](const Step& s) { return std::holds_alternative<step::Norm>(s); });
  auto& gamma = std::get<step::Norm>(norm).gamma;
  std::vector<float> values(gamma->as<float>().begin(), gamma->as<float>().end());
  values[5] = 100;
  gamma = Tensor::make<float>(gamma->dims(), values);
  for (Step& step : encoder.steps) {
    auto* linear = std::get_if<step::Linear>(&step);
    if (linear == nullptr || linear->in.rows != std::get<step::Norm>(norm).out) continue;
    std::vector<float> weight(linear->weight.as<float>().begin(), linear->weight.as<float>().end());
    const std::size_t n = weight.size() / linear->in.width;
    for (std::size_t j = 0; j < n; ++j) weight[5 * n + j] *= 0.01F;
    linear->weight = Tensor::make<float>(linear->weight.dims(), weight);
  }
  class Maxima final : public LinearObserver {
   public:
    void linear_input(std::size_t step, std::size_t n_rows, std::size_t width, const float* rows,
                      std::size_t stride) override {
      of.resize(std::max(of.size(), step + 1));
      of[step].resize(width, 0.0F);
      for (std::size_t r = 0; r < n_rows; ++r)
        for (std::size_t j = 0; j < width; ++j) of[step][j] = std::max(of[step][j], std::abs(rows[r * stride + j]));
    }
    std::vector<std::vector<float>> of;
  } maxima;
  Team team(1);
  const Texts texts = random_texts(shape, {40, 60, 1}, 1);
  const PackedPlan exact = lower_at(encoder, Precision::kFp32);
  std::vector<float> rows(texts.ids.size() * exact.width());
  exact.run(team, texts.batch(), rows.data(), &maxima);
  LowerOptions options;
  options.precision = Precision::kInt8;
  options.attention_precision = {Precision::kFp32};
  const double rough = worst_error(lower(encoder, options), encoder, texts, team);
  options.column_maxima = maxima.of;
  const double smooth = worst_error(lower(encoder, options), encoder, texts, team);
  EXPECT_LT(smooth, rough / 2) << smooth << " against " << rough;
}

}  // namespace
}  // namespace narthex::testing
