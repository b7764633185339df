// Pre-tokenizers of tokenizer.json: one row per "type" in pre_tokenizers.cc. Each splits the words of a text further;
// one that also rewrites the text (ByteLevel, Metaspace) would rebuild `text` and the ranges together.
//
//   NX_TRY(PreTokenizer pre_tokenizer, parse_pre_tokenizer(value, source));
//   pre_tokenizer.split(words);
//
// Ranges never are empty. Covered by tests/text/pre_tokenizers_test.cc and oracle_test.cc.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "text/json_fields.h"
#include "text/normalized_text.h"

namespace narthex {

struct Words {
  NormalizedText* text = nullptr;
  std::vector<ByteRange> ranges;  // in bytes of text->text, in order
  std::vector<ByteRange> spare;   // buffer of the last split, kept for the next one
};

struct PreTokenizer {
  std::function<void(Words&)> split;
  // No word spans white space, and no word depends on what lies beyond a white space.
  bool splits_at_space = false;
  // White space vanishes, each punctuation mark stands alone, and nothing else happens: for the fast paths.
  bool is_bert = false;
};

using ParsePreTokenizer = Result<PreTokenizer> (*)(const Fields&);

// `value` may be null: every text is one word.
Result<PreTokenizer> parse_pre_tokenizer(const json::value* value, std::string_view source);

}  // namespace narthex
