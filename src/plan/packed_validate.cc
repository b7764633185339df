#include "plan/packed_validate.h"

#include "plan/packed_slots.h"

namespace narthex {
namespace {

// What a step may do with the rows of a view.
enum class Use : std::uint8_t { kRead, kWrite };

// Notes the first rule that is broken; later ones say nothing.
class Validator {
 public:
  explicit Validator(const PackedPlan& plan) : plan_(plan), written_(plan.slots.size(), false) {}

  Result<void> run() {
    check_plan();
    for (std::size_t i = 0; i < plan_.steps.size() && broken_.empty(); ++i) {
      where_ = fmt::format("step {}", i);
      std::visit([this](const auto& s) { check(s); }, plan_.steps[i]);
      if (broken_.empty()) note_written(plan_.steps[i]);
    }
    if (broken_.empty()) {
      where_ = "the output";
      view(plan_.output, RowFormat::kF32, Use::kRead, "the output");
    }
    if (broken_.empty()) return {};
    return fail(ErrorCode::kBadModel, "the plan cannot be run: {}: {}", where_, broken_);
  }

 private:
  template <class... Args>
  bool require(bool holds, fmt::format_string<Args...> sentence, Args&&... args) {
    if (!holds && broken_.empty()) broken_ = fmt::format(sentence, std::forward<Args>(args)...);
    return holds;
  }

  void check_plan() {
    where_ = "the plan";
    require(plan_.slots.size() <= PlanLimits::kSlots, "{} slots are more than {}", plan_.slots.size(),
            PlanLimits::kSlots);
    require(plan_.steps.size() <= PlanLimits::kSteps, "{} steps are more than {}", plan_.steps.size(),
            PlanLimits::kSteps);
    require(plan_.max_positions >= 1 && plan_.max_positions <= PlanLimits::kPositions,
            "texts of {} tokens; 1 to {} are possible", plan_.max_positions, PlanLimits::kPositions);
    require(plan_.n_regions <= plan_.slots.size(), "{} regions for {} slots", plan_.n_regions, plan_.slots.size());
    for (std::size_t i = 0; i < plan_.slots.size() && broken_.empty(); ++i) {
      const Slot& slot = plan_.slots[i];
      require(slot.format <= RowFormat::kU8, "slot {} has an unknown format", i);
      require(slot.width >= 1 && slot.width <= PlanLimits::kRowBytes, "slot {} is {} wide", i, slot.width);
      require(slot.region < plan_.n_regions, "slot {} lies in region {} of {}", i, slot.region, plan_.n_regions);
    }
    if (broken_.empty()) check_region_rows();
  }

  // Slots of a region lie in the same memory: its row is as wide as the widest.
  void check_region_rows() {
    std::vector<std::size_t> rows(plan_.n_regions, 0);
    std::size_t sum = 0;
    for (const Slot& slot : plan_.slots) {
      std::size_t& widest = rows[slot.region];
      if (slot.row_bytes() <= widest) continue;
      sum += slot.row_bytes() - widest;
      widest = slot.row_bytes();
    }
    require(sum <= PlanLimits::kRowBytes, "a token's rows take {} bytes, at most {} are possible", sum,
            PlanLimits::kRowBytes);
  }

  void note_written(const packed::Step& step) {
    for (const SlotUse& use : slots_of(step))
      if (use.write) written_[use.slot] = true;
  }

