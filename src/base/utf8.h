// UTF-8 as Unicode defines it: no surrogates, no overlong forms, at most U+10FFFF.
//
//   decode_utf8(p, end)      next code point of valid text, advances p
//   find_invalid_utf8(text)  byte offset of the first invalid sequence, or npos
//   replace_invalid_utf8     one U+FFFD per maximal subpart, as CPython's errors="replace"
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace narthex {

// Precondition: [p, end) is valid UTF-8 and p < end.
inline char32_t decode_utf8(const char*& p) {
  const auto byte = [](char c) { return static_cast<unsigned char>(c); };
  const unsigned first = byte(*p++);
  if (first < 0x80) return first;
  if (first < 0xE0) return ((first & 0x1F) << 6) | (byte(*p++) & 0x3F);
  if (first < 0xF0) {
    const unsigned second = byte(*p++) & 0x3F;
    return ((first & 0x0F) << 12) | (second << 6) | (byte(*p++) & 0x3F);
  }
  const unsigned second = byte(*p++) & 0x3F;
  const unsigned third = byte(*p++) & 0x3F;
  return ((first & 0x07) << 18) | (second << 12) | (third << 6) | (byte(*p++) & 0x3F);
}

void append_utf8(std::string& out, char32_t code_point);
std::size_t find_invalid_utf8(std::string_view text);
std::string replace_invalid_utf8(std::string_view text);

}  // namespace narthex
