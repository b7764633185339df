// The parts of the normalisation family: norm.cc has the table and the layer norms, norm_softmax.cc the softmaxes,
// norm_image.cc those over channels and spatial dimensions. Covered by tests/ops/norm_test.cc.
#pragma once

#include "ops/util.h"

namespace narthex {

// A tensor seen as [outer, size, inner] around one axis. All zero when the tensor is empty.
struct AxisView {
  std::int64_t outer = 0;
  std::int64_t size = 0;
  std::int64_t inner = 0;
};
AxisView view_axis(const Dims& dims, std::int64_t axis);

Result<void> eval_softmax(const Node& node, EvalContext& context);
Result<void> eval_log_softmax(const Node& node, EvalContext& context);
Result<void> eval_hardmax(const Node& node, EvalContext& context);
Result<void> normalise_flat_softmax(const Node& node, Rewriter& rewriter);

Result<void> eval_batch_norm(const Node& node, EvalContext& context);
Result<void> eval_instance_norm(const Node& node, EvalContext& context);
Result<void> eval_group_norm(const Node& node, EvalContext& context);
Result<void> normalise_group_norm_18(const Node& node, Rewriter& rewriter);
Result<void> eval_mean_variance_norm(const Node& node, EvalContext& context);

}  // namespace narthex
