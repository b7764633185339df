#include "plan/recognise_bias.h"

#include <algorithm>
#include <cmath>

#include "ops/util.h"

namespace narthex::recognition {
namespace {

constexpr double kHidden = -INFINITY;
// exp(x − y) is exactly 0 in float32 below −104; scores of real models stay within some hundred. Exporters hide keys
// with −10000, −65504, finfo.min or −inf; nothing meant as a preference is as large.
constexpr double kHides = -9000;
constexpr double kLargestPreference = 1000;

// Everything that is added to the scores of one head or all heads, [heads, n, n].
struct Sum {
  std::size_t heads = 1;
  std::size_t n = 0;
  std::vector<double> elements;
  double& at(std::size_t h, std::size_t i, std::size_t j) { return elements[(h * n + i) * n + j]; }
};

// Whether the term does nothing, looking at no more elements than it has.
Result<bool> is_neutral(Lengths& lengths, const BiasTerm& term, std::size_t n) {
  NX_TRY(const std::vector<double> numbers, lengths.numbers_at(term.known, n));
  return std::ranges::all_of(numbers, [&](double x) { return term.fills ? (x != 0) != term.fill_when : x == 0; });
}

// Whether it has one element for each pair of positions, so that long sequences cannot be evaluated.
Result<bool> has_pairs(Lengths& lengths, const BiasTerm& term) {
  NX_TRY(const Tensor small, lengths.at(term.known, 3));
  NX_TRY(const Tensor large, lengths.at(term.known, 6));
  return large.count() > 2 * small.count();
}

Result<void> add_term(Lengths& lengths, const BiasTerm& term, std::size_t heads, Sum& sum) {
  NX_TRY(const Tensor tensor, lengths.at(term.known, sum.n));
  NX_TRY(const std::vector<double> numbers, numbers_of(tensor));
  Dims dims = term.lead;
  dims.push_back(static_cast<std::int64_t>(sum.n));
  dims.push_back(static_cast<std::int64_t>(sum.n));
  NX_TRY(const Dims together, broadcast_dims(dims, tensor.dims()));
  if (together != dims) return fail(ErrorCode::kUnsupported, "a mask of shape {}", dims_string(tensor.dims()));
  std::vector<std::int64_t> strides = broadcast_strides(tensor.dims(), dims);
  const bool per_head = std::any_of(strides.begin(), strides.end() - 2, [](std::int64_t s) { return s != 0; });
  if (per_head && sum.heads == 1 && heads > 1) {
    sum.heads = heads;
    const std::vector<double> one = sum.elements;
    for (std::size_t h = 1; h < heads; ++h) sum.elements.insert(sum.elements.end(), one.begin(), one.end());
  }
  if (sum.heads == 1) std::fill(dims.begin(), dims.end() - 2, 1);
  StridedWalk<1> walk(dims, {std::move(strides)});
  for (double& x : sum.elements) {
    const double y = numbers[static_cast<std::size_t>(walk.offset(0))];
    if (!term.fills) {
      x += y * term.multiplier;
    } else if ((y != 0) == term.fill_when) {
      x = term.fill;
    }
    walk.next();
  }
  return {};
}

Result<Sum> sum_of(Lengths& lengths, const std::vector<BiasTerm>& terms, std::size_t heads, std::size_t n) {
  Sum sum;
  sum.n = n;
  sum.elements.assign(n * n, 0);
  for (const BiasTerm& term : terms) {
    // Filled scores must be hidden: they no longer hold what the keys say.
    if (term.fills && !(term.fill <= kHides)) {
      return fail(ErrorCode::kUnsupported, "scores are replaced by {}", term.fill);
    }
    NX_TRY_VOID(add_term(lengths, term, heads, sum));
  }
  for (double& x : sum.elements) {
    if (x <= kHides) x = kHidden;
    if (std::isnan(x) || (x != kHidden && std::abs(x) > kLargestPreference)) {
      return fail(ErrorCode::kUnsupported, "{} is added to scores: neither a mask nor a preference", x);
    }
  }
  return sum;
}

// [heads, 2 n − 1]: the sum as a function of j − i.
Result<std::vector<double>> by_distance(Sum& sum) {
  const std::size_t n = sum.n;
  std::vector<double> table(sum.heads * (2 * n - 1));
  for (std::size_t h = 0; h < sum.heads; ++h) {
    double* row = table.data() + h * (2 * n - 1) + n - 1;
    for (std::size_t j = 0; j < n; ++j) row[j] = sum.at(h, 0, j);
    for (std::size_t i = 1; i < n; ++i) row[-static_cast<std::ptrdiff_t>(i)] = sum.at(h, i, 0);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        const double expected = row[static_cast<std::ptrdiff_t>(j) - static_cast<std::ptrdiff_t>(i)];
        if (sum.at(h, i, j) != expected && !(std::abs(sum.at(h, i, j) - expected) <= 1e-6 * std::abs(expected))) {
          return fail(ErrorCode::kUnsupported,
                      "what is added to scores depends on more than the distance of two positions");
        }
      }
    }
    if (row[0] == kHidden) return fail(ErrorCode::kUnsupported, "tokens do not see themselves");
  }
  return table;
}

