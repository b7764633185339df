// What moves or renames elements: views, Transpose, Gather of whole rows, and Casts to and from float.
//
// Covered by tests/plan/fast_ops_test.cc.
#include <numeric>

#include "kernels/memory.h"
#include "ops/util.h"
#include "plan/fast_ops.h"

namespace narthex {
namespace {

bool always(const Graph&, const Node&) {
  return true;
}

Result<bool> run_identity(StepContext& c) {
  c.set(0, c.input(0));
  return true;
}

// Target dims of a Reshape: 0 copies a dimension (unless allowzero), one -1 takes what is left. nullopt: not a view.
std::optional<Dims> reshape_dims(const Tensor& x, std::span<const std::int64_t> target, bool allow_zero) {
  Dims dims(target.begin(), target.end());
  std::optional<std::size_t> open;
  std::int64_t known = 1;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == 0 && !allow_zero) {
      if (d >= x.dims().size()) return std::nullopt;
      dims[d] = x.dims()[d];
    }
    if (dims[d] == -1 && !open) {
      open = d;
    } else if (dims[d] <= 0 || __builtin_mul_overflow(known, dims[d], &known)) {
      return std::nullopt;
    }
  }
  if (open) {
    if (x.count() % known != 0) return std::nullopt;
    dims[*open] = x.count() / known;
  } else if (known != x.count()) {
    return std::nullopt;
  }
  return dims;
}

Result<bool> run_reshape(StepContext& c) {
  const Tensor& x = c.input(0);
  const Tensor& target = c.input(1);
  NX_TRY(const std::int64_t allow_zero, c.node().int_attr("allowzero", 0));
  if (x.count() == 0 || target.dtype() != DType::kInt64 || x.dtype() == DType::kString) return false;
  auto dims = reshape_dims(x, target.as<std::int64_t>(), allow_zero != 0);
  if (!dims) return false;
  c.set(0, x.reshaped(*std::move(dims)));
  return true;
}

bool has_axes(const Graph&, const Node& node) {
  return node.has_input(1);
}

// Squeeze and Unsqueeze: {sorted axes}, or nullopt when they are not valid for this rank; `eval` says why.
std::optional<std::vector<std::int64_t>> axes_of(const Tensor& axes, std::int64_t rank) {
  auto list = ints_of(axes, "axes");
  if (!list) return std::nullopt;
  auto sorted = normalize_axes(*std::move(list), rank);
  return sorted ? std::optional(*std::move(sorted)) : std::nullopt;
}

Result<bool> run_unsqueeze(StepContext& c) {
  const Tensor& x = c.input(0);
  const auto axes = axes_of(c.input(1), x.rank() + c.input(1).count());
  if (!axes) return false;
  Dims dims = x.dims();
  for (const std::int64_t axis : *axes) dims.insert(dims.begin() + axis, 1);
  c.set(0, x.reshaped(std::move(dims)));
  return true;
}

Result<bool> run_squeeze(StepContext& c) {
  const Tensor& x = c.input(0);
  const auto axes = axes_of(c.input(1), x.rank());
  if (!axes) return false;
  Dims dims = x.dims();
  for (auto axis = axes->rbegin(); axis != axes->rend(); ++axis) {
    if (dims[static_cast<std::size_t>(*axis)] != 1) return false;
    dims.erase(dims.begin() + *axis);
  }
  c.set(0, x.reshaped(std::move(dims)));
  return true;
}

Result<bool> run_transpose(StepContext& c) {
  const Tensor& x = c.input(0);
  const std::size_t rank = x.dims().size();
  const std::size_t element = dtype_size(x.dtype());
  NX_TRY(std::vector<std::int64_t> permutation, c.node().ints_attr("perm"));
  if (permutation.empty()) {
    permutation.resize(rank);
    std::iota(permutation.rbegin(), permutation.rend(), 0);
  }
  auto sorted = permutation;
  std::ranges::sort(sorted);
  std::vector<std::int64_t> expected(rank);
  std::iota(expected.begin(), expected.end(), 0);
  if (sorted != expected || rank > kMaxTransposeRank || x.count() == 0 || element == 0 || element > 8) return false;
  Dims dims;
  for (const std::int64_t d : permutation) dims.push_back(x.dims()[static_cast<std::size_t>(d)]);
  NX_TRY(Tensor * y, c.allocate(0, x.dtype(), std::move(dims)));
  const std::vector<std::size_t> from(x.dims().begin(), x.dims().end());
  const std::vector<std::size_t> order(permutation.begin(), permutation.end());
  transpose(from, order, element, x.data(), y->mutable_data());
  return true;
}

