// What is added to the scores of an attention, as a function of key position − query position.
//
//   relative_bias(lengths, terms, heads, max_positions)
//
// Terms are known values: additive masks, windows, relative positions, ALiBi. They are evaluated over all pairs up to
// kMaxPairs positions; beyond, only what has become constant well before is continued. Where exp() gives 0 next to any
// ordinary score the bias is −inf. Covered by tests/plan/recognise_test.cc.
#pragma once

#include "plan/recognise_lengths.h"

namespace narthex::recognition {

struct BiasTerm {
  ValueId known = kNoValue;
  Dims lead;              // dims of the scores before the last two; their product is heads
  double multiplier = 1;  // of an added term
  // Instead of adding: scores become `fill` where the known condition is `fill_when`.
  bool fills = false;
  bool fill_when = false;
  double fill = 0;
  bool operator==(const BiasTerm&) const = default;
};

struct RelativeBias {
  std::optional<Tensor> bias;  // as in step::Attention; absent: all zeros
  std::size_t window = 0;
  std::size_t max_positions = 0;  // how far it holds
};

inline constexpr std::size_t kMaxPairs = 1024;

Result<RelativeBias> relative_bias(const Graph& graph, Lengths& lengths, const std::vector<BiasTerm>& terms,
                                   std::size_t heads, std::size_t max_positions);

}  // namespace narthex::recognition
