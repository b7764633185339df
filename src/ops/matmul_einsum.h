// Einsum: the equation, and the two functions of its row in matmul.cc. Covered by tests/ops/matmul_test.cc.
#pragma once

#include "ops/ops.h"

namespace narthex {

Result<void> infer_einsum(InferContext& context);
Result<void> eval_einsum(const Node& node, EvalContext& context);

}  // namespace narthex
