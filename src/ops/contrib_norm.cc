// Embeddings and residual sums with their layer norms, of com.microsoft.
//
//   expand_*   functions of the rows in contrib.cc
//
// Sums are in the order of ONNX Runtime: word + position + segment; input + skip + bias. Covered by
// tests/ops/contrib_test.cc.
#include "ops/contrib.h"

namespace narthex {
namespace {

constexpr float kEpsilon = 1e-12f;  // the default of all four; ONNX's own is 1e-5

Result<std::vector<Attribute>> layer_norm_attributes(const Node& node) {
  NX_TRY(const float epsilon, node.float_attr("epsilon", kEpsilon));
  return std::vector<Attribute>{{"axis", std::int64_t{-1}}, {"epsilon", epsilon}};
}

// Optional inputs stand between required ones, so the table cannot say which must be there.
Result<void> require_inputs(const Expansion& e, std::initializer_list<std::size_t> required) {
  for (const std::size_t i : required) {
    if (!e.has(i)) return fail(ErrorCode::kBadModel, "input {} is missing", i);
  }
  return {};
}

// Positions 0, 1, … of the sequence, as the first rows of the table.
ValueId first_positions(Expansion& e, ValueId input_ids, ValueId table) {
  return e.slice(table, e.ints({0}), e.dim(input_ids, 1), 0);
}

// How many tokens of each sequence the mask keeps, int32; 0 without a mask.
void emit_mask_index(Expansion& e, ValueId input_ids, ValueId mask, ValueId output) {
  if (mask == kNoValue) {
    const ValueId zero = e.rewriter().constant(Tensor::scalar(std::int32_t{0}));
    e.op("Expand", {zero, e.dim(input_ids, 0)}, {}, output);
    return;
  }
  const ValueId one = e.rewriter().constant(Tensor::scalar(std::int32_t{1}));
  const ValueId kept = e.cast(e.op("Equal", {e.cast(mask, DType::kInt32), one}), DType::kInt32);
  e.op("ReduceSum", {kept, e.ints({1})}, {{"keepdims", std::int64_t{0}}}, output);
}

}  // namespace

Result<void> expand_embed_layer_norm(const Node& node, Rewriter& rewriter) {
  enum : std::size_t { kIds, kSegments, kWords, kPositions, kSegmentTable, kGamma, kBeta, kMask, kPositionIds };
  Expansion e(node, rewriter);
  NX_TRY(const std::vector<Attribute> attributes, layer_norm_attributes(node));
  NX_TRY_VOID(require_inputs(e, {kWords, kPositions, kGamma, kBeta}));
  if (e.has(kSegments) != e.has(kSegmentTable)) {
    return fail(ErrorCode::kBadModel, "segment_ids and segment_embedding must be given together");
  }
  const ValueId words = e.op("Gather", {e.in(kWords), e.in(kIds)});
  const ValueId positions = e.has(kPositionIds) ? e.op("Gather", {e.in(kPositions), e.in(kPositionIds)})
                                                : first_positions(e, e.in(kIds), e.in(kPositions));
  const bool has_segments = e.has(kSegments);
  ValueId sum = e.op("Add", {words, positions}, {}, has_segments ? kNoValue : e.out(2));
  if (has_segments) {
    sum = e.op("Add", {sum, e.op("Gather", {e.in(kSegmentTable), e.in(kSegments)})}, {}, e.out(2));
  }
  e.op("LayerNormalization", {sum, e.in(kGamma), e.in(kBeta)}, attributes, e.out(0));
  if (e.out(1) != kNoValue) emit_mask_index(e, e.in(kIds), e.in(kMask), e.out(1));
  return {};
}

Result<void> expand_q_embed_layer_norm(const Node& node, Rewriter& rewriter) {
  enum : std::size_t { kIds, kSegments, kWords, kPositions, kSegmentTable, kGamma, kBeta, kMask, kScales, kZeros = 13 };
  Expansion e(node, rewriter);
  NX_TRY(const std::vector<Attribute> attributes, layer_norm_attributes(node));
  const auto real = [&](ValueId quantised,
                        std::size_t table) {  // scales and zero points follow the order of the tables
    return e.op("DequantizeLinear", {quantised, e.in(kScales + table), e.in(kZeros + table)});
  };
  NX_TRY_VOID(require_inputs(e, {kWords, kPositions, kGamma, kBeta, 8, 9, 11, 12, 13, 14, 16, 17}));
  const ValueId words = real(e.op("Gather", {e.in(kWords), e.in(kIds)}), 0);
  const ValueId positions = real(first_positions(e, e.in(kIds), e.in(kPositions)), 1);
  ValueId sum = e.op("Add", {words, positions});
  if (e.has(kSegments)) {
    NX_TRY_VOID(require_inputs(e, {kSegmentTable, 10, 15}));
    sum = e.op("Add", {sum, real(e.op("Gather", {e.in(kSegmentTable), e.in(kSegments)}), 2)});
  }
  e.op("LayerNormalization", {sum, real(e.in(kGamma), 3), real(e.in(kBeta), 4)}, attributes, e.out(0));
  if (e.out(1) != kNoValue) emit_mask_index(e, e.in(kIds), e.in(kMask), e.out(1));
  return {};
}

Result<void> expand_skip_layer_norm(const Node& node, Rewriter& rewriter) {
  Expansion e(node, rewriter);
  NX_TRY(const std::vector<Attribute> attributes, layer_norm_attributes(node));
  const bool has_bias = e.has(4);
  ValueId sum = e.op("Add", {e.in(0), e.in(1)}, {}, has_bias ? kNoValue : e.out(3));
  if (has_bias) sum = e.op("Add", {sum, e.in(4)}, {}, e.out(3));
  std::vector<ValueId> inputs = {sum, e.in(2)};
  if (e.has(3)) inputs.push_back(e.in(3));
  e.ops("LayerNormalization", inputs, attributes, {e.out(0), e.out(1), e.out(2)});
  return {};
}

Result<void> expand_skip_simplified_layer_norm(const Node& node, Rewriter& rewriter) {
  Expansion e(node, rewriter);
  NX_TRY(const std::vector<Attribute> attributes, layer_norm_attributes(node));
  if (e.out(1) != kNoValue || e.out(2) != kNoValue) {
    return fail(ErrorCode::kUnsupported, "outputs 1 and 2 (mean and inv_std_var) are not supported");
  }
  const bool has_bias = e.has(3);
  ValueId sum = e.op("Add", {e.in(0), e.in(1)}, {}, has_bias ? kNoValue : e.out(3));
  if (has_bias) sum = e.op("Add", {sum, e.in(3)}, {}, e.out(3));
  e.op("RMSNormalization", {sum, e.in(2)}, attributes, e.out(0));
  return {};
}

}  // namespace narthex
