#include "text/pre_tokenizers.h"

#include <utility>

#include "base/utf8.h"
#include "text/unicode.h"

namespace narthex {
namespace {

enum class Behavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

// A stretch of the text that matched the pattern, or the text between two matches.
struct Stretch {
  ByteRange range;
  bool match;
};

void add_merged(std::vector<ByteRange>& out, const std::vector<Stretch>& stretches, Behavior behavior) {
  bool previous = false;
  const std::size_t first = out.size();
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    const auto [range, match] = stretches[i];
    const bool can_extend = out.size() > first;
    const bool extends = behavior == Behavior::kContiguous ? match == previous : match && !previous;
    can_extend&& extends ? void(out.back().end = range.end) : out.push_back(range);
    previous = match;
  }
}

// Read from the end: a match takes the stretch after it, unless that one begins with a match too.
void add_merged_with_next(std::vector<ByteRange>& out, const std::vector<Stretch>& stretches) {
  std::vector<ByteRange> reversed;
  bool previous = false;
  for (std::size_t i = stretches.size(); i-- > 0;) {
    const auto [range, match] = stretches[i];
    match && !previous && !reversed.empty() ? void(reversed.back().begin = range.begin) : reversed.push_back(range);
    previous = match;
  }
  out.insert(out.end(), reversed.rbegin(), reversed.rend());
}

void add_pieces(std::vector<ByteRange>& out, const std::vector<Stretch>& stretches, Behavior behavior) {
  switch (behavior) {
    case Behavior::kRemoved:
      for (const Stretch& s : stretches) {
        if (!s.match) out.push_back(s.range);
      }
      break;
    case Behavior::kIsolated:
      for (const Stretch& s : stretches) out.push_back(s.range);
      break;
    case Behavior::kMergedWithNext:
      add_merged_with_next(out, stretches);
      break;
    default:
      add_merged(out, stretches, behavior);
  }
}

// Every character with one of the `bits` is a match of its own.
void split_on_class(Words& words, unsigned bits, Behavior behavior) {
  words.spare.clear();
  std::vector<Stretch> stretches;
  const char* const base = words.text->text.data();
  for (const ByteRange word : words.ranges) {
    stretches.clear();
    std::uint32_t rest = word.begin;
    for (const char* p = base + word.begin; p < base + word.end;) {
      const auto at = static_cast<std::uint32_t>(p - base);
      if ((char_class(decode_utf8(p)) & bits) == 0) continue;
      const auto after = static_cast<std::uint32_t>(p - base);
      if (rest < at) stretches.push_back({{rest, at}, false});
      stretches.push_back({{at, after}, true});
      rest = after;
    }
    if (rest < word.end) stretches.push_back({{rest, word.end}, false});
    add_pieces(words.spare, stretches, behavior);
  }
  words.ranges.swap(words.spare);
}

// White space vanishes and each punctuation mark stands alone, in one pass.
void split_bert(Words& words) {
  words.spare.clear();
  const char* const base = words.text->text.data();
  for (const ByteRange word : words.ranges) {
    std::uint32_t rest = word.begin;
    for (const char* p = base + word.begin; p < base + word.end;) {
      const auto at = static_cast<std::uint32_t>(p - base);
      const unsigned bits = char_class(decode_utf8(p)) & (kWhitespace | kPunct);
      if (bits == 0) continue;
      const auto after = static_cast<std::uint32_t>(p - base);
      if (rest < at) words.spare.push_back({rest, at});
      if ((bits & kWhitespace) == 0) words.spare.push_back({at, after});
      rest = after;
    }
    if (rest < word.end) words.spare.push_back({rest, word.end});
  }
  words.ranges.swap(words.spare);
}

// \w+|[^\w\s]+
void split_whitespace(Words& words) {
  words.spare.clear();
  const char* const base = words.text->text.data();
  for (const ByteRange word : words.ranges) {
    unsigned previous = kRegexSpace;
    for (const char* p = base + word.begin; p < base + word.end;) {
      const auto at = static_cast<std::uint32_t>(p - base);
      const unsigned kind = char_class(decode_utf8(p)) & (kRegexWord | kRegexSpace);
      const auto after = static_cast<std::uint32_t>(p - base);
      if ((kind & kRegexSpace) == 0) {
        kind == previous ? void(words.spare.back().end = after) : words.spare.push_back({at, after});
      }
      previous = kind;
    }
  }
  words.ranges.swap(words.spare);
}

Result<PreTokenizer> parse_bert(const Fields&) {
  return PreTokenizer{split_bert, true, true};
}

Result<PreTokenizer> parse_whitespace(const Fields&) {
  return PreTokenizer{split_whitespace, true};
}

Result<PreTokenizer> parse_whitespace_split(const Fields&) {
  return PreTokenizer{[](Words& words) { split_on_class(words, kWhitespace, Behavior::kRemoved); }, true};
}

Result<PreTokenizer> parse_digits(const Fields& fields) {
  NX_TRY(const bool individual, fields.boolean("individual_digits", false));
  const Behavior behavior = individual ? Behavior::kIsolated : Behavior::kContiguous;
  return PreTokenizer{[behavior](Words& words) { split_on_class(words, kNumeric, behavior); }, false};
}

Result<Behavior> parse_behavior(const Fields& fields) {
  constexpr std::pair<std::string_view, Behavior> kNames[] = {
      {"Removed", Behavior::kRemoved},
      {"Isolated", Behavior::kIsolated},
      {"MergedWithPrevious", Behavior::kMergedWithPrevious},
      {"MergedWithNext", Behavior::kMergedWithNext},
      {"Contiguous", Behavior::kContiguous},
  };
  NX_TRY(const std::string name, fields.text("behavior", "Isolated"));
  for (const auto& [known, behavior] : kNames) {
    if (known == name) return behavior;
  }
  return fail(ErrorCode::kBadModel, "{}: {}: behavior '{}' is not known", fields.source, fields.component, name);
}

Result<PreTokenizer> parse_punctuation(const Fields& fields) {
  NX_TRY(const Behavior behavior, parse_behavior(fields));
  return PreTokenizer{[behavior](Words& words) { split_on_class(words, kPunct, behavior); }, false};
}

Result<PreTokenizer> parse_sequence(const Fields& fields) {
  NX_TRY(const json::array* list, fields.required_array("pretokenizers"));
  PreTokenizer all;
  std::vector<std::function<void(Words&)>> steps;
  for (const json::value& entry : *list) {
    NX_TRY(PreTokenizer step, parse_pre_tokenizer(&entry, fields.source));
    all.splits_at_space = all.splits_at_space || step.splits_at_space;
    if (step.split) steps.push_back(std::move(step.split));
  }
  all.split = [steps = std::move(steps)](Words& words) {
    for (const auto& step : steps) step(words);
  };
  return all;
}

struct PreTokenizerRow {
  std::string_view type;
  ParsePreTokenizer parse;
};

constexpr PreTokenizerRow kPreTokenizers[] = {
    {"BertPreTokenizer", parse_bert},   {"Whitespace", parse_whitespace}, {"WhitespaceSplit", parse_whitespace_split},
    {"Punctuation", parse_punctuation}, {"Digits", parse_digits},         {"Sequence", parse_sequence},
};

// Files written before the tags existed.
std::string_view type_without_tag(const json::object& object) {
  if (object.contains("pretokenizers")) return "Sequence";
  if (object.contains("individual_digits")) return "Digits";
  return "";
}

}  // namespace

Result<PreTokenizer> parse_pre_tokenizer(const json::value* value, std::string_view source) {
  if (value == nullptr || value->is_null()) return PreTokenizer{};
  if (!value->is_object()) return fail(ErrorCode::kBadModel, "{}: a pre_tokenizer must be an object", source);
  const json::object& object = value->get_object();
  Fields fields{object, source, "pre_tokenizer"};
  NX_TRY(std::string type, fields.text("type", type_without_tag(object)));
  for (const PreTokenizerRow& row : kPreTokenizers) {
    if (row.type != type) continue;
    fields.component += " " + type;
    return row.parse(fields);
  }
  return fail(ErrorCode::kUnsupported, "{}: pre_tokenizer '{}' is not supported: {}", source, type, describe(object));
}

}  // namespace narthex
