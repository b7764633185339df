// Dynamic int8 as exporters write it: DynamicQuantizeLinear and MatMulInteger by a constant matrix, exact to the bit.
//
// DynamicQuantizeLinear takes one scale for the whole tensor, as the operator says: the only place where a result
// depends on the other rows of its batch. Covered by tests/plan/fast_ops_test.cc.
#include "kernels/gemm.h"
#include "kernels/quantize.h"
#include "ops/util.h"
#include "plan/fast_ops.h"

namespace narthex {
namespace {

Result<bool> run_dynamic_quantize(StepContext& c) {
  const Tensor& x = c.input(0);
  if (c.node().outputs.size() != 3) return false;
  NX_TRY(Tensor * y, c.allocate(0, DType::kUint8, x.dims()));
  const ScaleAndZero found = dynamic_quantize_linear_u8(static_cast<std::size_t>(x.count()), x.as<float>().data(),
                                                        y->as_mutable<std::uint8_t>().data());
  NX_TRY(Tensor * scale, c.allocate(1, DType::kFloat32, {}));
  scale->as_mutable<float>()[0] = found.scale;
  NX_TRY(Tensor * zero, c.allocate(2, DType::kUint8, {}));
  zero->as_mutable<std::uint8_t>()[0] = found.zero;
  return true;
}

bool is_byte(DType dtype) {
  return dtype == DType::kUint8 || dtype == DType::kInt8;
}

// Zero points of b: absent, one, or one per column; nullopt for other forms.
std::optional<std::vector<std::int32_t>> zeros_of(const Graph& graph, const Node& node) {
  std::vector<std::int32_t> zeros;
  if (!node.has_input(3)) return zeros;
  const auto& constant = graph.value(node.inputs[3]).constant;
  const Tensor& matrix = *graph.value(node.inputs[1]).constant;
  if (!constant || constant->rank() > 1 || constant->dtype() != matrix.dtype()) return std::nullopt;
  if (constant->count() != 1 && constant->count() != matrix.dims()[1]) return std::nullopt;
  for (std::int64_t i = 0; i < constant->count(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    zeros.push_back(matrix.dtype() == DType::kInt8 ? std::int32_t{constant->as<std::int8_t>()[at]}
                                                   : std::int32_t{constant->as<std::uint8_t>()[at]});
  }
  return zeros;
}

bool has_constant_bytes(const Graph& graph, const Node& node) {
  if (!is_byte(graph.value(node.inputs[0]).dtype)) return false;
  const auto& matrix = graph.value(node.inputs[1]).constant;
  return matrix && matrix->rank() == 2 && is_byte(matrix->dtype()) && zeros_of(graph, node);
}

Result<Prepared> pack_integer(const Graph& graph, const Node& node) {
  const Tensor& matrix = *graph.value(node.inputs[1]).constant;
  const std::vector<std::int32_t> zeros = *zeros_of(graph, node);
  const auto k = static_cast<std::size_t>(matrix.dims()[0]);
  const auto n = static_cast<std::size_t>(matrix.dims()[1]);
  auto packed =
      std::make_shared<PackedInt8>(pack_weights_int8(k, n, matrix.data(), n, matrix.dtype() == DType::kInt8, zeros));
  const std::uint64_t bytes = packed->panels.size() + 4 * (packed->zeros.size() + packed->colsums.size());
  return Prepared{std::move(packed), bytes};
}

Result<bool> run_integer(StepContext& c) {
  const auto& packed = c.prepared<PackedInt8>();
  const Tensor& x = c.input(0);
  if (x.rank() < 1 || static_cast<std::size_t>(x.dims().back()) != packed.k) return false;
  std::int32_t zero = 0;
  if (c.has(2)) {
    if (c.input(2).count() != 1 || c.input(2).dtype() != x.dtype()) return false;
    zero = x.dtype() == DType::kInt8 ? std::int32_t{c.input(2).as<std::int8_t>()[0]}
                                     : std::int32_t{c.input(2).as<std::uint8_t>()[0]};
  }
  Dims dims = x.dims();
  std::size_t m = 1;
  for (std::size_t d = 0; d + 1 < dims.size(); ++d) m *= static_cast<std::size_t>(dims[d]);
  dims.back() = static_cast<std::int64_t>(packed.n);
  NX_TRY(Tensor * y, c.allocate(0, DType::kInt32, std::move(dims)));
  if (y->count() == 0) return true;
  gemm_int8_parallel(
      c.team(), packed,
      {m, x.data(), packed.k, x.dtype() == DType::kInt8, zero, y->as_mutable<std::int32_t>().data(), packed.n});
  return true;
}

constexpr FastOp kRows[] = {
    {"DynamicQuantizeLinear", kOnnx, first_is_float, nullptr, run_dynamic_quantize},
    {"MatMulInteger", kOnnx, has_constant_bytes, pack_integer, run_integer},
};

}  // namespace

std::span<const FastOp> fast_quant_ops() {
  return kRows;
}

}  // namespace narthex
