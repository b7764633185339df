// From an Encoder to a PackedPlan: which rows live where, what is fused, how weights are packed.
//
//   lower(encoder, options)
//
// Products that read the same columns become one (Q, K and V), residual sums join the norm behind them, gates their
// product, and rows are encoded where they are made. With PoolKind::kFirst everything behind the last attention is
// computed for the first token of each sequence alone. Covered by tests/plan/lower_test.cc.
#pragma once

#include <functional>
#include <vector>

#include "plan/packed.h"

namespace narthex {

struct LowerOptions {
  std::size_t output = 0;                  // index into Encoder::outputs
  std::optional<step::PoolKind> pool;      // of an output that has a row per token: one row per sequence instead
  Precision precision = Precision::kFp32;  // of every product and attention, unless overridden
  // Per product, in the order of the plan's Linear steps (the same for every precision): what differs from `precision`.
  std::vector<std::optional<Precision>> linear_precision;
  // Likewise per Attention step.
  std::vector<std::optional<Precision>> attention_precision;
  // Per product: the largest |input| of each column on calibration texts; empty: no smoothing.
  std::vector<std::vector<float>> column_maxima;
};

PackedPlan lower(const Encoder& encoder, const LowerOptions& options);

}  // namespace narthex
