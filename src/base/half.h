// float16, bfloat16 and float8 bits to and from float32, rounding to nearest even. Scalar and exact: kernels have their
// own.
//
// The formats are IEEE 754 binary16, bfloat16 (upper half of binary32), and the ONNX float8 family. Covered by
// tests/base.
#pragma once

#include <bit>
#include <cstdint>

namespace narthex {

struct Half {
  std::uint16_t bits = 0;
  Half() = default;
  explicit Half(float value);
  explicit operator float() const;
};

struct BFloat16 {
  std::uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float value) {
    const auto u = std::bit_cast<std::uint32_t>(value);
    if ((u & 0x7FFFFFFF) > 0x7F800000) {
      bits = static_cast<std::uint16_t>((u >> 16) | 0x40);  // a quiet NaN, whatever its payload
    } else {
      bits = static_cast<std::uint16_t>((u + 0x7FFF + ((u >> 16) & 1)) >> 16);
    }
  }
  explicit operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
};

}  // namespace narthex
