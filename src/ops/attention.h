// The parts of the attention family: attention.cc has the table and Attention, attention_rotary.cc RotaryEmbedding.
// Covered by tests/ops/attention_test.cc.
#pragma once

#include "ops/util.h"

namespace narthex {

Result<void> eval_rotary_embedding(const Node& node, EvalContext& context);

}  // namespace narthex
