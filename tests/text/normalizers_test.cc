// Texts and alignments of single normalizers. The alignment cases are those that the reference's own tests pin.
#include "text/normalizers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace narthex {

void PrintTo(const ByteRange& range, std::ostream* out) {
  *out << "(" << range.begin << "," << range.end << ")";
}

namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<Normalizer> parse(std::string_view text) {
  const json::value value = *parse_json(text, "normalizer");
  return parse_normalizer(&value, "file");
}

NormalizedText normalize(std::string_view normalizer, std::string_view text) {
  NormalizedText out;
  out.assign(text, 0, text.size(), true);
  const Result<Normalizer> parsed = parse(normalizer);
  EXPECT_TRUE(parsed) << parsed.error().message;
  parsed->apply(out);
  EXPECT_EQ(out.alignment.size(), out.text.size());
  // The path without alignments gives the same text.
  NormalizedText plain;
  plain.assign(text, 0, text.size(), false);
  parsed->apply(plain);
  EXPECT_EQ(plain.text, out.text);
  return out;
}

constexpr std::string_view kNfd = R"({"type": "NFD"})";
constexpr std::string_view kBert = R"({"type": "BertNormalizer"})";

TEST(Normalizers, DecomposedCharactersShareTheirOrigin) {
  const NormalizedText n = normalize(kNfd, "é");
  EXPECT_EQ(n.text, "e\u0301");
  EXPECT_THAT(n.alignment, ElementsAre(ByteRange{0, 2}, ByteRange{0, 2}, ByteRange{0, 2}));
}

TEST(Normalizers, MarksAreOrderedByTheirClass) {
  EXPECT_EQ(normalize(kNfd, "a\u0301\u0323").text, "a\u0323\u0301");
  EXPECT_EQ(normalize(kNfd, "a\u0301\u0300").text, "a\u0301\u0300") << "one class keeps its order";
  EXPECT_EQ(normalize(kNfd, "é\u0323").text, "e\u0323\u0301");
  EXPECT_EQ(normalize(kNfd, "\u0F74\u0F73").text, "\u0F71\u0F72\u0F74");
  EXPECT_EQ(normalize(kNfd, "a\u0301\u1DF7\u0323").text, "a\u0301\u1DF7\u0323")
      << "a mark newer than Unicode 9 is a wall";
}

TEST(Normalizers, AnInsertedMarkTakesTheOriginOfWhatWasReadLast) {
  // e and the dot below are characters of the text, the acute was inserted; the dot moves before it.
  const NormalizedText n = normalize(kNfd, "é\u0323");
  EXPECT_THAT(n.alignment,
              ElementsAre(ByteRange{0, 2}, ByteRange{2, 4}, ByteRange{2, 4}, ByteRange{2, 4}, ByteRange{2, 4}));
}

TEST(Normalizers, RemovedCharactersLeaveGapsInTheAlignment) {
  const NormalizedText n = normalize(kBert, "\u00ada\u00ad\u00adB");
  EXPECT_EQ(n.text, "ab");
  EXPECT_THAT(n.alignment, ElementsAre(ByteRange{2, 3}, ByteRange{7, 8}));
  EXPECT_EQ(n.original({0, 2}), (ByteRange{2, 8}));
}

TEST(Normalizers, SpacesAroundIdeographsComeFromThem) {
  const NormalizedText n = normalize(kBert, "a北");
  EXPECT_EQ(n.text, "a 北 ");
  EXPECT_EQ(n.original({1, 2}), (ByteRange{1, 4}));
  EXPECT_EQ(n.original({5, 6}), (ByteRange{1, 4}));
}

TEST(Normalizers, BertStepsInTheirOrder) {
  EXPECT_EQ(normalize(kBert, "Kantō İSTANBUL ẞ Ά").text, "kanto istanbul ß α");
  EXPECT_EQ(normalize(kBert, "a\x0b\x0c\u0085\u2028b\tc\u200bd").text, "a b cd");
  EXPECT_EQ(normalize(R"({"type": "BertNormalizer", "strip_accents": false})", "İ").text, "i\u0307");
  EXPECT_EQ(normalize(R"({"type": "BertNormalizer", "lowercase": false})", "ÀB").text, "ÀB")
      << "null follows lowercase";
  EXPECT_EQ(normalize(R"({"type": "BertNormalizer", "clean_text": false})", "a\tb\x01").text, "a\tb\x01");
  EXPECT_EQ(normalize(R"({"type": "BertNormalizer", "handle_chinese_chars": false})", "a北").text, "a北");
}

