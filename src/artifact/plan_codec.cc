#include "artifact/plan_codec.h"

#include <concepts>
#include <cstring>
#include <utility>

#include "artifact/artifact.h"
#include "artifact/bytes.h"
#include "artifact/format.h"
#include "plan/packed_slots.h"
#include "plan/packed_validate.h"

namespace narthex::artifact {
namespace {

template <class S, class T>
concept Is = std::same_as<std::remove_const_t<S>, T>;

// The fields of each struct, for writing and reading. Each is taken apart whole, so that a field which is added to it
// does not compile until it has its place here (and kArtifactVersion its next number).
template <Is<View> S, class V>
void fields(S& s, V& visit) {
  auto& [slot, first, width] = s;
  visit(slot, first, width);
}
template <Is<packed::Table> S, class V>
void fields(S& s, V& visit) {
  auto& [rows, bf16, index, entries] = s;
  visit.table_rows(rows);
  visit(bf16, index, entries);
}
template <Is<packed::Gather> S, class V>
void fields(S& s, V& visit) {
  auto& [tables, out] = s;
  visit(tables, out);
}
template <Is<packed::Norm> S, class V>
void fields(S& s, V& visit) {
  auto& [x, residual, sum, y, encoded, kind, gamma, beta, factor, epsilon] = s;
  visit(x, residual, sum, y, encoded, kind, gamma, beta, factor, epsilon);
}
template <Is<packed::Linear> S, class V>
void fields(S& s, V& visit) {
  auto& [in, out, k, n, precision, activation, weights, scale, colsum, bias] = s;
  visit(in, out, k, n, precision, activation, weights, scale, colsum, bias);
}
template <Is<packed::Encode> S, class V>
void fields(S& s, V& visit) {
  auto& [in, out, factor] = s;
  visit(in, out, factor);
}
template <Is<packed::Gated> S, class V>
void fields(S& s, V& visit) {
  auto& [a, b, out, activation, factor] = s;
  visit(a, b, out, activation, factor);
}
template <Is<packed::Attention> S, class V>
void fields(S& s, V& visit) {
  auto& [q, k, v, out, heads, kv_heads, d, d_value, precision, first_query_only, scale, bias, bias_rows, bias_positions,
         window] = s;
  visit(q, k, v, out, heads, kv_heads, d, d_value, precision, first_query_only, scale, bias, bias_rows, bias_positions,
        window);
}
template <Is<packed::Rotate> S, class V>
void fields(S& s, V& visit) {
  auto& [x, heads, d, rotary, cos, sin] = s;
  visit(x, heads, d, rotary, cos, sin);
}
template <Is<packed::Binary> S, class V>
void fields(S& s, V& visit) {
  auto& [a, b, out, kind] = s;
  visit(a, b, out, kind);
}
template <Is<packed::Affine> S, class V>
void fields(S& s, V& visit) {
  auto& [in, out, factor, shift] = s;
  visit(in, out, factor, shift);
}
template <Is<packed::Activate> S, class V>
void fields(S& s, V& visit) {
  auto& [in, out, activation] = s;
  visit(in, out, activation);
}
template <Is<packed::Pool> S, class V>
void fields(S& s, V& visit) {
  auto& [in, out, kind] = s;
  visit(in, out, kind);
}
template <Is<packed::L2Normalize> S, class V>
void fields(S& s, V& visit) {
  auto& [in, out, epsilon] = s;
  visit(in, out, epsilon);
}
template <Is<packed::RowSoftmax> S, class V>
void fields(S& s, V& visit) {
  auto& [in, out] = s;
  visit(in, out);
}
template <Is<Slot> S, class V>
void fields(S& s, V& visit) {
  auto& [format, width, per_sequence, region] = s;
  static_cast<void>(region);
  visit(format, width, per_sequence);
}
template <Is<PackedPlan> S, class V>
void fields(S& s, V& visit) {
  auto& [slots, steps, output, max_positions, n_regions, excluded_ids, owners] = s;
  static_cast<void>(n_regions);
  static_cast<void>(owners);
  visit(slots, steps, output, max_positions, excluded_ids);
}

// What of a struct takes the fewest bytes: an upper bound for counts.
constexpr std::size_t kLeastBytes = 4;

class PlanWriter {
 public:
  explicit PlanWriter(ConstantPool& constants) : constants_(constants) {}

  template <class... T>
  void operator()(const T&... values) {
    (put(values), ...);
  }
  void table_rows(const Constant& rows) { out_.number(constants_.number_of(rows, rows.bytes >= kTableBytes)); }
  const std::string& bytes() const { return out_.bytes(); }

