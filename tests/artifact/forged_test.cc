// Files that somebody made on purpose: every checksum is right, and what they say is not.
#include <gtest/gtest.h>

#include <functional>

#include "artifact/artifact_tools.h"
#include "plan/packed_validate.h"

namespace narthex {
namespace {

using namespace testing_artifact;

// Whatever stands in a field, the file is refused or its plan runs inside its memory: for the sanitizer builds to see.
TEST(Forged, AnyFieldMayHoldAnything) {
  const TemporaryDirectory directory;
  std::size_t n_refused = 0, n_run = 0;
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    EncoderShape shape;
    shape.layers = 1;
    shape.heads = shape.kv_heads = 2;
    shape.d = shape.d_value = 8;
    shape.inner = 24;
    shape.vocabulary = 16;
    shape.rotary = seed == 0 ? 4 : 0;
    shape.gated = seed == 1;
    shape.distance_bias = seed == 1;
    shape.window = seed == 2 ? 5 : 0;
    const PackedPlan plan = plan_of(shape, seed, static_cast<Precision>(seed), step::PoolKind::kMean);
    ASSERT_TRUE(write_artifact(directory / "a", {kKey, &plan, {}, {{"name", "value"}}}));
    const std::string good = read_bytes(directory / "a");
    const auto header = header_of(std::as_bytes(std::span(good.data(), good.size())));
    const std::size_t first = offsetof(artifact::Header, file_bytes);
    const auto end = static_cast<std::size_t>(header.sections[artifact::kTokenizer].offset);
    for (std::size_t at = first; at + 4 <= end; ++at) {
      for (const std::uint32_t value : {0U, 1U, 2U, 17U, 0xFFU, 0x10000U, 0x7FFFFFFFU, 0xFFFFFFFFU}) {
        if (at % 3 != value % 3) continue;  // a third of all pairs
        AlignedBytes forged(good);
        std::memcpy(forged.data() + at, &value, value < 0x100 ? 1 : 4);
        forge_checksums(forged.span());
        const auto loaded = open_artifact(forged.span(), nullptr, kKey, "a");
        if (!loaded) {
          ++n_refused;
        } else if (loaded->plan != nullptr) {
          run(with_own_constants(*loaded->plan));
          ++n_run;
        }
      }
    }
  }
  EXPECT_GT(n_refused, 1000U);
  EXPECT_GT(n_run, 100U);
}

template <class S>
S& first_step(PackedPlan& plan) {
  for (packed::Step& step : plan.steps)
    if (auto* found = std::get_if<S>(&step)) return *found;
  throw std::logic_error("the plan has no such step");
}

struct Rule {
  const char* refusal;
  std::function<void(PackedPlan&)> break_it;
};

TEST(Forged, EachRuleRefusesWhatBreaksIt) {
  EncoderShape shape;
  shape.rotary = 8;
  shape.distance_bias = true;
  const PackedPlan good = plan_of(shape, 1, Precision::kInt8, step::PoolKind::kMean);
  ASSERT_TRUE(validate(good));
  const Rule rules[] = {
      {"region", [](PackedPlan& p) { p.slots[0].region = p.n_regions; }},
      {"unknown format", [](PackedPlan& p) { p.slots[0].format = static_cast<RowFormat>(3); }},
      {"wide", [](PackedPlan& p) { p.slots[0].width = 0; }},
      {"texts of", [](PackedPlan& p) { p.max_positions = 0; }},
      {"a table has", [](PackedPlan& p) { p.max_positions += 1; }},
      {"a table's rows are", [](PackedPlan& p) { ++first_step<packed::Gather>(p).tables[0].entries; }},
      {"no tables", [](PackedPlan& p) { first_step<packed::Gather>(p).tables.clear(); }},
      {"gamma are", [](PackedPlan& p) { first_step<packed::Norm>(p).gamma.bytes -= 4; }},
      {"kind of norm", [](PackedPlan& p) { first_step<packed::Norm>(p).kind = static_cast<NormKind>(9); }},
      {"weights are", [](PackedPlan& p) { first_step<packed::Linear>(p).weights.bytes -= 1; }},
      {"weights are missing", [](PackedPlan& p) { first_step<packed::Linear>(p).weights = {}; }},
      {"scales are", [](PackedPlan& p) { first_step<packed::Linear>(p).scale.bytes -= 4; }},
      {"biases are", [](PackedPlan& p) { first_step<packed::Linear>(p).bias.bytes -= 4; }},
      {"out is", [](PackedPlan& p) { ++first_step<packed::Linear>(p).n; }},
      {"in is", [](PackedPlan& p) { ++first_step<packed::Linear>(p).k; }},
      {"wrong format", [](PackedPlan& p) { first_step<packed::Linear>(p).precision = Precision::kBf16; }},
      {"share", [](PackedPlan& p) { first_step<packed::Attention>(p).kv_heads = 3; }},
      {"q is", [](PackedPlan& p) { ++first_step<packed::Attention>(p).d; }},
      {"v is", [](PackedPlan& p) { ++first_step<packed::Attention>(p).d_value; }},
      {"per sequence", [](PackedPlan& p) { first_step<packed::Attention>(p).first_query_only = true; }},
      {"the bias has", [](PackedPlan& p) { first_step<packed::Attention>(p).bias_rows = 2; }},
      {"positions", [](PackedPlan& p) { --first_step<packed::Attention>(p).bias_positions; }},
      {"biases are", [](PackedPlan& p) { first_step<packed::Attention>(p).bias.bytes -= 4; }},
      {"rotated", [](PackedPlan& p) { first_step<packed::Rotate>(p).rotary = 18; }},
      {"cosines are", [](PackedPlan& p) { first_step<packed::Rotate>(p).cos.bytes -= 4; }},
      {"per sequence", [](PackedPlan& p) { first_step<packed::Pool>(p).out = first_step<packed::Pool>(p).in; }},
      {"columns", [](PackedPlan& p) { p.output.first = 1; }},
      {"in slot", [](PackedPlan& p) { p.output.slot = kNoSlot; }},
      {"before that is written", [](PackedPlan& p) { p.steps.erase(p.steps.begin()); }},
  };
  for (const Rule& rule : rules) {
    PackedPlan broken = good;
    rule.break_it(broken);
    const auto valid = validate(broken);
    ASSERT_FALSE(valid) << rule.refusal;
    EXPECT_NE(valid.error().message.find(rule.refusal), std::string::npos)
        << rule.refusal << " / " << valid.error().message;
  }
}

}  // namespace
}  // namespace narthex