TEST(Normalizers, MarksMeetAcrossARemovedCharacter) {
  EXPECT_EQ(
      normalize(R"({"type": "BertNormalizer", "lowercase": false, "strip_accents": true})", "a\u0338\x01\u0327").text,
      "a");
  EXPECT_EQ(
      normalize(
          R"({"type": "Sequence", "normalizers": [{"type": "BertNormalizer", "strip_accents": false}, {"type": "NFD"}]})",
          "a\u0301\x01\u0323")
          .text,
      "a\u0323\u0301");
}

// tokenizers: strip.rs test_vietnamese_bug, test_thai_bug, test_strip_accents_multiple.
TEST(Normalizers, StripAccentsWithoutDecomposing) {
  constexpr std::string_view kStrip = R"({"type": "StripAccents"})";
  constexpr std::string_view kBoth =
      R"({"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "StripAccents"}]})";
  EXPECT_EQ(normalize(kStrip, "ậ…").text, "ậ…");
  EXPECT_EQ(normalize(kBoth, "ậ…").text, "a…");
  EXPECT_EQ(normalize(kBoth, "ำน\u0e49ำ3ลำ").text, "ำนำ3ลำ");
  EXPECT_EQ(normalize(kBoth, "e\u0304\u0304\u0304o").text, "eo");
}

TEST(Normalizers, StripTakesWhiteSpaceOffBothEnds) {
  const NormalizedText n = normalize(R"({"type": "Strip"})", " \u3000é a \n");
  EXPECT_EQ(n.text, "é a");
  EXPECT_EQ(n.original({0, 4}), (ByteRange{4, 8}));
  EXPECT_EQ(normalize(R"({"type": "Strip", "strip_right": false})", " a ").text, "a ");
  EXPECT_EQ(normalize(R"({"type": "Strip"})",
                      "\x1c"
                      "a\x1c")
                .text,
            "\x1c"
            "a\x1c");
  EXPECT_EQ(normalize(R"({"type": "Strip"})", "  ").text, "");
}

TEST(Normalizers, ReplaceIsLiteral) {
  const auto replace = [](std::string_view pattern, std::string_view content) {
    return fmt::format(R"({{"type": "Replace", "pattern": {{"String": "{}"}}, "content": "{}"}})", pattern, content);
  };
  EXPECT_EQ(normalize(replace("a.b", "$1"), "a.bxa.ba.").text, "$1x$1a.");
  EXPECT_EQ(normalize(replace("aa", "b"), "aaa").text, "ba");
  EXPECT_EQ(normalize(replace("a", ""), "banana").text, "bnn");
  EXPECT_EQ(normalize(replace("``", "\\\""), "``x``").text, "\"x\"");
}

TEST(Normalizers, PrependOnlyToText) {
  const NormalizedText n = normalize(R"({"type": "Prepend", "prepend": "é_"})", "ab");
  EXPECT_EQ(n.text, "é_ab");
  EXPECT_EQ(n.original({0, 3}), (ByteRange{0, 1}));
  EXPECT_EQ(normalize(R"({"type": "Prepend", "prepend": "x"})", "").text, "");
}

TEST(Normalizers, ManyMarksStayFast) {
  std::string text = "a";
  for (int i = 0; i < 300'000; ++i) text += i % 2 == 0 ? "\u0301" : "\u0323";
  EXPECT_EQ(normalize(kNfd, text).text.size(), text.size());
}

TEST(Normalizers, WhatIsNotSupportedIsNamed) {
  for (const auto& [text, name] :
       {std::pair(R"({"type": "Precompiled", "precompiled_charsmap": "AAAA"})", "Precompiled"),
        std::pair(R"({"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "})", "{2,}"),
        std::pair(R"({"type": "NFKC"})", "NFKC")}) {
    const auto result = parse(text);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::kUnsupported);
    EXPECT_THAT(result.error().message, HasSubstr(name));
  }
}

}  // namespace
}  // namespace narthex
