// One text through added tokens, normalizer, pre-tokenizer and model; special tokens and truncation come after, in
// tokenizer.cc.
//
//   NX_TRY_VOID(tokenize_text(pipeline, text, {.stop_after = 510}, tokens));
//
// Long texts are read in chunks that end before white space where that cannot change the result (Pipeline::local), so
// reading stops soon after `stop_after`. Covered by tests/text/tokenizer_test.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "text/added_tokens.h"
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
};

struct TextToken {
  std::int32_t id;
  bool added;       // an added token found in the text
  ByteRange bytes;  // of the original text; meaningless without offsets
};

struct TokenizeOptions {
  bool allow_special = false;
  bool offsets = false;
  // Once there are more tokens than this, the rest of the text is left unread.
  std::size_t stop_after = std::numeric_limits<std::size_t>::max();
};

// Preconditions: valid UTF-8 of at most 100 MB, so that also the normalized text has less than 2^32 bytes.
Result<void> tokenize_text(const Pipeline& pipeline, std::string_view text, const TokenizeOptions& options,
                           std::vector<TextToken>& out);

}  // namespace narthex
