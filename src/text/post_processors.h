// Post-processors of tokenizer.json. All kinds compile to one form, a template for a single text and one for a pair:
//
//   [CLS] A [SEP]            single
//   [CLS] A [SEP] B:1 [SEP]:1   pair; the number is the type id
//
//   NX_TRY(PostProcessor post, parse_post_processor(value, source));
//   post.n_added(pair)       special tokens that the template adds
//
// One row per "type" in post_processors.cc. Covered by tests/text/post_processors_test.cc and oracle_test.cc.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "text/json_fields.h"

namespace narthex {

struct TemplatePart {
  enum Kind { kSpecial, kFirst, kSecond } kind;
  std::int32_t type_id = 0;
  std::vector<std::int32_t> ids;  // of kSpecial
};

struct PostProcessor {
  std::vector<TemplatePart> single{{TemplatePart::kFirst, 0, {}}};
  std::vector<TemplatePart> pair{{TemplatePart::kFirst, 0, {}}, {TemplatePart::kSecond, 1, {}}};
  // RoBERTa and ByteLevel take the white space off the offsets of tokens that begin or end with it, once per entry of
  // this list; `keep_first` spares the text's first token, whose space was added by the pre-tokenizer.
  struct Trim {
    bool keep_first;
  };
  std::vector<Trim> trims;

  std::size_t n_added(bool is_pair) const;
};

// Changes `out`, which begins as the template without special tokens.
using ParsePostProcessor = Result<void> (*)(const Fields&, PostProcessor& out);

// `value` may be null.
Result<PostProcessor> parse_post_processor(const json::value* value, std::string_view source);

}  // namespace narthex
