// Identity, Constant and Dropout, which vanish while a graph is normalised, and If.
//
//   control_ops()   the rows of the family
//
// Covered by tests/ops/control_test.cc and tests/conformance.
#include "ops/evaluate.h"
#include "ops/util.h"

namespace narthex {
namespace {

Result<void> normalise_identity(const Node& node, Rewriter& rewriter) {
  rewriter.alias(node.outputs[0], node.inputs[0]);
  return {};
}

// Exactly one of the value attributes is there.
Result<Tensor> constant_value(const Node& node) {
  for (const Attribute& attribute : node.attributes) {
    const AttributeValue& value = attribute.value;
    if (attribute.name == "value" && std::holds_alternative<Tensor>(value)) return std::get<Tensor>(value);
    if (attribute.name == "value_float") {
      NX_TRY(const float scalar, node.float_attr("value_float", 0));
      return Tensor::scalar(scalar);
    }
    if (attribute.name == "value_int") {
      NX_TRY(const std::int64_t scalar, node.int_attr("value_int", 0));
      return Tensor::scalar(scalar);
    }
    if (attribute.name == "value_ints") {
      NX_TRY(const std::vector<std::int64_t> values, node.ints_attr("value_ints"));
      return Tensor::vector(values);
    }
    if (attribute.name == "value_floats" && std::holds_alternative<std::vector<float>>(value)) {
      return Tensor::vector(std::get<std::vector<float>>(value));
    }
    if (attribute.name == "value_string" && std::holds_alternative<std::string>(value)) {
      NX_TRY(Tensor tensor, Tensor::allocate(DType::kString, {}));
      tensor.mutable_strings() = {std::get<std::string>(value)};
      return tensor;
    }
    if (attribute.name == "value_strings" && std::holds_alternative<std::vector<std::string>>(value)) {
      const auto& values = std::get<std::vector<std::string>>(value);
      NX_TRY(Tensor tensor, Tensor::allocate(DType::kString, {static_cast<std::int64_t>(values.size())}));
      tensor.mutable_strings() = values;
      return tensor;
    }
    if (attribute.name == "sparse_value") return fail(ErrorCode::kUnsupported, "sparse constants are not supported");
  }
  return fail(ErrorCode::kBadModel, "has no attribute that gives its value");
}

Result<void> normalise_constant(const Node& node, Rewriter& rewriter) {
  NX_TRY(Tensor tensor, constant_value(node));
  rewriter.alias(node.outputs[0], rewriter.constant(std::move(tensor)));
  return {};
}

// At inference nothing is dropped. Since opset 12 training is asked for by input 2.
Result<void> normalise_dropout(const Node& node, Rewriter& rewriter) {
  if (node.has_input(2)) {
    const Tensor* training = rewriter.constant_of(node.inputs[2]);
    if (training == nullptr || training->dtype() != DType::kBool || training->count() != 1 || training->as<bool>()[0]) {
      return fail(ErrorCode::kUnsupported,
                  "its input 'training_mode' is not the constant false; export the model for inference");
    }
  }
  rewriter.alias(node.outputs[0], node.inputs[0]);
  if (!node.has_output(1)) return {};
  if (node.opset < 10) return fail(ErrorCode::kUnsupported, "a mask of opset {} is not supported", node.opset);
  const ValueId shape = rewriter.emit("Shape", {node.inputs[0]});
  rewriter.emit("ConstantOfShape", {shape}, {{"value", Tensor::scalar(true).reshaped({1})}}, node.outputs[1]);
  return {};
}

Result<const Graph*> branch_of(const Node& node, std::string_view name) {
  const AttributeValue* value = node.find(name);
  const auto* graph = value != nullptr ? std::get_if<std::shared_ptr<Graph>>(value) : nullptr;
  if (graph == nullptr || *graph == nullptr) {
    return fail(ErrorCode::kBadModel, "attribute '{}' must be a graph", name);
  }
  if ((*graph)->outputs.size() != node.outputs.size()) {
    return fail(ErrorCode::kBadModel, "has {} outputs, but its '{}' has {}", node.outputs.size(), name,
                (*graph)->outputs.size());
  }
  return graph->get();
}

// What both branches agree on.
Result<void> infer_if(InferContext& c) {
  NX_TRY(const Graph* const a, branch_of(c.node(), "then_branch"));
  NX_TRY(const Graph* const b, branch_of(c.node(), "else_branch"));
  for (std::size_t i = 0; i < a->outputs.size(); ++i) {
    const Value& x = a->value(a->outputs[i]);
    const Value& y = b->value(b->outputs[i]);
    std::optional<Shape> shape;
    if (x.shape && y.shape && x.shape->size() == y.shape->size()) {
      shape = x.shape;
      for (std::size_t d = 0; d < shape->size(); ++d) {
        if (!((*x.shape)[d] == (*y.shape)[d])) (*shape)[d] = Dim::unknown();
      }
    }
    c.set(i, x.dtype == y.dtype ? x.dtype : DType::kUndefined, std::move(shape));
  }
  return {};
}

// Inputs: the condition, then what the branches capture; both branches have an input for every one of these.
Result<void> eval_if(const Node& node, EvalContext& c) {
  NX_TRY(const Graph* const then_branch, branch_of(node, "then_branch"));
  NX_TRY(const Graph* const else_branch, branch_of(node, "else_branch"));
  const Tensor& condition = c.input(0);
  if (condition.dtype() != DType::kBool || condition.count() != 1) {
    return fail(ErrorCode::kBadModel, "its condition must be one bool, but is a {} of shape {}",
                dtype_name(condition.dtype()), dims_string(condition.dims()));
  }
  const Graph& branch = condition.as<bool>()[0] ? *then_branch : *else_branch;
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < branch.inputs.size(); ++i) {
    if (!c.has(1 + i)) {
      return fail(ErrorCode::kBadModel, "value '{}', which its branch uses, is missing",
                  branch.value(branch.inputs[i]).name);
    }
    inputs.push_back(c.input(1 + i));
  }
  NX_TRY(std::vector<Tensor> outputs, evaluate(branch, std::move(inputs), {c.max_bytes()}));
  for (std::size_t i = 0; i < outputs.size(); ++i) c.set(i, std::move(outputs[i]));
  return {};
}

}  // namespace

std::span<const OpDef> control_ops() {
  static constexpr OpDef kOps[] = {
      // name domain since in  out  normalise infer  eval
      {"Identity", kOnnx, 1, 1, 1, 1, 1, normalise_identity, nullptr, nullptr},
      {"Constant", kOnnx, 1, 0, 0, 1, 1, normalise_constant, nullptr, nullptr},
      {"Dropout", kOnnx, 7, 1, 3, 1, 2, normalise_dropout, nullptr, nullptr},
      {"If", kOnnx, 1, 1, kAny, 1, kAny, nullptr, infer_if, eval_if},
  };
  return kOps;
}

}  // namespace narthex
