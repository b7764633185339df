// What the tests of rows share: buffers in every format with a margin that must stay, and encoding as args.h defines
// it, one value at a time.
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

#include "base/half.h"
#include "kernels/formats.h"
#include "kernels/testing.h"

namespace narthex {

inline constexpr float kInf = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
inline constexpr RowFormat kFormats[] = {RowFormat::kF32, RowFormat::kBf16, RowFormat::kU8};

inline float from_bf16(std::uint16_t bits) {
  BFloat16 x;
  x.bits = bits;
  return static_cast<float>(x);
}
inline std::uint16_t to_bf16(float x) {  // as kernels have it: one NaN for all
  return std::isnan(x) ? std::uint16_t{0x7FC0} : BFloat16(x).bits;
}
inline std::uint32_t word_of(float x) {
  return std::isnan(x) ? 0x7FC00000U : std::bit_cast<std::uint32_t>(x);
}

// Encoded rows, each followed by a margin of 3 elements. words() is all of it, margins included, for comparison.
class RowBuffer {
 public:
  RowBuffer(RowFormat format, std::size_t rows, std::size_t cols)
      : format_(format),
        rows_(rows),
        cols_(cols),
        ld_(padded_depth(format, cols) + 3),
        bytes_(rows * ld_ * element_bytes(format), 0xA5),
        scale_(rows, 77.0F),
        zero_(rows, 77) {}
  EncodedRows args(const float* factor = nullptr) {
    return {format_, bytes_.data(), ld_, scale_.data(), zero_.data(), factor};
  }
  template <class T>
  T get(std::size_t row, std::size_t col) const {
    T x;
    std::memcpy(&x, bytes_.data() + (row * ld_ + col) * sizeof x, sizeof x);
    return x;
  }
  template <class T>
  void set(std::size_t row, std::size_t col, T x) {
    std::memcpy(bytes_.data() + (row * ld_ + col) * sizeof x, &x, sizeof x);
  }
  float scale(std::size_t row) const { return scale_[row]; }
  std::int32_t zero(std::size_t row) const { return zero_[row]; }

  // The value that a place stands for.
  float value(std::size_t row, std::size_t col) const {
    if (format_ == RowFormat::kF32) return get<float>(row, col);
    if (format_ == RowFormat::kBf16) return from_bf16(get<std::uint16_t>(row, col));
    return scale_[row] * static_cast<float>(get<std::uint8_t>(row, col) - zero_[row]);
  }
  std::vector<std::uint32_t> words(std::size_t first, std::size_t n) const {
    std::vector<std::uint32_t> out;
    for (std::size_t r = first; r < first + n; r++) {
      for (std::size_t i = 0; i < ld_; i++) {
        if (format_ == RowFormat::kF32) out.push_back(word_of(get<float>(r, i)));
        if (format_ == RowFormat::kBf16) out.push_back(get<std::uint16_t>(r, i));
        if (format_ == RowFormat::kU8) out.push_back(get<std::uint8_t>(r, i));
      }
      out.push_back(word_of(scale_[r]));
      out.push_back(static_cast<std::uint32_t>(zero_[r]));
    }
    return out;
  }
  std::vector<std::uint32_t> words() const { return words(0, rows_); }

  // Row `row` becomes the encoding of x · factor. A row that holds a NaN or an infinity has a scale of NaN and zeros.
  void encode(std::size_t row, const float* x, const float* factor) {
    std::vector<float> v(x, x + cols_);
    if (factor != nullptr)
      for (std::size_t i = 0; i < cols_; i++) v[i] *= factor[i];
    const std::size_t padded = padded_depth(format_, cols_);
    if (format_ == RowFormat::kU8) return encode_u8(row, v, padded);
    for (std::size_t i = 0; i < padded; i++) {
      const float y = i < cols_ ? v[i] : 0.0F;
      if (format_ == RowFormat::kF32) {
        set(row, i, y);
      } else {
        set(row, i, to_bf16(y));
      }
    }
  }

 private:
  void encode_u8(std::size_t row, const std::vector<float>& v, std::size_t padded) {
    float low = 0.0F, high = 0.0F;
    bool finite = true;
    for (const float x : v) {
      low = std::min(low, x), high = std::max(high, x);
      finite = finite && std::isfinite(x);
    }
    for (std::size_t i = 0; i < padded; i++) set(row, i, std::uint8_t{0});
    scale_[row] = kNan;
    zero_[row] = 0;
    if (!finite) return;
    const float range = high - low;
    const bool zeros = !(range > 1e-30F);
    const float inverse = zeros ? 1.0F : 255.0F / range;
    scale_[row] = zeros ? 1.0F : range / 255.0F;
    zero_[row] = zeros ? 0 : static_cast<std::int32_t>(std::lrint(-low * inverse));
    for (std::size_t i = 0; i < v.size(); i++) {
      const long u = std::lrint(v[i] * inverse) + zero_[row];
      set(row, i, static_cast<std::uint8_t>(std::clamp(u, 0L, 255L)));
    }
  }

  RowFormat format_;
  std::size_t rows_, cols_, ld_;
  std::vector<std::uint8_t> bytes_;
  std::vector<float> scale_;
  std::vector<std::int32_t> zero_;
};

// Rows of one kind each, of which some are hard: the kinds repeat.
inline std::vector<float> varied_rows(std::size_t rows, std::size_t cols, std::uint32_t seed) {
  std::vector<float> x = random_floats(rows * cols, seed, -3, 5);
  for (std::size_t r = 0; r < rows; r++) {
    float* row = x.data() + r * cols;
    const auto scale = [&](float by, float plus) {
      for (std::size_t i = 0; i < cols; i++) row[i] = row[i] * by + plus;
    };
    switch (r % 10) {
      case 1:
        std::fill_n(row, cols, 0.0F);
        break;
      case 2:
        std::fill_n(row, cols, -2.5F);
        break;
      case 3:
        row[cols / 2] = kNan;
        break;
      case 4:
        row[cols - 1] = -kInf;
        break;
      case 5:
        scale(1e-40F, 0.0F);
        break;
      case 6:
        scale(1e37F, 0.0F);
        break;
      case 7:
        scale(1.0F, 9.0F);
        break;
      case 8:
        scale(1.0F, -9.0F);
        break;
      case 9:
        row[0] = 1000.0F;
        break;
      default:
        break;
    }
  }
  return x;
}

// lengths(), and those around the buffer on the stack that longer rows do not fit.
inline std::vector<std::size_t> row_lengths() {
  std::vector<std::size_t> out = lengths();
  for (const std::size_t n : {4095U, 4096U, 4097U, 9001U}) out.push_back(n);
  return out;
}
}  // namespace narthex
