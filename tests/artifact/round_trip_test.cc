#include <gtest/gtest.h>

#include "artifact/artifact_tools.h"

namespace narthex {
namespace {

using namespace testing_artifact;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}
std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(Artifact, AnyPlanComputesTheSameBytesAfterwards) {
  const TemporaryDirectory directory;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE(seed);
    const PackedPlan plan = random_plan(seed);
    const std::string tokenizer(seed * 7 % 200, 't');
    const std::map<std::string, std::string> metadata = {{"id", "m"}, {"", std::string("\0\n", 2)}};
    const auto written = write_artifact(directory / "a", {kKey, &plan, bytes_of(tokenizer), metadata});
    ASSERT_TRUE(written) << written.error().message;
    const auto loaded = load_artifact(directory / "a", kKey);
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_EQ(text_of(loaded->tokenizer), tokenizer);
    EXPECT_EQ(loaded->metadata, metadata);
    EXPECT_EQ(loaded->plan->step_counts(), plan.step_counts());
    EXPECT_EQ(loaded->plan->n_regions, plan.n_regions);
    EXPECT_EQ(loaded->plan->excluded_ids, plan.excluded_ids);
    const std::vector<float> want = run(plan);
    ASSERT_FALSE(want.empty());
    EXPECT_TRUE(same_bytes(run(*loaded->plan), want));
  }
  EXPECT_EQ(directory.n_files(), 1U);
}

TEST(Artifact, ThePlanOutlivesEverythingElse) {
  const TemporaryDirectory directory;
  const PackedPlan plan = random_plan(3);
  ASSERT_TRUE(write_artifact(directory / "a", {kKey, &plan, {}, {}}));
  std::shared_ptr<const PackedPlan> kept = load_artifact(directory / "a", kKey).value().plan;
  std::filesystem::remove(directory / "a");
  EXPECT_TRUE(same_bytes(run(*kept), run(plan)));
}

TEST(Artifact, AModelWithoutAPlanKeepsItsTokenizer) {
  const TemporaryDirectory directory;
  ASSERT_TRUE(write_artifact(directory / "sub/folder/a", {kKey, nullptr, bytes_of("tables"), {{"refusal", "why"}}}));
  const auto loaded = load_artifact(directory / "sub/folder/a", kKey);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->plan, nullptr);
  EXPECT_EQ(text_of(loaded->tokenizer), "tables");
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(loaded->tokenizer.data()) % 64, 0U);
  EXPECT_EQ(loaded->metadata.at("refusal"), "why");
}

// Rotary tables are the same in every layer.
TEST(Artifact, EqualConstantsAreInTheFileOnce) {
  const TemporaryDirectory directory;
  EncoderShape shape;
  shape.layers = 4;
  shape.rotary = 16;
  shape.max_positions = 4096;
  const PackedPlan plan = plan_of(shape, 1, Precision::kBf16);
  ASSERT_TRUE(write_artifact(directory / "a", {kKey, &plan, {}, {}}));
  const std::size_t of_tables = 2 * 4096 * 16 * sizeof(float);
  EXPECT_GT(plan.constant_bytes(), 8 * of_tables);
  EXPECT_LT(load_artifact(directory / "a", kKey).value().file_bytes, plan.constant_bytes() - 6 * of_tables);
}

}  // namespace
}  // namespace narthex