  // A slot that exists and, when it is read, has been written: else a run would show what an earlier one left behind.
  bool slot(SlotId id, Use use, const char* what) {
    return require(id < plan_.slots.size(), "{} is in slot {} of {}", what, id, plan_.slots.size()) &&
           require(use == Use::kWrite || written_[id], "{} is read from slot {} before that is written", what, id);
  }
  bool columns(const View& v, Use use, const char* what) {
    if (!slot(v.slot, use, what)) return false;
    const std::size_t width = plan_.slots[v.slot].width;
    return require(v.width >= 1 && std::size_t{v.first} + v.width <= width, "{} is columns {} to {} of {}", what,
                   v.first, std::size_t{v.first} + v.width, width);
  }
  bool view(const View& v, RowFormat format, Use use, const char* what) {
    return columns(v, use, what) && require(format_of_slot(v) == format, "{} has the wrong format", what);
  }
  // Floats or bfloat16: what kernels with an x_bf16 or c_bf16 take.
  bool wide_view(const View& v, Use use, const char* what) {
    return columns(v, use, what) && require(format_of_slot(v) != RowFormat::kU8, "{} has the wrong format", what);
  }
  RowFormat format_of_slot(const View& v) const { return plan_.slots[v.slot].format; }

  // As many rows, so that what holds for the rows of one holds for the other.
  bool same_rows(SlotId a, SlotId b) {
    return require(plan_.slots[a].per_sequence == plan_.slots[b].per_sequence,
                   "slots {} and {} differ in having a row per token or per sequence", a, b);
  }
  bool rows_per(SlotId id, bool per_sequence, const char* what) {
    return require(plan_.slots[id].per_sequence == per_sequence, "{} must have a row per {}", what,
                   per_sequence ? "sequence" : "token");
  }
  bool width(const View& v, std::size_t wanted, const char* what) {
    return require(v.width == wanted, "{} is {} wide, expected {}", what, v.width, wanted);
  }
  // What a row-wise step makes of `x`.
  void alike(const View& x, const View& y, RowFormat format, Use use, const char* what) {
    if (view(y, format, use, what) && same_rows(x.slot, y.slot)) width(y, x.width, what);
  }
  // Encoded rows begin at the slot's first column and end in zeros up to its stride.
  void encoding(const View& x, SlotId id, const char* what) {
    if (!slot(id, Use::kWrite, what) || !same_rows(x.slot, id)) return;
    require(plan_.slots[id].width == x.width, "{} is {} wide, expected {}", what, plan_.slots[id].width, x.width);
  }

  // `count` elements of `bytes` each; counts are products of at most three 32-bit numbers below 2^23.
  bool constant(const Constant& c, std::uint64_t count, std::size_t bytes, const char* what) {
    return require(c.data != nullptr, "{} are missing", what) &&
           require(reinterpret_cast<std::uintptr_t>(c.data) % 64 == 0, "{} are not aligned", what) &&
           require(c.bytes / bytes >= count, "{} are {} bytes, {} elements of {} are needed", what, c.bytes, count,
                   bytes);
  }
  void optional_floats(const Constant& c, std::uint64_t count, const char* what) {
    if (c) constant(c, count, sizeof(float), what);
  }
  template <class E>
  bool known(E value, E last, const char* what) {
    return require(value <= last, "{} {} is not known", what, static_cast<int>(value));
  }
  bool known(Activation activation) { return known(activation, Activation::kSilu, "activation"); }
  // The int8 products count in 32 bits.
  bool sums_fit(std::size_t depth) {
    constexpr std::size_t kLargestTerm = std::size_t{255} * 127;
    return require(depth <= INT32_MAX / kLargestTerm, "an int8 product over {} elements does not fit 32 bits", depth);
  }

  void check(const packed::Gather& s) {
    if (!view(s.out, RowFormat::kF32, Use::kWrite, "out") || !rows_per(s.out.slot, false, "out")) return;
    require(!s.tables.empty(), "there are no tables");
    for (const packed::Table& table : s.tables) {
      constant(table.rows, std::uint64_t{table.entries} * s.out.width, table.bf16 ? 2 : 4, "a table's rows");
      known(table.index, step::Index::kPosition, "index");
      const std::size_t least = table.index == step::Index::kPosition ? plan_.max_positions : 1;
      require(table.entries >= least, "a table has {} rows, {} are needed", table.entries, least);
    }
  }

