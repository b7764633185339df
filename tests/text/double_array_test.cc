#include "text/double_array.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

namespace narthex {
namespace {

DoubleArray trie_of(const std::map<std::string, std::int32_t>& entries) {
  std::vector<DoubleArray::Key> keys;
  for (const auto& [text, value] : entries) keys.push_back({text, value});
  return DoubleArray::build(std::move(keys)).value();
}

TEST(DoubleArray, FindsTheLongestPrefix) {
  const DoubleArray trie = trie_of({{"ab", 1}, {"abcd", 2}, {"b", 3}});
  EXPECT_EQ(trie.longest(DoubleArray::kRoot, "abcx").length, 2u);
  EXPECT_EQ(trie.longest(DoubleArray::kRoot, "abcde").value, 2);
  EXPECT_EQ(trie.longest(DoubleArray::kRoot, "xab").length, 0u);
  EXPECT_EQ(trie.longest(DoubleArray::kRoot, "").length, 0u);
  EXPECT_EQ(trie.longest(trie.walk(DoubleArray::kRoot, "abc"), "d").value, 2);
  EXPECT_EQ(trie.longest(trie.walk(DoubleArray::kRoot, "x"), "ab").length, 0u);
  EXPECT_EQ(trie.longest(trie.walk(DoubleArray::kRoot, "abcd"), "ab").length, 0u) << "nothing lies below a leaf";
  EXPECT_EQ(trie.find("abc"), std::nullopt);
  EXPECT_EQ(trie.find("abcd"), 2);
}

TEST(DoubleArray, WithoutKeysNothingFits) {
  for (const DoubleArray& trie : {DoubleArray(), trie_of({})}) {
    for (int byte = 0; byte < 256; ++byte) {
      const std::string text(1, static_cast<char>(byte));
      EXPECT_EQ(trie.longest(DoubleArray::kRoot, text).length, 0u);
      EXPECT_EQ(trie.longest(DoubleArray::kDead, text).length, 0u);
    }
  }
}

TEST(DoubleArray, AgreesWithAMap) {
  std::mt19937 random(1);
  for (const unsigned alphabet : {2u, 5u, 128u}) {
    std::map<std::string, std::int32_t> map;
    const auto word = [&] {
      std::string out;
      for (std::size_t n = 1 + random() % 8; n > 0; --n) out += static_cast<char>(random() % alphabet);
      return out;
    };
    for (int i = 0; i < 3000; ++i) map.emplace(word(), i);
    const DoubleArray trie = trie_of(map);
    for (const auto& [text, value] : map) ASSERT_EQ(trie.find(text), value);
    for (int i = 0; i < 3000; ++i) {
      const std::string text = word();
      std::size_t length = 0;
      for (std::size_t n = 1; n <= text.size(); ++n) {
        if (map.contains(text.substr(0, n))) length = n;
      }
      ASSERT_EQ(trie.longest(DoubleArray::kRoot, text).length, length);
      ASSERT_EQ(trie.find(text).has_value(), map.contains(text));
    }
  }
}

// Children whose differences cover all bytes: two such nodes never share a block, so each takes one of its own.
TEST(DoubleArray, StringsThatFitNowhereAreRefusedInTime) {
  std::vector<std::string> texts;
  for (unsigned node = 0; node < 40'000; ++node) {
    const std::string begin{static_cast<char>(node & 127), static_cast<char>(node >> 7 & 127),
                            static_cast<char>(node >> 14 & 127), 'x'};
    for (int label = 0; label < 16; ++label) texts.push_back(begin + static_cast<char>(label));
    for (int label = 16; label < 128; label += 16) texts.push_back(begin + static_cast<char>(label));
  }
  std::vector<DoubleArray::Key> keys;
  for (const std::string& text : texts) keys.push_back({text, 1});
  const std::optional<DoubleArray> trie = DoubleArray::build(std::move(keys));
  EXPECT_TRUE(!trie || trie->units().size() <= DoubleArray::kMaxUnits);
  if (trie) {
    EXPECT_TRUE(trie->find(texts.back()));
  }
}

TEST(DoubleArray, PartsThatLeadOutsideAreRefused) {
  const DoubleArray trie = trie_of({{"a", 1}, {"ab", 2}});
  std::vector<std::uint32_t> units(trie.units().begin(), trie.units().end());
  std::vector<std::int32_t> values(trie.values().begin(), trie.values().end());
  const auto parts = [&] { return DoubleArray::from_parts(units, values, nullptr); };
  ASSERT_TRUE(parts());
  EXPECT_EQ(parts()->find("ab"), 2);
  units[256] |= 512u << 9;
  EXPECT_FALSE(parts()) << "a base beyond the last unit";
  units[256] = 0xFF;
  values[300] = -5;
  EXPECT_FALSE(parts()) << "a negative value";
  values[300] = 0;
  units.pop_back();
  values.pop_back();
  EXPECT_FALSE(parts()) << "half a block";
  units.resize(256);
  values.resize(256);
  EXPECT_FALSE(parts()) << "no block of the root";
}

}  // namespace
}  // namespace narthex
