// Whether a plan that was read from a file may be run: the guard between bytes that anybody may have written and
// kernels that check nothing.
//
//   NX_TRY_VOID(validate(plan));
//
// After it succeeds, run() with any batch that passes check() reads and writes inside slots, regions and constants
// only, whatever the numbers in the constants are. The rules are those that packed_steps.cc, packed_attention.cc and
// args.h rely on: a step that learns to touch more memory gets its rule here. Covered by tests/artifact/forged_test.cc
// and fuzz/artifact_fuzz.cc.
#pragma once

#include "plan/packed.h"

namespace narthex {

// Far beyond any encoder; they bound the memory that a forged plan can ask for.
struct PlanLimits {
  static constexpr std::size_t kSlots = std::size_t{1} << 14;
  static constexpr std::size_t kSteps = std::size_t{1} << 14;
  static constexpr std::size_t kPositions = std::size_t{1} << 20;
  // Of all slots together, for one token: a vocabulary of 250,000 logits takes 1 MB.
  static constexpr std::size_t kRowBytes = std::size_t{8} << 20;
};

Result<void> validate(const PackedPlan& plan);

}  // namespace narthex
