// What the operator families share: axes, integer inputs, element types, broadcasting. Obvious rather than fast.
//
//   dispatch<Types...>(dtype, f)   calls f.template operator()<T>() for the element type, or fails naming the type
//
// Covered by the tests of the families that use it.
#pragma once

#include <array>
#include <type_traits>

#include "ops/ops.h"

namespace narthex {

// axis in [-rank, rank) to [0, rank); "axis 5 is out of range for rank 4".
Result<std::int64_t> normalize_axis(std::int64_t axis, std::int64_t rank);
// All axes normalised, sorted, without duplicates (a duplicate is an error).
Result<std::vector<std::int64_t>> normalize_axes(std::vector<std::int64_t> axes, std::int64_t rank);
// Elements of an int32 or int64 tensor; `what` names the input in the error.
Result<std::vector<std::int64_t>> ints_of(const Tensor& tensor, std::string_view what);
// The one element of a tensor of any numeric type, as double.
Result<double> scalar_of(const Tensor& tensor, std::string_view what);

// numpy broadcasting. For Shapes an undecidable pair gives an unknown Dim.
Result<Dims> broadcast_dims(const Dims& a, const Dims& b);
Shape broadcast_shapes(const Shape& a, const Shape& b);
// Element strides of `dims` seen as an array of `out_dims`: 0 along broadcast dimensions.
std::vector<std::int64_t> broadcast_strides(const Dims& dims, const Dims& out_dims);
std::vector<std::int64_t> contiguous_strides(const Dims& dims);

// Walks all positions of `dims` in row-major order, keeping one offset per stride set.
template <std::size_t N>
class StridedWalk {
 public:
  StridedWalk(const Dims& dims, std::array<std::vector<std::int64_t>, N> strides)
      : dims_(dims), strides_(std::move(strides)), position_(dims.size(), 0) {}
  std::int64_t offset(std::size_t i) const { return offsets_[i]; }
  const Dims& position() const { return position_; }
  void next() {
    for (std::size_t d = dims_.size(); d-- > 0;) {
      for (std::size_t i = 0; i < N; ++i) offsets_[i] += strides_[i][d];
      if (++position_[d] < dims_[d]) return;
      for (std::size_t i = 0; i < N; ++i) offsets_[i] -= strides_[i][d] * dims_[d];
      position_[d] = 0;
    }
  }

 private:
  const Dims& dims_;
  std::array<std::vector<std::int64_t>, N> strides_;
  std::array<std::int64_t, N> offsets_{};
  Dims position_;
};

template <class... Types, class F>
Result<void> dispatch(DType dtype, F&& f) {
  Result<void> result = fail(ErrorCode::kUnsupported, "does not support elements of type {}", dtype_name(dtype));
  const bool found = ((dtype == dtype_of<Types>() && (result = f.template operator()<Types>(), true)) || ...);
  static_cast<void>(found);
  return result;
}
// float16 and bfloat16 are computed in float32 and rounded once.
template <class F>
Result<void> dispatch_float(DType dtype, F&& f) {
  return dispatch<float, double, Half, BFloat16>(dtype, std::forward<F>(f));
}
template <class F>
Result<void> dispatch_integer(DType dtype, F&& f) {
  return dispatch<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t, std::uint32_t, std::int64_t,
                  std::uint64_t>(dtype, std::forward<F>(f));
}
template <class F>
Result<void> dispatch_numeric(DType dtype, F&& f) {
  return dispatch<float, std::int64_t, std::int32_t, double, Half, BFloat16, std::int8_t, std::uint8_t, std::int16_t,
                  std::uint16_t, std::uint32_t, std::uint64_t>(dtype, std::forward<F>(f));
}
template <class T>
inline constexpr bool kIsSmallFloat = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
// The type that arithmetic on T is done in.
template <class T>
using Compute = std::conditional_t<kIsSmallFloat<T>, float, T>;

// Ready-made `infer` functions.
Result<void> infer_like_first(InferContext& context);      // output 0: type and shape of input 0
Result<void> infer_broadcast(InferContext& context);       // all inputs broadcast together, type of input 0
Result<void> infer_broadcast_bool(InferContext& context);  // the same, bool
// Opset < 13/18 spelled as today: moves an integer-list attribute to a constant int64 input at `position`.
Result<void> attribute_to_input(const Node& node, Rewriter& rewriter, std::string_view attribute, std::size_t position);

}  // namespace narthex
