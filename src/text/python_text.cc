#include "text/python_text.h"

#include "base/utf8.h"
#include "text/unicode.h"

namespace narthex {
namespace {

constexpr char32_t kCapitalSigma = 0x3A3;
constexpr char32_t kSigma = 0x3C3;
constexpr char32_t kFinalSigma = 0x3C2;

// Whether the first character behind `p` that is not case-ignorable is cased.
bool cased_follows(const char* p, const char* end) {
  while (p < end) {
    const char32_t c = decode_utf8(p);
    const unsigned bits = char_class(c);
    if ((bits & kPythonCaseIgnorable) == 0) return c == kCapitalSigma || (bits & kPythonCased) != 0;
  }
  return false;
}

}  // namespace

std::string python_lower(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 8);
  const char* const end = text.data() + text.size();
  bool cased_before = false;  // the last character that is not case-ignorable is cased
  for (const char* p = text.data(); p < end;) {
    const char32_t c = decode_utf8(p);
    const unsigned bits = char_class(c);
    if (c == kCapitalSigma) {
      append_utf8(out, cased_before && !cased_follows(p, end) ? kFinalSigma : kSigma);
    } else {
      const Mapped lowered = python_lower_char(c);
      for (const char32_t part : lowered.get()) append_utf8(out, part);
    }
    if ((bits & kPythonCaseIgnorable) == 0) cased_before = c == kCapitalSigma || (bits & kPythonCased) != 0;
  }
  return out;
}

std::vector<std::string_view> python_split(std::string_view text) {
  std::vector<std::string_view> words;
  const char* const end = text.data() + text.size();
  const char* word = nullptr;
  for (const char* p = text.data(); p < end;) {
    const char* const at = p;
    if (!has_class(decode_utf8(p), kPythonSpace)) {
      if (word == nullptr) word = at;
    } else if (word != nullptr) {
      words.emplace_back(word, at - word);
      word = nullptr;
    }
  }
  if (word != nullptr) words.emplace_back(word, end - word);
  return words;
}

}  // namespace narthex
