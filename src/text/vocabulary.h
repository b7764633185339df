// Tokens and ids of a model, both ways. Immutable once built.
//
//   NX_TRY(Vocabulary vocabulary, Vocabulary::from_json(fields, "vocab"));
//   vocabulary.id("hello")   vocabulary.token(7592)
//
// All tokens lie in one string; ids may have gaps and may repeat (the last token of an id wins).
// Covered by tests/text/models_test.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "text/json_fields.h"

namespace narthex {

class Vocabulary {
 public:
  // {"token": id, ...}
  static Result<Vocabulary> from_json(const Fields& fields, std::string_view key);

  std::size_t size() const { return entries_.size(); }
  std::optional<std::int32_t> id(std::string_view token) const;
  std::optional<std::string_view> token(std::int32_t id) const;

  struct Entry {
    std::int32_t id;
    std::uint32_t begin;
    std::uint32_t length;
  };
  // Sorted by id.
  const std::vector<Entry>& entries() const { return entries_; }
  std::string_view text(const Entry& entry) const {
    return std::string_view(*characters_).substr(entry.begin, entry.length);
  }

 private:
  // Behind a pointer, so that the views in `ids_` survive moves.
  std::shared_ptr<const std::string> characters_;
  std::vector<Entry> entries_;
  std::unordered_map<std::string_view, std::int32_t> ids_;
};

}  // namespace narthex
