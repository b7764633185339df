#include "graph/tensor.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace narthex {
namespace {

constexpr std::size_t kAlignment = 64;  // one cache line, and one zmm register

// Types that ONNX packs several to a byte.
int packed_bits(DType dtype) {
  const unsigned bits = onnx::dtype_bits(dtype);
  return bits > 0 && bits < 8 ? static_cast<int>(bits) : 0;
}

bool is_signed_packed(DType dtype) {
  return dtype == DType::kInt4 || dtype == DType::kInt2;
}

// `bits` of each element, 1 to 7.
void unpack(std::span<const std::byte> packed, int bits, bool is_signed, std::byte* out, std::int64_t count) {
  const int per_byte = 8 / bits;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto byte = static_cast<unsigned>(packed[static_cast<std::size_t>(i / per_byte)]);
    auto value = static_cast<int>((byte >> (bits * (i % per_byte))) & ((1u << bits) - 1));
    if (is_signed && value >= (1 << (bits - 1))) value -= 1 << bits;
    out[i] = static_cast<std::byte>(value);
  }
}

}  // namespace

std::size_t dtype_size(DType dtype) {
  if (packed_bits(dtype) > 0) return 1;
  return onnx::dtype_bits(dtype) / 8;
}

std::string dims_string(const Dims& dims) {
  return fmt::format("[{}]", fmt::join(dims, ","));
}

Result<std::int64_t> checked_count(const Dims& dims) {
  std::int64_t count = 1;
  bool empty = false;
  for (const std::int64_t d : dims) {
    if (d < 0) return fail(ErrorCode::kBadModel, "a dimension of {} is negative", dims_string(dims));
    empty = empty || d == 0;
  }
  if (empty) return 0;
  for (const std::int64_t d : dims) {
    if (__builtin_mul_overflow(count, d, &count) || count > (std::int64_t{1} << 62)) {
      return fail(ErrorCode::kLimit, "a tensor of shape {} is too large", dims_string(dims));
    }
  }
  return count;
}

Result<Tensor> Tensor::allocate(DType dtype, Dims dims, std::uint64_t max_bytes) {
  NX_TRY(const std::int64_t count, checked_count(dims));
  const bool is_string = dtype == DType::kString;
  const std::uint64_t size = is_string ? sizeof(std::string) : dtype_size(dtype);
  if (size == 0) return fail(ErrorCode::kUnsupported, "tensors of type {} are not supported", dtype_name(dtype));
  if (static_cast<std::uint64_t>(count) > max_bytes / size) {
    return fail(ErrorCode::kLimit, "a {} tensor of shape {} exceeds the limit of {} bytes", dtype_name(dtype),
                dims_string(dims), max_bytes);
  }
  Tensor tensor;
  tensor.dtype_ = dtype;
  tensor.dims_ = std::move(dims);
  tensor.count_ = count;
  if (is_string) {
    tensor.strings_ = std::make_shared<std::vector<std::string>>(static_cast<std::size_t>(count));
    return tensor;
  }
  const std::size_t bytes = (static_cast<std::size_t>(count) * size + kAlignment) / kAlignment * kAlignment;
  void* memory = std::aligned_alloc(kAlignment, bytes);
  if (memory == nullptr) return fail(ErrorCode::kLimit, "no memory for a tensor of {} bytes", bytes);
  tensor.owner_ = std::shared_ptr<void>(memory, std::free);
  tensor.data_ = static_cast<const std::byte*>(memory);
  return tensor;
}

Tensor Tensor::view(DType dtype, Dims dims, std::span<const std::byte> bytes, std::shared_ptr<const void> owner) {
  Tensor tensor;
  tensor.dtype_ = dtype;
  const auto count = checked_count(dims);
  NX_CHECK(count && static_cast<std::size_t>(*count) * dtype_size(dtype) == bytes.size(),
           "Tensor::view with a wrong size");
  tensor.count_ = *count;
  tensor.dims_ = std::move(dims);
  tensor.data_ = bytes.data();
  tensor.owner_ = std::move(owner);
  tensor.external_ = true;
  return tensor;
}

Result<Tensor> Tensor::from_onnx(const onnx::Tensor& source) {
  const std::size_t size = dtype_size(source.dtype);
  const bool aligned = size > 0 && reinterpret_cast<std::uintptr_t>(source.data.data()) % size == 0;
  // The compiler may read a bool as one bit or as eight, so files with other true values than 1 are copied.
  const bool odd_bools =
      source.dtype == DType::kBool && std::ranges::any_of(source.data, [](std::byte b) { return b > std::byte{1}; });
  if (aligned && !odd_bools && source.owner != nullptr && packed_bits(source.dtype) == 0) {
    return view(source.dtype, source.dims, source.data, source.owner);
  }
  NX_TRY(Tensor tensor, allocate(source.dtype, source.dims));
  if (source.dtype == DType::kString) {
    *tensor.strings_ = source.strings;
  } else if (const int bits = packed_bits(source.dtype); bits > 0) {
    unpack(source.data, bits, is_signed_packed(source.dtype), tensor.mutable_data(), tensor.count_);
  } else if (odd_bools) {
    std::ranges::transform(source.data, tensor.mutable_data(),
                           [](std::byte b) { return b != std::byte{0} ? std::byte{1} : std::byte{0}; });
  } else if (!source.data.empty()) {
    std::memcpy(tensor.mutable_data(), source.data.data(), source.data.size());
  }
  return tensor;
}

Tensor Tensor::without_bytes() const {
  Tensor tensor;
  tensor.dtype_ = dtype_;
  tensor.dims_ = dims_;
  tensor.count_ = count_;
  return tensor;
}

Tensor Tensor::reshaped(Dims dims) const {
  const auto count = checked_count(dims);
  NX_CHECK(count && *count == count_, "Tensor::reshaped to another count");
  Tensor tensor = *this;
  tensor.dims_ = std::move(dims);
  return tensor;
}

}  // namespace narthex
