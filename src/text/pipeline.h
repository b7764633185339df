// One text through added tokens, normalizer, pre-tokenizer and model; special tokens and truncation come after, in
// tokenizer.cc.
//
//   NX_TRY_VOID(tokenize_text(pipeline, text, {.stop_after = 510}, tokens));
//
// Long texts are read in chunks that end before white space where that cannot change the result (Pipeline::local), so
// reading stops soon after `stop_after`. Where one of the fast paths covers normalizer, pre-tokenizer and model, it
// takes their place. Covered by tests/text/tokenizer_test.cc.
#pragma once

#include <string_view>

#include "text/added_tokens.h"
#include "text/fast_path.h"
#include "text/models.h"
#include "text/normalizers.h"
#include "text/post_processors.h"
#include "text/pre_tokenizers.h"

namespace narthex {

struct Pipeline {
  AddedTokens added;
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  Model model;
  PostProcessor post;
  bool local = false;
  FastPath fast;
};

// Preconditions: valid UTF-8 of at most 100 MB, so that also the normalized text has less than 2^32 bytes.
Result<void> tokenize_text(const Pipeline& pipeline, std::string_view text, const TokenizeOptions& options,
                           TokenList& out);

}  // namespace narthex
