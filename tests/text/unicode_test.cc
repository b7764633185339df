// The generated tables: spot checks everywhere, all code points where the measured tables lie beside the project.
#include "text/unicode.h"

#include <gtest/gtest.h>

#include <charconv>
#include <map>

#include "base/file.h"
#include "base/json.h"
#include "base/utf8.h"
#include "text/normalizers.h"

namespace narthex {
namespace {

constexpr char32_t kLimit = 0x110000;

std::vector<char32_t> result(const Mapped& mapped) {
  return {mapped.get().begin(), mapped.get().end()};
}

TEST(Unicode, OneVersionPerBehaviour) {
  EXPECT_TRUE(has_class(0x2B81F, kCjk));
  EXPECT_FALSE(has_class(0x2B820, kCjk)) << "the reference's table has a gap here";
  EXPECT_TRUE(has_class(0x2B920, kCjk));
  EXPECT_FALSE(has_class(0x2E4F, kPunct)) << "punctuation newer than Unicode 8";
  EXPECT_FALSE(has_class(0x1C, kWhitespace));
  EXPECT_TRUE(has_class(0x1C, kPythonSpace));
  EXPECT_TRUE(has_class(0x200D, kRegexWord)) << "ZWJ is \\w";
  EXPECT_FALSE(has_class(0xB2, kRegexWord)) << "superscript two is not";
  EXPECT_TRUE(has_class(0xB2, kNumeric));
  EXPECT_FALSE(has_class(0x4E00, kNumeric));
  EXPECT_EQ(combining_rank(0x1DF7), 0u) << "a mark newer than Unicode 9 is a starter";
  EXPECT_LT(combining_rank(0x323), combining_rank(0x301));
}

TEST(Unicode, MapsToOneTwoOrThreeCodePoints) {
  EXPECT_EQ(result(lower(0x130)), (std::vector<char32_t>{'i', 0x307}));
  EXPECT_EQ(result(lower(0x212A)), (std::vector<char32_t>{'k'}));
  EXPECT_EQ(result(lower('a')), (std::vector<char32_t>{'a'}));
  EXPECT_EQ(result(nfd(0xD55C)), (std::vector<char32_t>{0x1112, 0x1161, 0x11AB}));
  EXPECT_EQ(result(nfd(0xAC00)), (std::vector<char32_t>{0x1100, 0x1161}));
  EXPECT_EQ(result(nfd(0x1FA2)), (std::vector<char32_t>{0x3C9, 0x313, 0x300, 0x345}));
  EXPECT_EQ(result(nfd(0x32FF)), (std::vector<char32_t>{0x32FF}));
}

class MeasuredTables : public testing::Test {
 protected:
  json::value load(const char* name) {
    const std::filesystem::path path =
        std::filesystem::path(NARTHEX_SOURCE_DIR).parent_path() / "shared/data/unicode" / name;
    if (!std::filesystem::exists(path)) {
      fmt::print(stderr, "SKIPPED (loud): {} is not here, so not all code points are checked\n", path.string());
      return nullptr;
    }
    return *parse_json(*read_file(path, 4 << 20), name);
  }

  static std::vector<char32_t> hex_list(std::string_view text) {
    std::vector<char32_t> out;
    for (const char* p = text.data(); p < text.data() + text.size(); ++p) {
      std::uint32_t c = 0;
      p = std::from_chars(p, text.data() + text.size(), c, 16).ptr;
      out.push_back(c);
    }
    return out;
  }

  static void check_class(const json::value& table, const char* name, CharClass bit) {
    std::vector<bool> expected(kLimit);
    std::string ranges(table.at(name).as_string());
    for (std::size_t at = 0; at < ranges.size();) {
      std::size_t end = std::min(ranges.find(' ', at), ranges.size());
      const std::string range = ranges.substr(at, end - at);
      const std::size_t dash = range.find('-');
      const auto first = std::stoul(range, nullptr, 16);
      const auto last = dash == std::string::npos ? first : std::stoul(range.substr(dash + 1), nullptr, 16);
      for (auto c = first; c <= last; ++c) expected[c] = true;
      at = end + 1;
    }
    std::size_t n_wrong = 0;
    for (char32_t c = 0; c < kLimit; ++c) n_wrong += has_class(c, bit) != expected[c];
    EXPECT_EQ(n_wrong, 0u) << name;
  }

  template <class Map>
  static void check_mapping(const json::value& table, const char* name, Map map) {
    std::map<char32_t, std::vector<char32_t>> expected;
    for (const auto& [key, value] : table.at(name).as_object()) {
      expected[hex_list(key)[0]] = hex_list(std::string_view(value.as_string()));
    }
    std::size_t n_wrong = 0;
    for (char32_t c = 0; c < kLimit; ++c) {
      const auto found = expected.find(c);
      n_wrong += result(map(c)) != (found == expected.end() ? std::vector<char32_t>{c} : found->second);
    }
    EXPECT_EQ(n_wrong, 0u) << name;
  }
};

TEST_F(MeasuredTables, EveryCodePointOfTheReference) {
  const json::value table = load("hf_tokenizers_0.23.3_tables.json");
  if (table.is_null()) return;
  check_class(table, "clean_removed", kCleanRemoved);
  check_class(table, "clean_space", kCleanSpace);
  check_class(table, "cjk", kCjk);
  check_class(table, "bert_mn_removed", kBertMark);
  check_class(table, "stripaccents_removed", kCombiningMark);
  check_class(table, "punct", kPunct);
  check_class(table, "is_whitespace", kWhitespace);
  check_class(table, "digits", kNumeric);
  check_class(table, "regex_w", kRegexWord);
  check_class(table, "regex_s", kRegexSpace);
  check_mapping(table, "lower", lower);
  check_mapping(table, "NFD", nfd);
}

TEST_F(MeasuredTables, EveryCodePointOfPython) {
  const json::value table = load("cpython_3.11_lower_split.json");
  if (table.is_null()) return;
  check_class(table, "split_ws", kPythonSpace);
  check_class(table, "cased_not_ignorable", kPythonCased);
  check_class(table, "case_ignorable", kPythonCaseIgnorable);
  check_mapping(table, "lower", python_lower_char);
}

}  // namespace
}  // namespace narthex
