#include "models/pooling.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace narthex {
namespace {

struct NamedMode {
  PoolingMode mode;
  const char* name;
};
constexpr std::array<NamedMode, 6> kModes = {{{PoolingMode::kCls, "cls"},
                                              {PoolingMode::kMax, "max"},
                                              {PoolingMode::kMean, "mean"},
                                              {PoolingMode::kMeanSqrt, "mean-sqrt"},
                                              {PoolingMode::kWeightedMean, "weighted-mean"},
                                              {PoolingMode::kLast, "last"}}};

// One column of `hidden`, tokens in order.
float pool_column(std::span<const float> hidden, std::size_t stride, std::size_t column, PoolingMode mode) {
  const std::size_t n_tokens = hidden.size() / stride;
  const auto at = [&](std::size_t token) { return hidden[token * stride + column]; };
  switch (mode) {
    case PoolingMode::kCls:
      return at(0);
    case PoolingMode::kLast:
      return at(n_tokens - 1);
    case PoolingMode::kMax: {
      float best = at(0);
      for (std::size_t t = 1; t < n_tokens; ++t) best = std::max(best, at(t));
      return best;
    }
    default:
      break;
  }
  double sum = 0;
  double weights = 0;
  for (std::size_t t = 0; t < n_tokens; ++t) {
    const double weight = mode == PoolingMode::kWeightedMean ? static_cast<double>(t + 1) : 1.0;
    sum += weight * static_cast<double>(at(t));
    weights += weight;
  }
  return static_cast<float>(sum / (mode == PoolingMode::kMeanSqrt ? std::sqrt(weights) : weights));
}

}  // namespace

const char* pooling_name(PoolingMode mode) {
  return std::ranges::find(kModes, mode, &NamedMode::mode)->name;
}

std::string Pooling::to_string() const {
  if (kind == Kind::kInGraph) return "in the graph";
  if (kind == Kind::kNone) return "none";
  std::string text;
  for (const PoolingMode mode : modes) {
    if (!text.empty()) text += '+';
    text += pooling_name(mode);
  }
  return text;
}

Result<Pooling> parse_pooling(std::string_view text) {
  if (text == "none") return Pooling{Pooling::Kind::kNone, {}};
  Pooling pooling;
  while (true) {
    const std::size_t plus = text.find('+');
    const std::string_view name = text.substr(0, plus);
    const auto found = std::ranges::find_if(kModes, [&](const NamedMode& m) { return name == m.name; });
    if (found == kModes.end()) {
      return fail(ErrorCode::kUsage,
                  "pooling '{}' is not known; use cls, mean, max, last, mean-sqrt, weighted-mean or none", name);
    }
    pooling.modes.push_back(found->mode);
    if (plus == std::string_view::npos) return pooling;
    text.remove_prefix(plus + 1);
  }
}

std::vector<float> pool(std::span<const float> hidden, std::size_t hidden_size, std::span<const PoolingMode> modes) {
  std::vector<float> vector;
  vector.reserve(hidden_size * modes.size());
  for (const PoolingMode mode : modes) {
    for (std::size_t column = 0; column < hidden_size; ++column) {
      vector.push_back(pool_column(hidden, hidden_size, column, mode));
    }
  }
  return vector;
}

void l2_normalize(std::span<float> vector) {
  double sum = 0;
  for (const float x : vector) sum += static_cast<double>(x) * static_cast<double>(x);
  const double norm = std::max(std::sqrt(sum), 1e-12);
  for (float& x : vector) x = static_cast<float>(static_cast<double>(x) / norm);
}

}  // namespace narthex
