// A compact, read-only trie: strings to numbers, one 32-bit unit a node, usable straight from a mapped file.
//
//   DoubleArray trie = *DoubleArray::build(keys);
//   trie.longest(DoubleArray::kRoot, text)            {length, value}; length 0 when nothing fits
//   std::uint32_t inner = trie.walk(DoubleArray::kRoot, "##");    where to continue from, without joining strings
//
// A state is the base of a node; its child for byte c is the unit at base ^ c, if the low byte of that unit is c. Bases
// lie in blocks of 256 units, so base ^ c never leaves the block: one check of all bases when a file is opened makes
// every later step safe. No two nodes share a base, and free units carry 0xFF, which no UTF-8 has. Covered by
// tests/text/double_array_test.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace narthex {

class DoubleArray {
 public:
  static constexpr std::uint32_t kRoot = 256;  // the first block belongs to nodes without children
  static constexpr std::uint32_t kDead = 0;
  static constexpr std::size_t kMaxUnits = 1u << 23;

  struct Key {
    std::string_view text;  // valid UTF-8, not empty
    std::int32_t value;     // not negative
  };
  struct Match {
    std::size_t length = 0;
    std::int32_t value = -1;
  };

  DoubleArray();
  // nullopt when the units do not suffice: several megabytes of strings. Preconditions: no key occurs twice.
  static std::optional<DoubleArray> build(std::vector<Key> keys);
  // What units() and values() of another one gave; nullopt where they could not be that. `owner` keeps them alive.
  static std::optional<DoubleArray> from_parts(std::span<const std::uint32_t> units,
                                               std::span<const std::int32_t> values, std::shared_ptr<const void> owner);

  std::span<const std::uint32_t> units() const { return units_; }
  std::span<const std::int32_t> values() const { return values_; }

  // kDead when no key begins with these bytes.
  std::uint32_t walk(std::uint32_t state, std::string_view bytes) const {
    for (const char c : bytes) {
      const std::uint32_t unit = units_[state ^ static_cast<unsigned char>(c)];
      state = (unit & 0xFF) == static_cast<unsigned char>(c) ? unit >> kBaseShift : kDead;
    }
    return state;
  }

  // The longest key, at least one byte long, that `text` begins with when reading from `state`.
  Match longest(std::uint32_t state, std::string_view text) const {
    Match best;
    std::uint32_t last = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const std::uint32_t at = state ^ static_cast<unsigned char>(text[i]);
      const std::uint32_t unit = units_[at];
      if ((unit & 0xFF) != static_cast<unsigned char>(text[i])) break;
      if ((unit & kTerminal) != 0) {
        best.length = i + 1;
        last = at;
      }
      state = unit >> kBaseShift;
    }
    if (best.length > 0) best.value = values_[last];
    return best;
  }

  std::optional<std::int32_t> find(std::string_view key) const;

 private:
  static constexpr std::uint32_t kTerminal = 0x100;
  static constexpr std::uint32_t kBaseShift = 9;
  class Builder;

  DoubleArray(std::span<const std::uint32_t> units, std::span<const std::int32_t> values,
              std::shared_ptr<const void> owner)
      : units_(units), values_(values), owner_(std::move(owner)) {}

  std::span<const std::uint32_t> units_;  // base << 9 | terminal << 8 | byte
  std::span<const std::int32_t> values_;  // of terminal units
  std::shared_ptr<const void> owner_;
};

}  // namespace narthex
