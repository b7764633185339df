#include "text/vocabulary.h"

#include <algorithm>

#include "base/utf8.h"

namespace narthex {
namespace {

// The largest vocabularies of text encoders have 256,000 tokens of 2 MB in all; tokens beyond a kilobyte do not occur.
constexpr std::size_t kMaxTokens = 4'000'000;
constexpr std::size_t kMaxTokenBytes = 4096;
constexpr std::size_t kMaxTotalBytes = 1u << 24;

constexpr std::uint32_t kCharacters = table_tag("VCHR");
constexpr std::uint32_t kEntries = table_tag("VENT");
constexpr std::uint32_t kUnits = table_tag("VTRI");
constexpr std::uint32_t kValues = table_tag("VIDS");

bool begins_character(std::string_view text, std::size_t at) {
  return at == text.size() || (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80;
}

struct Storage {
  std::string characters;
  std::vector<Vocabulary::Entry> entries;
};

}  // namespace

Result<Vocabulary> Vocabulary::read(const Fields& fields, std::string_view key, const TableFile* tables) {
  return tables != nullptr ? from_tables(*tables) : from_json(fields, key);
}

Result<Vocabulary> Vocabulary::from_json(const Fields& fields, std::string_view key) {
  NX_TRY(const json::object* object, fields.required_object(key));
  if (object->size() > kMaxTokens) {
    return fail(ErrorCode::kLimit, "{}: {}: {} tokens; at most {} are supported", fields.source, fields.component,
                object->size(), kMaxTokens);
  }
  auto storage = std::make_shared<Storage>();
  std::string& characters = storage->characters;
  storage->entries.reserve(object->size());
  for (const auto& [token, value] : *object) {
    const std::optional<std::int32_t> id = token_id_of(value);
    if (!id) {
      return fail(ErrorCode::kBadModel, "{}: {}: the id of token '{}' must be a whole number from 0 to 2147483647",
                  fields.source, fields.component, std::string_view(token).substr(0, 80));
    }
    if (token.size() > kMaxTokenBytes || characters.size() + token.size() > kMaxTotalBytes) {
      return fail(ErrorCode::kLimit, "{}: {}: token {} has {} bytes; at most {} a token and {} in all are supported",
                  fields.source, fields.component, *id, token.size(), kMaxTokenBytes, kMaxTotalBytes);
    }
    storage->entries.push_back(
        {*id, static_cast<std::uint32_t>(characters.size()), static_cast<std::uint32_t>(token.size())});
    characters.append(token.data(), token.size());
  }
  std::ranges::sort(storage->entries, {}, [](const Entry& e) { return std::pair(e.id, e.begin); });

  Vocabulary vocabulary;
  vocabulary.characters_ = characters;
  vocabulary.entries_ = storage->entries;
  vocabulary.owner_ = std::move(storage);
  vocabulary.find_empty_token();
  std::vector<DoubleArray::Key> keys;
  keys.reserve(vocabulary.size());
  for (const Entry& entry : vocabulary.entries_) {
    if (entry.length > 0) keys.push_back({vocabulary.text(entry), entry.id});
  }
  std::optional<DoubleArray> trie = DoubleArray::build(std::move(keys));
  if (!trie) {
    return fail(ErrorCode::kLimit, "{}: {}: the tokens make a trie of more than {} nodes", fields.source,
                fields.component, DoubleArray::kMaxUnits);
  }
  vocabulary.trie_ = *std::move(trie);
  return vocabulary;
}

// Whoever wrote the bytes, ids and texts stay within them, and texts are UTF-8.
Result<Vocabulary> Vocabulary::from_tables(const TableFile& tables) {
  const auto broken = [&](std::string_view what) {
    return fail(ErrorCode::kBadModel, "{}: the tokenizer tables are damaged: {}", tables.source(), what);
  };
  Vocabulary vocabulary;
  vocabulary.owner_ = tables.owner();
  NX_TRY(vocabulary.characters_, tables.text(kCharacters));
  NX_TRY(vocabulary.entries_, tables.array<Entry>(kEntries));
  NX_TRY(const std::span<const std::uint32_t> units, tables.array<std::uint32_t>(kUnits));
  NX_TRY(const std::span<const std::int32_t> values, tables.array<std::int32_t>(kValues));
  const std::string_view characters = vocabulary.characters_;
  if (characters.size() > kMaxTotalBytes || find_invalid_utf8(characters) != std::string_view::npos) {
    return broken("the tokens are not UTF-8");
  }
  std::int32_t last_id = 0;
  for (const Entry& entry : vocabulary.entries_) {
    if (entry.id < last_id) return broken("the ids are not in order");
    last_id = entry.id;
    if (entry.begin > characters.size() || entry.length > characters.size() - entry.begin ||
        !begins_character(characters, entry.begin) || !begins_character(characters, entry.begin + entry.length)) {
      return broken("a token is not where it should be");
    }
  }
  std::int32_t largest = -1;
  for (const std::int32_t value : values) largest = std::max(largest, value);
  std::optional<DoubleArray> trie = DoubleArray::from_parts(units, values, vocabulary.owner_);
  if (!trie || largest > last_id) return broken("the trie leads outside");
  vocabulary.trie_ = *std::move(trie);
  vocabulary.find_empty_token();
  return vocabulary;
}

std::vector<TableSection> Vocabulary::sections() const {
  return {
      table_section(kCharacters, std::span<const char>(characters_)),
      table_section(kEntries, entries_),
      table_section(kUnits, trie_.units()),
      table_section(kValues, trie_.values()),
  };
}

void Vocabulary::find_empty_token() {
  for (const Entry& entry : entries_) {
    if (entry.length == 0) empty_token_ = entry.id;
  }
}

std::optional<std::int32_t> Vocabulary::id(std::string_view token) const {
  return token.empty() ? empty_token_ : trie_.find(token);
}

std::optional<std::string_view> Vocabulary::token(std::int32_t id) const {
  const auto after = std::ranges::upper_bound(entries_, id, {}, &Entry::id);
  if (after == entries_.begin() || std::prev(after)->id != id) return std::nullopt;
  return text(*std::prev(after));
}

}  // namespace narthex
