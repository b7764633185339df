#include "base/float8.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace narthex {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr const SmallFloat* kFormats[] = {&kFloat8E4M3FN, &kFloat8E4M3FNUZ, &kFloat8E5M2, &kFloat8E5M2FNUZ,
                                          &kFloat4E2M1};

unsigned patterns(const SmallFloat& format) {
  return 1U << (1 + format.exponent_bits + format.mantissa_bits);
}

TEST(Float8, EveryBitPatternSurvivesARoundTrip) {
  for (const SmallFloat* format : kFormats) {
    for (unsigned bits = 0; bits < patterns(*format); ++bits) {
      const float value = small_float_value(static_cast<std::uint8_t>(bits), *format);
      if (std::isnan(value)) continue;
      EXPECT_EQ(small_float_bits(value, *format, false), bits) << value;
    }
  }
}

TEST(Float8, TheLargestNumbersAreThoseOfTheStandard) {
  for (const SmallFloat* format : kFormats) {
    float largest = 0;
    for (unsigned bits = 0; bits < patterns(*format); ++bits) {
      const float value = small_float_value(static_cast<std::uint8_t>(bits), *format);
      if (std::isfinite(value)) largest = std::max(largest, value);
    }
    EXPECT_EQ(largest, format->max);
  }
}

// Between two neighbours the nearer one is taken, and the even one from the middle.
TEST(Float8, RoundsToNearestEven) {
  for (const SmallFloat* format : kFormats) {
    for (unsigned bits = 0; bits + 1 < patterns(*format) / 2; ++bits) {
      const float low = small_float_value(static_cast<std::uint8_t>(bits), *format);
      const float high = small_float_value(static_cast<std::uint8_t>(bits + 1), *format);
      if (!std::isfinite(low) || !std::isfinite(high)) break;
      const float middle = (low + high) / 2;
      EXPECT_EQ(small_float_bits(std::nextafter(middle, low), *format, true), bits);
      EXPECT_EQ(small_float_bits(middle, *format, true), bits % 2 == 0 ? bits : bits + 1);
      EXPECT_EQ(small_float_bits(std::nextafter(middle, high), *format, true), bits + 1);
    }
  }
}

TEST(Float8, WhatIsTooLargeSaturatesOrBecomesTheFormatsOwnInfinityOrNaN) {
  for (const float value : {kInf, 1e9F}) {
    EXPECT_EQ(small_float_bits(value, kFloat8E4M3FN, true), 0x7E);
    EXPECT_EQ(small_float_bits(value, kFloat8E4M3FN, false), 0x7F);
    EXPECT_EQ(small_float_bits(-value, kFloat8E4M3FN, false), 0xFF);
    EXPECT_EQ(small_float_bits(value, kFloat8E4M3FNUZ, true), 0x7F);
    EXPECT_EQ(small_float_bits(value, kFloat8E4M3FNUZ, false), 0x80);
    EXPECT_EQ(small_float_bits(value, kFloat8E5M2, true), 0x7B);
    EXPECT_EQ(small_float_bits(-value, kFloat8E5M2, false), 0xFC);
    EXPECT_EQ(small_float_bits(value, kFloat8E5M2FNUZ, false), 0x80);
    EXPECT_EQ(small_float_bits(-value, kFloat4E2M1, false), 0xF);
  }
  EXPECT_EQ(small_float_bits(-0.0F, kFloat8E4M3FN, true), 0x80);
  EXPECT_EQ(small_float_bits(-0.0F, kFloat8E4M3FNUZ, true), 0);
  EXPECT_EQ(small_float_bits(kNan, kFloat8E5M2FNUZ, true), 0x80);
  EXPECT_TRUE(std::isnan(small_float_value(0x80, kFloat8E5M2FNUZ)));
  EXPECT_EQ(small_float_bits(kNan, kFloat4E2M1, true) & 7, 0);
}

TEST(Float8, PowersOfTwoRoundAsTold) {
  for (int bits = 0; bits < 255; ++bits) {
    for (const auto rounding : {E8M0Rounding::kUp, E8M0Rounding::kDown, E8M0Rounding::kNearest}) {
      EXPECT_EQ(e8m0_bits(e8m0_value(static_cast<std::uint8_t>(bits)), rounding, true), bits);
    }
  }
  EXPECT_EQ(e8m0_bits(5, E8M0Rounding::kUp, true), 130);
  EXPECT_EQ(e8m0_bits(5, E8M0Rounding::kDown, true), 129);
  EXPECT_EQ(e8m0_bits(5, E8M0Rounding::kNearest, true), 129);
  EXPECT_EQ(e8m0_bits(6, E8M0Rounding::kNearest, true), 130);
  EXPECT_EQ(e8m0_bits(0, E8M0Rounding::kUp, true), 0);
  EXPECT_EQ(e8m0_bits(0, E8M0Rounding::kUp, false), 255);
  EXPECT_EQ(e8m0_bits(kInf, E8M0Rounding::kUp, true), 254);
  EXPECT_EQ(e8m0_bits(-1, E8M0Rounding::kUp, true), 255);
}

}  // namespace
}  // namespace narthex
