// Products: by a constant matrix, packed once (Linear, MatMul), and of two runtime tensors (attention).
//
// Rows of the table at the end. A row of the result depends on its own row of x alone. Covered by
// tests/plan/fast_ops_test.cc.
#include "kernels/gemm.h"
#include "ops/util.h"
#include "plan/fast_ops.h"

namespace narthex {
namespace {

bool has_constant_matrix(const Graph& graph, const Node& node) {
  if (!first_is_float(graph, node) || !input_is(graph, node, 1, DType::kFloat32)) return false;
  if (node.has_input(2) && !input_is(graph, node, 2, DType::kFloat32)) return false;
  const auto& matrix = graph.value(node.inputs[1]).constant;
  if (!matrix || matrix->rank() != 2) return false;
  if (!node.has_input(2)) return true;
  // The kernel adds one bias to each column; other forms of broadcasting run by `eval`.
  const std::int64_t columns = matrix->dims()[node.int_attr("transposed", 0).value_or(0) != 0 ? 0 : 1];
  const auto& bias = graph.value(node.inputs[2]).constant;
  return bias && bias->rank() == 1 && bias->count() == columns;
}

Result<Activation> activation_named(std::string_view name) {
  if (name.empty()) return Activation::kNone;
  if (name == "relu") return Activation::kRelu;
  if (name == "tanh") return Activation::kTanh;
  if (name == "gelu") return Activation::kGeluErf;
  if (name == "gelu_tanh") return Activation::kGeluTanh;
  return fail(ErrorCode::kUnsupported, "activation '{}' is not known", name);
}

Result<Prepared> pack_linear(const Graph& graph, const Node& node) {
  const Tensor& matrix = *graph.value(node.inputs[1]).constant;
  NX_TRY(const std::int64_t transposed, node.int_attr("transposed", 0));
  const auto rows = static_cast<std::size_t>(matrix.dims()[0]);
  const auto cols = static_cast<std::size_t>(matrix.dims()[1]);
  const float* b = matrix.as<float>().data();
  auto packed = std::make_shared<PackedF32>(transposed != 0 ? pack_weights_f32(cols, rows, b, cols, true)
                                                            : pack_weights_f32(rows, cols, b, cols, false));
  const std::uint64_t bytes = packed_size_f32(packed->k, packed->n) * sizeof(float);
  return Prepared{std::move(packed), bytes};
}

Result<bool> run_linear(StepContext& c) {
  const auto& packed = c.prepared<PackedF32>();
  const Tensor& x = c.input(0);
  NX_TRY(const std::string name, c.node().string_attr("activation", ""));
  NX_TRY(const Activation activation, activation_named(name));
  if (x.rank() < 1 || static_cast<std::size_t>(x.dims().back()) != packed.k) {
    return fail(ErrorCode::kBadInput, "input of shape {} does not fit weights of {} rows", dims_string(x.dims()),
                packed.k);
  }
  Dims dims = x.dims();
  std::size_t m = 1;
  for (std::size_t d = 0; d + 1 < dims.size(); ++d) m *= static_cast<std::size_t>(dims[d]);
  dims.back() = static_cast<std::int64_t>(packed.n);
  NX_TRY(Tensor * y, c.allocate(0, DType::kFloat32, std::move(dims)));
  GemmCall call;
  call.m = m;
  call.a = x.as<float>().data();
  call.lda = packed.k;
  call.bias = c.has(2) ? c.input(2).as<float>().data() : nullptr;
  call.c = y->as_mutable<float>().data();
  call.ldc = packed.n;
  call.activation = activation;
  if (y->count() > 0) gemm_f32_parallel(c.team(), packed, call);
  return true;
}

bool two_floats(const Graph& graph, const Node& node) {
  return first_is_float(graph, node) && input_is(graph, node, 1, DType::kFloat32);
}

// Offsets of the matrices of an operand whose leading dimensions are broadcast to `batch`.
std::vector<std::size_t> matrix_offsets(const Tensor& tensor, const Dims& batch, std::size_t n_products) {
  const Dims leading(tensor.dims().begin(), tensor.dims().end() - 2);
  const std::int64_t matrix = tensor.dims()[leading.size()] * tensor.dims()[leading.size() + 1];
  std::vector<std::size_t> offsets;
  offsets.reserve(n_products);
  StridedWalk<1> walk(batch, {broadcast_strides(leading, batch)});
  for (std::size_t i = 0; i < n_products; ++i, walk.next()) {
    offsets.push_back(static_cast<std::size_t>(walk.offset(0) * matrix));
  }
  return offsets;
}

Result<bool> run_batched(StepContext& c) {
  const Tensor& a = c.input(0);
  const Tensor& b = c.input(1);
  if (a.rank() < 2 || b.rank() < 2 || a.dims().back() != b.dims()[b.dims().size() - 2]) return false;
  const auto batch =
      broadcast_dims(Dims(a.dims().begin(), a.dims().end() - 2), Dims(b.dims().begin(), b.dims().end() - 2));
  if (!batch) return false;
  BatchedGemmF32 call;
  call.m = static_cast<std::size_t>(a.dims()[a.dims().size() - 2]);
  call.k = static_cast<std::size_t>(a.dims().back());
  call.n = static_cast<std::size_t>(b.dims().back());
  Dims dims = *batch;
  dims.push_back(a.dims()[a.dims().size() - 2]);
  dims.push_back(b.dims().back());
  NX_TRY(Tensor * y, c.allocate(0, DType::kFloat32, std::move(dims)));
  if (y->count() == 0) return true;
  const std::size_t n_products = static_cast<std::size_t>(y->count()) / (call.m * call.n);
  const std::vector<std::size_t> a_offsets = matrix_offsets(a, *batch, n_products);
  const std::vector<std::size_t> b_offsets = matrix_offsets(b, *batch, n_products);
  std::vector<std::size_t> c_offsets(n_products);
  for (std::size_t i = 0; i < n_products; ++i) c_offsets[i] = i * call.m * call.n;
  call.a = a.as<float>().data();
  call.lda = call.k;
  call.a_offsets = a_offsets;
  call.b = b.as<float>().data();
  call.ldb = call.n;
  call.b_offsets = b_offsets;
  call.c = y->as_mutable<float>().data();
  call.ldc = call.n;
  call.c_offsets = c_offsets;
  gemm_f32_batched(c.team(), call);
  return true;
}

constexpr FastOp kRows[] = {
    {"Linear", kNarthex, has_constant_matrix, pack_linear, run_linear, true},
    {"MatMul", kOnnx, has_constant_matrix, pack_linear, run_linear, true},
    {"MatMul", kOnnx, two_floats, nullptr, run_batched},
};

}  // namespace

std::span<const FastOp> fast_matmul_ops() {
  return kRows;
}

}  // namespace narthex
