#include "text/added_tokens.h"

#include <algorithm>
#include <unordered_map>

#include "base/utf8.h"
#include "text/unicode.h"

namespace narthex {
namespace {

// Real files have at most a few thousand, of a few dozen bytes. The length bounds the work per byte of text.
constexpr std::size_t kMaxAdded = 300'000;
constexpr std::size_t kMaxContentBytes = 1024;

// Start of the character that ends before `end`. Precondition: end > 0, valid UTF-8.
std::size_t previous_char(std::string_view text, std::size_t end) {
  do {
    --end;
  } while ((static_cast<unsigned char>(text[end]) & 0xC0) == 0x80);
  return end;
}

bool class_before(std::string_view text, std::size_t at, CharClass bit) {
  if (at == 0) return false;
  const char* p = text.data() + previous_char(text, at);
  return has_class(decode_utf8(p), bit);
}

bool class_after(std::string_view text, std::size_t at, CharClass bit) {
  if (at == text.size()) return false;
  const char* p = text.data() + at;
  return has_class(decode_utf8(p), bit);
}

Result<AddedToken> parse_token(const json::value& value, std::string_view source) {
  if (!value.is_object()) return fail(ErrorCode::kBadModel, "{}: each of added_tokens must be an object", source);
  Fields fields{value.get_object(), source, "added_tokens"};
  AddedToken token;
  NX_TRY(token.content, fields.required_text("content"));
  if (token.content.size() > kMaxContentBytes) {
    return fail(ErrorCode::kLimit, "{}: an added token has {} bytes; at most {} are supported", source,
                token.content.size(), kMaxContentBytes);
  }
  NX_TRY(token.single_word, fields.boolean("single_word", false));
  NX_TRY(token.lstrip, fields.boolean("lstrip", false));
  NX_TRY(token.rstrip, fields.boolean("rstrip", false));
  NX_TRY(token.special, fields.boolean("special", false));
  NX_TRY(token.normalized, fields.boolean("normalized", !token.special));
  return token;
}

// Where two contents become one by normalising, the first keeps it; the reference picks one at random.
void add_to(AddedTokenSet& set, std::string_view pattern, const AddedToken& token) {
  if (pattern.empty() || set.trie.longest(ByteTrie::kRoot, pattern).length == pattern.size()) return;
  set.trie.add(pattern, static_cast<std::uint32_t>(set.tokens.size()));
  set.starts[static_cast<unsigned char>(pattern[0])] = true;
  set.all_special = set.all_special && token.special;
  set.tokens.push_back(token);
}

bool has_space(std::string_view text) {
  for (const char* p = text.data(); p < text.data() + text.size();) {
    if ((char_class(decode_utf8(p)) & (kWhitespace | kCleanSpace)) != 0) return true;
  }
  return false;
}

}  // namespace

Result<AddedTokens> AddedTokens::from_json(const json::value* value, std::string_view source,
                                           const Vocabulary& vocabulary, const Normalizer& normalizer) {
  AddedTokens added;
  if (value == nullptr || value->is_null()) return added;
  if (!value->is_array()) return fail(ErrorCode::kBadModel, "{}: added_tokens must be a list", source);
  if (value->get_array().size() > kMaxAdded) {
    return fail(ErrorCode::kLimit, "{}: {} added tokens; at most {} are supported", source, value->get_array().size(),
                kMaxAdded);
  }
  std::unordered_map<std::string, std::size_t> known;  // content -> index
  auto next_id = static_cast<std::int64_t>(vocabulary.size());
  for (const json::value& entry : value->get_array()) {
    NX_TRY(AddedToken token, parse_token(entry, source));
    if (token.content.empty()) continue;
    const auto found = known.find(token.content);
    if (found != known.end()) {
      token.id = added.all_[found->second].id;
      added.all_[found->second] = std::move(token);
      continue;
    }
    const std::optional<std::int32_t> id = vocabulary.id(token.content);
    token.id = id ? *id : static_cast<std::int32_t>(next_id);
    // The next free id: one more than the largest of the model's size and the ids handed out so far.
    next_id = std::max(next_id, std::int64_t{token.id} + 1);
    if (next_id > 0x7FFFFFFF) return fail(ErrorCode::kLimit, "{}: the ids of added tokens leave 31 bits", source);
    known.emplace(token.content, added.all_.size());
    added.all_.push_back(std::move(token));
  }
  NX_TRY_VOID(added.index(source, normalizer));
  return added;
}

Result<void> AddedTokens::index(std::string_view source, const Normalizer& normalizer) {
  // Special tokens come first, which decides between contents that become one.
  std::vector<const AddedToken*> order;
  for (const bool special : {true, false}) {
    for (const AddedToken& token : all_) {
      if (token.special == special) order.push_back(&token);
    }
  }
  std::size_t n_bytes = 0;
  for (const AddedToken* token : order) {
    NormalizedText content;
    content.assign(token->content, 0, token->content.size(), false);
    if (token->normalized && normalizer.apply) normalizer.apply(content);
    n_bytes += content.text.size();
    if (content.overflow || n_bytes > ByteTrie::kMaxTotalBytes) {
      return fail(ErrorCode::kLimit, "{}: the added tokens have more than {} bytes", source, ByteTrie::kMaxTotalBytes);
    }
    add_to(token->normalized ? normalized_ : raw_, content.text, *token);
    if (token->normalized && (token->lstrip || token->rstrip || has_space(content.text))) local_ = false;
  }
  return {};
}

bool AddedTokens::Finder::find_match() {
  while (searched_ < text_.size()) {
    if (!set_.starts[static_cast<unsigned char>(text_[searched_])]) {
      ++searched_;
      continue;
    }
    const ByteTrie::Match found = set_.trie.longest(ByteTrie::kRoot, text_.substr(searched_));
    if (found.length == 0) {
      ++searched_;
      continue;
    }
    std::size_t begin = searched_;
    std::size_t end = begin + found.length;
    searched_ = end;
    const AddedToken& token = set_.tokens[found.value];
    if (token.special && !allow_special_) continue;
    if (token.single_word && (class_before(text_, begin, kRegexWord) || class_after(text_, end, kRegexWord))) continue;
    if (token.lstrip) {
      while (begin > given_ && class_before(text_, begin, kRegexSpace)) begin = previous_char(text_, begin);
      begin = std::min(std::max(begin, given_), end);
    }
    if (token.rstrip) {
      while (class_after(text_, end, kRegexSpace)) {
        const char* p = text_.data() + end;
        decode_utf8(p);
        end = static_cast<std::size_t>(p - text_.data());
      }
    }
    match_ = Span{{static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)}, &token};
    return true;
  }
  return false;
}

std::optional<AddedTokens::Span> AddedTokens::Finder::next() {
  if (!match_) {
    if (given_ >= text_.size()) return std::nullopt;
    if (set_.empty() || !find_match()) {
      const Span rest{{static_cast<std::uint32_t>(given_), static_cast<std::uint32_t>(text_.size())}, nullptr};
      given_ = text_.size();
      return rest;
    }
  }
  if (given_ < match_->range.begin) {
    const Span before{{static_cast<std::uint32_t>(given_), match_->range.begin}, nullptr};
    given_ = match_->range.begin;
    return before;
  }
  const Span token = *match_;
  given_ = token.range.end;
  match_.reset();
  return token;
}

}  // namespace narthex