// Ids as indices from the front; nullopt when one lies outside the table (`eval` names it).
template <class T>
std::optional<std::vector<std::int64_t>> checked_ids(std::span<const T> ids, std::int64_t n_rows) {
  std::vector<std::int64_t> checked;
  checked.reserve(ids.size());
  for (const T raw : ids) {
    const std::int64_t id = raw < 0 ? raw + n_rows : std::int64_t{raw};
    if (id < 0 || id >= n_rows) return std::nullopt;
    checked.push_back(id);
  }
  return checked;
}

Result<bool> run_gather(StepContext& c) {
  const Tensor& table = c.input(0);
  const Tensor& ids = c.input(1);
  NX_TRY(const std::int64_t axis, c.node().int_attr("axis", 0));
  if (table.rank() < 1 || (axis != 0 && axis != -table.rank()) || dtype_size(table.dtype()) == 0) return false;
  const std::int64_t n_rows = table.dims()[0];
  std::optional<std::vector<std::int64_t>> rows;
  if (ids.dtype() == DType::kInt64) rows = checked_ids(ids.as<std::int64_t>(), n_rows);
  if (ids.dtype() == DType::kInt32) rows = checked_ids(ids.as<std::int32_t>(), n_rows);
  if (!rows) return false;
  Dims dims = ids.dims();
  dims.insert(dims.end(), table.dims().begin() + 1, table.dims().end());
  NX_TRY(Tensor * y, c.allocate(0, table.dtype(), std::move(dims)));
  if (y->count() == 0) return true;
  gather_rows(table.bytes() / static_cast<std::size_t>(n_rows), table.data(), *rows, y->mutable_data());
  return true;
}

template <class From, class To>
void convert(StepContext& c, const Tensor& x, Tensor& y) {
  const From* in = x.as<From>().data();
  To* out = y.as_mutable<To>().data();
  c.team().parallel_for(static_cast<std::size_t>(x.count()), kElementsPerTask, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) out[i] = static_cast<To>(in[i]);
  });
}

bool casts_to_float(const Graph& graph, const Node& node) {
  return node.int_attr("to", 0).value_or(0) == static_cast<std::int64_t>(DType::kFloat32) &&
         (input_is(graph, node, 0, DType::kInt32) || input_is(graph, node, 0, DType::kInt64) ||
          input_is(graph, node, 0, DType::kBool) || input_is(graph, node, 0, DType::kUint8));
}

Result<bool> run_cast_to_float(StepContext& c) {
  const Tensor& x = c.input(0);
  NX_TRY(Tensor * y, c.allocate(0, DType::kFloat32, x.dims()));
  if (x.dtype() == DType::kInt32) convert<std::int32_t, float>(c, x, *y);
  if (x.dtype() == DType::kInt64) convert<std::int64_t, float>(c, x, *y);
  if (x.dtype() == DType::kBool) convert<bool, float>(c, x, *y);
  if (x.dtype() == DType::kUint8) convert<std::uint8_t, float>(c, x, *y);
  return true;
}

constexpr FastOp kRows[] = {
    {"Identity", kOnnx, always, nullptr, run_identity},          {"Reshape", kOnnx, always, nullptr, run_reshape},
    {"Unsqueeze", kOnnx, has_axes, nullptr, run_unsqueeze},      {"Squeeze", kOnnx, has_axes, nullptr, run_squeeze},
    {"Transpose", kOnnx, always, nullptr, run_transpose},        {"Gather", kOnnx, always, nullptr, run_gather},
    {"Cast", kOnnx, casts_to_float, nullptr, run_cast_to_float},
};

}  // namespace

std::span<const FastOp> fast_movement_ops() {
  return kRows;
}

}  // namespace narthex
