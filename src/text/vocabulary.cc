#include "text/vocabulary.h"

#include <algorithm>

#include "text/byte_trie.h"

namespace narthex {
namespace {

// The largest vocabularies of text encoders have 256,000 tokens of 2 MB in all; tokens beyond a kilobyte do not occur.
constexpr std::size_t kMaxTokens = 4'000'000;
constexpr std::size_t kMaxTokenBytes = 4096;
constexpr std::size_t kMaxTotalBytes = ByteTrie::kMaxTotalBytes;

}  // namespace

Result<Vocabulary> Vocabulary::from_json(const Fields& fields, std::string_view key) {
  NX_TRY(const json::object* object, fields.required_object(key));
  if (object->size() > kMaxTokens) {
    return fail(ErrorCode::kLimit, "{}: {}: {} tokens; at most {} are supported", fields.source, fields.component,
                object->size(), kMaxTokens);
  }
  Vocabulary vocabulary;
  auto characters = std::make_shared<std::string>();
  vocabulary.entries_.reserve(object->size());
  for (const auto& [token, value] : *object) {
    const std::optional<std::int32_t> id = token_id_of(value);
    if (!id) {
      return fail(ErrorCode::kBadModel, "{}: {}: the id of token '{}' must be a whole number from 0 to 2147483647",
                  fields.source, fields.component, std::string_view(token).substr(0, 80));
    }
    if (token.size() > kMaxTokenBytes || characters->size() + token.size() > kMaxTotalBytes) {
      return fail(ErrorCode::kLimit, "{}: {}: token {} has {} bytes; at most {} a token and {} in all are supported",
                  fields.source, fields.component, *id, token.size(), kMaxTokenBytes, kMaxTotalBytes);
    }
    vocabulary.entries_.push_back(
        {*id, static_cast<std::uint32_t>(characters->size()), static_cast<std::uint32_t>(token.size())});
    characters->append(token.data(), token.size());
  }
  vocabulary.characters_ = std::move(characters);
  std::sort(vocabulary.entries_.begin(), vocabulary.entries_.end(),
            [](const Entry& a, const Entry& b) { return std::pair(a.id, a.begin) < std::pair(b.id, b.begin); });
  vocabulary.ids_.reserve(vocabulary.entries_.size());
  for (const Entry& entry : vocabulary.entries_) vocabulary.ids_.emplace(vocabulary.text(entry), entry.id);
  return vocabulary;
}

std::optional<std::int32_t> Vocabulary::id(std::string_view token) const {
  const auto found = ids_.find(token);
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

std::optional<std::string_view> Vocabulary::token(std::int32_t id) const {
  auto after = std::upper_bound(entries_.begin(), entries_.end(), id,
                                [](std::int32_t wanted, const Entry& entry) { return wanted < entry.id; });
  if (after == entries_.begin() || std::prev(after)->id != id) return std::nullopt;
  return text(*std::prev(after));
}

}  // namespace narthex
