#include "text/models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "text/tiny_tokenizer.h"

namespace narthex {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kWhitespaceSplit = R"({"type": "WhitespaceSplit"})";

TEST(WordPiece, GreedyLongestFirst) {
  const Tokenizer t = tiny({"un", "##aff", "##able", "##a", "unaf", "##fable", "##f"});
  EXPECT_THAT(pieces(t, "unaffable"), ElementsAre("unaf", "##fable"));
  EXPECT_THAT(pieces(t, "unaff"), ElementsAre("unaf", "##f"));
  EXPECT_THAT(pieces(t, "affable"), ElementsAre("[UNK]")) << "no piece begins a word here";
}

TEST(WordPiece, ThePrefixItselfIsNoPiece) {
  EXPECT_THAT(pieces(tiny({"a", "##"}), "ab"), ElementsAre("[UNK]"));
}

TEST(WordPiece, APieceWithThePrefixCanBeginAWordThatIsWrittenSo) {
  EXPECT_THAT(pieces(tiny({"##aff"}, {{"pre_tokenizer", kWhitespaceSplit}}), "##aff"), ElementsAre("##aff"));
  EXPECT_THAT(pieces(tiny({"##aff", "#"}), "##aff"), ElementsAre("#", "#", "[UNK]")) << "BERT splits '#' first";
}

TEST(WordPiece, AMissingUnknownTokenIsAnErrorWhenItIsNeeded) {
  json::object root = tiny_json({"a"});
  root["model"].as_object()["unk_token"] = "[nothing]";
  const Tokenizer t = must_load(root);
  EXPECT_TRUE(t.encode("a"));
  const auto result = t.encode("a b");
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("[nothing]"));
}

TEST(WordLevel, AWordOrUnknown) {
  json::object root = tiny_json({"a", "ab"});
  root["model"].as_object()["type"] = "WordLevel";
  EXPECT_THAT(pieces(must_load(root), "ab a b"), ElementsAre("ab", "a", "[UNK]"));
  root["model"].as_object()["unk_token"] = "<none>";
  EXPECT_FALSE(must_load(root).encode("b"));
}

TEST(Vocabulary, GapsAndRepeatedIds) {
  const json::value value = *parse_json(R"({"vocab": {"a": 5, "b": 5, "c": 2147483647, "": 1}})", "vocab");
  const Fields fields{value.get_object(), "file", "model"};
  const Vocabulary vocabulary = *Vocabulary::read(fields, "vocab", nullptr);
  EXPECT_EQ(vocabulary.size(), 4u);
  EXPECT_EQ(vocabulary.id("a"), 5);
  EXPECT_EQ(vocabulary.token(5), "b");
  EXPECT_EQ(vocabulary.token(2147483647), "c");
  EXPECT_EQ(vocabulary.token(4), std::nullopt);
  EXPECT_EQ(vocabulary.id(""), 1);
}

TEST(Vocabulary, BadIdsAndLongTokensAreErrors) {
  for (const std::string& text :
       std::vector<std::string>{R"({"vocab": {"a": -1}})", R"({"vocab": {"a": 2147483648}})",
                                R"({"vocab": {"a": 1.5}})", R"({"vocab": {"a": "1"}})", R"({"vocab": []})", R"({})",
                                "{\"vocab\": {\"" + std::string(5000, 'a') + "\": 1}}"}) {
    const json::value value = *parse_json(text, "vocab");
    const auto result = Vocabulary::read({value.get_object(), "file", "model"}, "vocab", nullptr);
    ASSERT_FALSE(result) << text.substr(0, 80);
    EXPECT_THAT(result.error().message, HasSubstr("file: model"));
  }
}

}  // namespace
}  // namespace narthex
