// BertNormalizer: clean_text, handle_chinese_chars, strip_accents, lowercase, always in this order.
//
// ASCII takes a table: one pass, one output byte each. A run that holds anything else goes through the four general
// steps. Cutting there is exact because a kept ASCII character is a starter: no mark moves across it.
#include <array>

#include "base/utf8.h"
#include "text/normalizers.h"
#include "text/unicode.h"

namespace narthex {
namespace {

void clean(NormalizedText& text) {
  Rewriter out(text);
  while (!out.done()) {
    const char32_t c = out.peek();
    const unsigned bits = char_class(c);
    if ((bits & kCleanRemoved) != 0) {
      out.skip();
    } else {
      out.replace((bits & kCleanSpace) != 0 ? U' ' : c);
    }
  }
  out.finish();
}

void space_chinese(NormalizedText& text) {
  Rewriter out(text);
  while (!out.done()) {
    const char32_t c = out.peek();
    if (has_class(c, kCjk)) {
      out.replace(U' ');
      out.insert(c);
      out.insert(U' ');
    } else {
      out.keep();
    }
  }
  out.finish();
}

void strip_marks(NormalizedText& text) {
  apply_nfd(text);
  Rewriter out(text);
  while (!out.done()) has_class(out.peek(), kBertMark) ? out.skip() : out.keep();
  out.finish();
}

void all_steps(NormalizedText& text, const BertFlags& flags) {
  if (flags.clean_text) clean(text);
  if (flags.chinese) space_chinese(text);
  if (flags.strip_accents) strip_marks(text);
  if (flags.lowercase) apply_lowercase(text);
}

constexpr char kGone = '\x80';   // removed by clean_text
constexpr char kOther = '\x81';  // not ASCII

using ByteTable = std::array<char, 256>;

ByteTable make_table(const BertFlags& flags) {
  ByteTable table;
  for (unsigned b = 0; b < 256; ++b) {
    char out = static_cast<char>(b);
    if (b >= 0x80) {
      out = kOther;
    } else if (flags.clean_text && has_class(b, kCleanRemoved)) {
      out = kGone;
    } else if (flags.clean_text && has_class(b, kCleanSpace)) {
      out = ' ';
    } else if (flags.lowercase && b >= 'A' && b <= 'Z') {
      out = static_cast<char>(b + 32);
    }
    table[b] = out;
  }
  return table;
}

void without_alignment(NormalizedText& text, const BertFlags& flags, const ByteTable& table) {
  const std::string& input = text.text;
  std::string out;
  out.reserve(input.size() + input.size() / 8);
  NormalizedText run;
  const auto mapped = [&](std::size_t i) { return table[static_cast<unsigned char>(input[i])]; };
  for (std::size_t i = 0; i < input.size();) {
    const char c = mapped(i);
    if (static_cast<unsigned char>(c) < 0x80) {
      out += c;
      ++i;
      continue;
    }
    // Removed bytes belong to the run: marks on both sides of one become neighbours.
    std::size_t end = i + 1;
    bool plain = c == kGone;
    while (end < input.size() && static_cast<unsigned char>(mapped(end)) >= 0x80) {
      plain = plain && mapped(end) == kGone;
      ++end;
    }
    if (!plain) {
      run.assign(input, i, end, false);
      all_steps(run, flags);
      out += run.text;
    }
    i = end;
  }
  text.text.swap(out);
}

}  // namespace

Result<Normalizer> parse_bert_normalizer(const Fields& fields) {
  BertFlags flags;
  NX_TRY(flags.clean_text, fields.boolean("clean_text", true));
  NX_TRY(flags.chinese, fields.boolean("handle_chinese_chars", true));
  NX_TRY(flags.lowercase, fields.boolean("lowercase", true));
  NX_TRY(flags.strip_accents, fields.boolean("strip_accents", flags.lowercase));  // null follows lowercase
  Normalizer normalizer;
  normalizer.bert = flags;
  normalizer.apply = [flags, table = make_table(flags)](NormalizedText& text) {
    text.aligned ? all_steps(text, flags) : without_alignment(text, flags, table);
  };
  return normalizer;
}

}  // namespace narthex