  void check(const packed::Norm& s) {
    if (!view(s.x, RowFormat::kF32, Use::kRead, "x")) return;
    if (s.residual.slot != kNoSlot) alike(s.x, s.residual, RowFormat::kF32, Use::kRead, "residual");
    if (s.sum.slot != kNoSlot) alike(s.x, s.sum, RowFormat::kF32, Use::kWrite, "sum");
    if (s.y.slot != kNoSlot) alike(s.x, s.y, RowFormat::kF32, Use::kWrite, "y");
    if (s.encoded != kNoSlot) encoding(s.x, s.encoded, "the encoded form");
    known(s.kind, NormKind::kRms, "kind of norm");
    optional_floats(s.gamma, s.x.width, "gamma");
    optional_floats(s.beta, s.x.width, "beta");
    optional_floats(s.factor, s.x.width, "factors");
  }

  void check(const packed::Linear& s) {
    if (!known(s.precision, Precision::kInt8, "precision") || !known(s.activation)) return;
    const RowFormat format = format_of(s.precision);
    if (!view(s.in, format, Use::kRead, "in") || !width(s.in, s.k, "in")) return;
    const std::size_t depth = padded_depth(format, s.k);
    require(s.in.first + depth <= plan_.slots[s.in.slot].stride(), "in ends before the {} elements of a product",
            depth);
    require(format != RowFormat::kU8 || s.in.first == 0, "in begins at column {} of an int8 slot", s.in.first);
    if (!wide_view(s.out, Use::kWrite, "out") || !width(s.out, s.n, "out") || !same_rows(s.in.slot, s.out.slot)) return;
    require(s.precision != Precision::kFp32 || format_of_slot(s.out) == RowFormat::kF32, "out has the wrong format");
    require(s.in.slot != s.out.slot, "in and out are the same slot");
    constant(s.weights, packed_bytes(format, s.k, s.n), 1, "weights");
    optional_floats(s.bias, s.n, "biases");
    if (s.precision != Precision::kInt8) return;
    const std::size_t panels = (std::size_t{s.n} + kPanel - 1) / kPanel * kPanel;
    constant(s.scale, panels, sizeof(float), "scales");
    constant(s.colsum, panels, sizeof(std::int32_t), "column sums");
    sums_fit(depth);
  }

  void check(const packed::Encode& s) {
    if (!wide_view(s.in, Use::kRead, "in")) return;
    encoding(s.in, s.out, "out");
    require(s.in.slot != s.out, "in and out are the same slot");
    optional_floats(s.factor, s.in.width, "factors");
  }

  void check(const packed::Gated& s) {
    if (!view(s.a, RowFormat::kF32, Use::kRead, "a") || !known(s.activation)) return;
    alike(s.a, s.b, RowFormat::kF32, Use::kRead, "b");
    encoding(s.a, s.out, "out");
    optional_floats(s.factor, s.a.width, "factors");
  }

