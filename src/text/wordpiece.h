// WordPiece: the longest token that fits, again and again; later pieces carry the prefix ("##"). A word that cannot be
// covered whole, or that has too many characters, becomes one unknown token: pieces found before the gap are dropped.
//
//   bool known = wordpiece.split(word, [&](std::int32_t id, std::size_t begin, std::size_t end) { ... });
//
// The trie is walked from the node behind the prefix, so no strings are joined. Covered by tests/text/models_test.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "text/double_array.h"

namespace narthex {

struct WordPiece {
  DoubleArray trie;
  std::uint32_t continuation = DoubleArray::kDead;  // state behind the prefix
  std::uint64_t max_chars = 100;
  std::optional<std::int32_t> unknown;
  std::string unknown_token;
  std::string source;

  bool too_long(std::string_view word) const {
    if (word.size() <= max_chars) return false;
    std::uint64_t n_chars = 0;
    for (const char c : word) n_chars += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    return n_chars > max_chars;
  }

  // False when the word is unknown; what was handed to `emit` is then void. Precondition: the word is not empty.
  template <class Emit>
  bool split(std::string_view word, const Emit& emit) const {
    if (too_long(word)) return false;
    std::uint32_t state = DoubleArray::kRoot;
    for (std::size_t at = 0; at < word.size();) {
      const DoubleArray::Match match = trie.longest(state, word.substr(at));
      if (match.length == 0) return false;
      emit(match.value, at, at + match.length);
      at += match.length;
      state = continuation;
    }
    return true;
  }
};

}  // namespace narthex
