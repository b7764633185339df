// Known operands beside rows of tokens: constants by column, tables by position, single numbers.
#include <algorithm>
#include <cmath>

#include "ops/util.h"
#include "plan/recognise_run.h"

namespace narthex::recognition {
namespace {

// Lengths at which what was found at one length is confirmed; the two walks and max_positions come on top.
constexpr std::size_t kConfirm[] = {1, 2, 5, 17};

}  // namespace

bool Operand::is_all(double x) const {
  return !table && std::ranges::all_of(columns, [&](double y) { return x == y; });
}

// The largest length at which the value still has one row for each position.
void Run::lower_limit(ValueId v, std::size_t width) {
  std::size_t low = 0;
  std::size_t high = max_positions_;  // fails
  while (high - low > 1) {
    const std::size_t middle = low + (high - low) / 2;
    const auto tensor = lengths_.at(v, middle);
    const bool good = tensor && static_cast<std::size_t>(tensor->count()) == middle * width;
    (good ? low : high) = middle;
    lengths_.keep_only(max_positions_);
  }
  limit_ = std::min(limit_, low);
}

Result<KnownTable> Run::make_table(ValueId v) {
  NX_TRY(const std::vector<double> here, lengths_.numbers_at(v, length_));
  if (lengths_.depends(v) == Depends::kConstant) return KnownTable{false, here.size(), here};
  NX_TRY(const std::vector<double> longer, lengths_.numbers_at(v, 2 * length_));
  KnownTable table;
  table.by_token = here.size() != longer.size();
  table.width = table.by_token ? here.size() / length_ : here.size();
  if (table.by_token && (here.size() != table.width * length_ || longer.size() != table.width * 2 * length_)) {
    return fail(ErrorCode::kUnsupported, "operand '{}' is neither a vector nor one row for each position",
                graph_.value(v).name);
  }
  auto all = lengths_.numbers_at(v, max_positions_);
  if (table.by_token && (!all || all->size() != table.width * max_positions_)) {
    lower_limit(v, table.width);
    return fail(ErrorCode::kUnsupported, "operand '{}' has no {} positions", graph_.value(v).name, max_positions_);
  }
  if (!all) return std::unexpected(all.error());
  table.elements = *std::move(all);
  for (const std::size_t n : {kConfirm[0], kConfirm[1], kConfirm[2], kConfirm[3], length_, 2 * length_}) {
    if (n > max_positions_) continue;
    NX_TRY(const std::vector<double> some, lengths_.numbers_at(v, n));
    const std::size_t count = table.by_token ? n * table.width : table.width;
    if (some.size() != count || !std::equal(some.begin(), some.end(), table.elements.begin())) {
      return fail(ErrorCode::kUnsupported, "operand '{}' changes with the length of the sequence",
                  graph_.value(v).name);
    }
  }
  return table;
}

Result<const KnownTable*> Run::table_of(ValueId v) {
  if (const auto found = known_tables_.find(v); found != known_tables_.end()) return &found->second;
  NX_TRY(KnownTable table, make_table(v));
  return &known_tables_.emplace(v, std::move(table)).first->second;
}

// index: for each code, which element of the known value stands beside it.
Result<Operand> Run::operand_of(ValueId v, const Tensor& index, const Tensor& codes, const Layout& layout) {
  NX_TRY(const KnownTable* table, table_of(v));
  const bool by_token = table->by_token && !entity(layout.entity).per_sequence;
  std::vector<std::size_t> columns(layout.width, table->elements.size());
  const std::span<const std::int64_t> words = codes.as<std::int64_t>();
  for (std::size_t i = 0; i < words.size(); ++i) {
    const Code code = decode(words[i]);
    auto at = static_cast<std::size_t>(index.as<std::int64_t>()[i]);
    if (by_token && at / table->width != code.token) {
      return fail(ErrorCode::kUnsupported, "operand '{}' is not laid out by tokens", graph_.value(v).name);
    }
    if (by_token) at %= table->width;
    std::size_t& column = columns[code.column - layout.first];
    if (column != table->elements.size() && table->elements[column] != table->elements[at]) {
      return fail(ErrorCode::kUnsupported, "operand '{}' is not the same for all tokens", graph_.value(v).name);
    }
    // With rows by position each column must keep to one column of the table.
    if (by_token && column != table->elements.size() && column != at) {
      return fail(ErrorCode::kUnsupported, "operand '{}' changes its columns from token to token",
                  graph_.value(v).name);
    }
    column = at;
  }
  Operand operand;
  for (const std::size_t column : columns) operand.columns.push_back(table->elements[column]);
  if (!by_token) return operand;
  const auto constant = [&](std::size_t p) {
    return std::ranges::all_of(
        columns, [&](std::size_t c) { return table->elements[p * table->width + c] == table->elements[c]; });
  };
  bool same = true;
  for (std::size_t p = 1; same && p < max_positions_; ++p) same = constant(p);
  if (same) return operand;
  NX_TRY(Tensor rows, Tensor::allocate(DType::kFloat32, {static_cast<std::int64_t>(max_positions_),
                                                         static_cast<std::int64_t>(layout.width)}));
  float* out = rows.as_mutable<float>().data();
  for (std::size_t p = 0; p < max_positions_; ++p) {
    for (const std::size_t c : columns) *out++ = static_cast<float>(table->elements[p * table->width + c]);
  }
  operand.table = std::move(rows);
  return operand;
}

Result<std::optional<double>> Run::uniform(ValueId v) {
  NX_TRY(const std::vector<double> here, lengths_.numbers_at(v, length_));
  if (here.empty() || std::ranges::any_of(here, [&](double x) { return x != here[0]; })) return std::nullopt;
  if (lengths_.depends(v) == Depends::kConstant) return here[0];
  NX_TRY(const std::vector<double> longer, lengths_.numbers_at(v, 2 * length_));
  if (longer.size() > 2 * here.size()) return std::nullopt;  // pairs of positions are not looked at one by one
  for (const std::size_t n : {std::size_t{1}, std::size_t{2}, std::size_t{17}, max_positions_}) {
    if (n > max_positions_) continue;
    NX_TRY(const std::vector<double> other, lengths_.numbers_at(v, n));
    if (std::ranges::any_of(other, [&](double x) { return x != here[0]; })) return std::nullopt;
  }
  return here[0];
}

bool Run::is_length(ValueId v, bool inverse) {
  if (lengths_.depends(v) != Depends::kLength) return false;
  for (const std::size_t n : {std::size_t{1}, std::size_t{2}, std::size_t{17}, length_, max_positions_}) {
    if (n > max_positions_) continue;
    const auto numbers = lengths_.numbers_at(v, n);
    const double expected = inverse ? 1.0 / static_cast<double>(n) : static_cast<double>(n);
    const auto equal = [&](double x) { return std::abs(x - expected) <= 1e-6 * expected; };
    if (!numbers || numbers->empty() || !std::ranges::all_of(*numbers, equal)) return false;
  }
  return true;
}

Result<Tensor> Run::constant_float(ValueId v) {
  if (!known(v) || lengths_.depends(v) != Depends::kConstant) {
    return fail(ErrorCode::kUnsupported, "'{}' is not a constant", graph_.value(v).name);
  }
  NX_TRY(const Tensor tensor, lengths_.at(v, length_));
  return as_float(tensor);
}

}  // namespace narthex::recognition
