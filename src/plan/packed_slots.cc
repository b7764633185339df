#include "plan/packed_slots.h"

#include <algorithm>

namespace narthex {

std::vector<SlotUse> slots_of(const packed::Step& step) {
  std::vector<SlotUse> uses;
  const auto read = [&](const View& view) {
    if (view.slot != kNoSlot) uses.push_back({view.slot, false});
  };
  const auto write = [&](SlotId slot) {
    if (slot != kNoSlot) uses.push_back({slot, true});
  };
  std::visit(
      [&](const auto& s) {
        using S = std::decay_t<decltype(s)>;
        if constexpr (std::is_same_v<S, packed::Gather>) {
          write(s.out.slot);
        } else if constexpr (std::is_same_v<S, packed::Norm>) {
          read(s.x);
          read(s.residual);
          write(s.sum.slot);
          write(s.y.slot);
          write(s.encoded);
        } else if constexpr (std::is_same_v<S, packed::Encode>) {
          read(s.in);
          write(s.out);
        } else if constexpr (std::is_same_v<S, packed::Gated>) {
          read(s.a);
          read(s.b);
          write(s.out);
        } else if constexpr (std::is_same_v<S, packed::Attention>) {
          read(s.q);
          read(s.k);
          read(s.v);
          write(s.out.slot);
        } else if constexpr (std::is_same_v<S, packed::Rotate>) {
          read(s.x);
          write(s.x.slot);
        } else if constexpr (std::is_same_v<S, packed::Binary>) {
          read(s.a);
          read(s.b);
          write(s.out.slot);
        } else {
          read(s.in);
          write(s.out.slot);
        }
      },
      step);
  return uses;
}

void assign_regions(PackedPlan& plan) {
  struct Life {
    std::size_t first = SIZE_MAX, last = 0;
  };
  std::vector<Life> lives(plan.slots.size());
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    for (const SlotUse& use : slots_of(plan.steps[i])) {
      lives[use.slot].first = std::min(lives[use.slot].first, i);
      lives[use.slot].last = i;
    }
  }
  lives[plan.output.slot].last = plan.steps.size();
  struct Region {
    bool per_sequence;
    std::size_t free_after;
  };
  std::vector<Region> regions;
  std::vector<SlotId> order;
  for (SlotId slot = 0; slot < plan.slots.size(); ++slot)
    if (lives[slot].first != SIZE_MAX) order.push_back(slot);
  std::ranges::sort(order, {}, [&](SlotId slot) { return std::pair(lives[slot].first, slot); });
  for (const SlotId slot : order) {
    const auto free = std::ranges::find_if(regions, [&](const Region& region) {
      return region.per_sequence == plan.slots[slot].per_sequence && region.free_after < lives[slot].first;
    });
    plan.slots[slot].region = static_cast<std::uint32_t>(free - regions.begin());
    if (free == regions.end()) {
      regions.push_back({plan.slots[slot].per_sequence, lives[slot].last});
    } else {
      free->free_after = lives[slot].last;
    }
  }
  plan.n_regions = static_cast<std::uint32_t>(regions.size());
}

}  // namespace narthex
