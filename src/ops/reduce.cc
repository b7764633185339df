// Reductions over axes: Sum, Mean, Max, Min, Prod, L1, L2, SumSquare, LogSum, LogSumExp.
//
//   reduce_ops()   the rows of the family; ArgMax, ArgMin, cumulative sums and TopK are in reduce_index.cc
//
// Each output element folds its input elements with step() and is finished by finish(). An empty set gives the neutral
// element of the operation. Covered by tests/ops/reduce_test.cc and tests/conformance.
#include "ops/reduce.h"

#include <cmath>
#include <limits>

#include "ops/number.h"

namespace narthex {
namespace {

enum class ReduceOp { kSum, kMean, kMax, kMin, kProd, kL1, kL2, kSumSquare, kLogSum, kLogSumExp };

// The logarithms and the square root are taken in float64 also of integers.
template <class T, ReduceOp kOp>
using FoldType = std::conditional_t<kOp == ReduceOp::kLogSum || kOp == ReduceOp::kLogSumExp || kOp == ReduceOp::kL2,
                                    double, Accumulator<T>>;

template <class T, ReduceOp kOp>
FoldType<T, kOp> initial() {
  using F = FoldType<T, kOp>;
  if constexpr (kOp == ReduceOp::kProd) return F{1};
  if constexpr (kOp == ReduceOp::kMax || kOp == ReduceOp::kMin) {
    constexpr bool kLow = kOp == ReduceOp::kMax;
    if constexpr (std::is_integral_v<T>) {
      return F{kLow ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max()};
    } else {
      return kLow ? -std::numeric_limits<F>::infinity() : std::numeric_limits<F>::infinity();
    }
  }
  return F{0};
}

// `largest` is the maximum of the elements, for LogSumExp only.
template <ReduceOp kOp, class F>
F step(F total, F x, F largest) {
  using enum ReduceOp;
  if constexpr (kOp == kSum || kOp == kMean || kOp == kLogSum) return add_wrapping(total, x);
  if constexpr (kOp == kMax) return x > total || x != x ? x : total;  // a NaN stays
  if constexpr (kOp == kMin) return x < total || x != x ? x : total;
  if constexpr (kOp == kProd) return multiply_wrapping(total, x);
  if constexpr (kOp == kL1) return x < F{0} ? add_wrapping(total, multiply_wrapping(x, F(-1))) : add_wrapping(total, x);
  if constexpr (kOp == kL2 || kOp == kSumSquare) return add_wrapping(total, multiply_wrapping(x, x));
  if constexpr (kOp == kLogSumExp) return total + std::exp(x - largest);
}

template <class T>
T rounded(double value) {
  if constexpr (std::is_integral_v<T>) {
    return truncate<T>(value);
  } else {
    return static_cast<T>(static_cast<Compute<T>>(value));
  }
}

template <class T, ReduceOp kOp, class F>
T finish(F total, F largest, std::int64_t n) {
  using enum ReduceOp;
  if constexpr (kOp == kL2) return rounded<T>(std::sqrt(total));
  if constexpr (kOp == kLogSum) return rounded<T>(std::log(total));
  if constexpr (kOp == kLogSumExp) return rounded<T>(n == 0 ? -INFINITY : std::log(total) + largest);
  if constexpr (kOp == kMean) {
    if constexpr (std::is_integral_v<F>) {
      return static_cast<T>(n == 0 ? F{0} : static_cast<F>(total / static_cast<F>(n)));
    } else {
      return rounded<T>(total / static_cast<double>(n));
    }
  }
  if constexpr (std::is_integral_v<T>) return static_cast<T>(total);
  return rounded<T>(static_cast<double>(total));
}

struct Plan {
  Dims kept;                          // the output's dims, reduced ones being 1
  Dims out;                           // without these if keepdims is 0
  std::vector<std::int64_t> strides;  // of the output, along the input's dims
  std::int64_t n = 1;                 // elements per output element
};

Result<std::vector<std::int64_t>> reduced_axes(const Node& node, const std::vector<std::int64_t>* given,
                                               std::int64_t rank) {
  if (given != nullptr && !given->empty()) return normalize_axes(*given, rank);
  NX_TRY(const std::int64_t noop, node.int_attr("noop_with_empty_axes", 0));
  std::vector<std::int64_t> axes;
  for (std::int64_t a = 0; noop == 0 && a < rank; ++a) axes.push_back(a);
  return axes;
}

Result<Plan> plan_reduction(const Node& node, const EvalContext& c) {
  const Dims& dims = c.input(0).dims();
  std::vector<std::int64_t> given;
  if (c.has(1)) {
    NX_TRY(given, ints_of(c.input(1), "axes"));
  }
  NX_TRY(const std::vector<std::int64_t> axes, reduced_axes(node, &given, c.input(0).rank()));
  NX_TRY(const std::int64_t keepdims, node.int_attr("keepdims", 1));
  Plan plan;
  plan.kept = dims;
  for (const std::int64_t a : axes) plan.kept[static_cast<std::size_t>(a)] = 1;
  NX_TRY_VOID(checked_count(plan.kept));
  plan.strides = contiguous_strides(plan.kept);
  std::size_t next = 0;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    const bool reduced = next < axes.size() && axes[next] == static_cast<std::int64_t>(d);
    if (reduced) {
      ++next;
      plan.strides[d] = 0;
    }
    if (!reduced || keepdims != 0) plan.out.push_back(plan.kept[d]);
  }
  // Products of a valid tensor's dims; where one is 0 the others may be anything, but then so is this one's use.
  for (const std::int64_t a : axes) {
    if (__builtin_mul_overflow(plan.n, dims[static_cast<std::size_t>(a)], &plan.n)) plan.n = 0;
  }
  return plan;
}

// f(input element, place in the output) in the input's order.
template <class T, class F>
void for_each(const Tensor& x, const Plan& plan, F f) {
  StridedWalk<1> walk(x.dims(), {plan.strides});
  for (const T element : x.as<T>()) {
    f(element, static_cast<std::size_t>(walk.offset(0)));
    walk.next();
  }
}

template <ReduceOp kOp>
Result<void> eval_reduce(const Node& node, EvalContext& c) {
  const Tensor& x = c.input(0);
  NX_TRY(const Plan plan, plan_reduction(node, c));
  NX_TRY(Tensor * y, c.allocate(0, x.dtype(), plan.out));
  const auto reduce = [&]<class T>() -> Result<void> {
    using F = FoldType<T, kOp>;
    const auto widened = [](T v) { return static_cast<F>(widen(v)); };
    const auto count = static_cast<std::size_t>(y->count());
    std::vector<F> largest;
    if constexpr (kOp == ReduceOp::kLogSumExp) {
      largest.assign(count, -std::numeric_limits<F>::infinity());
      for_each<T>(x, plan, [&](T v, std::size_t i) { largest[i] = std::fmax(largest[i], widened(v)); });
      for (F& value : largest) {
        if (!std::isfinite(value)) value = 0;  // exp(inf − inf) would be a NaN
      }
    } else {
      largest.assign(1, F{0});
    }
    const auto largest_of = [&](std::size_t i) { return largest[kOp == ReduceOp::kLogSumExp ? i : 0]; };
    std::vector<F> totals(count, initial<T, kOp>());
    for_each<T>(x, plan, [&](T v, std::size_t i) { totals[i] = step<kOp, F>(totals[i], widened(v), largest_of(i)); });
    const std::span<T> out = y->as_mutable<T>();
    for (std::size_t i = 0; i < count; ++i) out[i] = finish<T, kOp>(totals[i], largest_of(i), plan.n);
    return {};
  };
  if constexpr (kOp == ReduceOp::kMax || kOp == ReduceOp::kMin) {
    if (x.dtype() == DType::kBool) return reduce.template operator()<bool>();
  }
  return dispatch_numeric(x.dtype(), reduce);
}

// The product, sum or extremum of a small vector whose elements are known expressions.
template <ReduceOp kOp>
void infer_content(InferContext& c, std::size_t n_axes) {
  if (c.dtype(0) != DType::kInt64 || n_axes != c.shape(0)->size()) return;
  const auto content = c.content(0);
  if (!content || content->empty()) return;
  Dim total = content->front();
  for (std::size_t i = 1; i < content->size(); ++i) {
    const Dim& x = (*content)[i];
    if constexpr (kOp == ReduceOp::kSum) total = total + x;
    if constexpr (kOp == ReduceOp::kProd) total = total * x;
    if constexpr (kOp == ReduceOp::kMax) total = Dim::max(total, x);
    if constexpr (kOp == ReduceOp::kMin) total = Dim::min(total, x);
  }
  c.set_content(0, {total});
}

std::optional<std::vector<std::int64_t>> known_axes(const InferContext& c) {
  const auto content = c.content(1);
  if (!content) return std::nullopt;
  std::vector<std::int64_t> axes;
  for (const Dim& axis : *content) {
    if (!axis.is_constant()) return std::nullopt;
    axes.push_back(*axis.constant());
  }
  return axes;
}

template <ReduceOp kOp>
Result<void> infer_reduce(InferContext& c) {
  const Shape* shape = c.shape(0);
  c.set(0, c.dtype(0), std::nullopt);
  if (shape == nullptr) return {};
  NX_TRY(const std::int64_t keepdims, c.node().int_attr("keepdims", 1));
  std::vector<std::int64_t> given;
  if (c.has(1)) {
    const auto known = known_axes(c);
    if (!known) {
      if (keepdims != 0) {  // which dims become 1 is not known, but their number is
        Shape unknown;
        for (std::size_t i = 0; i < shape->size(); ++i) unknown.push_back(Dim::unknown());
        c.set(0, c.dtype(0), std::move(unknown));
      }
      return {};
    }
    given = *known;
  }
  NX_TRY(const std::vector<std::int64_t> axes,
         reduced_axes(c.node(), &given, static_cast<std::int64_t>(shape->size())));
  Shape out;
  std::size_t next = 0;
  for (std::size_t d = 0; d < shape->size(); ++d) {
    const bool reduced = next < axes.size() && axes[next] == static_cast<std::int64_t>(d);
    next += reduced ? 1 : 0;
    if (!reduced) {
      out.push_back((*shape)[d]);
    } else if (keepdims != 0) {
      out.emplace_back(1);
    }
  }
  const std::size_t n_axes = axes.size();
  c.set(0, c.dtype(0), std::move(out));
  using enum ReduceOp;
  if constexpr (kOp == kSum || kOp == kProd || kOp == kMax || kOp == kMin) infer_content<kOp>(c, n_axes);
  return {};
}

// The axes were an attribute before version 13 (ReduceSum) or 18 (the others).
Result<void> normalise_axes(const Node& node, Rewriter& rewriter) {
  return attribute_to_input(node, rewriter, "axes", 1);
}

}  // namespace

