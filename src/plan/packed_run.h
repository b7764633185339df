// One group of sequences on its way through a plan: the inside of PackedPlan::run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/team.h"
#include "kernels/kernels.h"
#include "plan/packed.h"

namespace narthex {

// Memory of one thread that grows to what its largest run needed. What is larger than kKeptBytes is given back.
class Scratch {
 public:
  static constexpr std::size_t kKeptBytes = std::size_t{64} << 20;
  std::byte* at_least(std::size_t bytes);  // 64-byte aligned; earlier contents are lost
  void trim();

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  std::unique_ptr<std::byte[], Free> memory_;
  std::size_t bytes_ = 0;
};

struct GroupRun {
  const PackedPlan& plan;
  const KernelTable& kernels;
  TokenBatch batch;      // starts begin at 0
  Team* team = nullptr;  // null: this thread computes everything
  LinearObserver* observer = nullptr;
  std::vector<std::byte*> regions;
  std::vector<std::uint32_t> positions;  // per token

  std::size_t n_tokens() const { return batch.ids.size(); }
  std::size_t rows_of(SlotId slot) const { return plan.slots[slot].per_sequence ? batch.n_sequences() : n_tokens(); }
  // Products read whole blocks of 16 rows.
  static std::size_t padded_rows(std::size_t rows) { return (rows + 15) / 16 * 16; }

  std::byte* base(SlotId slot) const { return regions[plan.slots[slot].region]; }
  std::size_t stride(SlotId slot) const { return plan.slots[slot].stride(); }
  bool is_bf16(SlotId slot) const { return plan.slots[slot].format == RowFormat::kBf16; }
  float* floats(const View& view) const { return reinterpret_cast<float*>(base(view.slot)) + view.first; }
  void* elements(const View& view) const {
    return base(view.slot) + view.first * element_bytes(plan.slots[view.slot].format);
  }
  // Behind the rows of a kU8 slot: scales, then zero points.
  float* scales(SlotId slot) const {
    return reinterpret_cast<float*>(base(slot) + padded_rows(rows_of(slot)) * stride(slot));
  }
  std::int32_t* zeros(SlotId slot) const {
    return reinterpret_cast<std::int32_t*>(scales(slot) + padded_rows(rows_of(slot)));
  }
  EncodedRows encoded(SlotId slot, const Constant& factor, std::size_t first_row) const;

  // f(begin, end) over [0, n): in parts of at least `grain` on the team, or all at once.
  template <class F>
  void split(std::size_t n, std::size_t grain, F&& f) const {
    if (team == nullptr || n <= grain) {
      f(std::size_t{0}, n);
    } else {
      team->parallel_for(n, grain, f);
    }
  }

  void run_steps();
  void run(const packed::Gather& s);
  void run(const packed::Norm& s);
  void run(const packed::Linear& s);
  void run(const packed::Encode& s);
  void run(const packed::Gated& s);
  void run(const packed::Attention& s);
  void run(const packed::Rotate& s);
  void run(const packed::Binary& s);
  void run(const packed::Affine& s);
  void run(const packed::Activate& s);
  void run(const packed::Pool& s);
  void run(const packed::L2Normalize& s);
  void run(const packed::RowSoftmax& s);
};

}  // namespace narthex
