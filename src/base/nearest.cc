#include "base/nearest.h"

#include <algorithm>
#include <string>
#include <vector>

namespace narthex {
namespace {

// Longer input than any name has is not worth a quadratic comparison.
constexpr std::size_t kMaxCompared = 256;

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = lower(c);
  return out;
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(before_last, last);
    std::swap(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t differs = a[i - 1] == b[j - 1] ? 0 : 1;
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + differs});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::optional<std::string_view> nearest_name(std::string_view typed, std::span<const std::string_view> known) {
  if (typed.empty() || typed.size() > kMaxCompared) return std::nullopt;
  const std::string wanted = lower(typed);
  const std::size_t allowed = std::max<std::size_t>(2, wanted.size() / 3);
  std::optional<std::string_view> best;
  std::size_t best_distance = allowed + 1;
  for (const std::string_view name : known) {
    const std::string candidate = lower(name);
    std::size_t distance = edit_distance(wanted, candidate);
    // A missing ending is one slip, whatever its length: compare with the beginning of the name as well.
    if (candidate.size() > wanted.size() && wanted.size() >= 3) {
      for (std::size_t n = wanted.size() - 1; n <= wanted.size() + 1 && n <= candidate.size(); ++n) {
        distance = std::min(distance, 1 + edit_distance(wanted, candidate.substr(0, n)));
      }
    }
    if (distance < best_distance) {
      best_distance = distance;
      best = name;
    }
  }
  return best;
}

}  // namespace narthex
