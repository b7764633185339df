// Tokens and ids of a model, both ways. Immutable once built; copies share everything.
//
//   NX_TRY(Vocabulary vocabulary, Vocabulary::read(fields, "vocab", nullptr));
//   vocabulary.id("hello")   vocabulary.token(7592)   vocabulary.trie()
//
// Ids may have gaps and may repeat (the last token of an id wins). All of it is flat arrays, which sections() hands out
// for TableFile and read() takes back without copying. Covered by tests/text/models_test.cc and tables_test.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/double_array.h"
#include "text/json_fields.h"
#include "text/table_file.h"

namespace narthex {

class Vocabulary {
 public:
  // {"token": id, ...}, or from `tables` if given.
  static Result<Vocabulary> read(const Fields& fields, std::string_view key, const TableFile* tables);

  std::size_t size() const { return entries_.size(); }
  std::optional<std::int32_t> id(std::string_view token) const;
  std::optional<std::string_view> token(std::int32_t id) const;
  // All tokens but the empty one, with their ids.
  const DoubleArray& trie() const { return trie_; }

  struct Entry {
    std::int32_t id;
    std::uint32_t begin;
    std::uint32_t length;
  };
  // Sorted by id.
  std::span<const Entry> entries() const { return entries_; }
  std::string_view text(const Entry& entry) const { return characters_.substr(entry.begin, entry.length); }
  std::vector<TableSection> sections() const;

 private:
  static Result<Vocabulary> from_json(const Fields& fields, std::string_view key);
  static Result<Vocabulary> from_tables(const TableFile& tables);
  void find_empty_token();

  std::string_view characters_;
  std::span<const Entry> entries_;
  DoubleArray trie_;
  std::optional<std::int32_t> empty_token_;
  std::shared_ptr<const void> owner_;  // of characters and entries
};

}  // namespace narthex
