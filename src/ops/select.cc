// NonZero, Compress, Unique, Trilu, ReverseSequence: elements chosen by values, masks or position.
//
// Covered by tests/ops/index_test.cc.
#include <algorithm>
#include <numeric>

#include "ops/movement.h"

namespace narthex {
namespace {

// Calls f with the row-major position of every element that is not 0.
template <class F>
Result<void> for_each_non_zero(const Tensor& x, F&& f) {
  if (x.dtype() == DType::kBool) {
    for (std::int64_t i = 0; i < x.count(); ++i) {
      if (x.as<bool>()[static_cast<std::size_t>(i)]) f(i);
    }
    return {};
  }
  return dispatch_numeric(x.dtype(), [&]<class T>() -> Result<void> {
    const auto elements = x.as<T>();
    for (std::size_t i = 0; i < elements.size(); ++i) {
      if (static_cast<Compute<T>>(elements[i]) != static_cast<Compute<T>>(0)) f(static_cast<std::int64_t>(i));
    }
    return {};
  });
}

Result<void> eval_non_zero(const Node&, EvalContext& c) {
  const Tensor& x = c.input(0);
  std::int64_t count = 0;
  NX_TRY_VOID(for_each_non_zero(x, [&](std::int64_t) { ++count; }));
  const Dims dims = x.rank() == 0 ? Dims{1} : x.dims();  // a scalar counts as a vector of one
  NX_TRY(Tensor * out, c.allocate(0, DType::kInt64, {static_cast<std::int64_t>(dims.size()), count}));
  const auto elements = out->as_mutable<std::int64_t>();
  std::size_t column = 0;
  return for_each_non_zero(x, [&](std::int64_t position) {
    for (std::size_t d = dims.size(); d-- > 0; position /= dims[d]) {
      elements[d * static_cast<std::size_t>(count) + column] = position % dims[d];
    }
    ++column;
  });
}

Result<void> infer_non_zero(InferContext& c) {
  const Shape* from = c.shape(0);
  const Dim rank = from == nullptr ? Dim::unknown() : Dim(std::max<std::int64_t>(1, std::ssize(*from)));
  c.set(0, DType::kInt64, Shape{rank, Dim::unknown()});
  return {};
}

Result<void> eval_compress(const Node& node, EvalContext& c) {
  const bool flat = node.find("axis") == nullptr;
  const Tensor x = flat ? c.input(0).reshaped({c.input(0).count()}) : c.input(0);
  NX_TRY(std::int64_t axis, node.int_attr("axis", 0));
  NX_TRY(axis, normalize_axis(axis, x.rank()));
  if (c.input(1).dtype() != DType::kBool || c.input(1).rank() != 1) {
    return fail(ErrorCode::kBadModel, "the condition must be a vector of bool");
  }
  const std::int64_t size = x.dims()[static_cast<std::size_t>(axis)];
  const auto condition = c.input(1).as<bool>().first(static_cast<std::size_t>(std::min(size, c.input(1).count())));
  Dims dims = x.dims();
  dims[static_cast<std::size_t>(axis)] = std::ranges::count(condition, true);
  NX_TRY(Tensor * out, c.allocate(0, x.dtype(), std::move(dims)));
  if (out->count() == 0) return {};
  const AxisSplit split = split_at(x.dims(), axis);
  const Copier copy(x, *out);
  std::int64_t to = 0;
  for (std::int64_t o = 0; o < split.outer; ++o) {
    for (std::size_t i = 0; i < condition.size(); ++i) {
      if (!condition[i]) continue;
      copy(to, (o * split.axis + static_cast<std::int64_t>(i)) * split.inner, split.inner);
      to += split.inner;
    }
  }
  return {};
}

Result<void> infer_compress(InferContext& c) {
  c.set(0, c.dtype(0), std::nullopt);
  if (c.node().find("axis") == nullptr) {
    c.set(0, c.dtype(0), Shape{Dim::unknown()});
  } else if (const Shape* from = c.shape(0)) {
    NX_TRY(std::int64_t axis, c.node().int_attr("axis", 0));
    NX_TRY(axis, normalize_axis(axis, static_cast<std::int64_t>(from->size())));
    Shape shape = *from;
    shape[static_cast<std::size_t>(axis)] = Dim::unknown();
    c.set(0, c.dtype(0), std::move(shape));
  }
  return {};
}

// Orders the slices of x along one axis by their elements: -1, 0, 1. NaN is the greatest and equal to itself, so that
// the order is total.
template <class T>
class SliceOrder {
 public:
  SliceOrder(std::span<const T> elements, AxisSplit split) : elements_(elements), split_(split) {}
  int operator()(std::int64_t a, std::int64_t b) const {
    for (std::int64_t o = 0; o < split_.outer; ++o) {
      for (std::int64_t i = 0; i < split_.inner; ++i) {
        const auto at = [&](std::int64_t slice) -> const T& {
          return elements_[static_cast<std::size_t>((o * split_.axis + slice) * split_.inner + i)];
        };
        if (const int order = compare(at(a), at(b)); order != 0) return order;
      }
    }
    return 0;
  }

