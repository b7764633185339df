#include "base/nearest.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace narthex {
namespace {

const std::vector<std::string_view> kNames = {"bge-small-en-v1.5", "bge-small-en-v1.5-q", "all-MiniLM-L6-v2",
                                              "paraphrase-MiniLM-L3-v2"};

TEST(Nearest, DistanceCountsASwapOfNeighboursOnce) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("abc", ""), 3U);
  EXPECT_EQ(edit_distance("abc", "acb"), 1U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
}

TEST(Nearest, SlipsCaseAndMissingEndings) {
  EXPECT_EQ(nearest_name("bge-smal-en", kNames), "bge-small-en-v1.5");
  EXPECT_EQ(nearest_name("bge", kNames), "bge-small-en-v1.5");
  EXPECT_EQ(nearest_name("BGE-SMALL-EN-V1.5", kNames), "bge-small-en-v1.5");
  EXPECT_EQ(nearest_name("all-minilm-l6", kNames), "all-MiniLM-L6-v2");
}

TEST(Nearest, NothingForNonsenseEmptyAndHugeInput) {
  EXPECT_EQ(nearest_name("gpt", kNames), std::nullopt);
  EXPECT_EQ(nearest_name("", kNames), std::nullopt);
  EXPECT_EQ(nearest_name(std::string(100000, 'b'), kNames), std::nullopt);
}

}  // namespace
}  // namespace narthex
