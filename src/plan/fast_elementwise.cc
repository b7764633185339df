// Functions of one tensor, and arithmetic of two with numpy broadcasting.
//
// Broadcasting is brought to at most a few outer dimensions around one kernel call of [rows, cols], in which each
// operand has a row step and a column step of 0 or 1. Covered by tests/plan/fast_ops_test.cc.
#include <cmath>

#include "kernels/kernels.h"
#include "ops/util.h"
#include "plan/fast_ops.h"

namespace narthex {
namespace {

Result<bool> run_unary(StepContext& c, UnaryFn* kernel) {
  const Tensor& x = c.input(0);
  NX_TRY(Tensor * y, c.allocate_over(0, {0}, DType::kFloat32, x.dims()));
  const float* in = x.as<float>().data();
  float* out = y->as_mutable<float>().data();
  c.team().parallel_for(static_cast<std::size_t>(x.count()), kElementsPerTask,
                        [&](std::size_t begin, std::size_t end) { kernel(end - begin, in + begin, out + begin); });
  return true;
}

template <UnaryFn* KernelTable::* kernel>
Result<bool> unary(StepContext& c) {
  return run_unary(c, kernels().*kernel);
}

Result<bool> run_gelu(StepContext& c) {
  NX_TRY(const std::string form, c.node().string_attr("approximate", "none"));
  return run_unary(c, form == "tanh" ? kernels().gelu_tanh : kernels().gelu_erf);
}

bool is_square(const Graph& graph, const Node& node) {
  if (!first_is_float(graph, node) || !node.has_input(1)) return false;
  const auto& exponent = graph.value(node.inputs[1]).constant;
  if (!exponent || exponent->rank() != 0) return false;
  const auto value = scalar_of(*exponent, "exponent");
  return value && *value == 2.0;
}

// Two or three operands seen over the same dimensions, outermost first; neighbours that every operand walks through
// without a break are one dimension.
template <std::size_t N>
struct Collapsed {
  Dims dims;
  std::array<std::vector<std::int64_t>, N> strides;
};

template <std::size_t N>
Collapsed<N> collapse(const Dims& dims, const std::array<const Tensor*, N>& operands) {
  std::array<std::vector<std::int64_t>, N> full;
  for (std::size_t i = 0; i < N; ++i) full[i] = broadcast_strides(operands[i]->dims(), dims);
  Collapsed<N> out;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == 1) continue;
    bool joins = !out.dims.empty();
    for (std::size_t i = 0; i < N && joins; ++i) joins = out.strides[i].back() == full[i][d] * dims[d];
    if (joins) {
      out.dims.back() *= dims[d];
      for (std::size_t i = 0; i < N; ++i) out.strides[i].back() = full[i][d];
    } else {
      out.dims.push_back(dims[d]);
      for (std::size_t i = 0; i < N; ++i) out.strides[i].push_back(full[i][d]);
    }
  }
  while (out.dims.size() < 2) {  // a row of its own
    out.dims.insert(out.dims.begin(), 1);
    for (auto& strides : out.strides) strides.insert(strides.begin(), 0);
  }
  return out;
}

// Calls block(rows, cols, offset of each operand, offset of the output) for the pieces of all outer dimensions, several
// pieces at once where the team helps.
template <std::size_t N, class F>
void for_each_block(Team& team, const Collapsed<N>& shape, F&& block) {
  const std::size_t rank = shape.dims.size();
  const auto rows = static_cast<std::size_t>(shape.dims[rank - 2]);
  const auto cols = static_cast<std::size_t>(shape.dims[rank - 1]);
  std::size_t outer = 1;
  for (std::size_t d = 0; d + 2 < rank; ++d) outer *= static_cast<std::size_t>(shape.dims[d]);
  team.parallel_for(outer * rows, rows_per_task(cols), [&](std::size_t begin, std::size_t end) {
    while (begin < end) {
      const std::size_t row = begin % rows;
      const std::size_t n = std::min(end - begin, rows - row);
      std::array<std::size_t, N> offsets{};
      std::size_t index = begin / rows;
      for (std::size_t i = 0; i < N; ++i) offsets[i] = row * static_cast<std::size_t>(shape.strides[i][rank - 2]);
      for (std::size_t d = rank - 2; d-- > 0;) {
        const std::size_t position = index % static_cast<std::size_t>(shape.dims[d]);
        index /= static_cast<std::size_t>(shape.dims[d]);
        for (std::size_t i = 0; i < N; ++i) offsets[i] += position * static_cast<std::size_t>(shape.strides[i][d]);
      }
      block(n, cols, offsets, begin * cols);
      begin += n;
    }
  });
}

bool two_floats(const Graph& graph, const Node& node) {
  return node.inputs.size() == 2 && first_is_float(graph, node) && input_is(graph, node, 1, DType::kFloat32);
}

// One long row that the team should share: cut it into rows.
void split_long_row(Collapsed<2>& shape) {
  if (shape.dims.size() != 2 || shape.dims[0] != 1) return;
  for (const std::int64_t cols : {4096, 1024, 768, 512, 384, 256}) {
    if (shape.dims[1] <= cols || shape.dims[1] % cols != 0) continue;
    shape.dims = {shape.dims[1] / cols, cols};
    for (auto& strides : shape.strides) strides = {strides[1] * cols, strides[1]};
    return;
  }
}

