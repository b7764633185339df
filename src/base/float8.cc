#include "base/float8.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace narthex {
namespace {

std::uint8_t nan_bits(const SmallFloat& format, std::uint8_t sign) {
  if (!format.has_negative_zero) return 0x80;
  return sign | 0x7F;
}

std::uint8_t overflow_bits(const SmallFloat& format, std::uint8_t sign) {
  if (format.has_infinity) {
    return static_cast<std::uint8_t>(sign | (((1 << format.exponent_bits) - 1) << format.mantissa_bits));
  }
  return nan_bits(format, sign);
}

// Of a finite magnitude that the format holds exactly.
std::uint8_t exact_bits(float magnitude, const SmallFloat& format) {
  const int least = 1 - format.bias;  // the exponent of the smallest normal number, and of all subnormals
  int exponent = 0;
  std::frexp(magnitude, &exponent);  // magnitude = f · 2^exponent with f in [1/2, 1)
  exponent = magnitude == 0 || exponent - 1 < least ? least : exponent - 1;
  const auto units = static_cast<int>(std::ldexp(magnitude, format.mantissa_bits - exponent));
  const bool normal = units >= (1 << format.mantissa_bits);
  const int field = normal ? exponent + format.bias : 0;
  return static_cast<std::uint8_t>((field << format.mantissa_bits) | (units & ((1 << format.mantissa_bits) - 1)));
}

}  // namespace

std::uint8_t small_float_bits(float value, const SmallFloat& format, bool saturate) {
  const int sign_position = format.exponent_bits + format.mantissa_bits;
  const auto sign = static_cast<std::uint8_t>(std::signbit(value) ? 1 << sign_position : 0);
  if (std::isnan(value) && format.has_nan) return nan_bits(format, sign);
  float magnitude = std::isnan(value) ? 0 : std::fabs(value);  // a format without NaN gives 0 for it
  if (std::isfinite(magnitude)) {
    int exponent = 0;
    std::frexp(magnitude, &exponent);
    exponent = std::max(exponent - 1, 1 - format.bias);
    const int unit = exponent - format.mantissa_bits;
    magnitude = std::ldexp(std::nearbyint(std::ldexp(magnitude, -unit)), unit);
  }
  if (magnitude > format.max) {
    if (!saturate && format.has_nan) return overflow_bits(format, sign);
    magnitude = format.max;
  }
  if (magnitude == 0 && !format.has_negative_zero) return 0;
  return static_cast<std::uint8_t>(sign | exact_bits(magnitude, format));
}

float small_float_value(std::uint8_t bits, const SmallFloat& format) {
  const int sign_position = format.exponent_bits + format.mantissa_bits;
  const bool negative = ((bits >> sign_position) & 1) != 0;
  const int magnitude = bits & ((1 << sign_position) - 1);
  const int top = (1 << format.exponent_bits) - 1;
  const int exponent = magnitude >> format.mantissa_bits;
  const int mantissa = magnitude & ((1 << format.mantissa_bits) - 1);
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  if (!format.has_negative_zero) {
    if (negative && magnitude == 0) return kNan;
  } else if (format.has_infinity) {
    if (exponent == top && mantissa != 0) return std::copysign(kNan, negative ? -1.0F : 1.0F);
    if (exponent == top) return negative ? -INFINITY : INFINITY;
  } else if (format.has_nan && magnitude == (1 << sign_position) - 1) {
    return std::copysign(kNan, negative ? -1.0F : 1.0F);
  }
  const int units = exponent > 0 ? mantissa + (1 << format.mantissa_bits) : mantissa;
  const int unit = (exponent > 0 ? exponent : 1) - format.bias - format.mantissa_bits;
  const float value = std::ldexp(static_cast<float>(units), unit);
  return negative ? -value : value;
}

std::uint8_t e8m0_bits(float value, E8M0Rounding rounding, bool saturate) {
  constexpr std::uint8_t kNan = 255;
  if (std::isnan(value) || value < 0) return kNan;
  if (value == 0) return saturate ? 0 : kNan;
  if (std::isinf(value)) return saturate ? 254 : kNan;
  int exponent = 0;
  const float fraction = std::frexp(value, &exponent);  // value = fraction · 2^exponent, fraction in [1/2, 1)
  --exponent;
  const bool exact = fraction == 0.5F;
  if (rounding == E8M0Rounding::kUp && !exact) ++exponent;
  if (rounding == E8M0Rounding::kNearest && fraction >= 0.75F) ++exponent;  // a tie goes up
  if (exponent > 127) return saturate ? 254 : kNan;
  if (exponent < -127) return saturate ? 0 : kNan;
  return static_cast<std::uint8_t>(exponent + 127);
}

float e8m0_value(std::uint8_t bits) {
  return bits == 255 ? std::numeric_limits<float>::quiet_NaN() : std::ldexp(1.0F, static_cast<int>(bits) - 127);
}

}  // namespace narthex
