#include "text/json_fields.h"

#include <limits>

namespace narthex {

const json::value* Fields::find(std::string_view key) const {
  const json::value* value = object.if_contains(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

std::unexpected<Error> Fields::wrong(std::string_view key, std::string_view expected) const {
  const json::value* value = find(key);
  return fail(ErrorCode::kBadModel, "{}: {}: field '{}' must be {}, but it is {}", source, component, key, expected,
              value == nullptr ? "missing" : std::string_view(json::to_string(value->kind())));
}

Result<bool> Fields::boolean(std::string_view key, bool fallback) const {
  const json::value* value = find(key);
  if (value == nullptr) return fallback;
  if (!value->is_bool()) return wrong(key, "true or false");
  return value->get_bool();
}

Result<std::uint64_t> Fields::number(std::string_view key, std::uint64_t fallback) const {
  const json::value* value = find(key);
  if (value == nullptr) return fallback;
  if (value->is_uint64()) return value->get_uint64();
  if (value->is_int64() && value->get_int64() >= 0) return static_cast<std::uint64_t>(value->get_int64());
  // "Unset" lengths are written as 1e30, beyond 64 bits: the parser makes them doubles.
  if (value->is_double() && value->get_double() >= 1.8e19) return std::numeric_limits<std::uint64_t>::max();
  return wrong(key, "a whole number that is not negative");
}

Result<std::string> Fields::text(std::string_view key, std::string_view fallback) const {
  const json::value* value = find(key);
  if (value == nullptr) return std::string(fallback);
  if (!value->is_string()) return wrong(key, "a string");
  return std::string(value->get_string());
}

Result<std::string> Fields::required_text(std::string_view key) const {
  if (find(key) == nullptr) return wrong(key, "a string");
  return text(key, "");
}

Result<const json::array*> Fields::required_array(std::string_view key) const {
  const json::value* value = find(key);
  if (value == nullptr || !value->is_array()) return wrong(key, "a list");
  return &value->get_array();
}

Result<const json::object*> Fields::required_object(std::string_view key) const {
  const json::value* value = find(key);
  if (value == nullptr || !value->is_object()) return wrong(key, "an object");
  return &value->get_object();
}

std::string describe(const json::object& object) {
  // Only the scalars and the shape: a vocabulary or a charsmap must not end up in a message.
  std::string out = "{";
  for (const auto& [key, value] : object) {
    if (out.size() > 200) return out + ", ...}";
    if (out.size() > 1) out += ", ";
    append_json_string(out, std::string_view(key).substr(0, 40));
    out += ": ";
    if (value.is_object() && value.get_object().size() > 4) {
      out += "{...}";
    } else if (value.is_array() && value.get_array().size() > 4) {
      out += "[...]";
    } else if (value.is_string() && value.get_string().size() > 80) {
      out += "\"...\"";
    } else {
      const std::string text = json::serialize(value);
      out += text.size() > 120 ? "..." : text;
    }
  }
  return out + "}";
}

std::optional<std::int32_t> token_id_of(const json::value& value) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int32_t>::max();
  if (value.is_int64() && value.get_int64() >= 0 && value.get_int64() <= kMax) {
    return static_cast<std::int32_t>(value.get_int64());
  }
  if (value.is_uint64() && value.get_uint64() <= static_cast<std::uint64_t>(kMax)) {
    return static_cast<std::int32_t>(value.get_uint64());
  }
  return std::nullopt;
}

}  // namespace narthex
