#include "text/assemble.h"

#include <algorithm>

#include "base/utf8.h"
#include "text/unicode.h"

namespace narthex {
namespace {

// Byte ranges to character ranges. Ranges begin in order, so the text is walked once.
class CharacterCounter {
 public:
  explicit CharacterCounter(std::string_view text) : text_(text) {}

  Offsets characters(ByteRange range) {
    if (range.begin < byte_) byte_ = character_ = 0;
    character_ += count(byte_, range.begin);
    byte_ = range.begin;
    return {character_, character_ + count(range.begin, range.end)};
  }

 private:
  std::uint32_t count(std::uint32_t begin, std::uint32_t end) const {
    std::uint32_t n = 0;
    for (std::uint32_t i = begin; i < end; ++i) n += (static_cast<unsigned char>(text_[i]) & 0xC0) != 0x80;
    return n;
  }

  std::string_view text_;
  std::uint32_t byte_ = 0;
  std::uint32_t character_ = 0;
};

// Leading or trailing white space of a token: "Ġ" stands for the space in byte-level vocabularies.
struct Blank {
  std::uint32_t characters = 0;
  std::uint32_t bytes = 0;
};

bool is_blank(char32_t c) {
  return c == 0x120 || has_class(c, kWhitespace);
}

Blank leading_blank(std::string_view token) {
  Blank blank;
  for (const char* p = token.data(); p < token.data() + token.size();) {
    if (!is_blank(decode_utf8(p))) break;
    ++blank.characters;
    blank.bytes = static_cast<std::uint32_t>(p - token.data());
  }
  return blank;
}

Blank trailing_blank(std::string_view token) {
  Blank run;
  for (const char* p = token.data(); p < token.data() + token.size();) {
    const char* const at = p;
    if (is_blank(decode_utf8(p))) {
      ++run.characters;
      run.bytes += static_cast<std::uint32_t>(p - at);
    } else {
      run = {};
    }
  }
  return run;
}

void trim(Offsets& offsets, std::uint32_t leading, std::uint32_t trailing) {
  offsets.begin = std::min(offsets.begin + leading, offsets.end);
  if (trailing > 0 && offsets.end >= trailing) offsets.end = std::max(offsets.end - trailing, offsets.begin);
}

class Assembler {
 public:
  Assembler(const Pipeline& steps, const EncodeOptions& options) : steps_(steps), options_(options) {}

  Encoding assemble(const std::vector<TemplatePart>& parts, std::span<const Side> sides) {
    reserve(parts, sides);
    for (const TemplatePart& part : parts) {
      if (part.kind != TemplatePart::kSpecial) {
        const std::size_t which = part.kind == TemplatePart::kSecond ? 1 : 0;
        add_side(sides[which], static_cast<std::uint8_t>(which), part.type_id);
      } else if (options_.add_special_tokens) {
        add(part.ids, part.type_id, 1, 0);
      }
    }
    return std::move(out_);
  }

 private:
  void reserve(const std::vector<TemplatePart>& parts, std::span<const Side> sides) {
    std::size_t n = 0;
    for (const TemplatePart& part : parts) n += part.ids.size();
    for (const Side& side : sides) n += side.n_kept;
    out_.ids.reserve(n);
    out_.type_ids.reserve(n);
    out_.special_mask.reserve(n);
    out_.sequence.reserve(n);
    if (!options_.offsets) return;
    out_.offsets.reserve(n);
    out_.byte_offsets.reserve(n);
  }

  // Their offsets are (0, 0) until set.
  void add(std::span<const std::int32_t> ids, std::int32_t type_id, std::uint8_t special, std::uint8_t sequence) {
    const std::size_t n = out_.ids.size() + ids.size();
    out_.ids.insert(out_.ids.end(), ids.begin(), ids.end());
    out_.type_ids.resize(n, type_id);
    out_.special_mask.resize(n, special);
    out_.sequence.resize(n, sequence);
    if (!options_.offsets) return;
    out_.offsets.resize(n);
    out_.byte_offsets.resize(n);
  }

  void add_side(const Side& side, std::uint8_t sequence, std::int32_t type_id) {
    const std::size_t first = out_.ids.size();
    add(std::span(side.tokens.ids).subspan(side.first_kept, side.n_kept), type_id, 0, sequence);
    if (!options_.offsets) return;
    CharacterCounter counter(side.text);
    for (std::size_t i = 0; i < side.n_kept; ++i) {
      const TokenOrigin& origin = side.tokens.origins[side.first_kept + i];
      Offsets& characters = out_.offsets[first + i];
      Offsets& bytes = out_.byte_offsets[first + i];
      characters = counter.characters(origin.bytes);
      bytes = {origin.bytes.begin, origin.bytes.end};
      for (const PostProcessor::Trim& rule : steps_.post.trims) trim_token(side, i, rule, characters, bytes);
    }
  }

  void trim_token(const Side& side, std::size_t index, const PostProcessor::Trim& rule, Offsets& characters,
                  Offsets& bytes) const {
    const TokenOrigin& token = side.tokens.origins[side.first_kept + index];
    const std::int32_t id = side.tokens.ids[side.first_kept + index];
    const std::string_view content = token.added
                                         ? side.text.substr(token.bytes.begin, token.bytes.end - token.bytes.begin)
                                         : steps_.model.vocabulary.token(id).value_or(std::string_view{});
    Blank leading = leading_blank(content);
    const Blank trailing = trailing_blank(content);
    // The pre-tokenizer put this space before the text; it was never in it.
    if (rule.keep_first && (index == 0 || characters.begin == 0)) leading = {};
    trim(characters, leading.characters, trailing.characters);
    trim(bytes, std::min(leading.bytes, bytes.end - bytes.begin), trailing.bytes);
  }

  const Pipeline& steps_;
  const EncodeOptions& options_;
  Encoding out_;
};

}  // namespace

Encoding assemble(const Pipeline& steps, std::span<const Side> sides, const EncodeOptions& options) {
  return Assembler(steps, options).assemble(sides.size() == 2 ? steps.post.pair : steps.post.single, sides);
}

}  // namespace narthex
