// Memory for the intermediate tensors of one run, kept for the next.
//
//   BufferPool pool(max_bytes);  Tensor t = pool.allocate(dtype, dims);
//
// A buffer is free again when the last tensor that points into it is gone: views hold it like any other tensor, so
// lifetimes need no bookkeeping. Not for several threads at once. Covered by tests/plan/buffers_test.cc.
#pragma once

#include <memory>
#include <vector>

#include "graph/tensor.h"

namespace narthex {

class BufferPool {
 public:
  explicit BufferPool(std::uint64_t max_tensor_bytes) : max_tensor_bytes_(max_tensor_bytes) {}

  // Uninitialised, 64-byte aligned. Fails over the limit of one tensor.
  Result<Tensor> allocate(DType dtype, Dims dims);
  // Whether the tensor lives in this pool: it must not leave the run.
  bool owns(const Tensor& tensor) const { return find(tensor) != nullptr; }
  // Whether the tensor may be overwritten by who holds it: nobody else points into its memory.
  bool is_sole_owner(const Tensor& tensor) const;
  // Gives back what no tensor has used since the last call, so that one large batch does not stay for ever.
  void trim();

  std::size_t bytes() const;

 private:
  struct Buffer {
    std::shared_ptr<std::byte> memory;
    std::size_t size = 0;
    bool used = false;
  };
  const Buffer* find(const Tensor& tensor) const;
  std::vector<Buffer> buffers_;
  std::uint64_t max_tensor_bytes_;
};

}  // namespace narthex
