// A set of byte strings with a number each: follows a text byte by byte and knows the longest entry that is a prefix.
//
//   trie.add("[MASK]", 4);
//   trie.longest(trie.root(), text)     {length, value}; length 0 when nothing fits
//   trie.walk(trie.root(), "[MA")      the node to continue from, or kNone
//
// Edges lie in one open-addressing table keyed by (node, byte), at most half full: no worst case while building,
// whatever the strings. Together they must stay below 2^24 bytes, so that node and byte fit one 32-bit key. Covered by
// tests/text/byte_trie_test.cc.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace narthex {

class ByteTrie {
 public:
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;
  static constexpr std::uint32_t kRoot = 0;

  struct Match {
    std::size_t length = 0;
    std::uint32_t value = kNone;
  };

  ByteTrie();

  static constexpr std::size_t kMaxTotalBytes = (1u << 24) - 2;

  // A string added twice keeps the last value. Preconditions: valid UTF-8, value != kNone, kMaxTotalBytes in all.
  void add(std::string_view key, std::uint32_t value);
  // kNone when nothing in the set begins with these bytes.
  std::uint32_t walk(std::uint32_t node, std::string_view bytes) const;
  // The longest entry, at least one byte long, that `text` begins with when reading from `node`.
  Match longest(std::uint32_t node, std::string_view text) const;

 private:
  struct Edge {
    std::uint32_t key = kFree;  // node << 8 | byte; byte 0xFF never occurs in UTF-8, so no edge has the key kFree
    std::uint32_t to = 0;
  };
  static constexpr std::uint32_t kFree = 0xFFFFFFFF;

  std::size_t slot(std::uint32_t key) const;
  std::uint32_t step(std::uint32_t node, unsigned char byte) const;
  void grow();

  std::vector<Edge> edges_;
  std::vector<std::uint32_t> values_;  // of each node
  std::size_t n_edges_ = 0;
};

}  // namespace narthex
