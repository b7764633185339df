#include "text/post_processors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "text/tiny_tokenizer.h"

namespace narthex {

namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kRoberta =
    R"({"type": "RobertaProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2], "trim_offsets": true,
                                 "add_prefix_space": false})";
const std::string kTemplate = R"({"type": "TemplateProcessing",
  "single": [{"SpecialToken": {"id": "S", "type_id": 2}}, {"Sequence": {"id": "A", "type_id": 1}}],
  "pair": [{"Sequence": {"id": "B", "type_id": 5}}, {"SpecialToken": {"id": "S", "type_id": 6}}, {"Sequence": {"id": "A", "type_id": 7}}],
  "special_tokens": {"S": {"id": "S", "ids": [2, 3], "tokens": ["[CLS]", "[SEP]"]}}})";

TEST(PostProcessors, RobertaHasFourTokensAndNoTypes) {
  const Tokenizer t = tiny({"a", "b"}, {{"post_processor", kRoberta}});
  const Encoding e = *t.encode_pair("a", "b");
  EXPECT_THAT(e.ids, ElementsAre(2, 4, 3, 3, 5, 3));
  EXPECT_THAT(e.type_ids, ElementsAre(0, 0, 0, 0, 0, 0));
  EXPECT_EQ(t.n_added_tokens(true), 4u);
}

TEST(PostProcessors, RobertaTrimsTheSpacesOfAddedTokens) {
  const Tokenizer t = tiny({"a", "b"}, {{"post_processor", kRoberta},
                                        {"added_tokens", R"([{"content": "<m>", "lstrip": true, "rstrip": true}])"}});
  const Encoding e = *t.encode("\u3000<m>\u3000 b", {.add_special_tokens = false, .offsets = true});
  EXPECT_THAT(e.offsets, ElementsAre(Offsets{1, 4}, Offsets{6, 7}));
  EXPECT_THAT(e.byte_offsets, ElementsAre(Offsets{3, 6}, Offsets{10, 11}));
}

TEST(PostProcessors, TemplatesSetTypesAlsoWithoutSpecialTokens) {
  const Tokenizer t = tiny({"a", "b"}, {{"post_processor", kTemplate}});
  EXPECT_THAT(t.encode("a")->ids, ElementsAre(2, 3, 4));
  EXPECT_THAT(t.encode("a")->type_ids, ElementsAre(2, 2, 1));
  EXPECT_THAT(t.encode_pair("a", "b")->ids, ElementsAre(5, 2, 3, 4));
  EXPECT_THAT(t.encode_pair("a", "b", {.add_special_tokens = false})->type_ids, ElementsAre(5, 7));
  EXPECT_EQ(t.n_added_tokens(false), 2u);
}

TEST(PostProcessors, WithoutOneTextsFollowEachOther) {
  const Tokenizer t = tiny({"a", "b"}, {{"post_processor", "null"}});
  EXPECT_THAT(t.encode_pair("a", "b")->ids, ElementsAre(4, 5));
  EXPECT_THAT(t.encode_pair("a", "b")->type_ids, ElementsAre(0, 1));
}

// tokenizers: processors/mod.rs deserialize_bert_roberta_correctly.
TEST(PostProcessors, UntaggedBertAndRobertaAreToldApart) {
  const auto added = [](const std::string& text) {
    const json::value value = *parse_json(text, "post");
    return parse_post_processor(&value, "file")->n_added(true);
  };
  EXPECT_EQ(added(R"({"sep": ["[SEP]", 3], "cls": ["[CLS]", 2]})"), 3u);
  EXPECT_EQ(added(R"({"sep": ["[SEP]", 3], "cls": ["[CLS]", 2], "trim_offsets": true, "add_prefix_space": true})"), 4u);
}

TEST(PostProcessors, WhatBreaksAPromiseIsAnError) {
  const auto error = [](std::string_view single, std::string_view pair) {
    const json::value value = *parse_json(
        fmt::format(R"({{"type": "TemplateProcessing", "single": [{}], "pair": [{}], "special_tokens": {{}}}})", single,
                    pair),
        "post");
    const auto result = parse_post_processor(&value, "file");
    return result ? "" : result.error().message;
  };
  const std::string a = R"({"Sequence": {"id": "A", "type_id": 0}})";
  const std::string b = R"({"Sequence": {"id": "B", "type_id": 1}})";
  EXPECT_EQ(error(a, a + "," + b), "");
  EXPECT_THAT(error(a + "," + a, a + "," + b), HasSubstr("'single'"));
  EXPECT_THAT(error(a, a), HasSubstr("A and B")) << "a pair must use both";
  EXPECT_THAT(error(R"({"SpecialToken": {"id": "[CLS]", "type_id": 0}})", a), HasSubstr("[CLS]"));
  EXPECT_THAT(error(R"({"Sequence": {"id": "C"}})", a), HasSubstr("Sequence A or B"));
  const json::value two = *parse_json(
      R"({"type": "Sequence", "processors": [{"type": "BertProcessing", "sep": ["s", 1], "cls": ["c", 2]},
          {"type": "BertProcessing", "sep": ["s", 1], "cls": ["c", 2]}]})",
      "post");
  EXPECT_FALSE(parse_post_processor(&two, "file"));
}

}  // namespace
}  // namespace narthex
