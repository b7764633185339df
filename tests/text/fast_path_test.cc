// A fast path against the general way, on strings made to break it: every id, offset and count must be equal.
#include "text/fast_path.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "base/utf8.h"
#include "text/tiny_tokenizer.h"
#include "text/unicode.h"
#include "text/word_cache.h"

namespace narthex {
namespace {

// Reports the shortest part of the text that still differs.
bool differs(const Tokenizer& fast, const Tokenizer& general, std::string_view text, const EncodeOptions& options) {
  const auto a = fast.encode(text, options);
  const auto b = general.encode(text, options);
  if (a.has_value() != b.has_value()) return true;
  return a && (a->ids != b->ids || a->offsets != b->offsets || a->byte_offsets != b->byte_offsets ||
               a->type_ids != b->type_ids || a->special_mask != b->special_mask || a->sequence != b->sequence ||
               a->truncated != b->truncated || a->n_tokens_total != b->n_tokens_total);
}

std::string shrink(const Tokenizer& fast, const Tokenizer& general, std::string text, const EncodeOptions& options) {
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i + 1;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
    const std::string shorter = text.substr(0, i) + text.substr(end);
    if (differs(fast, general, shorter, options)) {
      text = shorter;
      i = 0;
    } else {
      i = end;
    }
  }
  return text;
}

void expect_same(const Tokenizer& fast, const std::string& text) {
  const Tokenizer general = fast.without_fast_path();
  ASSERT_FALSE(fast.fast_path().empty());
  for (const bool offsets : {false, true}) {
    for (const std::size_t max_length : {std::size_t{0}, std::size_t{5}, 3 + text.size() / 4}) {
      for (const bool allow_special : {false, true}) {
        const EncodeOptions options{.allow_special = allow_special, .max_length = max_length, .offsets = offsets};
        if (!differs(fast, general, text, options)) continue;
        const std::string least = shrink(fast, general, text, options);
        std::string escaped;
        append_json_string(escaped, least);
        FAIL() << escaped << " max_length " << max_length << " offsets " << offsets
               << fmt::format("\nfast    {}\ngeneral {}", fast.encode(least, options)->ids,
                              general.encode(least, options)->ids);
      }
    }
  }
}

// Characters of every kind that the normalizer or the splitting knows, some of which survive as marks.
std::vector<char32_t> nasty_characters() {
  std::vector<char32_t> out{'a',      'b',     'Z',     'e',     '0',     ' ',     ' ',     ',',     '#',     '\'',
                            '\t',     '\n',    0,       1,       0x7F,    0x85,    0xA0,    0xAD,    0xC9,    0xE9,
                            0x130,    0x131,   0x300,   0x301,   0x323,   0x345,   0x34F,   0x37E,   0x3A3,   0x3C2,
                            0x400,    0x419,   0x439,   0x5B0,   0x5D0,   0x64B,   0x915,   0x93F,   0x94D,   0xE31,
                            0xE33,    0xF73,   0x1100,  0x1161,  0x11A8,  0xAC00,  0xAC01,  0x1E9B,  0x1FBE,  0x1FC3,
                            0x2003,   0x2019,  0x2028,  0x200B,  0x200D,  0x2126,  0x302A,  0x302E,  0x302F,  0x3099,
                            0x3000,   0x3002,  0x4E2D,  0xF900,  0xFB1D,  0xFB2C,  0xFDFA,  0xFEFF,  0xFF01,  0xFF21,
                            0xFFFD,   0xFFFE,  0xE000,  0x1D15E, 0x1D165, 0x1D16D, 0x1D16E, 0x1F600, 0x20000, 0x2F800,
                            0x10FFFF, 0x1E8D0, 0x10376, 0x1D242, 0x11131, 0x1110D};
  return out;
}

std::string random_text(std::mt19937& random, const std::vector<char32_t>& characters) {
  std::string out;
  for (std::size_t n = random() % 40; n > 0; --n) {
    switch (random() % 8) {
      case 0:
        out += "[SEP]";
        break;
      case 1:
        append_utf8(out, random() % 0x3000);
        break;
      case 2:
        out.append(random() % 24, static_cast<char>('a' + random() % 3));
        break;
      default:
        append_utf8(out, characters[random() % characters.size()]);
    }
  }
  return out;
}

std::vector<Tokenizer> tokenizers() {
  std::vector<std::string> tokens{"a",    "##a",    "b",        "##b",      "ab",  "##ab",    "aaaa", "##aaaa", "é",
                                  "e",    "##e",    "##́",       "й",        "##й", "и",       "中",   "##中",   ",",
                                  "##,",  "z",      "##z",      "Z",        "##0", "0",       "#",    "豈",     "가",
                                  "##가", "\u302E", "##\u302E", "##\u302F", "i",   "##\u0345"};
  std::vector<Tokenizer> out;
  for (const bool clean : {true, false}) {
    for (const bool chinese : {true, false}) {
      for (const bool lower_and_strip : {true, false}) {
        for (const bool strip : {true, false}) {
          json::object root = tiny_json(tokens);
          json::object& normalizer = root["normalizer"].as_object();
          normalizer["clean_text"] = clean;
          normalizer["handle_chinese_chars"] = chinese;
          normalizer["lowercase"] = lower_and_strip;
          normalizer["strip_accents"] = strip;
          if (!chinese) root["model"].as_object()["max_input_chars_per_word"] = 6;
          out.push_back(must_load(root));
        }
      }
    }
  }
  out.push_back(tiny(tokens, {{"normalizer", "null"}}));
  out.push_back(tiny(tokens, {{"normalizer", R"({"type": "Lowercase"})"}}));
  return out;
}

TEST(FastPath, OnNastyStrings) {
  std::mt19937 random(11);
  const std::vector<char32_t> characters = nasty_characters();
  const std::vector<Tokenizer> all = tokenizers();
  for (int turn = 0; turn < 4000 && !testing::Test::HasFailure(); ++turn) {
    expect_same(all[static_cast<std::size_t>(turn) % all.size()], random_text(random, characters));
  }
}

TEST(FastPath, OnEveryCodePoint) {
  const Tokenizer fast = tiny({"a", "##a", "##b", "b", "##0"});
  const Tokenizer general = fast.without_fast_path();
  std::string text;
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    text += "aA";
    append_utf8(text, c);
    append_utf8(text, 0x302E);  // a mark that stays, and one of a lower class that is stripped
    append_utf8(text, 0x323);
    text += "b ";
    if (c % 64 != 63) continue;
    for (const bool offsets : {false, true}) {
      ASSERT_FALSE(differs(fast, general, text, {.offsets = offsets})) << "U+" << std::hex << c - 63;
    }
    text.clear();
  }
}

