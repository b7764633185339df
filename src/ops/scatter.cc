// Scatter, ScatterElements, ScatterND: a copy of the data with elements replaced, or combined by `reduction`.
//
// Updates apply one after another, so that of two to one place the last stays, or both combine. Covered by
// tests/ops/index_test.cc.
#include <algorithm>
#include <cmath>

#include "ops/movement.h"

namespace narthex {
namespace {

// Combines element `from` of the updates into element `to` of the output.
class Combiner {
 public:
  static Result<Combiner> make(const Node& node, const Tensor& updates, Tensor& out) {
    NX_TRY(std::string reduction, node.string_attr("reduction", "none"));
    constexpr std::string_view kKnown[] = {"none", "add", "mul", "max", "min"};
    if (std::ranges::find(kKnown, reduction) == std::end(kKnown)) {
      return fail(ErrorCode::kBadModel, "reduction '{}' is not known", reduction);
    }
    if (updates.dtype() != out.dtype()) {
      return fail(ErrorCode::kBadModel, "updates are {}, data are {}", dtype_name(updates.dtype()),
                  dtype_name(out.dtype()));
    }
    return Combiner(std::move(reduction), updates, out);
  }

  Result<void> operator()(std::int64_t to, std::int64_t from, std::int64_t n) const {
    if (reduction_ == "none") {
      Copier(updates_, out_)(to, from, n);
      return {};
    }
    if (out_.dtype() == DType::kBool) {
      const auto x = out_.as_mutable<bool>();
      const auto y = updates_.as<bool>();
      for (std::int64_t i = 0; i < n; ++i) {
        bool& target = x[static_cast<std::size_t>(to + i)];
        const bool update = y[static_cast<std::size_t>(from + i)];
        target = reduction_ == "add" || reduction_ == "max" ? target || update : target && update;
      }
      return {};
    }
    return dispatch_numeric(out_.dtype(), [&]<class T>() -> Result<void> {
      const auto x = out_.as_mutable<T>();
      const auto y = updates_.as<T>();
      for (std::int64_t i = 0; i < n; ++i) {
        T& target = x[static_cast<std::size_t>(to + i)];
        target = static_cast<T>(
            combine(static_cast<Compute<T>>(target), static_cast<Compute<T>>(y[static_cast<std::size_t>(from + i)])));
      }
      return {};
    });
  }

 private:
  Combiner(std::string reduction, const Tensor& updates, Tensor& out)
      : reduction_(std::move(reduction)), updates_(updates), out_(out) {}

  template <class C>
  C combine(C a, C b) const {
    if constexpr (std::is_integral_v<C>) {  // wraps around, as numpy does
      const auto x = static_cast<std::uint64_t>(a);
      const auto y = static_cast<std::uint64_t>(b);
      if (reduction_ == "add") return static_cast<C>(x + y);
      if (reduction_ == "mul") return static_cast<C>(x * y);
    } else {
      if (std::isnan(a) || std::isnan(b)) return a + b;
      if (reduction_ == "add") return a + b;
      if (reduction_ == "mul") return a * b;
    }
    return reduction_ == "max" ? std::max(a, b) : std::min(a, b);
  }

