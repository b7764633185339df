// Numbers of 8 and 4 bits, as ONNX defines them, to and from float32: rounding to nearest even.
//
//   small_float_bits(value, kFloat8E4M3FN, saturate)   the bits, in the low end of a byte
//   small_float_value(bits, kFloat8E4M3FN)
//   e8m0_bits, e8m0_value                              powers of two only
//
// FN: no infinity. FNUZ: neither infinity nor −0, whose pattern is the NaN. Obvious rather than fast. Covered by
// tests/base/float8_test.cc.
#pragma once

#include <cstdint>

namespace narthex {

struct SmallFloat {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  bool has_infinity;
  bool has_negative_zero;  // false: the pattern of −0 is the only NaN
  bool has_nan;
  float max;
};
inline constexpr SmallFloat kFloat8E4M3FN{4, 3, 7, false, true, true, 448};
inline constexpr SmallFloat kFloat8E4M3FNUZ{4, 3, 8, false, false, true, 240};
inline constexpr SmallFloat kFloat8E5M2{5, 2, 15, true, true, true, 57344};
inline constexpr SmallFloat kFloat8E5M2FNUZ{5, 2, 16, false, false, true, 57344};
inline constexpr SmallFloat kFloat4E2M1{2, 1, 1, false, true, false, 6};

// What exceeds `max` after rounding becomes ±max if `saturate`, else an infinity or NaN, whichever the format has.
std::uint8_t small_float_bits(float value, const SmallFloat& format, bool saturate);
float small_float_value(std::uint8_t bits, const SmallFloat& format);

enum class E8M0Rounding { kUp, kDown, kNearest };
// 2^(bits − 127); 255 is NaN. Negative values, which the format has no place for, become NaN.
std::uint8_t e8m0_bits(float value, E8M0Rounding rounding, bool saturate);
float e8m0_value(std::uint8_t bits);

}  // namespace narthex
