// Normalizers of tokenizer.json: one row per "type" in normalizers.cc, one function that reads its JSON and returns
// what to do with a text. A new one (Precompiled, NFKC ...) is a new file with such a function, and a row.
//
//   NX_TRY(Normalizer normalizer, parse_normalizer(value, source));
//   normalizer.apply(text);
//
// Covered by tests/text/normalizers_test.cc and, against the reference, oracle_test.cc.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "text/json_fields.h"
#include "text/normalized_text.h"

namespace narthex {

// What BertNormalizer does; all false is a text left as it is.
struct BertFlags {
  bool clean_text = false;
  bool chinese = false;
  bool strip_accents = false;
  bool lowercase = false;
};

struct Normalizer {
  std::function<void(NormalizedText&)> apply;
  // Cutting the text before an ASCII space, tab or newline and normalising the parts gives the same as normalising the
  // whole. This is what lets the tokenizer stop early in long texts.
  bool local = true;
  // Given where BertNormalizer with these flags does the same as `apply`, for the fast paths.
  std::optional<BertFlags> bert = {};
};

using ParseNormalizer = Result<Normalizer> (*)(const Fields&);

// `value` may be null: the text stays as it is.
Result<Normalizer> parse_normalizer(const json::value* value, std::string_view source);

Result<Normalizer> parse_bert_normalizer(const Fields& fields);
Result<Normalizer> parse_lowercase(const Fields& fields);
Result<Normalizer> parse_strip_accents(const Fields& fields);
Result<Normalizer> parse_nfd(const Fields& fields);
Result<Normalizer> parse_strip(const Fields& fields);
Result<Normalizer> parse_replace(const Fields& fields);
Result<Normalizer> parse_prepend(const Fields& fields);

// The steps that several normalizers share.
void apply_nfd(NormalizedText& text);
void apply_lowercase(NormalizedText& text);

}  // namespace narthex
