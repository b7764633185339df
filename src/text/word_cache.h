// The pieces of words seen lately, one table a thread. Direct-mapped and of fixed size: a new word takes the place of
// the one that was there.
//
//   WordKey key = WordKey::of(bytes, length);     at most 15 bytes
//   WordCache::Entry& entry = WordCache::mine().at(key);
//   if (entry.holds(key, owner)) ... else entry.put(key, owner, ids)
//
// `owner` is the number of a tokenizer, never given twice, so tokenizers share the table. Covered by
// tests/text/fast_path_test.cc.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

namespace narthex {

struct WordKey {
  static constexpr std::size_t kMaxBytes = 15;

  std::uint64_t low = 0;
  std::uint64_t high = 0;  // the last byte is the length

  // Precondition: 16 bytes can be read; those behind `length` do not matter.
  static WordKey of(const char* bytes, std::size_t length) {
    static_assert(std::endian::native == std::endian::little);
    WordKey key;
    std::memcpy(&key.low, bytes, 8);
    std::memcpy(&key.high, bytes + 8, 8);
    const unsigned unused = 8 * (8 - static_cast<unsigned>(length & 7));
    if (length < 8) {
      key.low = length == 0 ? 0 : key.low << unused >> unused;
      key.high = 0;
    } else {
      key.high = length == 8 ? 0 : key.high << unused >> unused;
    }
    key.high |= std::uint64_t{length} << 56;
    return key;
  }
};

class WordCache {
 public:
  // 128 KB stay in the second-level cache. 1024 entries cost English 15 % of its speed, 16384 gain nothing.
  static constexpr unsigned kBits = 12;
  static constexpr std::size_t kMaxIds = 3;

  struct Entry {
    WordKey key;
    std::array<std::int32_t, kMaxIds> ids{};  // filled up with -1
    std::uint32_t owner = 0;                  // 0 is nobody

    bool holds(const WordKey& wanted, std::uint32_t by) const {
      return key.low == wanted.low && key.high == wanted.high && owner == by;
    }
    std::size_t n_ids() const { return 1u + (ids[1] >= 0) + (ids[2] >= 0); }
    // Precondition: one to kMaxIds ids.
    void put(const WordKey& word, std::uint32_t by, std::span<const std::int32_t> pieces) {
      key = word;
      owner = by;
      for (std::size_t i = 0; i < kMaxIds; ++i) ids[i] = i < pieces.size() ? pieces[i] : -1;
    }
  };

  // The table of this thread.
  static WordCache& mine() {
    thread_local std::unique_ptr<WordCache> cache;
    if (!cache) cache = std::make_unique<WordCache>();
    return *cache;
  }

  Entry& at(const WordKey& key) {
    const std::uint64_t mixed = key.low * 0x9E3779B97F4A7C15u + (key.high ^ key.high >> 32) * 0xC2B2AE3D27D4EB4Fu;
    return entries_[(mixed ^ mixed >> 29) * 0x9E3779B97F4A7C15u >> (64 - kBits)];
  }

 private:
  std::array<Entry, std::size_t{1} << kBits> entries_{};
};

}  // namespace narthex
