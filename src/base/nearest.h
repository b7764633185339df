// The known name that a mistyped one most likely meant, for "did you mean ...?".
//
//   nearest_name("bge-smal-en", known)   "bge-small-en-v1.5", or nothing when no name is close
//
// Distance is Damerau-Levenshtein (insert, delete, replace, swap of neighbours), without regard to ASCII case. A name
// that begins with what was typed counts as close, because people stop typing before a version. Covered by
// tests/base/nearest_test.cc.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace narthex {

std::size_t edit_distance(std::string_view a, std::string_view b);
std::optional<std::string_view> nearest_name(std::string_view typed, std::span<const std::string_view> known);

}  // namespace narthex
