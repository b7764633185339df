// What tests of lowered encoders share: batches, runs, and what the reference says of them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "base/team.h"
#include "plan/encoder_reference.h"
#include "plan/lower.h"
#include "plan/random_encoder.h"

namespace narthex::testing {

inline constexpr Precision kPrecisions[] = {Precision::kFp32, Precision::kBf16, Precision::kInt8};

struct Texts {
  std::vector<std::int32_t> ids, types;
  std::vector<std::size_t> starts = {0};

  TokenBatch batch() const { return {ids, types, starts}; }
  std::size_t n_sequences() const { return starts.size() - 1; }
  std::size_t length(std::size_t s) const { return starts[s + 1] - starts[s]; }
  void add(std::span<const std::int32_t> more_ids, std::span<const std::int32_t> more_types) {
    ids.insert(ids.end(), more_ids.begin(), more_ids.end());
    types.insert(types.end(), more_types.begin(), more_types.end());
    starts.push_back(ids.size());
  }
  // The sequences with these numbers, in this order.
  Texts pick(std::span<const std::size_t> which) const {
    Texts picked;
    for (const std::size_t s : which)
      picked.add(std::span(ids).subspan(starts[s], length(s)), std::span(types).subspan(starts[s], length(s)));
    return picked;
  }
};

inline Texts random_texts(const EncoderShape& shape, const std::vector<std::size_t>& lengths, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Texts texts;
  for (const std::size_t length : lengths) {
    std::vector<std::int32_t> ids, types;
    for (std::size_t t = 0; t < length; ++t) {
      ids.push_back(static_cast<std::int32_t>(random() % shape.vocabulary));
      types.push_back(static_cast<std::int32_t>(random() % 2));
    }
    texts.add(ids, types);
  }
  return texts;
}

inline EncoderShape random_shape_of(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  return random_shape([&](std::size_t n) { return static_cast<std::size_t>(random() % n); });
}

inline PackedPlan lower_at(const Encoder& encoder, Precision precision,
                           std::optional<step::PoolKind> pool = std::nullopt) {
  LowerOptions options;
  options.precision = precision;
  options.pool = pool;
  return lower(encoder, options);
}

inline std::vector<float> run_plan(const PackedPlan& plan, const Texts& texts, Team& team) {
  const auto checked = plan.check(texts.batch());
  EXPECT_TRUE(checked) << checked.error().message;
  std::vector<float> out((plan.output_per_sequence() ? texts.n_sequences() : texts.ids.size()) * plan.width(), NAN);
  plan.run(team, texts.batch(), out.data());
  return out;
}

// What each sequence has of the rows of a run.
inline std::vector<std::vector<float>> by_sequence(const PackedPlan& plan, const Texts& texts,
                                                   const std::vector<float>& rows) {
  std::vector<std::vector<float>> result;
  for (std::size_t s = 0; s < texts.n_sequences(); ++s) {
    const std::size_t first = plan.output_per_sequence() ? s : texts.starts[s];
    const std::size_t last = plan.output_per_sequence() ? s + 1 : texts.starts[s + 1];
    result.emplace_back(rows.begin() + static_cast<std::ptrdiff_t>(first * plan.width()),
                        rows.begin() + static_cast<std::ptrdiff_t>(last * plan.width()));
  }
  return result;
}

inline bool same_bytes(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// One sequence's rows of an output, pooled if that is asked for.
inline std::vector<double> reference_rows(const Encoder& encoder, const Texts& texts, std::size_t s,
                                          std::size_t output = 0, std::optional<step::PoolKind> pool = std::nullopt) {
  const auto begin = static_cast<std::ptrdiff_t>(texts.starts[s]),
             end = static_cast<std::ptrdiff_t>(texts.starts[s + 1]);
  const std::vector<std::int64_t> ids(texts.ids.begin() + begin, texts.ids.begin() + end);
  const std::vector<std::int64_t> types(texts.types.begin() + begin, texts.types.begin() + end);
  Encoder pooled = encoder;
  if (pool) {
    RowsId& rows = pooled.outputs[output].rows;
    pooled.rows.push_back({pooled.rows[rows].width, true, "pooled"});
    pooled.steps.emplace_back(step::Pool{pooled.rows.size() - 1, {rows, 0, pooled.rows[rows].width}, *pool});
    rows = pooled.rows.size() - 1;
  }
  std::vector<double> flat;
  const std::vector<Matrix> outputs = run_reference(pooled, ids, types);
  for (const auto& row : outputs.at(output)) flat.insert(flat.end(), row.begin(), row.end());
  return flat;
}

// ‖got − want‖ / ‖want‖, as if no element of `want` were below 1 on average: a single logit may lie near 0, and the
// norms of these encoders give 1. Infinite where the sizes differ.
inline double relative_error(const std::vector<float>& got, const std::vector<double>& want) {
  if (got.size() != want.size()) return INFINITY;
  double error = 0, size = 0, count = static_cast<double>(want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double difference = static_cast<double>(got[i]) - want[i];
    error += difference * difference;
    size += want[i] * want[i];
  }
  return std::sqrt(error / std::max(size, count));
}

// The largest relative error of a sequence.
inline double worst_error(const PackedPlan& plan, const Encoder& encoder, const Texts& texts, Team& team,
                          std::size_t output = 0, std::optional<step::PoolKind> pool = std::nullopt) {
  const auto got = by_sequence(plan, texts, run_plan(plan, texts, team));
  double worst = 0;
  for (std::size_t s = 0; s < got.size(); ++s) {
    const double error = relative_error(got[s], reference_rows(encoder, texts, s, output, pool));
    worst = std::isnan(error) ? INFINITY : std::max(worst, error);
  }
  return worst;
}

}  // namespace narthex::testing
