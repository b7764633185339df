#include "text/byte_trie.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

namespace narthex {
namespace {

TEST(ByteTrie, FindsTheLongestPrefix) {
  ByteTrie trie;
  trie.add("ab", 1);
  trie.add("abcd", 2);
  trie.add("b", 3);
  EXPECT_EQ(trie.longest(ByteTrie::kRoot, "abcx").length, 2u);
  EXPECT_EQ(trie.longest(ByteTrie::kRoot, "abcde").value, 2u);
  EXPECT_EQ(trie.longest(ByteTrie::kRoot, "xab").length, 0u);
  EXPECT_EQ(trie.longest(ByteTrie::kRoot, "").length, 0u);
  EXPECT_EQ(trie.walk(ByteTrie::kRoot, "x"), ByteTrie::kNone);
  EXPECT_EQ(trie.longest(trie.walk(ByteTrie::kRoot, "abc"), "d").value, 2u);
}

TEST(ByteTrie, TheEmptyStringIsNeverAMatch) {
  ByteTrie trie;
  trie.add("", 1);
  EXPECT_EQ(trie.longest(ByteTrie::kRoot, "a").length, 0u);
}

TEST(ByteTrie, TheLastValueOfAStringWins) {
  ByteTrie trie;
  trie.add("a", 1);
  trie.add("a", 2);
  EXPECT_EQ(trie.longest(ByteTrie::kRoot, "a").value, 2u);
}

TEST(ByteTrie, AgreesWithAMapOnRandomStrings) {
  std::mt19937 random(5);
  ByteTrie trie;
  std::map<std::string, std::uint32_t> map;
  const auto any = [&](std::size_t longest) {
    std::string s(1 + random() % longest, ' ');
    for (char& c : s) c = static_cast<char>("abc\x80\xC3"[random() % 5]);
    return s;
  };
  for (std::uint32_t i = 0; i < 3000; ++i) {
    const std::string key = any(9);
    trie.add(key, i);
    map[key] = i;
  }
  for (int i = 0; i < 3000; ++i) {
    const std::string text = any(14);
    ByteTrie::Match expected;
    for (std::size_t n = 1; n <= text.size(); ++n) {
      const auto found = map.find(text.substr(0, n));
      if (found != map.end()) expected = {n, found->second};
    }
    const ByteTrie::Match match = trie.longest(ByteTrie::kRoot, text);
    EXPECT_EQ(match.length, expected.length);
    EXPECT_EQ(match.value, expected.value);
  }
}

}  // namespace
}  // namespace narthex
