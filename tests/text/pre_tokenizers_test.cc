#include "text/pre_tokenizers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace narthex {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> split(std::string_view pre_tokenizer, std::string_view text) {
  const json::value value = *parse_json(pre_tokenizer, "pre_tokenizer");
  const Result<PreTokenizer> parsed = parse_pre_tokenizer(&value, "file");
  EXPECT_TRUE(parsed) << parsed.error().message;
  NormalizedText normalized;
  normalized.assign(text, 0, text.size(), false);
  Words words;
  words.text = &normalized;
  words.ranges = {{0, static_cast<std::uint32_t>(text.size())}};
  parsed->split(words);
  std::vector<std::string> out;
  for (const ByteRange range : words.ranges) out.emplace_back(text.substr(range.begin, range.end - range.begin));
  return out;
}

TEST(PreTokenizers, BertSplitsAtSpacesAndEachPunctuationMark) {
  constexpr std::string_view kBert = R"({"type": "BertPreTokenizer"})";
  EXPECT_THAT(split(kBert, "Hey friend!     How are you?!?"),
              ElementsAre("Hey", "friend", "!", "How", "are", "you", "?", "!", "?"));
  EXPECT_THAT(split(kBert, "a$b+c·d¿€©½"), ElementsAre("a", "$", "b", "+", "c", "·", "d", "¿", "€©½"));
  EXPECT_THAT(split(kBert, "a\u2E4Fb"), ElementsAre("a\u2E4Fb")) << "newer than Unicode 8";
  EXPECT_THAT(split(kBert,
                    "a\x1c"
                    "b\xC2\x85"
                    "c"),
              ElementsAre("a\x1c"
                          "b",
                          "c"));
}

TEST(PreTokenizers, WhitespaceSeparatesWordsFromTheRest) {
  constexpr std::string_view kWhitespace = R"({"type": "Whitespace"})";
  EXPECT_THAT(split(kWhitespace, "a_1 --b²"), ElementsAre("a_1", "--", "b", "²"));
  EXPECT_THAT(split(kWhitespace, "a\u200Db"), ElementsAre("a\u200Db")) << "ZWJ is \\w";
  EXPECT_THAT(split(R"({"type": "WhitespaceSplit"})", " a_1 --b²\u3000c"), ElementsAre("a_1", "--b²", "c"));
}

TEST(PreTokenizers, DigitsAloneOrInRuns) {
  EXPECT_THAT(split(R"({"type": "Digits", "individual_digits": true})", "a12½ 一"),
              ElementsAre("a", "1", "2", "½", " 一"));
  EXPECT_THAT(split(R"({"type": "Digits", "individual_digits": false})", "a12½b3"), ElementsAre("a", "12½", "b", "3"));
}

// tokenizers: split.rs `basic`, here with the punctuation mark as the delimiter.
TEST(PreTokenizers, FiveBehaviours) {
  const auto with = [](std::string_view behavior) {
    return split(fmt::format(R"({{"type": "Punctuation", "behavior": "{}"}})", behavior), "the-final--countdown");
  };
  EXPECT_THAT(with("Removed"), ElementsAre("the", "final", "countdown"));
  EXPECT_THAT(with("Isolated"), ElementsAre("the", "-", "final", "-", "-", "countdown"));
  EXPECT_THAT(with("MergedWithPrevious"), ElementsAre("the-", "final-", "-", "countdown"));
  EXPECT_THAT(with("MergedWithNext"), ElementsAre("the", "-final", "-", "-countdown"));
  EXPECT_THAT(with("Contiguous"), ElementsAre("the", "-", "final", "--", "countdown"));
}

TEST(PreTokenizers, BehavioursAtTheEdges) {
  const auto with = [](std::string_view behavior) {
    return split(fmt::format(R"({{"type": "Punctuation", "behavior": "{}"}})", behavior), "--a--");
  };
  EXPECT_THAT(with("MergedWithPrevious"), ElementsAre("-", "-", "a-", "-"));
  EXPECT_THAT(with("MergedWithNext"), ElementsAre("-", "-a", "-", "-"));
  EXPECT_THAT(with("Contiguous"), ElementsAre("--", "a", "--"));
}

TEST(PreTokenizers, SequenceSplitsFurther) {
  EXPECT_THAT(
      split(R"({"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, {"type": "Punctuation"}]})", "a. b"),
      ElementsAre("a", ".", "b"));
}

TEST(PreTokenizers, WhatIsNotSupportedIsNamed) {
  const json::value value = *parse_json(R"({"type": "Metaspace", "replacement": "_"})", "pre_tokenizer");
  const auto result = parse_pre_tokenizer(&value, "tokenizer.json");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(result.error().message, HasSubstr("Metaspace"));
  EXPECT_THAT(result.error().message, HasSubstr("replacement"));
}

}  // namespace
}  // namespace narthex
