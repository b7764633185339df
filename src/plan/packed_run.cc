// PackedPlan::run: cuts a batch into groups of sequences, gives each its memory, and walks the steps.
//
// Many tokens: every core takes groups of whole sequences and meets nobody. Few tokens: the team shares each step,
// columns of a product by a fixed core, so that its slice of the weights stays in that core's cache.
#include "plan/packed_run.h"

#include <algorithm>
#include <new>
#include <numeric>

namespace narthex {
namespace {

constexpr std::align_val_t kAlignment{64};
// Tokens of a group: enough to use each weight many times while it is near, few enough that their rows stay in L2.
constexpr std::size_t kGroupTokens = 192;
// From so many tokens a core on, each core computes its own sequences.
constexpr std::size_t kTokensForGroups = 48;

thread_local Scratch workspace;

std::size_t region_bytes(const GroupRun& run, std::vector<std::size_t>& offsets) {
  std::vector<std::size_t> bytes(run.plan.n_regions, 0);
  for (SlotId slot = 0; slot < run.plan.slots.size(); ++slot) {
    const Slot& info = run.plan.slots[slot];
    // A block of rows more: what a product reads beyond the last row.
    const std::size_t rows = GroupRun::padded_rows(run.rows_of(slot)) + 16;
    bytes[info.region] = std::max(bytes[info.region], (rows * info.row_bytes() + 63) / 64 * 64);
  }
  offsets.resize(bytes.size());
  std::exclusive_scan(bytes.begin(), bytes.end(), offsets.begin(), std::size_t{0});
  return std::reduce(bytes.begin(), bytes.end());
}

void copy_output(const GroupRun& run, float* out) {
  const View& view = run.plan.output;
  const std::size_t rows = run.rows_of(view.slot), stride = run.stride(view.slot);
  const float* from = run.floats(view);
  for (std::size_t row = 0; row < rows; ++row) std::copy_n(from + row * stride, view.width, out + row * view.width);
}

// Sequences [first, last) of the batch.
void run_group(const PackedPlan& plan, const TokenBatch& batch, std::size_t first, std::size_t last, Team* team,
               LinearObserver* observer, float* out) {
  const std::size_t token = batch.starts[first], n_tokens = batch.starts[last] - token;
  std::vector<std::size_t> starts;
  for (std::size_t s = first; s <= last; ++s) starts.push_back(batch.starts[s] - token);
  const TokenBatch mine{batch.ids.subspan(token, n_tokens),
                        batch.types.empty() ? batch.types : batch.types.subspan(token, n_tokens), starts};
  GroupRun run{plan, kernels(), mine, team, observer, {}, {}};
  run.positions.reserve(n_tokens);
  for (std::size_t s = 0; s + 1 < starts.size(); ++s)
    for (std::size_t t = starts[s]; t < starts[s + 1]; ++t)
      run.positions.push_back(static_cast<std::uint32_t>(t - starts[s]));
  std::vector<std::size_t> offsets;
  std::byte* memory = workspace.at_least(region_bytes(run, offsets));
  for (const std::size_t offset : offsets) run.regions.push_back(memory + offset);
  run.run_steps();
  copy_output(run, out + (plan.output_per_sequence() ? first : token) * plan.width());
  workspace.trim();
}

// First sequences of groups of about `tokens` tokens, and the end.
std::vector<std::size_t> cut_groups(const TokenBatch& batch, std::size_t tokens) {
  std::vector<std::size_t> cuts = {0};
  for (std::size_t s = 1; s < batch.n_sequences(); ++s) {
    const std::size_t with_this = batch.starts[s + 1] - batch.starts[cuts.back()];
    if (with_this > tokens) cuts.push_back(s);
  }
  cuts.push_back(batch.n_sequences());
  return cuts;
}

}  // namespace

void Scratch::Free::operator()(std::byte* p) const {
  ::operator delete(p, kAlignment);
}

std::byte* Scratch::at_least(std::size_t bytes) {
  if (bytes_ < bytes) {
    memory_.reset();
    bytes_ = 0;
    memory_.reset(static_cast<std::byte*>(::operator new(bytes, kAlignment)));
    bytes_ = bytes;
    // Rows that no step writes are read by products in whole blocks; they must hold something.
    std::fill_n(memory_.get(), bytes, std::byte{0});
  }
  return memory_.get();
}

void Scratch::trim() {
  if (bytes_ <= kKeptBytes) return;
  memory_.reset();
  bytes_ = 0;
}

EncodedRows GroupRun::encoded(SlotId slot, const Constant& factor, std::size_t first_row) const {
  const Slot& info = plan.slots[slot];
  EncodedRows rows{};
  rows.format = info.format;
  rows.ldy = info.stride();
  rows.y = base(slot) + first_row * info.stride() * element_bytes(info.format);
  rows.factor = factor.as<float>();
  if (info.format == RowFormat::kU8) {
    rows.scale = scales(slot) + first_row;
    rows.zero = zeros(slot) + first_row;
  }
  return rows;
}

void GroupRun::run_steps() {
  if (team == nullptr) kernels.begin_products();
  for (const packed::Step& step : plan.steps) std::visit([&](const auto& s) { run(s); }, step);
  if (team == nullptr) kernels.end_products();
}

namespace {

// Groups that are computed in one turn of the team: about a tenth of a second, so that a short text that comes
// meanwhile need not wait for the end of a long batch.
constexpr std::size_t kGroupsPerTurn = 8;

}  // namespace

void PackedPlan::run(Team& team, const TokenBatch& batch, float* out, LinearObserver* observer) const {
  const std::size_t n_tokens = batch.ids.size(), n_sequences = batch.n_sequences();
  if (n_sequences == 0) return;
  const auto members = static_cast<std::size_t>(team.size());
  const std::size_t tokens =
      std::clamp<std::size_t>((n_tokens + members - 1) / members, kTokensForGroups, kGroupTokens);
  const std::vector<std::size_t> cuts = cut_groups(batch, tokens);
  const std::size_t groups = cuts.size() - 1;
  for (std::size_t first = 0; first < groups;) {
    const Team::Turn turn(team);
    const std::size_t last = std::min(groups, first + kGroupsPerTurn * (turn.whole_team() ? members : 1));
    const auto compute = [&](std::size_t begin, std::size_t end) {
      for (std::size_t g = first + begin; g < first + end; ++g)
        run_group(*this, batch, cuts[g], cuts[g + 1], nullptr, observer, out);
    };
    if (observer != nullptr || members == 1 || !turn.whole_team()) {
      compute(0, last - first);
    } else if (groups < members) {
      run_group(*this, batch, 0, n_sequences, &team, nullptr, out);
      return;
    } else {
      team.parallel_for(last - first, 1, compute);
    }
    first = last;
  }
}

}  // namespace narthex