  void check(const packed::Attention& s) {
    require(s.heads >= 1 && s.kv_heads >= 1 && s.heads % s.kv_heads == 0, "{} heads share {} heads of keys", s.heads,
            s.kv_heads);
    require(s.d >= 1 && s.d_value >= 1, "heads have no columns");
    if (!known(s.precision, Precision::kInt8, "precision") || !broken_.empty()) return;
    check_rows(s);
    check_bias(s);
    if (s.precision != Precision::kInt8) return;
    sums_fit(padded_depth(RowFormat::kU8, s.d));
    sums_fit(padded_depth(RowFormat::kU8, plan_.max_positions));
  }
  void check_rows(const packed::Attention& s) {
    const bool fp32 = s.precision == Precision::kFp32;
    // Keys and values are packed from floats except by bf16; fp32 products read and write nothing else.
    const auto operand = [&](const View& v, std::uint64_t columns, bool floats, const char* what) {
      if (!wide_view(v, Use::kRead, what) || !rows_per(v.slot, false, what)) return;
      require(v.width == columns, "{} is {} wide, expected {}", what, v.width, columns);
      require(!floats || format_of_slot(v) == RowFormat::kF32, "{} has the wrong format", what);
    };
    operand(s.q, std::uint64_t{s.heads} * s.d, fp32, "q");
    operand(s.k, std::uint64_t{s.kv_heads} * s.d, s.precision != Precision::kBf16, "k");
    operand(s.v, std::uint64_t{s.kv_heads} * s.d_value, s.precision != Precision::kBf16, "v");
    if (!wide_view(s.out, Use::kWrite, "out") || !rows_per(s.out.slot, s.first_query_only, "out")) return;
    require(s.out.width == std::uint64_t{s.heads} * s.d_value, "out is {} wide, expected {}", s.out.width,
            std::uint64_t{s.heads} * s.d_value);
    require(!fp32 || format_of_slot(s.out) == RowFormat::kF32, "out has the wrong format");
    for (const SlotId read : {s.q.slot, s.k.slot, s.v.slot}) require(read != s.out.slot, "out is also read");
  }
  void check_bias(const packed::Attention& s) {
    if (!s.bias) return;
    require(s.bias_rows == 1 || s.bias_rows == s.heads, "the bias has {} rows for {} heads", s.bias_rows, s.heads);
    require(s.bias_positions >= plan_.max_positions, "the bias has {} positions, {} are needed", s.bias_positions,
            plan_.max_positions);
    if (!broken_.empty()) return;
    constant(s.bias, std::uint64_t{s.bias_rows} * (2 * std::uint64_t{s.bias_positions} - 1), sizeof(float), "biases");
  }

  void check(const packed::Rotate& s) {
    if (!view(s.x, RowFormat::kF32, Use::kRead, "x") || !rows_per(s.x.slot, false, "x")) return;
    require(s.x.width == std::uint64_t{s.heads} * s.d, "x is {} wide, expected {}", s.x.width,
            std::uint64_t{s.heads} * s.d);
    if (!require(s.rotary >= 2 && s.rotary % 2 == 0 && s.rotary <= s.d, "{} of {} columns are rotated", s.rotary, s.d))
      return;
    constant(s.cos, std::uint64_t{plan_.max_positions} * s.rotary, sizeof(float), "cosines");
    constant(s.sin, std::uint64_t{plan_.max_positions} * s.rotary, sizeof(float), "sines");
  }

  void check(const packed::Binary& s) {
    if (!view(s.a, RowFormat::kF32, Use::kRead, "a")) return;
    alike(s.a, s.b, RowFormat::kF32, Use::kRead, "b");
    alike(s.a, s.out, RowFormat::kF32, Use::kWrite, "out");
    known(s.kind, step::BinaryKind::kMultiply, "kind");
  }

  void check(const packed::Affine& s) {
    if (!unary(s)) return;
    optional_floats(s.factor, s.in.width, "factors");
    optional_floats(s.shift, s.in.width, "shifts");
  }
  void check(const packed::Activate& s) {
    if (unary(s)) known(s.activation);
  }
  void check(const packed::Pool& s) {
    if (!view(s.in, RowFormat::kF32, Use::kRead, "in") || !rows_per(s.in.slot, false, "in")) return;
    if (!view(s.out, RowFormat::kF32, Use::kWrite, "out") || !rows_per(s.out.slot, true, "out")) return;
    width(s.out, s.in.width, "out");
    known(s.kind, step::PoolKind::kMax, "kind of pooling");
  }
  void check(const packed::L2Normalize& s) { unary(s); }
  void check(const packed::RowSoftmax& s) { unary(s); }
  template <class S>
  bool unary(const S& s) {
    if (!view(s.in, RowFormat::kF32, Use::kRead, "in")) return false;
    alike(s.in, s.out, RowFormat::kF32, Use::kWrite, "out");
    return broken_.empty();
  }

  const PackedPlan& plan_;
  std::vector<bool> written_;
  std::string where_, broken_;
};

}  // namespace

Result<void> validate(const PackedPlan& plan) {
  return Validator(plan).run();
}

}  // namespace narthex
