// What operators that only move elements share: copies by element size, strided reads, and contents of outputs.
//
//   Copier(from, to)(to_index, from_index, n)   n elements of any type, strings included
//   copy_strided(from, to, base, strides)       every element of `to`, in order, from a strided walk over `from`
//   infer_moved_content(context, eval, data)    output contents by running `eval` on the numbers of the elements
//
// Callers guarantee that indices are inside. Covered by tests/ops/shape_test.cc and index_test.cc.
#pragma once

#include <cstring>
#include <initializer_list>

#include "ops/ops.h"
#include "ops/util.h"

namespace narthex {

class Copier {
 public:
  // Both of one type; `to` just allocated.
  Copier(const Tensor& from, Tensor& to) : from_(from), to_(to), size_(dtype_size(from.dtype())) {
    NX_CHECK(from.dtype() == to.dtype(), "Copier between two types");
  }
  void operator()(std::int64_t to, std::int64_t from, std::int64_t n = 1) const {
    if (n <= 0) return;
    if (from_.dtype() == DType::kString) {
      std::copy_n(from_.strings().begin() + from, n, to_.mutable_strings().begin() + to);
    } else {
      std::memcpy(to_.mutable_data() + static_cast<std::size_t>(to) * size_,
                  from_.data() + static_cast<std::size_t>(from) * size_, static_cast<std::size_t>(n) * size_);
    }
  }

 private:
  const Tensor& from_;
  Tensor& to_;
  std::size_t size_;
};

void copy_strided(const Tensor& from, Tensor& to, std::int64_t base, const std::vector<std::int64_t>& strides);

// Dimensions before, at and after `axis` multiplied. Only for tensors that have elements: then nothing overflows.
struct AxisSplit {
  std::int64_t outer = 1;
  std::int64_t axis = 1;
  std::int64_t inner = 1;
};
AxisSplit split_at(const Dims& dims, std::int64_t axis);

// An index in [−size, size) as one in [0, size).
Result<std::int64_t> checked_index(std::int64_t index, std::int64_t size);

// A shape of which only the rank is known.
Shape unknown_shape(std::size_t rank);
// The rank that a one-dimensional input of sizes (the target of Reshape, Expand, ...) gives; nullopt when not known.
std::optional<std::size_t> length_of(const InferContext& context, std::size_t input);
// The shape as plain numbers; nullopt when a dimension is not constant.
std::optional<Dims> constant_dims(const Shape* shape);
// The elements of an integer input when every one is a known number.
std::optional<std::vector<std::int64_t>> constant_content(const InferContext& context, std::size_t input);
// Of two dimensions that must be equal in every valid run, the one that says more.
Dim same_dim(const Dim& a, const Dim& b);

// Contents of small integer tensors are at most this long.
inline constexpr std::int64_t kMaxContent = 64;
// Output 0 is the bytes of input 0 under another shape.
void infer_same_content(InferContext& context);
// Runs `eval` with int64 tensors that number the elements of the inputs listed in `data` (all inputs, when empty); the
// other inputs must be known numbers. Sets shape and content of every output, or nothing when something is not known.
void infer_moved_content(InferContext& context, EvalFn eval, std::initializer_list<std::size_t> data);

}  // namespace narthex
