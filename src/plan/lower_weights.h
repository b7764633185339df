// Constants of a plan: floats as they are, rounded tables, and packed weights.
#pragma once

#include <span>

#include "plan/packed.h"

namespace narthex {

// A copy that the plan owns.
Constant constant_of(PackedPlan& plan, std::span<const float> values);
Constant bf16_constant(PackedPlan& plan, std::span<const float> values);

// Fills weights, scale and colsum for linear.precision. weight is [k, n]; its rows are multiplied by `smoothing` (k
// values, or none) first.
void pack_linear(PackedPlan& plan, packed::Linear& linear, std::span<const float> weight,
                 std::span<const float> smoothing);

// max_j |weight[row, j]| of a matrix with k rows.
float largest_in_row(std::span<const float> weight, std::size_t k, std::size_t row);

}  // namespace narthex
