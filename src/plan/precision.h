// Lowering at a precision whose loss is measured: calibration, smoothing, and what falls back where the loss is too
// high.
//
//   choose_precision(encoder, options)   runs the calibration sequences in float32 and in the result
//
// int8: the largest |input| of each column on the calibration sequences decides the smoothing (lower.cc); attention is
// int8 too if that costs little; if the worst cosine is still below kInt8WorstCosine, the products with the largest
// error of their own go to the fallback precision, until it is not. Deterministic: the same sequences give the same
// plan. Covered by tests/plan/precision_test.cc.
#pragma once

#include <vector>

#include "plan/lower.h"

namespace narthex {

// Cosines of vectors to those of the same plan in float32: the plan's own output, its mean over tokens where it has a
// row per token.
struct PrecisionLoss {
  std::size_t texts = 0;
  double mean_cosine = 1, worst_cosine = 1;
};

struct PrecisionReport {
  Precision precision = Precision::kFp32;
  Precision attention = Precision::kFp32;
  PrecisionLoss loss;  // texts 0: not measured, as nothing was rounded
  std::size_t n_products = 0;
  std::vector<std::size_t> fallback_products;  // indexes of products that are not in `precision`
  Precision fallback = Precision::kFp32;
};

struct PrecisionOptions {
  std::size_t output = 0;
  std::optional<step::PoolKind> pool;
  Precision precision = Precision::kFp32;
  Precision fallback = Precision::kFp32;               // for products and attention that int8 does not suit
  std::vector<std::vector<std::int32_t>> calibration;  // token sequences; needed for a measurement and for int8
};

struct PrecisePlan {
  PackedPlan plan;
  PrecisionReport report;
};

// Below this the nearest neighbours of a text begin to change places; bge-small reaches 0.9989 to 0.9994.
inline constexpr double kInt8WorstCosine = 0.9985;
// What int8 attention may cost of the worst cosine before it is not worth its speed.
inline constexpr double kInt8AttentionCost = 0.0003;

PrecisePlan choose_precision(const Encoder& encoder, const PrecisionOptions& options, Team& team);

}  // namespace narthex