 private:
  template <class T>
    requires std::is_arithmetic_v<T>
  void put(T value) {
    out_.number(value);
  }
  void put(bool value) { out_.number(static_cast<std::uint8_t>(value)); }
  template <class E>
    requires std::is_enum_v<E>
  void put(E value) {
    out_.number(static_cast<std::uint8_t>(value));
  }
  void put(const Constant& constant) { out_.number(constant ? constants_.number_of(constant, false) : 0U); }
  void put(const packed::Step& step) {
    out_.number(static_cast<std::uint8_t>(step.index()));
    std::visit([this](const auto& s) { fields(s, *this); }, step);
  }
  template <class T>
  void put(const std::vector<T>& values) {
    out_.number(static_cast<std::uint32_t>(values.size()));
    for (const T& value : values) put(value);
  }
  template <class S>
    requires std::is_class_v<S>
  void put(const S& s) {
    fields(s, *this);
  }

  ConstantPool& constants_;
  ByteWriter out_;
};

class PlanReader {
 public:
  PlanReader(std::span<const std::byte> bytes, std::span<const Constant> constants)
      : in_(bytes), constants_(constants) {}

  template <class... T>
  void operator()(T&... values) {
    (get(values), ...);
  }
  void table_rows(Constant& rows) { get(rows); }
  bool ok() const { return in_.ok() && in_.at_end(); }

 private:
  template <class T>
    requires std::is_arithmetic_v<T>
  void get(T& value) {
    value = in_.number<T>();
  }
  void get(bool& value) {
    const auto byte = in_.number<std::uint8_t>();
    if (byte > 1) in_.fail();
    value = byte == 1;
  }
  // Whether it is one of the enum's values is for validate() to say.
  template <class E>
    requires std::is_enum_v<E>
  void get(E& value) {
    static_assert(sizeof(E) == 1);
    value = static_cast<E>(in_.number<std::uint8_t>());
  }
  void get(Constant& constant) {
    const auto number = in_.number<std::uint32_t>();
    if (number > constants_.size()) return in_.fail();
    constant = number == 0 ? Constant() : constants_[number - 1];
  }
  void get(packed::Step& step) {
    const auto kind = in_.number<std::uint8_t>();
    if (!emplace(step, kind, std::make_index_sequence<std::variant_size_v<packed::Step>>())) return in_.fail();
    std::visit([this](auto& s) { fields(s, *this); }, step);
  }
  template <std::size_t... I>
  static bool emplace(packed::Step& step, std::size_t kind, std::index_sequence<I...> /*kinds*/) {
    return ((kind == I && (step.emplace<I>(), true)) || ...);
  }
  template <class T>
  void get(std::vector<T>& values) {
    const std::uint32_t n = in_.count(kLeastBytes);
    for (std::uint32_t i = 0; i < n && in_.ok(); ++i) get(values.emplace_back());
  }
  template <class S>
    requires std::is_class_v<S>
  void get(S& s) {
    fields(s, *this);
  }

  ByteReader in_;
  std::span<const Constant> constants_;
};

// assign_regions() follows slot numbers, so those are looked at first; the rest of validate() needs the regions.
bool slots_exist(const PackedPlan& plan) {
  for (const packed::Step& step : plan.steps)
    for (const SlotUse& use : slots_of(step))
      if (use.slot >= plan.slots.size()) return false;
  return plan.output.slot < plan.slots.size() && plan.slots.size() <= PlanLimits::kSlots &&
         plan.steps.size() <= PlanLimits::kSteps;
}

}  // namespace

std::uint32_t ConstantPool::number_of(const Constant& constant, bool table) {
  const std::uint64_t checksum = checksum_of({constant.data, constant.bytes});
  const auto [first, last] = by_checksum_.equal_range(checksum);
  for (auto it = first; it != last; ++it) {
    const Entry& entry = entries_[it->second];
    if (entry.table == table && entry.constant.bytes == constant.bytes &&
        std::memcmp(entry.constant.data, constant.data, constant.bytes) == 0)
      return it->second + 1;
  }
  by_checksum_.emplace(checksum, static_cast<std::uint32_t>(entries_.size()));
  entries_.push_back({constant, checksum, table});
  return static_cast<std::uint32_t>(entries_.size());
}

std::string encode_plan(const PackedPlan& plan, ConstantPool& constants) {
  PlanWriter writer(constants);
  fields(plan, writer);
  return writer.bytes();
}

Result<PackedPlan> decode_plan(std::span<const std::byte> bytes, std::span<const Constant> constants) {
  PlanReader reader(bytes, constants);
  PackedPlan plan;
  fields(plan, reader);
  if (!reader.ok())
    return fail(ErrorCode::kBadModel, "the plan's {} bytes do not end where its fields do", bytes.size());
  if (!slots_exist(plan)) return fail(ErrorCode::kBadModel, "the plan names slots that it does not have");
  assign_regions(plan);
  return plan;
}

}  // namespace narthex::artifact
