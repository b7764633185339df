// Activations and float products of com.microsoft: the four GELUs, FusedMatMul, FusedGemm.
//
//   expand_*   functions of the rows in contrib.cc
//
// Covered by tests/ops/contrib_test.cc.
#include <numeric>

#include "ops/contrib.h"

namespace narthex {

Result<void> expand_gelu(const Node& node, Rewriter& rewriter) {
  rewriter.emit("Gelu", {node.inputs[0]}, {}, node.outputs[0]);
  return {};
}

Result<void> expand_bias_gelu(const Node& node, Rewriter& rewriter) {
  const ValueId sum = rewriter.emit("Add", {node.inputs[0], node.inputs[1]});
  rewriter.emit("Gelu", {sum}, {}, node.outputs[0]);
  return {};
}

Result<void> expand_fast_gelu(const Node& node, Rewriter& rewriter) {
  const ValueId x = node.has_input(1) ? rewriter.emit("Add", {node.inputs[0], node.inputs[1]}) : node.inputs[0];
  rewriter.emit("Gelu", {x}, {{"approximate", std::string("tanh")}}, node.outputs[0]);
  return {};
}

Result<void> expand_quick_gelu(const Node& node, Rewriter& rewriter) {
  Expansion e(node, rewriter);
  NX_TRY(const float alpha, node.float_attr("alpha", 1.702f));
  const ValueId scaled = e.op("Mul", {e.in(0), e.scalar_like(alpha, {e.in(0)})});
  e.op("Mul", {e.in(0), e.op("Sigmoid", {scaled})}, {}, e.out(0));
  return {};
}

namespace {

// `whole_batch` moves the first dimension to the place before the last; `last_two` swaps the last two after that.
Result<ValueId> transposed(Expansion& e, ValueId x, bool last_two, bool whole_batch) {
  if (!last_two && !whole_batch) return x;
  const std::optional<std::int64_t> rank = e.rank(x);
  if (!rank && !whole_batch) return e.op("Einsum", {x}, {{"equation", std::string("...ij->...ji")}});
  if (!rank) return fail(ErrorCode::kUnsupported, "transBatch needs an input of known rank");
  if (*rank < 2) return x;
  std::vector<std::int64_t> perm(static_cast<std::size_t>(*rank));
  std::iota(perm.begin(), perm.end(), 0);
  if (whole_batch) std::rotate(perm.begin(), perm.begin() + 1, perm.end() - 1);
  if (last_two) std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return e.op("Transpose", {x}, {{"perm", perm}});
}

Result<ValueId> operand(Expansion& e, std::size_t i, const char* trans, const char* trans_batch) {
  NX_TRY(const std::int64_t last_two, e.node().int_attr(trans, 0));
  NX_TRY(const std::int64_t whole_batch, e.node().int_attr(trans_batch, 0));
  return transposed(e, e.in(i), last_two != 0, whole_batch != 0);
}

}  // namespace

Result<void> expand_fused_matmul(const Node& node, Rewriter& rewriter) {
  Expansion e(node, rewriter);
  NX_TRY(const float alpha, node.float_attr("alpha", 1));
  NX_TRY(const ValueId a, operand(e, 0, "transA", "transBatchA"));
  NX_TRY(const ValueId b, operand(e, 1, "transB", "transBatchB"));
  if (alpha == 1.0f) {
    e.op("MatMul", {a, b}, {}, e.out(0));
    return {};
  }
  const ValueId product = e.op("MatMul", {a, b});
  e.op("Mul", {product, e.scalar_like(alpha, {product, e.in(0), e.in(1)})}, {}, e.out(0));
  return {};
}

Result<void> expand_fused_gemm(const Node& node, Rewriter& rewriter) {
  Expansion e(node, rewriter);
  NX_TRY(const std::string activation, node.string_attr("activation", ""));
  std::vector<Attribute> gemm;
  std::vector<Attribute> parameters;
  for (const Attribute& a : node.attributes) {
    if (a.name == "activation_alpha") {
      parameters.push_back({"alpha", a.value});
    } else if (a.name == "activation_beta") {
      parameters.push_back({"beta", a.value});
    } else if (a.name == "activation_gamma") {
      parameters.push_back({"gamma", a.value});
    } else if (a.name != "activation") {
      gemm.push_back(a);
    }
  }
  if (activation.empty()) {
    e.op("Gemm", node.inputs, gemm, e.out(0));
    return {};
  }
  for (const std::string_view known :
       {"Relu", "Tanh", "Sigmoid", "LeakyRelu", "Elu", "Softplus", "Softsign", "HardSigmoid", "Selu"}) {
    if (activation != known) continue;
    e.op(activation, {e.op("Gemm", node.inputs, gemm)}, parameters, e.out(0));
    return {};
  }
  return fail(ErrorCode::kUnsupported, "activation '{}' is not supported", activation);
}

}  // namespace narthex