  std::string reduction_;
  const Tensor& updates_;
  Tensor& out_;
};

Result<Tensor*> copy_of_data(EvalContext& c) {
  NX_TRY(Tensor * out, c.allocate(0, c.input(0).dtype(), c.input(0).dims()));
  Copier(c.input(0), *out)(0, 0, out->count());
  return out;
}

Result<void> eval_scatter_elements(const Node& node, EvalContext& c) {
  const Dims& data = c.input(0).dims();
  const Tensor& updates = c.input(2);
  NX_TRY(std::int64_t axis, node.int_attr("axis", 0));
  NX_TRY(axis, normalize_axis(axis, c.input(0).rank()));
  NX_TRY(const auto indices, ints_of(c.input(1), "the indices"));
  bool fits = c.input(1).dims() == updates.dims() && updates.dims().size() == data.size();
  for (std::size_t i = 0; fits && i < data.size(); ++i) {
    fits = static_cast<std::int64_t>(i) == axis || updates.dims()[i] <= data[i];
  }
  if (!fits) {
    return fail(ErrorCode::kBadModel, "indices of shape {} and updates of shape {} do not fit data of shape {}",
                dims_string(c.input(1).dims()), dims_string(updates.dims()), dims_string(data));
  }
  NX_TRY(Tensor * out, copy_of_data(c));
  NX_TRY(const Combiner combine, Combiner::make(node, updates, *out));
  if (updates.count() == 0) return {};
  if (out->count() == 0) return fail(ErrorCode::kBadModel, "indices point into a tensor without elements");
  const auto a = static_cast<std::size_t>(axis);
  std::vector<std::int64_t> strides = contiguous_strides(data);
  const std::int64_t axis_stride = std::exchange(strides[a], 0);
  StridedWalk<1> walk(updates.dims(), {strides});
  for (std::int64_t i = 0; i < updates.count(); ++i, walk.next()) {
    NX_TRY(const std::int64_t index, checked_index(indices[static_cast<std::size_t>(i)], data[a]));
    NX_TRY_VOID(combine(walk.offset(0) + index * axis_stride, i, 1));
  }
  return {};
}

Result<void> eval_scatter_nd(const Node& node, EvalContext& c) {
  const Dims& data = c.input(0).dims();
  const Dims& index_dims = c.input(1).dims();
  const Tensor& updates = c.input(2);
  NX_TRY(const auto indices, ints_of(c.input(1), "the indices"));
  const auto rank = static_cast<std::int64_t>(data.size());
  const bool has_tuples = !index_dims.empty() && index_dims.back() <= rank;
  const auto tuple = has_tuples ? static_cast<std::size_t>(index_dims.back()) : 0;
  Dims expected;
  if (has_tuples) {
    expected.assign(index_dims.begin(), index_dims.end() - 1);
    expected.insert(expected.end(), data.begin() + static_cast<std::ptrdiff_t>(tuple), data.end());
  }
  if (!has_tuples || expected != updates.dims()) {
    return fail(ErrorCode::kBadModel, "indices of shape {} and updates of shape {} do not fit data of shape {}",
                dims_string(index_dims), dims_string(updates.dims()), dims_string(data));
  }
  NX_TRY(Tensor * out, copy_of_data(c));
  NX_TRY(const Combiner combine, Combiner::make(node, updates, *out));
  if (updates.count() == 0) return {};
  if (out->count() == 0) return fail(ErrorCode::kBadModel, "indices point into a tensor without elements");
  const std::vector<std::int64_t> strides = contiguous_strides(data);
  const std::int64_t inner = tuple == 0 ? out->count() : strides[tuple - 1];
  for (std::int64_t t = 0; t < updates.count() / inner; ++t) {
    std::int64_t to = 0;
    for (std::size_t k = 0; k < tuple; ++k) {
      NX_TRY(const std::int64_t index, checked_index(indices[static_cast<std::size_t>(t) * tuple + k], data[k]));
      to += index * strides[k];
    }
    NX_TRY_VOID(combine(to, t * inner, inner));
  }
  return {};
}

template <EvalFn eval>
Result<void> infer_scatter(InferContext& c) {
  NX_TRY_VOID(infer_like_first(c));
  NX_TRY(const std::string reduction, c.node().string_attr("reduction", "none"));
  if (reduction == "none") infer_moved_content(c, eval, {0, 2});
  return {};
}

// The name that ScatterElements had until opset 10.
Result<void> rename_scatter(const Node& node, Rewriter& rewriter) {
  rewriter.emit_many("ScatterElements", node.inputs, node.attributes, node.outputs);
  return {};
}

constexpr OpDef kScatterOps[] = {
    {"Scatter", kOnnx, 9, 3, 3, 1, 1, rename_scatter, nullptr, nullptr},
    {"ScatterElements", kOnnx, 11, 3, 3, 1, 1, nullptr, infer_scatter<eval_scatter_elements>, eval_scatter_elements},
    {"ScatterND", kOnnx, 11, 3, 3, 1, 1, nullptr, infer_scatter<eval_scatter_nd>, eval_scatter_nd},
};

}  // namespace

std::span<const OpDef> scatter_ops() {
  return kScatterOps;
}

}  // namespace narthex
