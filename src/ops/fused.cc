// Operators that only passes write: domain "narthex". Their reference is the composition of the ONNX ones.
//
//   Linear(x, w, bias?)   y = activation(x . w + bias);  x [..., k], w [k, n] or [n, k] when `transposed`, bias [n]
//                         activation: absent, "relu", "tanh", "gelu" (erf), "gelu_tanh"
//
// Covered by tests/passes/fuse_linear_test.cc.
#include "ops/ops.h"
#include "ops/util.h"

namespace narthex {
namespace {

struct StepInput {
  const char* op;
  std::vector<Attribute> attributes;
  std::vector<const Tensor*> inputs;
};

Result<Tensor> eval_step(const StepInput& step, std::uint64_t max_bytes) {
  Node node;
  node.op = step.op;
  node.opset = kCanonicalOpset;
  node.attributes = step.attributes;
  node.def = find_op(kOnnx, step.op, kCanonicalOpset);
  NX_CHECK(node.def != nullptr && node.def->eval != nullptr, "Linear is composed of operators that have rows");
  node.inputs.resize(step.inputs.size());
  node.outputs.resize(1);
  Tensor result;
  EvalContext context(step.inputs, {&result, 1}, max_bytes);
  NX_TRY_VOID(node.def->eval(node, context));
  return result;
}

Result<StepInput> activation_step(const std::string& activation, const Tensor& x) {
  if (activation == "relu") return StepInput{"Relu", {}, {&x}};
  if (activation == "tanh") return StepInput{"Tanh", {}, {&x}};
  if (activation == "gelu") return StepInput{"Gelu", {{"approximate", std::string("none")}}, {&x}};
  if (activation == "gelu_tanh") return StepInput{"Gelu", {{"approximate", std::string("tanh")}}, {&x}};
  return fail(ErrorCode::kUnsupported, "activation '{}' is not known", activation);
}

Result<void> eval_linear(const Node& node, EvalContext& c) {
  NX_TRY(const std::int64_t transposed, node.int_attr("transposed", 0));
  NX_TRY(const std::string activation, node.string_attr("activation", ""));
  Tensor matrix = c.input(1);
  if (transposed != 0) {
    NX_TRY(matrix, eval_step({"Transpose", {{"perm", std::vector<std::int64_t>{1, 0}}}, {&matrix}}, c.max_bytes()));
  }
  NX_TRY(Tensor y, eval_step({"MatMul", {}, {&c.input(0), &matrix}}, c.max_bytes()));
  if (c.has(2)) {
    NX_TRY(y, eval_step({"Add", {}, {&y, &c.input(2)}}, c.max_bytes()));
  }
  if (!activation.empty()) {
    NX_TRY(const StepInput step, activation_step(activation, y));
    NX_TRY(y, eval_step(step, c.max_bytes()));
  }
  c.set(0, std::move(y));
  return {};
}

Result<void> infer_linear(InferContext& c) {
  const Shape* x = c.shape(0);
  const Shape* w = c.shape(1);
  if (x == nullptr || w == nullptr || x->empty() || w->size() != 2) {
    c.set(0, c.dtype(0), std::nullopt);
    return {};
  }
  NX_TRY(const std::int64_t transposed, c.node().int_attr("transposed", 0));
  Shape y = *x;
  y.back() = (*w)[transposed != 0 ? 0 : 1];
  c.set(0, c.dtype(0), std::move(y));
  return {};
}

constexpr OpDef kFusedOps[] = {
    // name    domain    since  inputs  outputs  normalise  infer         eval
    {"Linear", kNarthex, 1, 2, 3, 1, 1, nullptr, infer_linear, eval_linear},
};

}  // namespace

std::span<const OpDef> fused_ops() {
  return kFusedOps;
}

}  // namespace narthex
