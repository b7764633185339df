// Encoders as they run: equal to encoder_reference.h, and the same bytes whatever stands beside a text, in every
// precision.
#include "plan/packed.h"

#include <limits>
#include <thread>

#include "plan/packed_tools.h"
#include "plan/packed_validate.h"

namespace narthex::testing {
namespace {

// Per precision, what rounding may cost a random encoder: random weights forgive less than trained ones.
double bound(Precision precision) {
  return precision == Precision::kFp32 ? 5e-6 : precision == Precision::kBf16 ? 0.02 : 0.1;
}

struct Named {
  const char* name;
  EncoderShape shape;
};

// Each thing that an encoder may have, by itself.
std::vector<Named> features() {
  std::vector<Named> all;
  const auto add = [&](const char* name, auto&& change) {
    Named& named = all.emplace_back(Named{name, {}});
    change(named.shape);
  };
  add("plain", [](EncoderShape&) {});
  add("heads of 32", [](EncoderShape& s) { s.d = s.d_value = 32; });
  add("heads of 64", [](EncoderShape& s) { s.heads = s.kv_heads = 2, s.d = s.d_value = 64; });
  add("heads of 6", [](EncoderShape& s) { s.d = s.d_value = 6; });
  add("values narrower than keys", [](EncoderShape& s) { s.d_value = 5; });
  add("values wider than keys", [](EncoderShape& s) { s.d_value = 33; });
  add("shared keys", [](EncoderShape& s) { s.heads = 6, s.kv_heads = 2; });
  add("one head of keys", [](EncoderShape& s) { s.kv_heads = 1, s.d = s.d_value = 32; });
  add("window", [](EncoderShape& s) { s.window = 9; });
  add("window of 1", [](EncoderShape& s) { s.window = 1; });
  add("bias by distance", [](EncoderShape& s) { s.distance_bias = true; });
  add("window and bias", [](EncoderShape& s) { s.window = 20, s.distance_bias = true; });
  add("rotated", [](EncoderShape& s) { s.rotary = 16, s.types = false; });
  add("partly rotated, shared keys", [](EncoderShape& s) { s.rotary = 6, s.heads = 4, s.kv_heads = 2; });
  add("gated", [](EncoderShape& s) { s.gated = true, s.activation = Activation::kSilu; });
  add("gated, odd width", [](EncoderShape& s) { s.gated = true, s.inner = 61; });
  add("norm first", [](EncoderShape& s) { s.pre_norm = true; });
  add("norm first, root mean square", [](EncoderShape& s) { s.pre_norm = true, s.norm = NormKind::kRms; });
  add("no biases", [](EncoderShape& s) { s.biases = false; });
  add("classes", [](EncoderShape& s) { s.outputs = 3; });
  return all;
}

TEST(Packed, EveryFeatureEqualsTheReferenceInEveryPrecision) {
  Team team(1);
  for (const Named& feature : features()) {
    const Encoder encoder = EncoderMaker(feature.shape, 7).make();
    const Texts texts = random_texts(feature.shape, {1, 5, 33, feature.shape.max_positions, 2}, 1);
    for (const Precision precision : kPrecisions) {
      const PackedPlan plan = lower_at(encoder, precision);
      const auto valid = validate(plan);
      EXPECT_TRUE(valid) << feature.name << ": " << valid.error().message;
      const double error = worst_error(plan, encoder, texts, team);
      EXPECT_LE(error, bound(precision)) << feature.name << " in " << precision_name(precision);
    }
  }
}

TEST(Packed, RandomEncodersEqualTheReference) {
  Team team(2);
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    const EncoderShape shape = random_shape_of(seed);
    const Encoder encoder = EncoderMaker(shape, seed).make();
    std::mt19937_64 random(seed);
    const Texts texts = random_texts(shape, {1 + random() % 50, 1, 1 + random() % shape.max_positions}, seed);
    for (const Precision precision : kPrecisions) {
      const PackedPlan plan = lower_at(encoder, precision);
      const double error = worst_error(plan, encoder, texts, team);
      EXPECT_LE(error, bound(precision)) << "seed " << seed << " in " << precision_name(precision);
    }
  }
}

// Alone with one thread is what everything else must equal.
void expect_invariant(const PackedPlan& plan, const Texts& texts, const std::string& what) {
  Team one(1), two(2), five(5);
  std::vector<std::vector<float>> alone;
  std::vector<std::size_t> order;
  for (std::size_t s = 0; s < texts.n_sequences(); ++s) {
    const Texts text = texts.pick(std::array{s});
    alone.push_back(run_plan(plan, text, one));
    EXPECT_TRUE(same_bytes(alone[s], run_plan(plan, text, two))) << what << ": sequence " << s << " with 2 threads";
    order.push_back(s);
  }
  for (const bool reversed : {false, true}) {
    if (reversed) std::ranges::reverse(order);
    const Texts batch = texts.pick(order);
    for (Team* team : {&one, &two, &five}) {
      const auto got = by_sequence(plan, batch, run_plan(plan, batch, *team));
      for (std::size_t i = 0; i < order.size(); ++i)
        EXPECT_TRUE(same_bytes(alone[order[i]], got[i]))
            << what << ": sequence " << order[i] << " of " << texts.length(order[i]) << " tokens in a batch with "
            << team->size() << " threads" << (reversed ? ", reversed" : "");
    }
  }
}

TEST(Packed, SameBytesAloneInAnyBatchInAnyOrderWithAnyThreads) {
  for (const Named& feature : features()) {
    const Encoder encoder = EncoderMaker(feature.shape, 3).make();
    const Texts texts = random_texts(feature.shape, {17, 1, 64, 3, 31, 96, 32, 2, 16, 80}, 2);
    for (const Precision precision : kPrecisions)
      expect_invariant(lower_at(encoder, precision), texts,
                       std::string(feature.name) + " in " + std::string(precision_name(precision)));
  }
  for (std::uint64_t seed = 100; seed < 112; ++seed) {
    const EncoderShape shape = random_shape_of(seed);
    const Texts texts = random_texts(shape, {9, 33, 1, 50, shape.max_positions}, seed);
    const Encoder encoder = EncoderMaker(shape, seed).make();
    const auto pool = seed % 2 == 0 ? std::optional(step::PoolKind::kFirst) : std::nullopt;
    for (const Precision precision : kPrecisions)
      expect_invariant(lower_at(encoder, precision, pool), texts,
                       "seed " + std::to_string(seed) + " in " + std::string(precision_name(precision)));
  }
}

// More groups than a turn of the team computes.
TEST(Packed, LongBatchesAreCutWithoutATrace) {
  EncoderShape shape;
  shape.layers = 1;
  std::vector<std::size_t> lengths;
  for (std::size_t i = 0; i < 120; ++i) lengths.push_back(1 + i * 37 % shape.max_positions);
  const Texts texts = random_texts(shape, lengths, 5);
  for (const Precision precision : kPrecisions) {
    const PackedPlan plan = lower_at(EncoderMaker(shape, 5).make(), precision, step::PoolKind::kMean);
    Team one(1), three(3);
    const std::vector<float> got = run_plan(plan, texts, one);
    EXPECT_TRUE(same_bytes(got, run_plan(plan, texts, three)));
    for (const std::size_t s : {std::size_t{0}, std::size_t{59}, std::size_t{119}})
      EXPECT_TRUE(same_bytes(run_plan(plan, texts.pick(std::array{s}), one), by_sequence(plan, texts, got)[s])) << s;
  }
}

TEST(Packed, WhatEarlierRunsLeftInMemoryDoesNotShow) {
  Team team(1);
  // Rows of NaN and infinities in every slot that this thread uses.
  EncoderShape wide;
  wide.d = wide.d_value = 72;
  Encoder spoiled = EncoderMaker(wide, 1).make();
  auto& table = std::get<step::Embed>(spoiled.steps[0]).table;
  std::vector<float> elements(table.as<float>().begin(), table.as<float>().end());
  for (std::size_t i = 0; i < elements.size(); ++i)
    elements[i] = i % 3 == 0 ? std::numeric_limits<float>::quiet_NaN() : std::numeric_limits<float>::infinity();
  table = Tensor::make<float>(table.dims(), elements);
  for (const Named& feature : features()) {
    const Encoder encoder = EncoderMaker(feature.shape, 11).make();
    const Texts texts = random_texts(feature.shape, {3, 18, 40}, 4);
    for (const Precision precision : kPrecisions) {
      const PackedPlan plan = lower_at(encoder, precision);
      const std::vector<float> before = run_plan(plan, texts, team);
      for (const Precision other : kPrecisions)
        run_plan(lower_at(spoiled, other), random_texts(wide, {96, 96, 90}, 6), team);
      EXPECT_TRUE(same_bytes(before, run_plan(plan, texts, team)))
          << feature.name << " in " << precision_name(precision);
    }
  }
}

TEST(Packed, ManyCallersOfOnePlanGetTheSameBytes) {
  const EncoderShape shape;
  const PackedPlan plan = lower_at(EncoderMaker(shape, 2).make(), Precision::kInt8);
  Team team(2);
  const Texts texts = random_texts(shape, {12, 96, 5, 70, 33}, 9);
  const std::vector<float> want = run_plan(plan, texts, team);
  std::vector<std::thread> callers;
  std::vector<int> wrong(4, 0);
  for (std::size_t c = 0; c < wrong.size(); ++c)
    callers.emplace_back([&, c] {
      for (int i = 0; i < 20; ++i) wrong[c] += same_bytes(want, run_plan(plan, texts, team)) ? 0 : 1;
    });
  for (std::thread& caller : callers) caller.join();
  for (const int n : wrong) EXPECT_EQ(n, 0);
}

std::string complaint(const PackedPlan& plan, const std::vector<std::int32_t>& ids,
                      const std::vector<std::int32_t>& types, const std::vector<std::size_t>& starts) {
  const auto checked = plan.check({ids, types, starts});
  return checked ? "" : checked.error().message;
}

TEST(Packed, CheckNamesWhatIsOutside) {
  const EncoderShape shape;
  const PackedPlan plan = lower_at(EncoderMaker(shape, 2).make(), Precision::kFp32);
  EXPECT_EQ(complaint(plan, {1, 2, 3}, {0, 1, 0}, {0, 1, 3}), "");
  EXPECT_EQ(complaint(plan, {1, 2, 3}, {}, {0, 1, 3}), "");
  EXPECT_EQ(complaint(plan, {}, {}, {0}), "");
  EXPECT_EQ(complaint(plan, {1, 211}, {0, 0}, {0, 2}), "token id 211 at token 1 is outside the model's table of 211");
  EXPECT_EQ(complaint(plan, {-1}, {}, {0, 1}), "token id -1 at token 0 is outside the model's table of 211");
  EXPECT_EQ(complaint(plan, {1, 2}, {0, 2}, {0, 2}), "token type 2 at token 1 is outside the model's table of 2");
  EXPECT_EQ(complaint(plan, {1, 2}, {}, {0, 1, 1, 2}), "sequence 1 has no tokens");
  const std::vector<std::int32_t> long_ids(97, 1);
  EXPECT_EQ(complaint(plan, long_ids, {}, {0, 97}), "sequence 0 has 97 tokens; the model takes at most 96");
  EXPECT_EQ(complaint(plan, {1, 2}, {0}, {0, 2}), "there are 1 token types for 2 tokens");
  EXPECT_EQ(complaint(plan, {1, 2}, {}, {0, 1}), "the sequences end at token 1 of 2");
  EXPECT_EQ(complaint(plan, {1, 2}, {}, {1, 2}), "the sequences begin at token 1, expected 0");
  EXPECT_EQ(complaint(plan, {1, 2}, {}, {0, 2, 1, 2}), "sequence 1 ends before it begins");
  EXPECT_EQ(complaint(plan, {}, {}, {}), "the bounds of the sequences are missing; of none there is one, 0");
}

TEST(Packed, IdsThatTheRecogniserExcludedAreNotCovered) {
  const EncoderShape shape;
  Encoder encoder = EncoderMaker(shape, 2).make();
  encoder.excluded_ids = {1, 7};
  const PackedPlan plan = lower_at(encoder, Precision::kFp32);
  EXPECT_TRUE(plan.covers(std::vector<std::int32_t>{2, 3}));
  EXPECT_FALSE(plan.covers(std::vector<std::int32_t>{2, 7, 3}));
  EXPECT_TRUE(plan.covers(std::vector<std::int32_t>(96, 2)));
  EXPECT_FALSE(plan.covers(std::vector<std::int32_t>(97, 2)));
}

}  // namespace
}  // namespace narthex::testing
