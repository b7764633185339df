// DynamicQuantizeLinear: vectors from ONNX Runtime 1.32, and the float32 definition on random data.
#include "kernels/quantize.h"

#include <algorithm>
#include <limits>

#include "kernels/testing.h"

namespace narthex {
namespace {

TEST(DynamicQuantizeLinear, WhatOnnxRuntimeGives) {
  struct Case {
    std::vector<float> x;
    std::vector<std::uint8_t> y;
    float scale;
    std::uint8_t zero;
  };
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const Case cases[] = {
      {{0, 0}, {0, 0}, 1.0F, 0},
      {{1, 2, 3}, {85, 170, 255}, 3.0F / 255.0F, 0},
      {{-1, 0.5F}, {0, 255}, 1.5F / 255.0F, 170},
      {{-3, -2}, {0, 85}, 3.0F / 255.0F, 255},
      {{inf, -1}, {0, 0}, inf, 0},
      {{nan}, {0}, 1.0F, 0},
      {{}, {}, 1.0F, 0},
  };
  for (const Case& c : cases) {
    std::vector<std::uint8_t> y(c.x.size());
    const ScaleAndZero got = dynamic_quantize_linear_u8(c.x.size(), c.x.data(), y.data());
    SCOPED_TRACE(testing::PrintToString(c.x));
    EXPECT_EQ(got.scale, c.scale);
    EXPECT_EQ(got.zero, c.zero);
    EXPECT_EQ(y, c.y);
  }
}

TEST(DynamicQuantizeLinear, IsTheFloat32DefinitionOnEveryLength) {
  for (const std::size_t n : lengths()) {
    const std::vector<float> x = random_floats(n, static_cast<std::uint32_t>(n), -1.7F, 3.1F);
    std::vector<std::uint8_t> y(n);
    const ScaleAndZero got = dynamic_quantize_linear_u8(n, x.data(), y.data());
    const float low = std::min(0.0F, *std::ranges::min_element(x)), high = std::max(0.0F, *std::ranges::max_element(x));
    ASSERT_EQ(got.scale, (high - low) / 255.0F);
    ASSERT_EQ(got.zero, static_cast<int>(std::nearbyint(std::clamp(-low / got.scale, 0.0F, 255.0F))));
    for (std::size_t i = 0; i < n; i++) {
      const float want = std::clamp(std::nearbyint(x[i] / got.scale) + static_cast<float>(got.zero), 0.0F, 255.0F);
      ASSERT_EQ(y[i], static_cast<int>(want)) << n << " " << i;
    }
  }
}

TEST(QuantizeU8, HalvesGoToEvenSaturateAndAgreeOnAllTables) {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> x = {0.5F,    1.5F, 2.5F, -0.5F,         -1.5F, 300.0F,
                                -300.0F, inf,  -inf, std::nanf(""), 1e30F, -1e30F};
  const std::vector<std::uint8_t> want = {10, 12, 12, 10, 8, 255, 0, 255, 0, 0, 255, 0};
  for (const KernelTable& t : supported_tables()) {
    for (std::size_t before = 0; before < 20; before++) {  // every lane
      std::vector<float> shifted(before, 0.0F);
      shifted.insert(shifted.end(), x.begin(), x.end());
      std::vector<std::uint8_t> y(shifted.size() + 1, 77);
      t.quantize_u8(shifted.size(), shifted.data(), 1.0F, 10, y.data());
      for (std::size_t i = 0; i < x.size(); i++) ASSERT_EQ(y[before + i], want[i]) << t.name << " " << x[i];
      ASSERT_EQ(y.back(), 77);
    }
  }
}

}  // namespace
}  // namespace narthex
