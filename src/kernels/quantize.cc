#include "kernels/quantize.h"

#include <algorithm>
#include <cmath>

#include "kernels/kernels.h"

namespace narthex {

ScaleAndZero dynamic_quantize_linear_u8(std::size_t n, const float* x, std::uint8_t* y) {
  float range[2] = {0.0F, 0.0F};
  if (n > 0) kernels().min_max(n, x, range);
  // A NaN in x makes both NaN, and these comparisons then give 0: scale 1, and quantize_u8 maps the NaN to 0.
  const float low = range[0] < 0.0F ? range[0] : 0.0F;
  const float high = range[1] > 0.0F ? range[1] : 0.0F;
  const float scale = low == high ? 1.0F : (high - low) / 255.0F;
  const float zero = std::nearbyint(std::clamp(0.0F - low / scale, 0.0F, 255.0F));
  // low / scale can be NaN only for infinite x, which no scale can represent.
  const auto zero_u8 = static_cast<std::uint8_t>(zero == zero ? zero : 0.0F);
  kernels().quantize_u8(n, x, scale, zero_u8, y);
  return {scale, zero_u8};
}

}  // namespace narthex
