// Fast paths: one function that does what normalizer, pre-tokenizer and model would do one after the other. A row in
// fast_path.cc says for which kinds of them; everything else takes the general way of pipeline.cc, with which a fast
// path must agree in every id, offset and count.
//
//   FastPath fast = choose_fast_path(normalizer, pre_tokenizer, model);
//   if (fast.read) fast.read(text, {0, size}, options, tokens);
//
// Covered by tests/text/fast_path_test.cc, and by the fuzz target of tokenizer.json.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string_view>
#include <vector>

#include "text/models.h"
#include "text/normalizers.h"
#include "text/pre_tokenizers.h"

namespace narthex {

struct TokenOrigin {
  ByteRange bytes;  // of the original text
  bool added;       // an added token found in the text
};

struct TokenList {
  std::vector<std::int32_t> ids;
  std::vector<TokenOrigin> origins;  // one each, only with offsets

  void clear() {
    ids.clear();
    origins.clear();
  }
};

struct TokenizeOptions {
  bool allow_special = false;
  bool offsets = false;
  // Once there are more tokens than this, the rest of the text is left unread.
  std::size_t stop_after = std::numeric_limits<std::size_t>::max();
};

struct FastPath {
  std::string_view name;
  // Appends the tokens of text[range]. Knows nothing of added tokens, and cannot fail.
  std::function<void(std::string_view text, ByteRange range, const TokenizeOptions& options, TokenList& out)> read;
};

// An empty `read` when no row covers the three.
FastPath choose_fast_path(const Normalizer& normalizer, const PreTokenizer& pre_tokenizer, const Model& model);

FastPath make_bert_fast_path(const Normalizer& normalizer, const PreTokenizer& pre_tokenizer, const Model& model);

}  // namespace narthex
