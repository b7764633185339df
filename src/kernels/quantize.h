// ONNX DynamicQuantizeLinear-11: one scale and zero point for a whole tensor, chosen from its range.
//
// Bit-exact with the operator's float32 definition as ONNX Runtime evaluates it: the range always includes 0, and a
// tensor of zeros gets scale 1. Covered by tests/kernels/quantize_test.cc.
#pragma once

#include <cstddef>
#include <cstdint>

namespace narthex {

struct ScaleAndZero {
  float scale;
  std::uint8_t zero;
};
// y[i] = saturate(round_half_even(x[i] / scale) + zero). n may be 0.
ScaleAndZero dynamic_quantize_linear_u8(std::size_t n, const float* x, std::uint8_t* y);

}  // namespace narthex
