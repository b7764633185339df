#include "plan/buffers.h"

#include <algorithm>
#include <cstdlib>
#include <functional>

namespace narthex {
namespace {

constexpr std::size_t kAlignment = 64;
// A buffer serves tensors down to a quarter of its size: smaller ones would keep it from those that need it.
constexpr std::size_t kMaxWaste = 4;

}  // namespace

Result<Tensor> BufferPool::allocate(DType dtype, Dims dims) {
  NX_TRY(const std::int64_t count, checked_count(dims));
  const std::size_t element = dtype_size(dtype);
  if (element == 0) return Tensor::allocate(dtype, std::move(dims), max_tensor_bytes_);
  if (static_cast<std::uint64_t>(count) > max_tensor_bytes_ / element) {
    return fail(ErrorCode::kLimit, "a {} tensor of shape {} exceeds the limit of {} bytes", dtype_name(dtype),
                dims_string(dims), max_tensor_bytes_);
  }
  const std::size_t bytes = static_cast<std::size_t>(count) * element;
  const std::size_t needed = (bytes + kAlignment) / kAlignment * kAlignment;
  Buffer* best = nullptr;
  for (Buffer& buffer : buffers_) {
    const bool fits = buffer.memory.use_count() == 1 && buffer.size >= needed && buffer.size / kMaxWaste <= needed;
    if (fits && (best == nullptr || buffer.size < best->size)) best = &buffer;
  }
  if (best == nullptr) {
    auto* memory = static_cast<std::byte*>(std::aligned_alloc(kAlignment, needed));
    if (memory == nullptr) return fail(ErrorCode::kLimit, "no memory for a tensor of {} bytes", needed);
    buffers_.push_back({std::shared_ptr<std::byte>(memory, std::free), needed, false});
    best = &buffers_.back();
  }
  best->used = true;
  return Tensor::view(dtype, std::move(dims), {best->memory.get(), bytes}, best->memory);
}

const BufferPool::Buffer* BufferPool::find(const Tensor& tensor) const {
  const std::less_equal<const std::byte*> at_or_before;
  for (const Buffer& buffer : buffers_) {
    const std::byte* begin = buffer.memory.get();
    if (at_or_before(begin, tensor.data()) && !at_or_before(begin + buffer.size, tensor.data())) return &buffer;
  }
  return nullptr;
}

bool BufferPool::is_sole_owner(const Tensor& tensor) const {
  if (tensor.is_unique()) return true;
  const Buffer* buffer = find(tensor);
  return buffer != nullptr && buffer->memory.use_count() == 2;  // the pool's and the tensor's
}

void BufferPool::trim() {
  std::erase_if(buffers_, [](const Buffer& buffer) { return !buffer.used && buffer.memory.use_count() == 1; });
  for (Buffer& buffer : buffers_) buffer.used = false;
}

std::size_t BufferPool::bytes() const {
  std::size_t total = 0;
  for (const Buffer& buffer : buffers_) total += buffer.size;
  return total;
}

}  // namespace narthex
