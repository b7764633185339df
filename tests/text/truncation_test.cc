#include "text/truncation.h"

#include <gtest/gtest.h>

namespace narthex {

bool operator==(const KeptLengths& a, const KeptLengths& b) {
  return a.first == b.first && a.second == b.second;
}

namespace {

KeptLengths longest(std::size_t first, std::size_t second, std::size_t room) {
  return *kept_lengths(first, second, room, TruncationStrategy::kLongestFirst);
}

// The reference's answers.
TEST(Truncation, LongestFirst) {
  EXPECT_EQ(longest(4, 2, 4), (KeptLengths{2, 2}));
  EXPECT_EQ(longest(5, 1, 4), (KeptLengths{3, 1}));
  EXPECT_EQ(longest(4, 4, 4), (KeptLengths{2, 2}));
  EXPECT_EQ(longest(5, 5, 5), (KeptLengths{2, 3}));
  EXPECT_EQ(longest(4, 5, 5), (KeptLengths{2, 3}));
  EXPECT_EQ(longest(6, 3, 5), (KeptLengths{3, 2}));
  EXPECT_EQ(longest(3, 0, 2), (KeptLengths{2, 0}));
  EXPECT_EQ(longest(3, 3, 0), (KeptLengths{0, 0}));
  EXPECT_EQ(longest(3, 3, 6), (KeptLengths{3, 3}));
}

TEST(Truncation, LongestFirstFillsTheRoomAndTakesFromTheLonger) {
  for (std::size_t a = 0; a < 12; ++a) {
    for (std::size_t b = 0; b < 12; ++b) {
      for (std::size_t room = 0; room < 24; ++room) {
        const KeptLengths kept = longest(a, b, room);
        EXPECT_EQ(kept.first + kept.second, std::min(a + b, room));
        EXPECT_LE(kept.first, a);
        EXPECT_LE(kept.second, b);
        if (kept.first < a && kept.second == b) {
          EXPECT_GE(kept.first + 1, kept.second) << a << " " << b << " " << room;
        }
      }
    }
  }
}

TEST(Truncation, OneTextOnly) {
  EXPECT_EQ(*kept_lengths(5, 2, 4, TruncationStrategy::kOnlyFirst), (KeptLengths{2, 2}));
  EXPECT_EQ(*kept_lengths(2, 5, 4, TruncationStrategy::kOnlySecond), (KeptLengths{2, 2}));
  EXPECT_FALSE(kept_lengths(5, 4, 4, TruncationStrategy::kOnlyFirst));
  EXPECT_FALSE(kept_lengths(9, 0, 4, TruncationStrategy::kOnlySecond));
  EXPECT_EQ(*kept_lengths(9, 9, 0, TruncationStrategy::kOnlyFirst), (KeptLengths{0, 0}));
}

}  // namespace
}  // namespace narthex
