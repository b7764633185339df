// Kept tokens and the special tokens of the template, put together to what encode() returns.
//
//   Encoding encoding = assemble(pipeline, sides, options);    one side or two
//
// Fills everything but `truncated` and `n_tokens_total`. Offsets leave their bytes here: they are counted in
// characters, and trimmed where the post-processor says so. Covered by tests/text/post_processors_test.cc and
// tokenizer_test.cc.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "text/pipeline.h"
#include "text/tokenizer.h"

namespace narthex {

// One text of the request with its tokens.
struct Side {
  std::string_view text;
  TokenList tokens;
  std::size_t first_kept = 0;
  std::size_t n_kept = 0;
};

Encoding assemble(const Pipeline& steps, std::span<const Side> sides, const EncodeOptions& options);

}  // namespace narthex
