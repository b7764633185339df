// Tensor: a dense, row-major array with a type and dimensions. Constants, and values of the evaluator and the
// interpreter.
//
// Copying shares the bytes; a tensor whose bytes may be shared is never written (ask is_unique()). Initializers alias
// the mapped model file. 4-bit types hold one element a byte here, sign-extended; strings live in their own vector.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/half.h"
#include "base/result.h"
#include "onnx/model.h"

namespace narthex {

using onnx::DType;
using Dims = std::vector<std::int64_t>;

using onnx::dtype_name;
// Bytes of one element in a Tensor; 0 for strings and types without a fixed size.
std::size_t dtype_size(DType dtype);
std::string dims_string(const Dims& dims);

// Product of the dims, or an Error if one is negative or the product exceeds 2^62.
Result<std::int64_t> checked_count(const Dims& dims);

template <class T>
constexpr DType dtype_of();

class Tensor {
 public:
  Tensor() = default;

  // Uninitialised memory, 64-byte aligned. Fails over `max_bytes` or on negative dims.
  static constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 32;
  static Result<Tensor> allocate(DType dtype, Dims dims, std::uint64_t max_bytes = kMaxBytes);
  // Bytes owned by someone else, kept alive by `owner`.
  static Tensor view(DType dtype, Dims dims, std::span<const std::byte> bytes, std::shared_ptr<const void> owner);
  static Result<Tensor> from_onnx(const onnx::Tensor& source);
  template <class T>
  static Tensor scalar(T value) {
    return make<T>({}, {&value, 1});
  }
  // For small constants made by our own code; the count must match.
  template <class T>
  static Tensor make(Dims dims, std::span<const T> values);
  template <class T>
  static Tensor vector(const std::vector<T>& values) {
    return make<T>({static_cast<std::int64_t>(values.size())}, values);
  }

  DType dtype() const { return dtype_; }
  const Dims& dims() const { return dims_; }
  std::int64_t rank() const { return static_cast<std::int64_t>(dims_.size()); }
  std::int64_t count() const { return count_; }
  std::size_t bytes() const { return static_cast<std::size_t>(count_) * dtype_size(dtype_); }
  const std::byte* data() const { return data_; }
  // Only for tensors just allocated, or unique ones.
  std::byte* mutable_data() { return const_cast<std::byte*>(data_); }
  bool is_unique() const { return owner_.use_count() == 1 && !external_; }

  template <class T>
  std::span<const T> as() const {
    NX_CHECK(dtype_ == dtype_of<T>(), "Tensor::as with another element type");
    return {reinterpret_cast<const T*>(data_), static_cast<std::size_t>(count_)};
  }
  template <class T>
  std::span<T> as_mutable() {
    NX_CHECK(dtype_ == dtype_of<T>(), "Tensor::as_mutable with another element type");
    return {reinterpret_cast<T*>(mutable_data()), static_cast<std::size_t>(count_)};
  }
  const std::vector<std::string>& strings() const { return *strings_; }
  std::vector<std::string>& mutable_strings() { return *strings_; }

  // Type and dims without the bytes, for a constant that lives on in another form; its elements must not be read.
  Tensor without_bytes() const;
  // The same bytes under other dims of equal count.
  Tensor reshaped(Dims dims) const;

 private:
  DType dtype_ = DType::kUndefined;
  Dims dims_;
  std::int64_t count_ = 0;
  const std::byte* data_ = nullptr;
  std::shared_ptr<const void> owner_;
  std::shared_ptr<std::vector<std::string>> strings_;
  bool external_ = false;
};

template <>
constexpr DType dtype_of<float>() {
  return DType::kFloat32;
}
template <>
constexpr DType dtype_of<double>() {
  return DType::kFloat64;
}
template <>
constexpr DType dtype_of<Half>() {
  return DType::kFloat16;
}
template <>
constexpr DType dtype_of<BFloat16>() {
  return DType::kBFloat16;
}
template <>
constexpr DType dtype_of<std::int8_t>() {
  return DType::kInt8;
}
template <>
constexpr DType dtype_of<std::uint8_t>() {
  return DType::kUint8;
}
template <>
constexpr DType dtype_of<std::int16_t>() {
  return DType::kInt16;
}
template <>
constexpr DType dtype_of<std::uint16_t>() {
  return DType::kUint16;
}
template <>
constexpr DType dtype_of<std::int32_t>() {
  return DType::kInt32;
}
template <>
constexpr DType dtype_of<std::uint32_t>() {
  return DType::kUint32;
}
template <>
constexpr DType dtype_of<std::int64_t>() {
  return DType::kInt64;
}
template <>
constexpr DType dtype_of<std::uint64_t>() {
  return DType::kUint64;
}
template <>
constexpr DType dtype_of<bool>() {
  return DType::kBool;
}

template <class T>
Tensor Tensor::make(Dims dims, std::span<const T> values) {
  auto tensor = allocate(dtype_of<T>(), std::move(dims));
  NX_CHECK(tensor && tensor->count() == static_cast<std::int64_t>(values.size()), "Tensor::make with a wrong count");
  std::copy(values.begin(), values.end(), tensor->template as_mutable<T>().begin());
  return *std::move(tensor);
}

}  // namespace narthex
