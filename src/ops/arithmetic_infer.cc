// Types and shapes of broadcast operators, and the contents of small integer tensors as expressions.
//
//   infer_elements(context, op), infer_where(context)
//
// These carry the Shape → Gather → Add → Concat chains of exporters. What is not decided for every size of the symbols
// is an unknown, never a guess. Covered by tests/ops/arithmetic_infer_test.cc.
#include <limits>

#include "ops/arithmetic.h"

namespace narthex {
namespace {

constexpr std::int64_t kMaxContent = 64;

// Constant dims of at most kMaxContent elements.
std::optional<Dims> small_dims(const Shape* shape) {
  if (shape == nullptr) return std::nullopt;
  Dims dims;
  std::int64_t count = 1;
  for (const Dim& d : *shape) {
    const auto n = d.constant();
    if (!n || *n < 0 || *n > kMaxContent || (count *= *n) > kMaxContent) return std::nullopt;
    dims.push_back(*n);
  }
  return dims;
}

struct Operand {
  Dims dims;
  std::vector<Dim> elements;
};

std::optional<Operand> operand(const InferContext& c, std::size_t i) {
  auto dims = small_dims(c.shape(i));
  auto elements = c.content(i);
  if (!dims || !elements) return std::nullopt;
  std::int64_t count = 1;
  for (const std::int64_t d : *dims) count *= d;
  if (static_cast<std::int64_t>(elements->size()) != count) return std::nullopt;
  return Operand{*std::move(dims), *std::move(elements)};
}

std::optional<bool> always(const Dim& a, const Dim& b) {
  return Dim::always_at_least(a, b);
}

// 1 or 0 where `a ≥ b` is decided.
Dim at_least(const Dim& a, const Dim& b) {
  if (always(a, b) == true) return Dim(1);
  if (always(b, a + Dim(1)) == true) return Dim(0);
  return Dim::unknown();
}

Dim equal(const Dim& a, const Dim& b) {
  if (a == b) return Dim(1);
  if (always(a, b + Dim(1)) == true || always(b, a + Dim(1)) == true) return Dim(0);
  return Dim::unknown();
}

// ONNX divides integers toward zero: the same as rounding down only where no operand is negative.
Dim divide(const Dim& a, const Dim& b) {
  const auto x = a.constant();
  const auto y = b.constant();
  if (x && y) {
    if (*y == 0 || (*y == -1 && *x == std::numeric_limits<std::int64_t>::min())) return Dim::unknown();
    return Dim(*x / *y);
  }
  if (always(b, Dim(1)) != true) return Dim::unknown();
  if (always(a, Dim(0)) == true) return Dim::floor_div(a, b);
  const Dim quotient = Dim::floor_div(a, b);
  return quotient * b == a ? quotient : Dim::unknown();  // no remainder, so no rounding
}

Dim modulo(const Dim& a, const Dim& b, bool truncates) {
  if (always(b, Dim(1)) != true) return Dim::unknown();
  // For a positive divisor, rounding down gives the remainder with the divisor's sign; truncation needs a ≥ 0 as well.
  if (truncates && always(a, Dim(0)) != true) return Dim::unknown();
  return a - Dim::floor_div(a, b) * b;
}

Dim logic(const Dim& a, const Dim& b, ElementOp op) {
  const auto x = a.constant();
  const auto y = b.constant();
  if (op == ElementOp::kAnd) {
    if (x == 0 || y == 0) return Dim(0);
    if (x == 1) return b;
    if (y == 1) return a;
  } else if (op == ElementOp::kOr) {
    if (x == 1 || y == 1) return Dim(1);
    if (x == 0) return b;
    if (y == 0) return a;
  } else if (x && y) {
    return Dim(static_cast<std::int64_t>(*x != *y));
  }
  return Dim::unknown();
}

bool is_comparison(ElementOp op) {
  return op >= ElementOp::kEqual;
}

Dim apply(ElementOp op, const Dim& a, const Dim& b, bool truncating_mod) {
  switch (op) {
    case ElementOp::kAdd:
      return a + b;
    case ElementOp::kSub:
      return a - b;
    case ElementOp::kMul:
      return a * b;
    case ElementOp::kDiv:
      return divide(a, b);
    case ElementOp::kMod:
      return modulo(a, b, truncating_mod);
    case ElementOp::kMin:
      return Dim::min(a, b);
    case ElementOp::kMax:
      return Dim::max(a, b);
    case ElementOp::kEqual:
      return equal(a, b);
    case ElementOp::kGreaterOrEqual:
      return at_least(a, b);
    case ElementOp::kLessOrEqual:
      return at_least(b, a);
    case ElementOp::kGreater:
      return at_least(a, b + Dim(1));
    case ElementOp::kLess:
      return at_least(b, a + Dim(1));
    case ElementOp::kAnd:
    case ElementOp::kOr:
    case ElementOp::kXor:
      return logic(a, b, op);
  }
  return Dim::unknown();
}

std::optional<Operand> combine(ElementOp op, const Operand& a, const Operand& b, bool truncating_mod) {
  const auto dims = broadcast_dims(a.dims, b.dims);
  if (!dims) return std::nullopt;
  std::int64_t count = 1;
  for (const std::int64_t d : *dims) {
    if ((count *= d) > kMaxContent) return std::nullopt;
  }
  Operand out{*dims, {}};
  StridedWalk<2> walk(out.dims, {broadcast_strides(a.dims, out.dims), broadcast_strides(b.dims, out.dims)});
  for (std::int64_t i = 0; i < count; ++i, walk.next()) {
    out.elements.push_back(apply(op, a.elements[static_cast<std::size_t>(walk.offset(0))],
                                 b.elements[static_cast<std::size_t>(walk.offset(1))], truncating_mod));
  }
  return out;
}

// Results of int32 arithmetic wrap where a Dim does not: such constants are not passed on. Expressions in symbols are,
// because symbols are sizes of tensors, and those that int32 cannot hold the exporter's graph could not either.
bool fits(const std::vector<Dim>& elements, DType dtype) {
  if (dtype != DType::kInt32) return dtype == DType::kInt64 || dtype == DType::kBool;
  for (const Dim& element : elements) {
    const auto value = element.constant();
    if (value &&
        (*value < std::numeric_limits<std::int32_t>::min() || *value > std::numeric_limits<std::int32_t>::max())) {
      return false;
    }
  }
  return true;
}

}  // namespace

Result<void> infer_elements(InferContext& c, ElementOp op) {
  NX_TRY_VOID(is_comparison(op) ? infer_broadcast_bool(c) : infer_broadcast(c));
  NX_TRY(const std::int64_t truncating_mod, c.node().int_attr("fmod", 0));
  std::optional<Operand> total = operand(c, 0);
  for (std::size_t i = 1; total && i < c.n_inputs(); ++i) {
    const std::optional<Operand> next = operand(c, i);
    total = next ? combine(op, *total, *next, truncating_mod != 0) : std::nullopt;
  }
  const DType dtype = is_comparison(op) ? DType::kBool : c.dtype(0);
  if (total && fits(total->elements, dtype)) c.set_content(0, std::move(total->elements));
  return {};
}

Result<void> infer_where(InferContext& c) {
  const Shape* shapes[] = {c.shape(0), c.shape(1), c.shape(2)};
  if (shapes[0] == nullptr || shapes[1] == nullptr || shapes[2] == nullptr) {
    c.set(0, c.dtype(1), std::nullopt);
    return {};
  }
  c.set(0, c.dtype(1), broadcast_shapes(broadcast_shapes(*shapes[0], *shapes[1]), *shapes[2]));
  const auto condition = operand(c, 0);
  const auto a = operand(c, 1);
  const auto b = operand(c, 2);
  if (!condition || !a || !b) return {};
  const auto values = broadcast_dims(a->dims, b->dims);
  if (!values) return {};
  const auto dims = broadcast_dims(condition->dims, *values);
  if (!dims) return {};
  std::int64_t count = 1;
  for (const std::int64_t d : *dims) {
    if ((count *= d) > kMaxContent) return {};
  }
  StridedWalk<3> walk(*dims, {broadcast_strides(condition->dims, *dims), broadcast_strides(a->dims, *dims),
                              broadcast_strides(b->dims, *dims)});
  std::vector<Dim> elements;
  for (std::int64_t i = 0; i < count; ++i, walk.next()) {
    const auto choice = condition->elements[static_cast<std::size_t>(walk.offset(0))].constant();
    const Dim& x = a->elements[static_cast<std::size_t>(walk.offset(1))];
    const Dim& y = b->elements[static_cast<std::size_t>(walk.offset(2))];
    elements.push_back(choice ? (*choice != 0 ? x : y) : x == y ? x : Dim::unknown());
  }
  c.set_content(0, std::move(elements));
  return {};
}

}  // namespace narthex
