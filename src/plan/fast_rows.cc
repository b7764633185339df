// What works along the last axis, one row at a time: Softmax, layer and RMS normalisation, reductions.
//
// Covered by tests/plan/fast_ops_test.cc.
#include "kernels/kernels.h"
#include "ops/util.h"
#include "plan/fast_ops.h"

namespace narthex {
namespace {

struct Rows {
  std::size_t rows = 1, cols = 1;
};

// nullopt for a scalar, or rows without elements.
std::optional<Rows> rows_of(const Tensor& x) {
  if (x.rank() < 1 || x.count() == 0) return std::nullopt;
  const auto cols = static_cast<std::size_t>(x.dims().back());
  return Rows{static_cast<std::size_t>(x.count()) / cols, cols};
}

bool is_last_axis(const Tensor& x, std::int64_t axis) {
  return axis == -1 || axis == x.rank() - 1;
}

Result<bool> run_softmax(StepContext& c) {
  const Tensor& x = c.input(0);
  NX_TRY(const std::int64_t axis, c.node().int_attr("axis", -1));
  const auto shape = rows_of(x);
  if (!shape || !is_last_axis(x, axis)) return false;
  NX_TRY(Tensor * y, c.allocate_over(0, {0}, DType::kFloat32, x.dims()));
  const auto [rows, cols] = *shape;
  const float* in = x.as<float>().data();
  float* out = y->as_mutable<float>().data();
  c.team().parallel_for(rows, rows_per_task(cols), [&](std::size_t begin, std::size_t end) {
    kernels().softmax({end - begin, cols, in + begin * cols, cols, 1.0F, nullptr, 0, out + begin * cols, cols});
  });
  return true;
}

bool is_single_float_norm(const Graph& graph, const Node& node) {
  const bool bias_fits = !node.has_input(2) || input_is(graph, node, 2, DType::kFloat32);
  return first_is_float(graph, node) && input_is(graph, node, 1, DType::kFloat32) && bias_fits && !node.has_output(1) &&
         !node.has_output(2);
}

template <void (*KernelTable::*kernel)(const Norm&)>
Result<bool> run_norm(StepContext& c) {
  const Tensor& x = c.input(0);
  NX_TRY(const std::int64_t axis, c.node().int_attr("axis", -1));
  NX_TRY(const float epsilon, c.node().float_attr("epsilon", 1e-5F));
  const auto shape = rows_of(x);
  if (!shape || !is_last_axis(x, axis)) return false;
  const auto [rows, cols] = *shape;
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    if (c.has(i) && (c.input(i).rank() != 1 || static_cast<std::size_t>(c.input(i).count()) != cols)) return false;
  }
  NX_TRY(Tensor * y, c.allocate_over(0, {0}, DType::kFloat32, x.dims()));
  const float* in = x.as<float>().data();
  const float* gamma = c.input(1).as<float>().data();
  const float* beta = c.has(2) ? c.input(2).as<float>().data() : nullptr;
  float* out = y->as_mutable<float>().data();
  c.team().parallel_for(rows, rows_per_task(cols), [&](std::size_t begin, std::size_t end) {
    (kernels().*kernel)({end - begin, cols, in + begin * cols, cols, gamma, beta, epsilon, out + begin * cols, cols});
  });
  return true;
}

// Over the last axis alone, which a constant says.
bool reduces_last(const Graph& graph, const Node& node) {
  if (!first_is_float(graph, node) || !node.has_input(1)) return false;
  const auto& axes = graph.value(node.inputs[1]).constant;
  return axes && axes->dtype() == DType::kInt64 && axes->count() == 1;
}

template <RowReduceFn* KernelTable::* kernel>
Result<bool> reduce(StepContext& c) {
  const Tensor& x = c.input(0);
  NX_TRY(const std::int64_t keep, c.node().int_attr("keepdims", 1));
  const auto shape = rows_of(x);
  if (!shape || !is_last_axis(x, c.input(1).as<std::int64_t>()[0])) return false;
  const auto [rows, cols] = *shape;
  Dims dims = x.dims();
  dims.pop_back();
  if (keep != 0) dims.push_back(1);
  NX_TRY(Tensor * y, c.allocate(0, DType::kFloat32, std::move(dims)));
  const float* in = x.as<float>().data();
  float* out = y->as_mutable<float>().data();
  c.team().parallel_for(rows, rows_per_task(cols), [&](std::size_t begin, std::size_t end) {
    (kernels().*kernel)({end - begin, cols, in + begin * cols, cols, out + begin});
  });
  return true;
}

constexpr FastOp kRows[] = {
    {"Softmax", kOnnx, first_is_float, nullptr, run_softmax},
    {"LayerNormalization", kOnnx, is_single_float_norm, nullptr, run_norm<&KernelTable::layer_norm>},
    {"RMSNormalization", kOnnx, is_single_float_norm, nullptr, run_norm<&KernelTable::rms_norm>},
    {"ReduceSum", kOnnx, reduces_last, nullptr, reduce<&KernelTable::reduce_sum>},
    {"ReduceMean", kOnnx, reduces_last, nullptr, reduce<&KernelTable::reduce_mean>},
    {"ReduceMax", kOnnx, reduces_last, nullptr, reduce<&KernelTable::reduce_max>},
    {"ReduceMin", kOnnx, reduces_last, nullptr, reduce<&KernelTable::reduce_min>},
};

}  // namespace

std::span<const FastOp> fast_row_ops() {
  return kRows;
}

}  // namespace narthex
