// The added tokens of tokenizer.json: strings that are found in the text before anything else and stand for one id.
//
//   NX_TRY(AddedTokens added, AddedTokens::from_json(...));
//   AddedTokens::Finder finder(added.raw(), text);  while (auto span = finder.next()) ...
//
// Tokens with normalized=false are looked for in the raw text; then, in each normalized rest, the normalized contents
// of the others. Both take the leftmost, longest match and go on behind it, also where the match is refused (inside a
// word, or special and not allowed). Ids follow the reference: an id the model knows, else the next free one; never the
// file's. Covered by tests/text/added_tokens_test.cc and oracle_test.cc.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "text/byte_trie.h"
#include "text/models.h"
#include "text/normalizers.h"

namespace narthex {

struct AddedToken {
  std::string content;
  std::int32_t id = 0;
  bool single_word = false;  // no \w on either side
  bool lstrip = false;       // takes the white space before it
  bool rstrip = false;       // ... and behind it
  bool normalized = true;
  bool special = false;
};

// One set of tokens to look for.
struct AddedTokenSet {
  ByteTrie trie;                   // values are indices into `tokens`
  std::array<bool, 256> starts{};  // whether a token begins with this byte
  std::vector<AddedToken> tokens;
  bool all_special = true;
  bool empty() const { return tokens.empty(); }
};

class AddedTokens {
 public:
  // A stretch of the text: an added token, or what lies between two of them.
  struct Span {
    ByteRange range;
    const AddedToken* token = nullptr;
  };

  // Hands out the stretches in order, each found only when asked for.
  class Finder {
   public:
    Finder(const AddedTokenSet& set, std::string_view text, bool allow_special)
        : set_(set), text_(text), allow_special_(allow_special) {}
    std::optional<Span> next();

   private:
    bool find_match();

    const AddedTokenSet& set_;
    std::string_view text_;
    bool allow_special_;
    std::size_t given_ = 0;      // everything before this was handed out
    std::size_t searched_ = 0;   // everything before this was looked at
    std::optional<Span> match_;  // found, but the text before it comes first
  };

  // `value` is the "added_tokens" list, or null.
  static Result<AddedTokens> from_json(const json::value* value, std::string_view source, const Vocabulary& vocabulary,
                                       const Normalizer& normalizer);

  const AddedTokenSet& raw() const { return raw_; }
  const AddedTokenSet& normalized() const { return normalized_; }
  // In the order of the file.
  const std::vector<AddedToken>& all() const { return all_; }
  // Whether a text may be cut at white space without hiding a match of `normalized()`.
  bool local() const { return local_; }

 private:
  Result<void> index(std::string_view source, const Normalizer& normalizer);

  std::vector<AddedToken> all_;
  AddedTokenSet raw_;
  AddedTokenSet normalized_;
  bool local_ = true;
};

}  // namespace narthex