template <BinaryFn* KernelTable::* kernel>
Result<bool> binary(StepContext& c) {
  const Tensor& a = c.input(0);
  const Tensor& b = c.input(1);
  const auto dims = broadcast_dims(a.dims(), b.dims());
  if (!dims) return false;
  NX_TRY(Tensor * y, c.allocate_over(0, {0, 1}, DType::kFloat32, *dims));
  if (y->count() == 0) return true;
  Collapsed<2> shape = collapse<2>(*dims, {&a, &b});
  split_long_row(shape);
  const std::size_t rank = shape.dims.size();
  const auto stride = [&](std::size_t i, std::size_t d) { return static_cast<std::size_t>(shape.strides[i][d]); };
  float* out = y->as_mutable<float>().data();
  for_each_block(c.team(), shape, [&](std::size_t rows, std::size_t cols, const auto& offsets, std::size_t to) {
    (kernels().*kernel)({rows, cols, a.as<float>().data() + offsets[0], stride(0, rank - 2), stride(0, rank - 1),
                         b.as<float>().data() + offsets[1], stride(1, rank - 2), stride(1, rank - 1), out + to, cols});
  });
  return true;
}

bool selects_floats(const Graph& graph, const Node& node) {
  return input_is(graph, node, 0, DType::kBool) && input_is(graph, node, 1, DType::kFloat32) &&
         input_is(graph, node, 2, DType::kFloat32);
}

Result<bool> run_where(StepContext& c) {
  auto dims = broadcast_dims(c.input(0).dims(), c.input(1).dims());
  if (dims) dims = broadcast_dims(*dims, c.input(2).dims());
  if (!dims) return false;
  NX_TRY(Tensor * y, c.allocate(0, DType::kFloat32, *dims));
  if (y->count() == 0) return true;
  const Collapsed<3> shape = collapse<3>(*dims, {&c.input(0), &c.input(1), &c.input(2)});
  const std::size_t rank = shape.dims.size();
  const auto stride = [&](std::size_t i, std::size_t d) { return static_cast<std::size_t>(shape.strides[i][d]); };
  const bool* condition = c.input(0).as<bool>().data();
  const float* yes = c.input(1).as<float>().data();
  const float* no = c.input(2).as<float>().data();
  float* out = y->as_mutable<float>().data();
  for_each_block(c.team(), shape, [&](std::size_t rows, std::size_t cols, const auto& offsets, std::size_t to) {
    for (std::size_t r = 0; r < rows; ++r) {
      const bool* p = condition + offsets[0] + r * stride(0, rank - 2);
      const float* t = yes + offsets[1] + r * stride(1, rank - 2);
      const float* f = no + offsets[2] + r * stride(2, rank - 2);
      for (std::size_t j = 0; j < cols; ++j) {
        out[to + r * cols + j] = p[j * stride(0, rank - 1)] ? t[j * stride(1, rank - 1)] : f[j * stride(2, rank - 1)];
      }
    }
  });
  return true;
}

Result<bool> run_is_nan(StepContext& c) {
  const Tensor& x = c.input(0);
  NX_TRY(Tensor * y, c.allocate(0, DType::kBool, x.dims()));
  const float* in = x.as<float>().data();
  bool* out = y->as_mutable<bool>().data();
  c.team().parallel_for(static_cast<std::size_t>(x.count()), kElementsPerTask, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) out[i] = std::isnan(in[i]);
  });
  return true;
}

constexpr FastOp kRows[] = {
    {"Exp", kOnnx, first_is_float, nullptr, unary<&KernelTable::exp>},
    {"Log", kOnnx, first_is_float, nullptr, unary<&KernelTable::log>},
    {"Erf", kOnnx, first_is_float, nullptr, unary<&KernelTable::erf>},
    {"Tanh", kOnnx, first_is_float, nullptr, unary<&KernelTable::tanh>},
    {"Sigmoid", kOnnx, first_is_float, nullptr, unary<&KernelTable::sigmoid>},
    {"Gelu", kOnnx, first_is_float, nullptr, run_gelu},
    {"Relu", kOnnx, first_is_float, nullptr, unary<&KernelTable::relu>},
    {"Sqrt", kOnnx, first_is_float, nullptr, unary<&KernelTable::sqrt>},
    {"Reciprocal", kOnnx, first_is_float, nullptr, unary<&KernelTable::reciprocal>},
    {"Neg", kOnnx, first_is_float, nullptr, unary<&KernelTable::neg>},
    {"Abs", kOnnx, first_is_float, nullptr, unary<&KernelTable::abs>},
    {"Pow", kOnnx, is_square, nullptr, unary<&KernelTable::square>},
    {"Add", kOnnx, two_floats, nullptr, binary<&KernelTable::add>},
    {"Sub", kOnnx, two_floats, nullptr, binary<&KernelTable::sub>},
    {"Mul", kOnnx, two_floats, nullptr, binary<&KernelTable::mul>},
    {"Div", kOnnx, two_floats, nullptr, binary<&KernelTable::div>},
    {"Min", kOnnx, two_floats, nullptr, binary<&KernelTable::min>},
    {"Max", kOnnx, two_floats, nullptr, binary<&KernelTable::max>},
    {"Where", kOnnx, selects_floats, nullptr, run_where},
    {"IsNaN", kOnnx, first_is_float, nullptr, run_is_nan},
};

}  // namespace

std::span<const FastOp> fast_elementwise_ops() {
  return kRows;
}

}  // namespace narthex
