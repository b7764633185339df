#include "text/added_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "text/tiny_tokenizer.h"

namespace narthex {

namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Tokenizer with(const std::string& added, std::vector<std::string> tokens = {"a", "b", "c", "d"}) {
  return tiny(tokens, {{"added_tokens", added}});
}

// tokenizers: tests/added_tokens.rs overlapping_tokens.
TEST(AddedTokens, LeftmostThenLongest) {
  const Tokenizer t = with(R"([{"content": "bcd"}, {"content": "ab"}, {"content": "abc"}])");
  EXPECT_THAT(pieces(t, "abcd"), ElementsAre("abc", "d"));
  EXPECT_THAT(pieces(t, "xbcd"), ElementsAre("[UNK]", "bcd"));
}

TEST(AddedTokens, NormalizedOnesAreFoundInTheNormalizedText) {
  const Tokenizer t = with(R"([{"content": "Café", "normalized": true}, {"content": "<X>", "normalized": false}])");
  EXPECT_THAT(pieces(t, "aCAFÉb<X>"), ElementsAre("a", "Café", "b", "<X>"));
  EXPECT_THAT(pieces(t, "<x>"), ElementsAre("[UNK]", "[UNK]", "[UNK]")) << "raw tokens keep their case";
}

// tokenizers: added_vocabulary.rs test_lstrip_unicode_space, test_single_word_is_unicode_correct.
TEST(AddedTokens, StripAndSingleWordKnowUnicode) {
  const Tokenizer t = with(R"([{"content": "<m>", "lstrip": true, "rstrip": true, "normalized": false},
                               {"content": "ing", "single_word": true, "normalized": false}])");
  EXPECT_THAT(offsets_of(t, "a\u2003 <m>\u3000b"), ElementsAre(Offsets{0, 1}, Offsets{1, 7}, Offsets{7, 8}));
  EXPECT_THAT(pieces(t, "<m> <m>"), ElementsAre("<m>", "<m>"));
  EXPECT_THAT(offsets_of(t, "<m> <m>"), ElementsAre(Offsets{0, 4}, Offsets{4, 7})) << "the first takes the space";
  EXPECT_THAT(pieces(t, "²ing"), ElementsAre("[UNK]", "ing"));
  EXPECT_THAT(pieces(t, "ing_"), ElementsAre("[UNK]", "[UNK]"));
  EXPECT_THAT(pieces(t, "aing"), ElementsAre("[UNK]"));
  EXPECT_THAT(pieces(t, "ing\u0301"), ElementsAre("[UNK]"));
}

TEST(AddedTokens, ARefusedMatchIsSkippedWhole) {
  const Tokenizer t =
      with(R"([{"content": "ab", "single_word": true, "normalized": false}, {"content": "b", "normalized": false}])",
           {"xab", "xa"});
  EXPECT_THAT(pieces(t, "xab"), ElementsAre("xab")) << "the shorter token inside is not tried";
}

TEST(AddedTokens, EmptyContentsAreIgnored) {
  EXPECT_THAT(pieces(with(R"([{"content": ""}, {"content": "\u0301", "normalized": true}])"), "a b"),
              ElementsAre("a", "b"));
}

TEST(AddedTokens, IdsGoOnBehindTheModel) {
  const Tokenizer t = with(R"([{"id": 1000, "content": "x"}, {"id": 4, "content": "a"}, {"content": "y"}])");
  EXPECT_EQ(t.id("x"), 8);
  EXPECT_EQ(t.id("a"), 4);
  EXPECT_EQ(t.id("y"), 9);
}

TEST(AddedTokens, MalformedListsAreErrors) {
  for (const char* added :
       {R"({})", R"(["x"])", R"([{"id": 3}])", R"([{"content": 3}])", R"([{"content": "a", "lstrip": 1}])"}) {
    json::object root = tiny_json({"a"});
    root["added_tokens"] = *parse_json(added, "added");
    const auto result = Tokenizer::from_json(json::serialize(root), "tokenizer.json");
    ASSERT_FALSE(result) << added;
    EXPECT_THAT(result.error().message, HasSubstr("tokenizer.json: "));
  }
}

}  // namespace
}  // namespace narthex
