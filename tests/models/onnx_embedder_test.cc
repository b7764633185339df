// A whole embedder from a directory, on a small random encoder: no model has to be there. Real ones: parity_test.cc.
#include "models/onnx_embedder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "models/load.h"
#include "models/small_model.h"

namespace narthex {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// On the plan, and in the interpreter: the same promises.
class OnnxEmbedderTest : public ::testing::TestWithParam<bool> {
 protected:
  Result<std::unique_ptr<OnnxEmbedder>> load(const std::string& pooling = "mean") {
    LoadOptions options;
    options.model = files_.directory().string();
    if (!pooling.empty()) {
      NX_TRY(options.pooling, parse_pooling(pooling));
    }
    options.precision = "fp32";
    options.onnx_exact = GetParam();
    options.use_artifacts = false;
    NX_TRY(InspectedModel model, inspect_model(options));
    EXPECT_EQ(model.embedder->plan() == nullptr, GetParam());
    return std::move(model.embedder);
  }

  SmallModel files_{"x_bert_ts_14_eager", "onnx_embedder_test"};
};
INSTANTIATE_TEST_SUITE_P(All, OnnxEmbedderTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Interpreter" : "Plan"; });

std::vector<float> one(const Embedder& embedder, std::string_view text, const EmbedOptions& options = {}) {
  const auto embeddings = embedder.embed(std::span(&text, 1), options);
  EXPECT_TRUE(embeddings) << embeddings.error().message;
  return embeddings ? embeddings->front().values : std::vector<float>{};
}

TEST_P(OnnxEmbedderTest, ATextsVectorIsTheSameBytesAloneAndInABatch) {
  const auto embedder = load();
  ASSERT_TRUE(embedder) << embedder.error().message;
  const std::string_view texts[] = {"one two", "three four", "", "one two three four one two", "one two"};
  const auto together = (*embedder)->embed(texts, {});
  ASSERT_TRUE(together) << together.error().message;
  for (std::size_t i = 0; i < std::size(texts); ++i)
    EXPECT_EQ((*together)[i].values, one(**embedder, texts[i])) << texts[i];
  EXPECT_EQ((*together)[2].tokens, 2u) << "an empty text is its special tokens";
}

TEST_P(OnnxEmbedderTest, WithoutAPoolingItAsksInsteadOfGuessing) {
  EXPECT_THAT(load("").error().message, HasSubstr("pass --pooling cls, mean, max, last or none"));
  fs::create_directories(files_.directory() / "1_Pooling");
  std::ofstream(files_.directory() / "1_Pooling/config.json") << R"({"pooling_mode_cls_token": true})";
  const auto embedder = load("");
  ASSERT_TRUE(embedder) << embedder.error().message;
  EXPECT_EQ(one(**embedder, "one two"), one(**load("cls"), "one two"));
}

TEST_P(OnnxEmbedderTest, TokenVectorsOnRequest) {
  const auto embedder = load("none");
  ASSERT_TRUE(embedder) << embedder.error().message;
  EXPECT_TRUE((*embedder)->info().token_vectors);
  EXPECT_EQ(one(**embedder, "one two three").size(), 5 * (*embedder)->info().dim);
}

TEST_P(OnnxEmbedderTest, LongTextsAreCutRefusedOrWindowed) {
  const auto embedder = load();
  ASSERT_TRUE(embedder) << embedder.error().message;
  EmbedOptions options;
  options.max_length = 5;
  const std::string_view lengthy = "one two three four one two";
  const auto cut = (*embedder)->embed(std::span(&lengthy, 1), options);
  ASSERT_TRUE(cut) << cut.error().message;
  EXPECT_TRUE(cut->front().truncated);
  EXPECT_EQ(cut->front().values, one(**embedder, "one two three"));
  options.long_texts = LongTexts::kError;
  EXPECT_THAT((*embedder)->embed(std::span(&lengthy, 1), options).error().message, HasSubstr("has more than 5 tokens"));
  options.long_texts = LongTexts::kWindow;
  const auto windows = (*embedder)->embed(std::span(&lengthy, 1), options);
  ASSERT_TRUE(windows) << windows.error().message;
  EXPECT_EQ(windows->front().tokens, 10u) << "two windows of three words and two special tokens";
  EXPECT_FALSE(windows->front().truncated);
  double norm = 0;
  for (const float x : windows->front().values) norm += static_cast<double>(x) * static_cast<double>(x);
  EXPECT_NEAR(norm, 1.0, 1e-6);
  EXPECT_NE(windows->front().values, cut->front().values);
}

TEST_P(OnnxEmbedderTest, SpecialTokensInATextAreText) {
  const auto embedder = load();
  EmbedOptions special;
  special.allow_special = true;
  EXPECT_NE(one(**embedder, "one [SEP] two"), one(**embedder, "one [SEP] two", special));
}

TEST_P(OnnxEmbedderTest, TextThatIsNotUtf8IsRefusedByItsByte) {
  const std::string_view bad = "one \xE2\x80";
  EXPECT_EQ((*load())->embed(std::span(&bad, 1), {}).error().message, "text 0 is not valid UTF-8 at byte 4");
}

}  // namespace
}  // namespace narthex