 private:
  static int compare(const T& a, const T& b) {
    if constexpr (kIsSmallFloat<T>) {
      return SliceOrder<float>::compare_values(static_cast<float>(a), static_cast<float>(b));
    } else {
      return compare_values(a, b);
    }
  }
  static int compare_values(const T& a, const T& b) {
    if (a < b) return -1;
    if (b < a) return 1;
    if (a == b) return 0;
    return (a != a ? 1 : 0) - (b != b ? 1 : 0);
  }
  template <class>
  friend class SliceOrder;

  std::span<const T> elements_;
  AxisSplit split_;
};

struct UniqueSlices {
  std::vector<std::int64_t> first;    // where each unique slice occurs first
  std::vector<std::int64_t> inverse;  // for every slice, which unique one it is
  std::vector<std::int64_t> counts;
};

template <class T>
UniqueSlices unique_slices(std::span<const T> elements, AxisSplit split, bool sorted) {
  const SliceOrder<T> order(elements, split);
  std::vector<std::int64_t> by_value(static_cast<std::size_t>(split.axis));
  std::iota(by_value.begin(), by_value.end(), std::int64_t{0});
  std::ranges::sort(by_value, [&](std::int64_t a, std::int64_t b) {
    const int by_elements = order(a, b);
    return by_elements != 0 ? by_elements < 0 : a < b;
  });
  std::vector<std::vector<std::int64_t>> groups;  // equal slices, in order of occurrence
  for (const std::int64_t slice : by_value) {
    if (groups.empty() || order(groups.back().front(), slice) != 0) groups.emplace_back();
    groups.back().push_back(slice);
  }
  if (!sorted) std::ranges::sort(groups, {}, [](const auto& group) { return group.front(); });
  UniqueSlices out;
  out.inverse.resize(by_value.size());
  for (const auto& group : groups) {
    for (const std::int64_t slice : group) out.inverse[static_cast<std::size_t>(slice)] = std::ssize(out.first);
    out.first.push_back(group.front());
    out.counts.push_back(std::ssize(group));
  }
  return out;
}

Result<UniqueSlices> find_unique(const Tensor& x, AxisSplit split, bool sorted) {
  UniqueSlices found;
  if (x.dtype() == DType::kString) return unique_slices<std::string>(x.strings(), split, sorted);
  if (x.dtype() == DType::kBool) return unique_slices<bool>(x.as<bool>(), split, sorted);
  NX_TRY_VOID(dispatch_numeric(x.dtype(), [&]<class T>() -> Result<void> {
    found = unique_slices<T>(x.as<T>(), split, sorted);
    return {};
  }));
  return found;
}

Result<void> eval_unique(const Node& node, EvalContext& c) {
  const bool flat = node.find("axis") == nullptr;
  const Tensor x = flat ? c.input(0).reshaped({c.input(0).count()}) : c.input(0);
  NX_TRY(std::int64_t axis, node.int_attr("axis", 0));
  NX_TRY(axis, normalize_axis(axis, x.rank()));
  NX_TRY(const std::int64_t sorted, node.int_attr("sorted", 1));
  UniqueSlices found;
  constexpr std::uint64_t kBytesPerSlice = 64;  // of the lists below
  if (static_cast<std::uint64_t>(x.count()) > c.max_bytes() / kBytesPerSlice) {
    return fail(ErrorCode::kLimit, "a tensor of shape {} is too large to sort", dims_string(x.dims()));
  }
  if (x.count() > 0) {
    NX_TRY(found, find_unique(x, split_at(x.dims(), axis), sorted != 0));
  } else if (x.dims()[static_cast<std::size_t>(axis)] > 0) {
    return fail(ErrorCode::kUnsupported, "slices without elements are not told apart: shape {}", dims_string(x.dims()));
  }
  Dims dims = x.dims();
  dims[static_cast<std::size_t>(axis)] = std::ssize(found.first);
  NX_TRY(Tensor * out, c.allocate(0, x.dtype(), std::move(dims)));
  if (out->count() > 0) {
    const AxisSplit split = split_at(x.dims(), axis);
    const Copier copy(x, *out);
    for (std::int64_t o = 0, to = 0; o < split.outer; ++o) {
      for (const std::int64_t slice : found.first) {
        copy(to, (o * split.axis + slice) * split.inner, split.inner);
        to += split.inner;
      }
    }
  }
  c.set(1, Tensor::vector(found.first));
  c.set(2, Tensor::vector(found.inverse));
  c.set(3, Tensor::vector(found.counts));
  return {};
}

Result<void> infer_unique(InferContext& c) {
  const Dim count = Dim::unknown();
  const Shape* from = c.shape(0);
  c.set(0, c.dtype(0), std::nullopt);
  c.set(1, DType::kInt64, Shape{count});
  c.set(2, DType::kInt64, Shape{Dim::unknown()});
  c.set(3, DType::kInt64, Shape{count});
  if (c.node().find("axis") == nullptr) {
    c.set(0, c.dtype(0), Shape{count});
  } else if (from != nullptr) {
    NX_TRY(std::int64_t axis, c.node().int_attr("axis", 0));
    NX_TRY(axis, normalize_axis(axis, static_cast<std::int64_t>(from->size())));
    Shape shape = *from;
    c.set(2, DType::kInt64, Shape{std::exchange(shape[static_cast<std::size_t>(axis)], count)});
    c.set(0, c.dtype(0), std::move(shape));
  }
  return {};
}

// Keeps the upper or lower triangle of every matrix, from the k-th diagonal on; the rest becomes 0.
Result<void> eval_trilu(const Node& node, EvalContext& c) {
  const Tensor& x = c.input(0);
  if (x.rank() < 2) return fail(ErrorCode::kBadModel, "needs matrices, but has rank {}", x.rank());
  if (x.dtype() == DType::kString) return fail(ErrorCode::kUnsupported, "does not support elements of type string");
  NX_TRY(const std::int64_t upper, node.int_attr("upper", 1));
  std::int64_t k = 0;
  if (c.has(1)) {
    NX_TRY(const auto values, ints_of(c.input(1), "k"));
    if (values.size() != 1) return fail(ErrorCode::kBadModel, "k must be one number");
    k = values[0];
  }
  NX_TRY(Tensor * out, c.allocate(0, x.dtype(), x.dims()));
  if (out->count() == 0) return {};
  std::memset(out->mutable_data(), 0, out->bytes());
  const Copier copy(x, *out);
  const std::int64_t n_columns = x.dims()[x.dims().size() - 1];
  const std::int64_t n_rows = x.dims()[x.dims().size() - 2];
  for (std::int64_t i = 0; i < x.count(); ++i) {
    const std::int64_t diagonal = i % n_columns - i / n_columns % n_rows;
    if (upper != 0 ? diagonal >= k : diagonal <= k) copy(i, i);
  }
  return {};
}

// Reverses the first sequence_lens[b] steps of every sequence b; the others stay.
Result<void> eval_reverse_sequence(const Node& node, EvalContext& c) {
  const Tensor& x = c.input(0);
  NX_TRY(const std::int64_t batch_axis, node.int_attr("batch_axis", 1));
  NX_TRY(const std::int64_t time_axis, node.int_attr("time_axis", 0));
  if (x.rank() < 2 || (batch_axis != 0 && batch_axis != 1) || time_axis != 1 - batch_axis) {
    return fail(ErrorCode::kBadModel, "batch axis {} and time axis {} of rank {} must be 0 and 1", batch_axis,
                time_axis, x.rank());
  }
  const std::int64_t n_batches = x.dims()[static_cast<std::size_t>(batch_axis)];
  const std::int64_t n_steps = x.dims()[static_cast<std::size_t>(time_axis)];
  NX_TRY(const auto lengths, ints_of(c.input(1), "the lengths"));
  if (static_cast<std::int64_t>(lengths.size()) != n_batches) {
    return fail(ErrorCode::kBadModel, "{} lengths are given for {} sequences", lengths.size(), n_batches);
  }
  NX_TRY(Tensor * out, c.allocate(0, x.dtype(), x.dims()));
  if (out->count() == 0) return {};
  const std::int64_t inner = split_at(x.dims(), 1).inner;
  const Copier copy(x, *out);
  for (std::int64_t b = 0; b < n_batches; ++b) {
    const std::int64_t length = lengths[static_cast<std::size_t>(b)];
    if (length < 0 || length > n_steps) {
      return fail(ErrorCode::kBadModel, "length {} is out of range for {} steps", length, n_steps);
    }
    const auto at = [&](std::int64_t t) { return (batch_axis == 0 ? b * n_steps + t : t * n_batches + b) * inner; };
    for (std::int64_t t = 0; t < n_steps; ++t) copy(at(t), at(t < length ? length - 1 - t : t), inner);
  }
  return {};
}

constexpr OpDef kSelectOps[] = {
    {"NonZero", kOnnx, 9, 1, 1, 1, 1, nullptr, infer_non_zero, eval_non_zero},
    {"Compress", kOnnx, 9, 2, 2, 1, 1, nullptr, infer_compress, eval_compress},
    {"Unique", kOnnx, 11, 1, 1, 1, 4, nullptr, infer_unique, eval_unique},
    {"Trilu", kOnnx, 14, 1, 2, 1, 1, nullptr, infer_like_first, eval_trilu},
    {"ReverseSequence", kOnnx, 10, 2, 2, 1, 1, nullptr, infer_like_first, eval_reverse_sequence},
};

}  // namespace

std::span<const OpDef> select_ops() {
  return kSelectOps;
}

}  // namespace narthex
