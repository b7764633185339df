#include "text/normalized_text.h"

#include "base/utf8.h"

namespace narthex {
namespace {

std::size_t char_length(char first) {
  const auto byte = static_cast<unsigned char>(first);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

}  // namespace

void NormalizedText::assign(std::string_view original, std::size_t begin, std::size_t end, bool with_alignment) {
  text.assign(original.substr(begin, end - begin));
  max_bytes = text.size() * kMaxGrowth + kAlwaysAllowedBytes;
  overflow = false;
  aligned = with_alignment;
  alignment.clear();
  if (!aligned) return;
  alignment.reserve(text.size());
  for (std::size_t i = begin; i < end;) {
    const std::size_t length = char_length(original[i]);
    alignment.insert(alignment.end(), length, {static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i + length)});
    i += length;
  }
}

ByteRange NormalizedText::original(ByteRange range) const {
  if (!aligned || range.begin >= range.end) return range;
  return {alignment[range.begin].begin, alignment[range.end - 1].end};
}

Rewriter::Rewriter(NormalizedText& text)
    : text_(text), begin_(text.text.data()), next_(begin_), end_(begin_ + text.text.size()) {
  text_.spare_text.clear();
  text_.spare_text.reserve(text.text.size() + text.text.size() / 8);
  text_.spare_alignment.clear();
}

char32_t Rewriter::peek() const {
  const char* p = next_;
  return decode_utf8(p);
}

void Rewriter::emit(char32_t c, ByteRange from) {
  const std::size_t before = text_.spare_text.size();
  if (before >= text_.max_bytes) {
    text_.overflow = true;
    return;
  }
  append_utf8(text_.spare_text, c);
  if (text_.aligned) text_.spare_alignment.insert(text_.spare_alignment.end(), text_.spare_text.size() - before, from);
}

void Rewriter::replace(char32_t c) {
  emit(c, text_.aligned ? text_.alignment[position()] : ByteRange{});
  skip();
}

void Rewriter::insert(char32_t c) {
  emit(c, text_.aligned && position() > 0 ? text_.alignment[position() - 1] : ByteRange{});
}

void Rewriter::skip() {
  next_ += char_length(*next_);
}

void Rewriter::keep() {
  replace(peek());
}

void Rewriter::finish() {
  text_.text.swap(text_.spare_text);
  text_.alignment.swap(text_.spare_alignment);
}

}  // namespace narthex
