// Text to ids, exactly as the reference (`tokenizers` 0.23.3) does with the same tokenizer.json.
//
//   NX_TRY(Tokenizer tokenizer, Tokenizer::from_file("tokenizer.json"));
//   NX_TRY(Encoding encoding, tokenizer.encode("hello world", {.max_length = 512}));
//
// Immutable; a copy shares everything, and any number of threads may encode at once. Truncation and padding written
// into the file are not applied: who encodes says what it wants. One difference from the reference's default: special
// tokens written in the text ("[SEP]") are plain text unless allow_special is set (the reference's
// encode_special_tokens). Plain text still reaches the model, so a vocabulary whose pre-tokenizer leaves "[SEP]" whole
// would find it; BERT's does not. Covered by tests/text/tokenizer_test.cc, golden_test.cc and oracle_test.cc.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace narthex {

enum class TruncationStrategy {
  kLongestFirst,  // shorten the longer of the two texts
  kOnlyFirst,     // an Error when the first text cannot give that much
  kOnlySecond,    // likewise the second
};

enum class TruncationSide { kRight, kLeft };  // the side that is cut off

struct EncodeOptions {
  bool add_special_tokens = true;
  bool allow_special = false;  // special tokens written in the text become their ids
  std::size_t max_length = 0;  // tokens in all, special ones included; 0 = never truncate
  TruncationStrategy strategy = TruncationStrategy::kLongestFirst;
  TruncationSide side = TruncationSide::kRight;
  bool offsets = false;
  bool count_all = false;  // makes Encoding::n_tokens_total exact, at the price of reading the whole text
};

// Half-open range in the text that a token came from.
struct Offsets {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  bool operator==(const Offsets&) const = default;
};

struct Encoding {
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> type_ids;
  std::vector<std::uint8_t> special_mask;  // 1 for tokens that the template added
  std::vector<std::uint8_t> sequence;      // 0 first text, 1 second; 0 for special tokens
  std::vector<Offsets> offsets;            // in Unicode characters; empty unless asked for; (0,0) for special tokens
  std::vector<Offsets> byte_offsets;       // the same in bytes
  bool truncated = false;
  // Tokens before truncation, special ones included. Reading stops soon after max_length is reached (right side), so
  // when `truncated` this is a lower bound, unless count_all was set.
  std::size_t n_tokens_total = 0;
};

// What the file says about truncation and padding, for the layers that decide on a length.
struct DeclaredLimits {
  std::optional<std::size_t> truncation_max_length;
  std::optional<std::int32_t> pad_id;
  std::optional<std::string> pad_token;
};

class Tokenizer {
 public:
  // `source_name` begins every error message.
  static Result<Tokenizer> from_json(std::string_view json_text, std::string_view source_name);
  static Result<Tokenizer> from_file(const std::filesystem::path& path);
  // The same from the bytes that save_tables() made, in a fraction of the time: large tables are used where they lie,
  // and `owner` keeps them there (null: they outlive every copy). Bytes of another version, damaged or hostile ones are
  // a kBadModel; what cannot be told from good ones may give wrong ids, but never touches memory outside.
  static Result<Tokenizer> from_tables(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                                       std::string_view source_name);
  std::string save_tables() const;

  // Errors: kBadInput for text that is not UTF-8 (names the byte) or a max_length below the number of special tokens;
  // kLimit for a text over 100 MB.
  Result<Encoding> encode(std::string_view text, const EncodeOptions& options = {}) const;
  Result<Encoding> encode_pair(std::string_view first, std::string_view second,
                               const EncodeOptions& options = {}) const;

  std::optional<std::string_view> token(std::int32_t id) const;
  std::optional<std::int32_t> id(std::string_view token) const;
  // Tokens of the model and the added ones beyond it.
  std::size_t vocab_size() const;
  // Largest id + 1: the rows that an embedding table needs.
  std::size_t id_limit() const;
  // Special tokens that encode() adds.
  std::size_t n_added_tokens(bool pair) const;
  const DeclaredLimits& declared() const;
  // From the file's padding, else an added token named [PAD] or <pad>.
  std::optional<std::int32_t> pad_id() const;

  // Which fast path the file's components allow; empty when none does.
  std::string_view fast_path() const;
  // The same tokenizer without it: the obvious way, which tests compare with.
  Tokenizer without_fast_path() const;

 private:
  struct Pipeline;
  explicit Tokenizer(std::shared_ptr<const Pipeline> pipeline) : pipeline_(std::move(pipeline)) {}
  std::shared_ptr<const Pipeline> pipeline_;
};

}  // namespace narthex
