// What the reference tokenizer knows about each code point (profile hf-0.23), and CPython 3.11's lower and split.
//
//   has_class(c, kPunct)          one lookup in a generated two-stage table
//   lower(c) / nfd(c, buffer)     the code points that `c` becomes; one, itself, when unchanged
//   combining_rank(c)             order of the canonical combining class, 0 for a starter
//
// No Unicode library gives parity: the reference mixes Unicode 8 (BERT's categories), 9 (NFD), 16 (\w) and 17 (lower).
// tools/generate_unicode_tables.py writes unicode_tables.cc; tests/text/oracle_test.cc compares all code points.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace narthex {

namespace tables {
extern const std::uint8_t kClassStage1[8704];
extern const std::uint16_t kClassStage2[];
extern const std::uint8_t kCombiningStage1[8704];
extern const std::uint8_t kCombiningStage2[];
extern const std::uint8_t kLowerStage1[8704];
extern const std::uint16_t kLowerStage2[];
extern const char32_t kLowerPool[];
extern const std::uint8_t kPythonLowerStage1[8704];
extern const std::uint16_t kPythonLowerStage2[];
extern const char32_t kPythonLowerPool[];
extern const std::uint8_t kNfdStage1[8704];
extern const std::uint16_t kNfdStage2[];
extern const char32_t kNfdPool[];
}  // namespace tables

// The bit order is that of HF_BITS + PYTHON_BITS in the generator.
enum CharClass : std::uint16_t {
  kCleanRemoved = 1 << 0,   // BertNormalizer's clean_text drops it
  kCleanSpace = 1 << 1,     // ... or makes it a space
  kCjk = 1 << 2,            // ... handle_chinese_chars puts spaces around it
  kBertMark = 1 << 3,       // ... strip_accents drops it: Mn of Unicode 8
  kCombiningMark = 1 << 4,  // StripAccents drops it: Mn, Mc, Me of Unicode 9
  kPunct = 1 << 5,          // ASCII punctuation or P of Unicode 8
  kWhitespace = 1 << 6,     // Rust's char::is_whitespace
  kNumeric = 1 << 7,        // Rust's char::is_numeric
  kRegexWord = 1 << 8,      // \w of the regex crate
  kRegexSpace = 1 << 9,     // \s of the regex crate
  kPythonSpace = 1 << 10,   // str.split()
  kPythonCased = 1 << 11,   // cased and not case-ignorable
  kPythonCaseIgnorable = 1 << 12,
};

inline unsigned char_class(char32_t c) {
  return tables::kClassStage2[(tables::kClassStage1[c >> 7] << 7) | (c & 127)];
}
inline bool has_class(char32_t c, CharClass bit) {
  return (char_class(c) & bit) != 0;
}

inline unsigned combining_rank(char32_t c) {
  return tables::kCombiningStage2[(tables::kCombiningStage1[c >> 7] << 7) | (c & 127)];
}

// The result of a mapping: a stretch of a table, or up to three code points that it holds itself. get() is valid as
// long as it lives.
struct Mapped {
  std::array<char32_t, 3> own{};
  std::span<const char32_t> pooled;
  std::size_t n_own = 0;

  explicit Mapped(char32_t c) : own{c}, n_own(1) {}
  explicit Mapped(std::span<const char32_t> entry) : pooled(entry) {}
  std::span<const char32_t> get() const { return n_own != 0 ? std::span(own).first(n_own) : pooled; }
};

inline Mapped pooled_or_self(char32_t c, unsigned index, const char32_t* pool) {
  return index == 0 ? Mapped(c) : Mapped(std::span(pool + index + 1, pool[index]));
}

inline Mapped lower(char32_t c) {
  return pooled_or_self(c, tables::kLowerStage2[(tables::kLowerStage1[c >> 7] << 7) | (c & 127)], tables::kLowerPool);
}
inline Mapped python_lower_char(char32_t c) {
  return pooled_or_self(c, tables::kPythonLowerStage2[(tables::kPythonLowerStage1[c >> 7] << 7) | (c & 127)],
                        tables::kPythonLowerPool);
}
// Full canonical decomposition of one code point; Hangul syllables by arithmetic (Unicode chapter 3.12).
inline Mapped nfd(char32_t c) {
  constexpr char32_t kFirst = 0xAC00;
  constexpr char32_t kSyllables = 11172;
  if (c - kFirst < kSyllables) {
    const char32_t index = c - kFirst;
    Mapped parts(char32_t{0x1100} + index / 588);
    parts.own[1] = 0x1161 + index % 588 / 28;
    parts.own[2] = 0x11A7 + index % 28;
    parts.n_own = index % 28 != 0 ? 3 : 2;
    return parts;
  }
  return pooled_or_self(c, tables::kNfdStage2[(tables::kNfdStage1[c >> 7] << 7) | (c & 127)], tables::kNfdPool);
}

}  // namespace narthex