AxisView view_around(const Dims& dims, std::int64_t axis) {
  AxisView view;
  view.n = dims[static_cast<std::size_t>(axis)];
  // An empty tensor is never walked, and the product of its other dims may be anything.
  const auto count = checked_count(dims);
  if (!count || *count == 0) return AxisView{0, view.n, 0};
  for (std::int64_t d = 0; d < static_cast<std::int64_t>(dims.size()); ++d) {
    if (d < axis) view.outer *= dims[static_cast<std::size_t>(d)];
    if (d > axis) view.inner *= dims[static_cast<std::size_t>(d)];
  }
  return view;
}

#define NX_REDUCE(name, input_since, op)                                                                 \
  {name, kOnnx, 1, 1, 1, 1, 1, normalise_axes, nullptr, nullptr}, {                                      \
    name, kOnnx, input_since, 1, 2, 1, 1, nullptr, infer_reduce<ReduceOp::op>, eval_reduce<ReduceOp::op> \
  }

std::span<const OpDef> reduce_ops() {
  static constexpr OpDef kOps[] = {
      // name  version in which the axes became an input
      NX_REDUCE("ReduceSum", 13, kSum),
      NX_REDUCE("ReduceMean", 18, kMean),
      NX_REDUCE("ReduceMax", 18, kMax),
      NX_REDUCE("ReduceMin", 18, kMin),
      NX_REDUCE("ReduceProd", 18, kProd),
      NX_REDUCE("ReduceL1", 18, kL1),
      NX_REDUCE("ReduceL2", 18, kL2),
      NX_REDUCE("ReduceSumSquare", 18, kSumSquare),
      NX_REDUCE("ReduceLogSum", 18, kLogSum),
      NX_REDUCE("ReduceLogSumExp", 18, kLogSumExp),
      // name domain since in  out  normalise infer  eval
      {"ArgMax", kOnnx, 1, 1, 1, 1, 1, nullptr, infer_arg, eval_arg_max},
      {"ArgMin", kOnnx, 1, 1, 1, 1, 1, nullptr, infer_arg, eval_arg_min},
      {"CumSum", kOnnx, 11, 2, 2, 1, 1, nullptr, infer_like_first, eval_cum_sum},
      {"CumProd", kOnnx, 26, 2, 2, 1, 1, nullptr, infer_like_first, eval_cum_prod},
      {"TopK", kOnnx, 1, 1, 1, 2, 2, normalise_top_k, nullptr, nullptr},
      {"TopK", kOnnx, 10, 2, 2, 1, 2, nullptr, infer_top_k, eval_top_k},
  };
  return kOps;
}

#undef NX_REDUCE

}  // namespace narthex
