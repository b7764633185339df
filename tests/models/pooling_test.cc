#include "models/pooling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace narthex {
namespace {

using ::testing::ElementsAre;

TEST(Pooling, EveryModeOnThreeTokens) {
  const std::vector<float> hidden = {1, -1, 2, 5, 6, 2};  // three tokens of two elements
  const auto one = [&](PoolingMode mode) { return pool(hidden, 2, std::vector{mode}); };
  EXPECT_THAT(one(PoolingMode::kCls), ElementsAre(1, -1));
  EXPECT_THAT(one(PoolingMode::kLast), ElementsAre(6, 2));
  EXPECT_THAT(one(PoolingMode::kMax), ElementsAre(6, 5));
  EXPECT_THAT(one(PoolingMode::kMean), ElementsAre(3, 2));
  EXPECT_THAT(one(PoolingMode::kMeanSqrt),
              ElementsAre(static_cast<float>(9 / std::sqrt(3.0)), static_cast<float>(6 / std::sqrt(3.0))));
  EXPECT_THAT(one(PoolingMode::kWeightedMean), ElementsAre(static_cast<float>(23.0 / 6), static_cast<float>(15.0 / 6)));
}

TEST(Pooling, SeveralModesAreConcatenated) {
  const auto parsed = parse_pooling("cls+max");
  ASSERT_TRUE(parsed);
  EXPECT_THAT(pool(std::vector<float>{1, 2, 3, 0}, 2, parsed->modes), ElementsAre(1, 2, 3, 2));
  EXPECT_EQ(parsed->to_string(), "cls+max");
  EXPECT_FALSE(parse_pooling("average"));
  EXPECT_FALSE(parse_pooling("cls+"));
}

TEST(Pooling, AZeroVectorStaysZeroWhenNormalised) {
  std::vector<float> vector = {0, 0};
  l2_normalize(vector);
  EXPECT_THAT(vector, ElementsAre(0, 0));
  vector = {3, 4};
  l2_normalize(vector);
  EXPECT_THAT(vector, ElementsAre(0.6f, 0.8f));
}

}  // namespace
}  // namespace narthex