// Constants between the evaluated length and the wanted one may mean something beyond what was looked at.
bool may_change_beyond(const Graph& graph, const Lengths& lengths, const std::vector<BiasTerm>& terms, double from,
                       double to) {
  std::vector<bool> reached(graph.values.size(), false);
  std::vector<ValueId> stack;
  for (const BiasTerm& term : terms) stack.push_back(term.known);
  while (!stack.empty()) {
    const ValueId v = stack.back();
    stack.pop_back();
    if (v == kNoValue || reached[static_cast<std::size_t>(v)]) continue;
    reached[static_cast<std::size_t>(v)] = true;
    if (const auto& constant = graph.value(v).constant; constant && constant->count() <= 16) {
      const auto numbers = numbers_of(*constant);
      if (numbers &&
          std::ranges::any_of(*numbers, [&](double x) { return std::abs(x) >= from && std::abs(x) <= to; })) {
        return true;
      }
    }
    const std::size_t producer = lengths.producer(v);
    if (producer == graph.nodes.size()) continue;
    const std::vector<ValueId>& inputs = graph.nodes[producer].inputs;
    stack.insert(stack.end(), inputs.begin(), inputs.end());
  }
  return false;
}

// The table for `to` positions from that for n: its tails go on. Empty when they are not constant.
std::vector<double> extended(const std::vector<double>& table, std::size_t heads, std::size_t n, std::size_t to) {
  std::vector<double> out;
  for (std::size_t h = 0; h < heads; ++h) {
    const double* row = table.data() + h * (2 * n - 1);
    for (std::size_t i = 0; i < n / 2; ++i) {
      if (row[i] != row[0] || row[2 * n - 2 - i] != row[2 * n - 2]) return {};
    }
    out.insert(out.end(), to - n, row[0]);
    out.insert(out.end(), row, row + 2 * n - 1);
    out.insert(out.end(), to - n, row[2 * n - 2]);
  }
  return out;
}

// The largest distance at which something is seen, when all that is farther is hidden; else 0.
std::size_t window_of(const std::vector<double>& table, std::size_t heads, std::size_t n) {
  std::size_t window = 0;
  for (std::size_t i = 0; i < heads * (2 * n - 1); ++i) {
    const std::size_t at = i % (2 * n - 1);
    if (table[i] != kHidden) window = std::max(window, at > n - 1 ? at - (n - 1) : n - 1 - at);
  }
  return window + 1 < n ? window : 0;
}

}  // namespace

Result<RelativeBias> relative_bias(const Graph& graph, Lengths& lengths, const std::vector<BiasTerm>& terms,
                                   std::size_t heads, std::size_t max_positions) {
  RelativeBias result;
  result.max_positions = max_positions;
  bool neutral = true;
  bool pairs = false;
  for (const BiasTerm& term : terms) {
    NX_TRY(const bool term_pairs, has_pairs(lengths, term));
    pairs = pairs || term_pairs;
    for (const std::size_t n : {std::size_t{1}, std::size_t{2}, std::size_t{7},
                                term_pairs ? std::min(max_positions, kMaxPairs) : max_positions}) {
      if (n > max_positions || !neutral) continue;
      NX_TRY(neutral, is_neutral(lengths, term, n));
    }
  }
  const std::size_t n = pairs ? std::min(max_positions, kMaxPairs) : max_positions;
  const std::size_t middle = n / 2;
  const bool beyond = n < max_positions && may_change_beyond(graph, lengths, terms, static_cast<double>(middle),
                                                             static_cast<double>(max_positions));
  if (beyond) result.max_positions = n;
  if (neutral) return result;
  const std::size_t looked_at = std::min(n, kMaxPairs);
  NX_TRY(Sum sum, sum_of(lengths, terms, heads, looked_at));
  NX_TRY(std::vector<double> table, by_distance(sum));
  for (const std::size_t small : {std::size_t{1}, std::size_t{2}, std::size_t{5}, std::size_t{17}}) {
    if (small >= looked_at) continue;
    NX_TRY(Sum other, sum_of(lengths, terms, heads, small));
    NX_TRY(const std::vector<double> part, by_distance(other));
    for (std::size_t i = 0; i < part.size(); ++i) {
      const std::size_t h = i / (2 * small - 1);
      if (other.heads != sum.heads ||
          part[i] != table[h * (2 * looked_at - 1) + looked_at - small + i % (2 * small - 1)]) {
        return fail(ErrorCode::kUnsupported, "what is added to scores changes with the length of the sequence");
      }
    }
  }
  if (result.max_positions > looked_at) {
    std::vector<double> longer = extended(table, sum.heads, looked_at, result.max_positions);
    if (longer.empty()) {
      result.max_positions = looked_at;
    } else {
      table = std::move(longer);
    }
  }
  if (std::ranges::all_of(table, [](double x) { return x == 0; })) return result;
  result.window = window_of(table, sum.heads, result.max_positions);
  result.bias = Tensor::make<float>(
      {static_cast<std::int64_t>(sum.heads), static_cast<std::int64_t>(2 * result.max_positions - 1)},
      std::vector<float>(table.begin(), table.end()));
  return result;
}

}  // namespace narthex::recognition
