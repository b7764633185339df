// Which slots a step touches, and which slots may share memory.
#pragma once

#include <vector>

#include "plan/packed.h"

namespace narthex {

struct SlotUse {
  SlotId slot;
  bool write;
};
std::vector<SlotUse> slots_of(const packed::Step& step);

// Gives each slot a region such that two slots share one only if they are never needed at the same time. Per-token and
// per-sequence slots have regions of their own, since their numbers of rows differ.
void assign_regions(PackedPlan& plan);

}  // namespace narthex
