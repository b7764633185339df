#include "base/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace narthex {
namespace {

TEST(Half, EveryBitPatternSurvivesARoundTrip) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    Half half;
    half.bits = static_cast<std::uint16_t>(bits);
    const auto value = static_cast<float>(half);
    if (std::isnan(value)) continue;
    ASSERT_EQ(Half(value).bits, bits);
  }
}

TEST(Half, TiesGoToEvenAndLargeValuesToInfinity) {
  EXPECT_EQ(Half(1.0f + 1.0f / 2048).bits, 0x3C00);  // halfway between 1 and the next half
  EXPECT_EQ(Half(1.0f + 3.0f / 2048).bits, 0x3C02);
  EXPECT_EQ(Half(65519.0f).bits, 0x7BFF);
  EXPECT_EQ(Half(65520.0f).bits, 0x7C00);
  EXPECT_EQ(Half(std::ldexp(1.0f, -25)).bits, 0);
  EXPECT_EQ(Half(std::ldexp(1.5f, -25)).bits, 1);
}

TEST(BFloat16, RoundsToNearestEvenAndKeepsNaN) {
  EXPECT_EQ(BFloat16(1.0f).bits, 0x3F80);
  EXPECT_EQ(BFloat16(1.00390625f).bits, 0x3F80);
  EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(std::numeric_limits<float>::quiet_NaN()))));
}

}  // namespace
}  // namespace narthex
