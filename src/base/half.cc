#include "base/half.h"

#include <cmath>

namespace narthex {

Half::Half(float value) {
  const auto u = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (u >> 16) & 0x8000;
  const std::uint32_t magnitude = u & 0x7FFFFFFF;
  if (magnitude > 0x7F800000) {
    bits = static_cast<std::uint16_t>(sign | 0x7E00 | ((magnitude >> 13) & 0x3FF));
  } else if (magnitude >= 0x477FF000) {  // rounds to 65536 or more
    bits = static_cast<std::uint16_t>(sign | 0x7C00);
  } else if (magnitude < 0x38800000) {  // below 2^-14: subnormal, in units of 2^-24
    const auto units = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(std::bit_cast<float>(magnitude), 24)));
    bits = static_cast<std::uint16_t>(sign | units);
  } else {
    const std::uint32_t rounded = magnitude + 0xFFF + ((magnitude >> 13) & 1);
    bits = static_cast<std::uint16_t>(sign | ((rounded - 0x38000000) >> 13));
  }
}

Half::operator float() const {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1F;
  const std::uint32_t mantissa = bits & 0x3FF;
  if (exponent == 0) {
    const float value = std::ldexp(static_cast<float>(mantissa), -24);
    return sign != 0 ? -value : value;
  }
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000 | (mantissa << 13));
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

}  // namespace narthex
