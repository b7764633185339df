// Files that are wrong, old or not supported: an Error that names the file and the component, never a crash.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "text/tiny_tokenizer.h"

namespace narthex {
namespace {

using testing::HasSubstr;

Error error_of(std::string_view text) {
  const auto result = Tokenizer::from_json(text, "dir/tokenizer.json");
  EXPECT_FALSE(result) << text;
  return result ? Error{} : result.error();
}

TEST(TokenizerJson, MalformedFiles) {
  for (const char* text : {"", "{", "[]", "3", R"({"model": null})", R"({"model": {}})", R"({"model": []})",
                           R"({"model": {"type": "WordPiece"}})", R"({"model": {"type": 3}})",
                           R"({"model": {"type": "WordPiece", "vocab": {"a": 0}, "unk_token": 3}})",
                           R"({"model": {"type": "WordPiece", "vocab": {"a": 0}, "max_input_chars_per_word": -1}})",
                           R"({"model": {"type": "WordPiece", "vocab": {"a": 0}}, "normalizer": 3})",
                           R"({"model": {"type": "WordPiece", "vocab": {"a": 0}}, "normalizer": {"type": "Sequence"}})",
                           R"({"model": {"type": "WordPiece", "vocab": {"a": 0}}, "pre_tokenizer": "x"})",
                           R"({"model": {"type": "WordPiece", "vocab": {"a": 0}}, "post_processor": [1]})",
                           R"({"model": {"type": "WordPiece", "vocab": {"\ud800": 0}}})"}) {
    EXPECT_THAT(error_of(text).message, HasSubstr("dir/tokenizer.json")) << text;
  }
}

TEST(TokenizerJson, DeepNestingIsAnError) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += R"({"normalizer":)";
  error_of(text);
  std::string sequence = R"({"type": "Lowercase"})";
  for (int i = 0; i < 40; ++i) sequence = R"({"type": "Sequence", "normalizers": [)" + sequence + "]}";
  error_of(R"({"model": {"type": "WordPiece", "vocab": {"a": 0}}, "normalizer": )" + sequence + "}");
}

TEST(TokenizerJson, UnsupportedPartsAreNamedWithTheirText) {
  const auto with = [](std::string_view part) {
    return error_of(fmt::format(R"({{"model": {{"type": "WordLevel", "vocab": {{"a": 0}}}}, {}}})", part));
  };
  const Error bpe = error_of(R"({"model": {"type": "BPE", "vocab": {}, "merges": []}})");
  EXPECT_EQ(bpe.code, ErrorCode::kUnsupported);
  EXPECT_THAT(bpe.message, HasSubstr("model 'BPE' is not supported"));
  EXPECT_THAT(error_of(R"({"model": {"unk_id": 0, "vocab": []}})").message, HasSubstr("'Unigram'"));
  EXPECT_THAT(error_of(R"({"model": {"merges": [], "vocab": {}}})").message, HasSubstr("'BPE'"));
  EXPECT_THAT(with(R"("normalizer": {"type": "Nmt"})").message, HasSubstr(R"({"type": "Nmt"})"));
  EXPECT_THAT(with(R"("pre_tokenizer": {"type": "Split", "pattern": {"Regex": "\\d"}})").message, HasSubstr(R"(\\d)"));
  EXPECT_THAT(with(R"("post_processor": {"type": "Other"})").message, HasSubstr("'Other'"));
  EXPECT_THAT(with(R"("version": "2.0")").message, HasSubstr("2.0"));
}

TEST(TokenizerJson, AHugeVocabularyDoesNotEndInTheMessage) {
  std::string text = R"({"model": {"type": "Other", "vocab": {)";
  for (int i = 0; i < 10'000; ++i) text += fmt::format(R"("token{}": {},)", i, i);
  text += R"("x": 10000}, "map": ")" + std::string(10'000, 'x') + R"("}})";
  EXPECT_LT(error_of(text).message.size(), 1000u);
}

TEST(TokenizerJson, LengthsBeyond64BitsAreUnset) {
  const Tokenizer t = tiny({"a"}, {{"truncation", R"({"max_length": 1000000000000000019884624838656})"}});
  EXPECT_GT(t.declared().truncation_max_length.value_or(0), 1u << 30);
}

TEST(TokenizerJson, EveryTruncationOfAFileIsAnError) {
  const std::string text = json::serialize(tiny_json({"a", "##b"}));
  for (std::size_t n = 0; n < text.size(); ++n) EXPECT_FALSE(Tokenizer::from_json(text.substr(0, n), "cut"));
}

TEST(TokenizerJson, FlippedBitsNeverCrash) {
  const std::string text = json::serialize(tiny_json({"a", "##b"}));
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = text;
      flipped[i] = static_cast<char>(flipped[i] ^ (1 << bit));
      const auto tokenizer = Tokenizer::from_json(flipped, "flipped");
      if (tokenizer) (void)tokenizer->encode("ab [CLS] é", {.max_length = 4, .offsets = true});
    }
  }
}

// Ten replacements of "a" by 63 of them would ask for 63^10 bytes.
TEST(TokenizerJson, NormalizersThatExplodeAreAnError) {
  std::string steps;
  for (int i = 0; i < 10; ++i) {
    steps += fmt::format(R"({}{{"type": "Replace", "pattern": {{"String": "a"}}, "content": "{}"}})", i == 0 ? "" : ",",
                         std::string(63, 'a'));
  }
  const Tokenizer t = tiny({"a"}, {{"normalizer", R"({"type": "Sequence", "normalizers": [)" + steps + "]}"}});
  for (const bool offsets : {true, false}) {
    const auto result = t.encode("a b", {.offsets = offsets});
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::kLimit);
  }
}

TEST(TokenizerJson, AMissingFileIsNamed) {
  const auto result = Tokenizer::from_file("/nowhere/tokenizer.json");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(result.error().message, HasSubstr("/nowhere/tokenizer.json"));
}

}  // namespace
}  // namespace narthex
