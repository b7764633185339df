#include "plan/lower_weights.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <new>

#include "kernels/kernels.h"

namespace narthex {
namespace {

constexpr std::align_val_t kAlignment{64};

std::byte* new_constant(PackedPlan& plan, std::size_t bytes) {
  auto* memory = static_cast<std::byte*>(::operator new(std::max<std::size_t>(bytes, 64), kAlignment));
  plan.owners.emplace_back(memory, [](const void* p) { ::operator delete(const_cast<void*>(p), kAlignment); });
  return memory;
}

std::uint16_t to_bf16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if (std::isnan(x)) return static_cast<std::uint16_t>((bits >> 16) | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

}  // namespace

Constant constant_of(PackedPlan& plan, std::span<const float> values) {
  std::byte* memory = new_constant(plan, values.size_bytes());
  std::memcpy(memory, values.data(), values.size_bytes());
  return {memory, values.size_bytes()};
}

Constant bf16_constant(PackedPlan& plan, std::span<const float> values) {
  std::byte* memory = new_constant(plan, values.size() * 2);
  std::ranges::transform(values, reinterpret_cast<std::uint16_t*>(memory), to_bf16);
  return {memory, values.size() * 2};
}

float largest_in_row(std::span<const float> weight, std::size_t k, std::size_t row) {
  const std::size_t n = weight.size() / k;
  float largest = 0;
  for (const float w : weight.subspan(row * n, n)) largest = std::max(largest, std::abs(w));
  return largest;
}

void pack_linear(PackedPlan& plan, packed::Linear& linear, std::span<const float> weight,
                 std::span<const float> smoothing) {
  const std::size_t k = linear.k, n = linear.n, n_round = (n + kPanel - 1) / kPanel * kPanel;
  const RowFormat format = format_of(linear.precision);
  const std::size_t bytes = packed_bytes(format, k, n);
  std::byte* memory = new_constant(plan, bytes);
  linear.weights = {memory, bytes};
  switch (linear.precision) {
    case Precision::kFp32:
      kernels().pack_b_f32(k, n, weight.data(), n, false, reinterpret_cast<float*>(memory));
      return;
    case Precision::kBf16:
      kernels().pack_b_bf16({k, n, weight.data(), n, false, false, reinterpret_cast<std::uint16_t*>(memory)});
      return;
    case Precision::kInt8: {
      std::vector<float> smooth;
      if (!smoothing.empty()) {
        smooth.assign(weight.begin(), weight.end());
        for (std::size_t i = 0; i < k; ++i)
          for (std::size_t j = 0; j < n; ++j) smooth[i * n + j] *= smoothing[i];
      }
      std::byte* scale = new_constant(plan, n_round * 4);
      std::byte* colsum = new_constant(plan, n_round * 4);
      linear.scale = {scale, n_round * 4};
      linear.colsum = {colsum, n_round * 4};
      kernels().pack_b_int8({k, n, smoothing.empty() ? weight.data() : smooth.data(), n, false,
                             reinterpret_cast<std::int8_t*>(memory), reinterpret_cast<float*>(scale),
                             reinterpret_cast<std::int32_t*>(colsum)});
      return;
    }
  }
}

}  // namespace narthex
