#include "plan/packed.h"

#include <algorithm>
#include <iterator>

namespace narthex {

std::string_view precision_name(Precision precision) {
  switch (precision) {
    case Precision::kFp32:
      return "fp32";
    case Precision::kBf16:
      return "bf16";
    case Precision::kInt8:
      return "int8";
  }
  return "";
}

std::size_t Slot::stride() const {
  const std::size_t step = 64 / element_bytes(format);
  return (width + step - 1) / step * step;
}

std::size_t Slot::row_bytes() const {
  return stride() * element_bytes(format) + (format == RowFormat::kU8 ? sizeof(float) + sizeof(std::int32_t) : 0);
}

bool PackedPlan::covers(std::span<const std::int32_t> ids) const {
  return ids.size() <= max_positions && std::ranges::none_of(ids, [&](std::int32_t id) {
           return std::ranges::find(excluded_ids, id) != excluded_ids.end();
         });
}

namespace {

Result<void> check_range(std::span<const std::int32_t> ids, std::uint32_t entries, const char* what) {
  for (std::size_t t = 0; t < ids.size(); ++t) {
    if (ids[t] < 0 || static_cast<std::uint32_t>(ids[t]) >= entries)
      return fail(ErrorCode::kBadInput, "{} {} at token {} is outside the model's table of {}", what, ids[t], t,
                  entries);
  }
  return {};
}

Result<void> check_bounds(const TokenBatch& batch) {
  const std::span<const std::size_t> starts = batch.starts;
  if (starts.empty())
    return fail(ErrorCode::kBadInput, "the bounds of the sequences are missing; of none there is one, 0");
  if (!batch.types.empty() && batch.types.size() != batch.ids.size())
    return fail(ErrorCode::kBadInput, "there are {} token types for {} tokens", batch.types.size(), batch.ids.size());
  if (starts.front() != 0)
    return fail(ErrorCode::kBadInput, "the sequences begin at token {}, expected 0", starts.front());
  for (std::size_t s = 0; s + 1 < starts.size(); ++s) {
    if (starts[s + 1] < starts[s]) return fail(ErrorCode::kBadInput, "sequence {} ends before it begins", s);
    if (starts[s + 1] == starts[s]) return fail(ErrorCode::kBadInput, "sequence {} has no tokens", s);
  }
  if (starts.back() != batch.ids.size())
    return fail(ErrorCode::kBadInput, "the sequences end at token {} of {}", starts.back(), batch.ids.size());
  return {};
}

}  // namespace

Result<void> PackedPlan::check(const TokenBatch& batch) const {
  NX_TRY_VOID(check_bounds(batch));
  for (const packed::Step& step : steps) {
    const auto* gather = std::get_if<packed::Gather>(&step);
    if (gather == nullptr) continue;
    for (const packed::Table& table : gather->tables) {
      if (table.index == step::Index::kTokenIds) NX_TRY_VOID(check_range(batch.ids, table.entries, "token id"));
      if (table.index == step::Index::kTokenTypes && !batch.types.empty())
        NX_TRY_VOID(check_range(batch.types, table.entries, "token type"));
    }
  }
  for (std::size_t s = 0; s + 1 < batch.starts.size(); ++s) {
    const std::size_t length = batch.starts[s + 1] - batch.starts[s];
    if (length > max_positions)
      return fail(ErrorCode::kLimit, "sequence {} has {} tokens; the model takes at most {}", s, length, max_positions);
  }
  return {};
}

std::size_t PackedPlan::constant_bytes() const {
  std::size_t bytes = 0;
  for (const packed::Step& step : steps)
    for_constants(step, [&](const Constant& constant) { bytes += constant.bytes; });
  return bytes;
}

std::map<std::string, std::size_t> PackedPlan::step_counts() const {
  constexpr const char* kNames[] = {"gather", "norm",   "linear", "encode",  "gated unit", "attention", "rotation",
                                    "binary", "affine", "unary",  "pooling", "normalize",  "softmax"};
  static_assert(std::size(kNames) == std::variant_size_v<packed::Step>);
  std::map<std::string, std::size_t> counts;
  for (const packed::Step& step : steps) {
    std::string name = kNames[step.index()];
    if (const auto* linear = std::get_if<packed::Linear>(&step))
      name += fmt::format(" {}", precision_name(linear->precision));
    if (const auto* attention = std::get_if<packed::Attention>(&step))
      name += fmt::format(" {}", precision_name(attention->precision));
    ++counts[name];
  }
  return counts;
}

}  // namespace narthex
