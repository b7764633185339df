#include "text/normalizers.h"

#include <algorithm>
#include <vector>

#include "base/utf8.h"
#include "text/unicode.h"

namespace narthex {
namespace {

Result<Normalizer> parse_sequence(const Fields& fields);

struct NormalizerRow {
  std::string_view type;
  ParseNormalizer parse;
};

constexpr NormalizerRow kNormalizers[] = {
    {"BertNormalizer", parse_bert_normalizer},
    {"Lowercase", parse_lowercase},
    {"StripAccents", parse_strip_accents},
    {"NFD", parse_nfd},
    {"Strip", parse_strip},
    {"Replace", parse_replace},
    {"Prepend", parse_prepend},
    {"Sequence", parse_sequence},
};

Result<Normalizer> parse_sequence(const Fields& fields) {
  NX_TRY(const json::array* list, fields.required_array("normalizers"));
  Normalizer all;
  std::vector<std::function<void(NormalizedText&)>> steps;
  for (const json::value& entry : *list) {
    NX_TRY(Normalizer step, parse_normalizer(&entry, fields.source));
    all.local = all.local && step.local;
    if (step.apply) steps.push_back(std::move(step.apply));
  }
  all.apply = [steps = std::move(steps)](NormalizedText& text) {
    for (const auto& step : steps) step(text);
  };
  return all;
}

// Files written before the tags existed.
std::string_view type_without_tag(const json::object& object) {
  if (object.contains("normalizers")) return "Sequence";
  if (object.contains("clean_text") || object.contains("handle_chinese_chars")) return "BertNormalizer";
  if (object.contains("strip_left") || object.contains("strip_right")) return "Strip";
  if (object.contains("prepend")) return "Prepend";
  if (object.contains("pattern") && object.contains("content")) return "Replace";
  return "";
}

struct Pending {
  char32_t c;
  std::uint64_t order;  // rank of the class, then the place in the text
  bool first;           // stands for an input character; the others are inserted after it
};

void flush_reordered(std::vector<Pending>& pending, Rewriter& out) {
  if (pending.size() > 1) {
    std::sort(pending.begin(), pending.end(), [](const Pending& a, const Pending& b) { return a.order < b.order; });
  }
  for (const Pending& p : pending) p.first ? out.replace(p.c) : out.insert(p.c);
  pending.clear();
}

}  // namespace

Result<Normalizer> parse_normalizer(const json::value* value, std::string_view source) {
  if (value == nullptr || value->is_null()) return Normalizer{.apply = nullptr, .local = true, .bert = BertFlags{}};
  if (!value->is_object()) return fail(ErrorCode::kBadModel, "{}: a normalizer must be an object", source);
  const json::object& object = value->get_object();
  Fields fields{object, source, "normalizer"};
  NX_TRY(std::string type, fields.text("type", type_without_tag(object)));
  for (const NormalizerRow& row : kNormalizers) {
    if (row.type != type) continue;
    fields.component += " " + type;
    return row.parse(fields);
  }
  return fail(ErrorCode::kUnsupported, "{}: normalizer '{}' is not supported: {}", source, type, describe(object));
}

// Marks are collected until the next starter and put in order of their class. A mark keeps what it stands for when it
// moves, so alignments of reordered marks are those of the reference (which follow the output order, not the marks).
void apply_nfd(NormalizedText& text) {
  Rewriter out(text);
  std::vector<Pending> pending;
  std::string_view input = text.text;
  const char* p = input.data();
  const char* const end = p + input.size();
  while (p < end) {
    const char32_t c = decode_utf8(p);
    const Mapped decomposed = nfd(c);
    bool first = true;
    for (const char32_t part : decomposed.get()) {
      const unsigned rank = combining_rank(part);
      if (rank == 0) {
        flush_reordered(pending, out);
        first ? out.replace(part) : out.insert(part);
      } else {
        pending.push_back({part, std::uint64_t{rank} << 32 | pending.size(), first});
      }
      first = false;
    }
  }
  flush_reordered(pending, out);
  out.finish();
}

void apply_lowercase(NormalizedText& text) {
  Rewriter out(text);
  while (!out.done()) {
    const Mapped lowered = lower(out.peek());
    bool first = true;
    for (const char32_t c : lowered.get()) {
      first ? out.replace(c) : out.insert(c);
      first = false;
    }
  }
  out.finish();
}

}  // namespace narthex
