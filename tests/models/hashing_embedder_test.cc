// The hashing embedder against its definition in Python: committed counts always, 5,000 nasty texts where Python is.
#include "models/hashing_embedder.h"

#include <gtest/gtest.h>

#include <cmath>

#include "models/test_tools.h"

namespace narthex {
namespace {

void expect_counts(const std::vector<json::object>& rows) {
  for (const json::object& row : rows) {
    const std::string text(row.at("text").as_string());
    const auto counts = hashing_counts(text);
    const json::array& expected = row.at("counts").as_array();
    for (std::size_t i = 0; i < kHashingDim; ++i) {
      ASSERT_EQ(counts[i], expected[i].to_number<int>()) << "bucket " << i << " of " << json::serialize(row.at("text"));
    }
  }
}

TEST(HashingEmbedder, CountsEqualPythonsOnTheCommittedTexts) {
  const auto rows = read_rows(NARTHEX_TEST_DATA "/hashing.jsonl");
  ASSERT_GE(rows.size(), 60u);
  expect_counts(rows);
}

TEST(HashingEmbedder, CountsEqualPythonsOnFiveThousandNastyTexts) {
  const auto python = environment_value("NARTHEX_PYTHON");
  if (!python) return skip_loudly("hashing against Python", "NARTHEX_PYTHON");
  const std::string file = ::testing::TempDir() + "/hashing_oracle.jsonl";
  ASSERT_TRUE(run_oracle(*python, "hashing 5000 " + file));
  const auto rows = read_rows(file);
  ASSERT_EQ(rows.size(), 5000u);
  expect_counts(rows);
}

TEST(HashingEmbedder, VectorsHaveLengthOneAndSayTheyAreLexical) {
  const HashingEmbedder embedder;
  EXPECT_FALSE(embedder.info().semantic);
  const std::string_view texts[] = {"", "hello", "Straße ẞ", "ΑΣ ΟΔΟΣ"};
  const auto embeddings = embedder.embed(texts, {});
  ASSERT_TRUE(embeddings);
  for (const Embedding& embedding : *embeddings) {
    double sum = 0;
    for (const float x : embedding.values) sum += static_cast<double>(x) * static_cast<double>(x);
    EXPECT_NEAR(sum, 1.0, 1e-6);
  }
}

TEST(HashingEmbedder, TextThatIsNotUtf8IsRefusedByItsByte) {
  const std::string_view texts[] = {"fine", "bad \xFF"};
  const auto embeddings = HashingEmbedder().embed(texts, {});
  ASSERT_FALSE(embeddings);
  EXPECT_EQ(embeddings.error().message, "text 1 is not valid UTF-8 at byte 4");
}

}  // namespace
}  // namespace narthex
