// The small normalizers: Lowercase, StripAccents, NFD, Strip, Replace with a literal pattern, Prepend.
#include "base/utf8.h"
#include "text/normalizers.h"
#include "text/unicode.h"

namespace narthex {
namespace {

void strip(NormalizedText& text, bool left, bool right) {
  std::size_t begin = 0;
  std::size_t end = 0;  // after the last character that is not white space
  bool leading = left;
  const std::string& input = text.text;
  for (const char* p = input.data(); p < input.data() + input.size();) {
    const bool space = has_class(decode_utf8(p), kWhitespace);
    const auto after = static_cast<std::size_t>(p - input.data());
    if (leading && space) begin = after;
    if (!space) leading = false;
    if (!space || !right) end = after;
  }
  Rewriter out(text);
  while (!out.done()) {
    const std::size_t at = out.position();
    at < begin || at >= end ? out.skip() : out.keep();
  }
  out.finish();
}

void replace_all(NormalizedText& text, std::string_view pattern, std::string_view content) {
  const std::string input = text.text;
  Rewriter out(text);
  std::size_t match = input.find(pattern);
  while (!out.done()) {
    if (out.position() != match) {
      out.keep();
      continue;
    }
    while (out.position() < match + pattern.size()) out.skip();
    for (const char* p = content.data(); p < content.data() + content.size();) out.insert(decode_utf8(p));
    match = input.find(pattern, match + pattern.size());
  }
  out.finish();
}

void prepend(NormalizedText& text, std::string_view prefix) {
  if (text.text.empty() || prefix.empty()) return;
  Rewriter out(text);
  const char32_t next = out.peek();
  bool first = true;
  for (const char* p = prefix.data(); p < prefix.data() + prefix.size();) {
    const char32_t c = decode_utf8(p);
    first ? out.replace(c) : out.insert(c);
    first = false;
  }
  out.insert(next);
  while (!out.done()) out.keep();
  out.finish();
}

}  // namespace

Result<Normalizer> parse_lowercase(const Fields&) {
  return Normalizer{.apply = apply_lowercase, .local = true, .bert = BertFlags{.lowercase = true}};
}

Result<Normalizer> parse_nfd(const Fields&) {
  return Normalizer{apply_nfd};
}

Result<Normalizer> parse_strip_accents(const Fields&) {
  return Normalizer{[](NormalizedText& text) {
    Rewriter out(text);
    while (!out.done()) has_class(out.peek(), kCombiningMark) ? out.skip() : out.keep();
    out.finish();
  }};
}

Result<Normalizer> parse_strip(const Fields& fields) {
  NX_TRY(const bool left, fields.boolean("strip_left", true));
  NX_TRY(const bool right, fields.boolean("strip_right", true));
  return Normalizer{[left, right](NormalizedText& text) { strip(text, left, right); }, false};
}

Result<Normalizer> parse_replace(const Fields& fields) {
  NX_TRY(const json::object* pattern, fields.required_object("pattern"));
  NX_TRY(std::string content, fields.required_text("content"));
  const json::value* literal = pattern->if_contains("String");
  if (literal == nullptr || !literal->is_string() || literal->get_string().empty()) {
    return fail(ErrorCode::kUnsupported, "{}: {}: only a String pattern that is not empty is supported, not {}",
                fields.source, fields.component, describe(*pattern));
  }
  return Normalizer{[literal = std::string(literal->get_string()), content = std::move(content)](NormalizedText& text) {
                      replace_all(text, literal, content);
                    },
                    false};
}

Result<Normalizer> parse_prepend(const Fields& fields) {
  NX_TRY(std::string prefix, fields.required_text("prepend"));
  return Normalizer{[prefix = std::move(prefix)](NormalizedText& text) { prepend(text, prefix); }, false};
}

}  // namespace narthex
