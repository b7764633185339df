#include "plan/fast_ops.h"

#include <array>

namespace narthex {

const FastOp* find_fast_op(const Graph& graph, const Node& node) {
  for (const auto table :
       {fast_matmul_ops(), fast_elementwise_ops(), fast_row_ops(), fast_movement_ops(), fast_quant_ops()}) {
    for (const FastOp& row : table) {
      if (node.op == row.op && node.domain == row.domain && row.applies(graph, node)) return &row;
    }
  }
  return nullptr;
}

Result<Tensor*> StepContext::allocate_over(std::size_t output, std::initializer_list<std::size_t> candidates,
                                           DType dtype, const Dims& dims) {
  for (const std::size_t i : candidates) {
    Tensor* slot = i < dying_.size() ? dying_[i] : nullptr;
    if (slot == nullptr || slot->dtype() != dtype || slot->dims() != dims || !pool_.is_sole_owner(*slot)) continue;
    outputs_[output] = *slot;
    return &outputs_[output];
  }
  return allocate(output, dtype, dims);
}

bool input_is(const Graph& graph, const Node& node, std::size_t i, DType dtype) {
  return node.has_input(i) && graph.value(node.inputs[i]).dtype == dtype;
}

bool first_is_float(const Graph& graph, const Node& node) {
  return input_is(graph, node, 0, DType::kFloat32);
}

}  // namespace narthex
