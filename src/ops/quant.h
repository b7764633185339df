// The parts of the quantisation family: quant.cc has the table and the conversions, quant_matmul.cc the integer
// products. Covered by tests/ops/quant_test.cc.
#pragma once

#include "ops/util.h"

namespace narthex {

// The range of an integer type of at most 16 bits, packed ones included; nullopt for other types.
struct QuantRange {
  double min;
  double max;
};
std::optional<QuantRange> quant_range(DType dtype);
// round-half-even(value) + zero_point, saturated; NaN becomes the minimum, as in ONNX Runtime on x86.
double quantised(float value, double zero_point, const QuantRange& range);

Result<void> infer_matmul_integer(InferContext& context);
Result<void> eval_matmul_integer(const Node& node, EvalContext& context);
Result<void> infer_qlinear_matmul(InferContext& context);
Result<void> eval_qlinear_matmul(const Node& node, EvalContext& context);

}  // namespace narthex
