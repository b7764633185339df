// Sizes of rows and packed matrices per format. Apart from args.h because isa/*.cc must not see inline functions.
#pragma once

#include <cstddef>

#include "kernels/args.h"

namespace narthex {

// Elements of a row of k features in its format, padding included: what `k` means in LinearBf16 and LinearInt8.
constexpr std::size_t padded_depth(RowFormat format, std::size_t k) {
  const std::size_t step = format == RowFormat::kF32 ? 1 : format == RowFormat::kBf16 ? 32 : 64;
  return (k + step - 1) / step * step;
}
constexpr std::size_t element_bytes(RowFormat format) {
  return format == RowFormat::kF32 ? 4 : format == RowFormat::kBf16 ? 2 : 1;
}
// Bytes of a packed [k, n] matrix: whole panels of 16 columns over the padded depth.
constexpr std::size_t packed_bytes(RowFormat format, std::size_t k, std::size_t n) {
  return (n + kPanel - 1) / kPanel * kPanel * padded_depth(format, k) * element_bytes(format);
}

}  // namespace narthex
