// NonZero, Compress, Trilu, ReverseSequence: elements chosen by values, masks or position.
//
// Covered by tests/ops/index_test.cc.
#include <algorithm>

#include "ops/movement.h"

namespace narthex {
namespace {

Result<void> eval_non_zero(const Node&, EvalContext& c) {
  const Tensor& x = c.input(0);
  std::vector<std::int64_t> found;  // row-major positions
  const auto collect = [&](auto elements, auto&& is_set) {
    for (std::size_t i = 0; i < elements.size(); ++i) {
      if (is_set(elements[i])) found.push_back(static_cast<std::int64_t>(i));
    }
  };
  if (x.dtype() == DType::kBool) {
    collect(x.as<bool>(), [](bool element) { return element; });
  } else {
    NX_TRY_VOID(dispatch_numeric(x.dtype(), [&]<class T>() -> Result<void> {
      collect(x.as<T>(), [](T element) { return static_cast<Compute<T>>(element) != static_cast<Compute<T>>(0); });
      return {};
    }));
  }
  const Dims dims = x.rank() == 0 ? Dims{1} : x.dims();  // a scalar counts as a vector of one
  const auto n = static_cast<std::int64_t>(found.size());
  NX_TRY(Tensor * out, c.allocate(0, DType::kInt64, {static_cast<std::int64_t>(dims.size()), n}));
  const auto elements = out->as_mutable<std::int64_t>();
  for (std::size_t i = 0; i < found.size(); ++i) {
    std::int64_t rest = found[i];
    for (std::size_t d = dims.size(); d-- > 0; rest /= dims[d]) elements[d * found.size() + i] = rest % dims[d];
  }
  return {};
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
  const auto condition = c.input(1).as<bool>();
  Dims dims = x.dims();
  std::int64_t& size = dims[static_cast<std::size_t>(axis)];
  std::vector<std::int64_t> chosen;
  for (std::int64_t i = 0; i < std::min(size, static_cast<std::int64_t>(condition.size())); ++i) {
    if (condition[static_cast<std::size_t>(i)]) chosen.push_back(i);
  }
  size = static_cast<std::int64_t>(chosen.size());
  NX_TRY(Tensor * out, c.allocate(0, x.dtype(), std::move(dims)));
  if (out->count() == 0) return {};
  const AxisSplit split = split_at(x.dims(), axis);
  const Copier copy(x, *out);
  std::int64_t to = 0;
  for (std::int64_t o = 0; o < split.outer; ++o) {
    for (const std::int64_t i : chosen) {
      copy(to, (o * split.axis + i) * split.inner, split.inner);
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
  if (x.rank() < 2 || batch_axis + time_axis != 1 || batch_axis * time_axis != 0) {
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
    {"Trilu", kOnnx, 14, 1, 2, 1, 1, nullptr, infer_like_first, eval_trilu},
    {"ReverseSequence", kOnnx, 10, 2, 2, 1, 1, nullptr, infer_like_first, eval_reverse_sequence},
};

}  // namespace

std::span<const OpDef> select_ops() {
  return kSelectOps;
}

}  // namespace narthex
