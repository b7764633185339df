// Typed access to the fields of tokenizer.json, with errors that name the file, the component and the field.
//
//   Fields fields{object, source, "normalizer BertNormalizer"};
//   NX_TRY(bool lowercase, fields.boolean("lowercase", true));
//
// A missing or null field takes the default; a present one of the wrong type is an Error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace narthex {

struct Fields {
  const json::object& object;
  std::string_view source;  // name of the file
  std::string component;    // where in the file, for messages

  // nullptr when absent or null.
  const json::value* find(std::string_view key) const;

  Result<bool> boolean(std::string_view key, bool fallback) const;
  Result<std::uint64_t> number(std::string_view key, std::uint64_t fallback) const;
  Result<std::string> text(std::string_view key, std::string_view fallback) const;
  Result<std::string> required_text(std::string_view key) const;
  Result<const json::array*> required_array(std::string_view key) const;
  Result<const json::object*> required_object(std::string_view key) const;

  std::unexpected<Error> wrong(std::string_view key, std::string_view expected) const;
};

// "kind 'Name'" and the start of the component's JSON, for errors about what is not supported.
std::string describe(const json::object& object);

// An id fit for int32 tensors; nullopt for anything else.
std::optional<std::int32_t> token_id_of(const json::value& value);

}  // namespace narthex