TEST(FastPath, OnWordsOfEveryLengthAndPlace) {
  const Tokenizer fast = tiny({"a", "##a", "##aaaa", "aaaaaaaaaaaaaaa", "##bb", "b", "."});
  for (std::size_t length = 0; length < 40; ++length) {
    for (std::size_t before = 0; before < 18; ++before) {
      expect_same(fast, std::string(before, ' ') + std::string(length, 'a') + ".");
      expect_same(fast, std::string(before, 'b') + " " + std::string(length, 'A'));
    }
  }
  for (const std::size_t length : {99u, 100u, 101u, 300u, 70'000u}) expect_same(fast, std::string(length, 'a') + " b");
}

TEST(FastPath, CoversWhatItSaysAndNothingElse) {
  EXPECT_EQ(tiny({"a"}).fast_path(), "bert");
  EXPECT_EQ(tiny({"a"}, {{"normalizer", R"({"type": "NFD"})"}}).fast_path(), "");
  EXPECT_EQ(tiny({"a"}, {{"pre_tokenizer", R"({"type": "Whitespace"})"}}).fast_path(), "");
  EXPECT_EQ(tiny({"a"}, {{"pre_tokenizer", "null"}}).fast_path(), "");
  EXPECT_EQ(tiny({"a"}).without_fast_path().fast_path(), "");
  json::object root = tiny_json({"a"});
  root["model"].as_object()["unk_token"] = "[nothing]";
  EXPECT_EQ(must_load(root).fast_path(), "") << "it could not report the error";
}

TEST(FastPath, AddedTokensInNormalizedTextTakeTheGeneralWay) {
  const std::string added = R"([{"content": "é b", "special": false, "normalized": true}])";
  const Tokenizer t = tiny({"a", "b"}, {{"added_tokens", added}});
  EXPECT_EQ(pieces(t, "a É B a"), (std::vector<std::string>{"a", "é b", "a"}));
}

TEST(WordCache, TokenizersShareItAndDoNotMix) {
  const Tokenizer one = tiny({"ab"});
  const Tokenizer two = tiny({"x", "ab"});
  for (int turn = 0; turn < 3; ++turn) {
    EXPECT_EQ(one.encode("ab", {.add_special_tokens = false})->ids, (std::vector<std::int32_t>{4}));
    EXPECT_EQ(two.encode("ab", {.add_special_tokens = false})->ids, (std::vector<std::int32_t>{5}));
  }
}

TEST(WordCache, TheKeyHoldsTheLength) {
  const std::string bytes("ab\0\0\0\0\0\0cdefghijklmnop", 22);
  for (std::size_t a = 0; a <= WordKey::kMaxBytes; ++a) {
    for (std::size_t b = 0; b <= WordKey::kMaxBytes; ++b) {
      const WordKey left = WordKey::of(bytes.data(), a);
      const WordKey right = WordKey::of(bytes.data(), b);
      EXPECT_EQ(left.low == right.low && left.high == right.high, a == b) << a << " " << b;
    }
  }
  const WordKey left = WordKey::of("ab345678defghijk", 2);
  const WordKey right = WordKey::of("abxxxxxxyyyyyyyy", 2);
  EXPECT_TRUE(left.low == right.low && left.high == right.high) << "what follows the word does not matter";
}

TEST(FastPath, ManyThreadsAtOnce) {
  const Tokenizer t = tiny({"ab", "##c", "b"});
  const std::string text = "ab abc b ba abcc, é ab";
  const std::vector<std::int32_t> expected = t.without_fast_path().encode(text)->ids;
  std::vector<std::thread> threads;
  std::atomic<int> n_wrong{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < 200; ++turn) n_wrong += t.encode(text)->ids != expected;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(n_wrong, 0);
}

}  // namespace
}  // namespace narthex
