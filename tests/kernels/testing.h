// What the kernel tests share: random data, exact comparison of floats by bits, and a loop over the tables.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "kernels/kernels.h"

namespace narthex {

inline std::vector<float> random_floats(std::size_t n, std::uint32_t seed, float low = -1.0F, float high = 1.0F) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> value(low, high);
  std::vector<float> out(n);
  for (float& x : out) x = value(random);
  return out;
}

inline std::vector<std::uint8_t> random_bytes(std::size_t n, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::uint8_t> out(n);
  for (std::uint8_t& x : out) x = static_cast<std::uint8_t>(random());
  return out;
}

// Equal bits, or both NaN: which NaN an operation gives is not promised.
inline bool same_bits(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) || (std::isnan(a) && std::isnan(b));
}

inline testing::AssertionResult same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return testing::AssertionFailure() << a.size() << " and " << b.size() << " values";
  for (std::size_t i = 0; i < a.size(); i++) {
    if (!same_bits(a[i], b[i]))
      return testing::AssertionFailure() << "value " << i << " is " << a[i] << " and " << b[i];
  }
  return testing::AssertionSuccess();
}

// Runs a function of the table on each and checks that the vectors it returns have the same bits.
template <class F>
std::vector<float> same_on_all_tables(F f) {
  const auto tables = supported_tables();
  const std::vector<float> expected = f(tables.front());
  for (const KernelTable& table : tables.subspan(1)) {
    EXPECT_TRUE(same_bits(expected, f(table))) << table.name << " against " << tables.front().name;
  }
  return expected;
}

// Lengths around every boundary of vectors and unrolled loops, and all of 1 … 70.
inline std::vector<std::size_t> lengths() {
  std::vector<std::size_t> out;
  for (std::size_t n = 1; n <= 70; n++) out.push_back(n);
  for (std::size_t n : {127U, 128U, 384U, 1000U, 1536U}) out.push_back(n);
  return out;
}

}  // namespace narthex
