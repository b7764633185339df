// Attention, QAttention and MultiHeadAttention of com.microsoft, as projections and one canonical Attention.
//
//   expand_attention, expand_q_attention, expand_multi_head_attention   functions of the rows in contrib.cc
//
// Masks (contrib_mask.cc), attention_bias, past and present, cross-attention and packed inputs are expanded; buffers
// shared between past and present, and rotation inside the operator, are refused. Covered by tests/ops/contrib_test.cc.
#include <limits>

#include "ops/contrib.h"

namespace narthex {
namespace {

// What the three operators have in common once Q, K and V are [B,S,hidden] each.
struct Core {
  ValueId q, k, v;
  ValueId mask = kNoValue;
  ValueId attention_bias = kNoValue;
  ValueId past_key = kNoValue;  // [B,N,P,D]
  ValueId past_value = kNoValue;
  std::vector<ValueId> outputs;  // of the canonical Attention
};

Result<void> emit_core(Expansion& e, const Core& core) {
  const Node& node = e.node();
  NX_TRY(const std::int64_t heads, node.int_attr("num_heads", 0));
  NX_TRY(const std::int64_t causal, node.int_attr("unidirectional", 0));
  NX_TRY(const float scale, node.float_attr("scale", 0));
  NX_TRY(const float filter_value, node.float_attr("mask_filter_value", -10000));
  if (heads < 1) return fail(ErrorCode::kBadModel, "num_heads must be positive, but is {}", heads);
  ValueId bias = core.attention_bias;
  if (core.mask != kNoValue) {
    const ValueId past = core.past_key == kNoValue ? kNoValue : e.dim(core.past_key, 2);
    const ValueId fresh = e.dim(core.k, 1);
    const ValueId total = past == kNoValue ? fresh : e.op("Add", {past, fresh});
    NX_TRY(const ValueId mask, expand_mask(e, {core.mask, e.in(0), total, past, filter_value, core.q}));
    bias = bias == kNoValue ? mask : e.op("Add", {mask, bias});
  }
  std::vector<Attribute> attributes = {{"q_num_heads", heads}, {"kv_num_heads", heads}};
  if (causal != 0) attributes.push_back({"is_causal", std::int64_t{1}});
  if (scale != 0) attributes.push_back({"scale", scale});
  std::vector<ValueId> inputs = {core.q, core.k, core.v, bias, core.past_key, core.past_value};
  while (inputs.back() == kNoValue) inputs.pop_back();
  e.ops("Attention", inputs, attributes, core.outputs);
  return {};
}

// past [2,B,N,P,D] in, present [2,B,N,T,D] out.
Result<void> emit_with_past(Expansion& e, Core core, ValueId past) {
  if (past != kNoValue) {
    core.past_key = e.op("Gather", {past, e.rewriter().constant(Tensor::scalar(std::int64_t{0}))});
    core.past_value = e.op("Gather", {past, e.rewriter().constant(Tensor::scalar(std::int64_t{1}))});
  }
  const ValueId present = e.out(1);
  core.outputs = {e.out(0)};
  if (present != kNoValue) core.outputs = {e.out(0), e.fresh(), e.fresh()};
  NX_TRY_VOID(emit_core(e, core));
  if (present == kNoValue) return {};
  e.op("Concat", {e.unsqueeze(core.outputs[1], {0}), e.unsqueeze(core.outputs[2], {0})}, {{"axis", std::int64_t{0}}},
       present);
  return {};
}

// Cuts [B,S,q+k+v] into three; without sizes they are equal.
Result<Core> split_projection(Expansion& e, ValueId projection, const std::vector<std::int64_t>& sizes) {
  if (!sizes.empty() && sizes.size() != 3) {
    return fail(ErrorCode::kBadModel, "qkv_hidden_sizes has {} entries, expected 3", sizes.size());
  }
  std::vector<ValueId> inputs = {projection};
  std::vector<Attribute> attributes = {{"axis", std::int64_t{-1}}};
  if (sizes.empty()) {
    attributes.push_back({"num_outputs", std::int64_t{3}});
  } else {
    inputs.push_back(e.ints(sizes));
  }
  const auto parts = e.ops("Split", inputs, attributes, {e.fresh(), e.fresh(), e.fresh()});
  Core core;
  core.q = parts[0];
  core.k = parts[1];
  core.v = parts[2];
  return core;
}

Result<void> refuse_shared_buffers(const Node& node) {
  NX_TRY_VOID(refuse_attribute(node, "do_rotary", 0));
  return refuse_attribute(node, "past_present_share_buffer", 0);
}

}  // namespace

Result<void> expand_attention(const Node& node, Rewriter& rewriter) {
  enum : std::size_t { kInput, kWeights, kBias, kMask, kPast, kAttentionBias, kPastLength };
  Expansion e(node, rewriter);
  NX_TRY_VOID(refuse_shared_buffers(node));
  NX_TRY_VOID(refuse_input(node, kPastLength, "past_sequence_length"));
  NX_TRY(const std::vector<std::int64_t> sizes, node.ints_attr("qkv_hidden_sizes"));
  ValueId projection = e.op("MatMul", {e.in(kInput), e.in(kWeights)});
  if (e.has(kBias)) projection = e.op("Add", {projection, e.in(kBias)});
  NX_TRY(Core core, split_projection(e, projection, sizes));
  core.mask = e.in(kMask);
  core.attention_bias = e.in(kAttentionBias);
  return emit_with_past(e, core, e.in(kPast));
}

Result<void> expand_q_attention(const Node& node, Rewriter& rewriter) {
  enum : std::size_t { kInput, kWeights, kBias, kInputScale, kWeightScale, kMask, kInputZero, kWeightZero, kPast };
  Expansion e(node, rewriter);
  NX_TRY_VOID(refuse_shared_buffers(node));
  const ValueId projection = emit_integer_product(e,
                                                  {e.in(kInput), e.in(kWeights), e.in(kInputScale), e.in(kWeightScale),
                                                   e.in(kInputZero), e.in(kWeightZero), e.in(kBias)},
                                                  kNoValue);
  NX_TRY(Core core, split_projection(e, projection, {}));
  core.mask = e.in(kMask);
  return emit_with_past(e, core, e.in(kPast));
}

namespace {

// [B,S,N,parts,D] to `parts` tensors of [B,S,N·D].
std::vector<ValueId> unpack(Expansion& e, ValueId packed, std::int64_t parts) {
  std::vector<ValueId> out;
  for (std::int64_t i = 0; i < parts; ++i) {
    const ValueId part =
        e.op("Gather", {packed, e.rewriter().constant(Tensor::scalar(i))}, {{"axis", std::int64_t{3}}});
    out.push_back(e.op("Reshape", {part, e.ints({0, 0, -1})}));
  }
  return out;
}

// [B,N,L,D] to [B,L,N·D].
ValueId heads_to_hidden(Expansion& e, ValueId x) {
  const ValueId moved = e.op("Transpose", {x}, {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}});
  return e.op("Reshape", {moved, e.ints({0, 0, -1})});
}

// The bias [hidden + hidden + v_hidden] of the three projections. K is as wide as Q.
void add_bias(Expansion& e, Core& core, ValueId bias) {
  const ValueId width = e.dim(core.q, 2);
  const ValueId twice = e.op("Add", {width, width});
  const ValueId end = e.ints({std::numeric_limits<std::int64_t>::max()});
  core.q = e.op("Add", {core.q, e.slice(bias, e.ints({0}), width, 0)});
  core.k = e.op("Add", {core.k, e.slice(bias, width, twice, 0)});
  core.v = e.op("Add", {core.v, e.slice(bias, twice, end, 0)});
}

}  // namespace

Result<void> expand_multi_head_attention(const Node& node, Rewriter& rewriter) {
  enum : std::size_t { kQuery, kKey, kValue, kBias, kMask, kAttentionBias, kPastKey, kPastValue, kPastLength, kCache };
  Expansion e(node, rewriter);
  NX_TRY_VOID(refuse_input(node, kPastLength, "past_sequence_length"));
  NX_TRY_VOID(refuse_input(node, kCache, "cache_indirection"));
  if (e.out(3) != kNoValue) return fail(ErrorCode::kUnsupported, "output 3 ('qk') is not supported");
  Core core;
  core.q = e.in(kQuery);
  core.k = e.in(kKey);
  core.v = e.in(kValue);
  if (!e.has(kKey)) {
    const auto parts = unpack(e, e.in(kQuery), 3);
    core.q = parts[0];
    core.k = parts[1];
    core.v = parts[2];
  } else if (!e.has(kValue)) {
    const auto parts = unpack(e, e.in(kKey), 2);
    core.k = parts[0];
    core.v = parts[1];
  }
  const bool has_heads_first = e.has(kValue) && e.rank(e.in(kKey)) == 4;
  if (has_heads_first && e.has(kBias)) {
    return fail(ErrorCode::kUnsupported, "a bias together with 4-D keys is not supported");
  }
  if (has_heads_first) {
    core.k = heads_to_hidden(e, core.k);
    core.v = heads_to_hidden(e, core.v);
  }
  if (e.has(kBias)) add_bias(e, core, e.in(kBias));
  core.mask = e.in(kMask);
  core.attention_bias = e.in(kAttentionBias);
  core.past_key = e.in(kPastKey);
  core.past_value = e.in(kPastValue);
  core.outputs = {e.out(0), e.out(1), e.out(2)};
  return emit_core(e, core);
}

Result<void> expand_rotary_embedding(const Node& node, Rewriter& rewriter) {
  enum : std::size_t { kInput, kPositions, kCosines, kSines };
  Expansion e(node, rewriter);
  NX_TRY_VOID(refuse_attribute(node, "is_packed_batching", 0));
  NX_TRY(const float scale, node.float_attr("scale", 1));
  NX_TRY(const std::int64_t heads, node.int_attr("num_heads", 0));
  NX_TRY(const std::int64_t rotary, node.int_attr("rotary_embedding_dim", 0));
  NX_TRY(const std::int64_t interleaved, node.int_attr("interleaved", 0));
  if (scale != 1.0f) return fail(ErrorCode::kUnsupported, "attribute 'scale' = {} is not supported", scale);
  const std::optional<std::int64_t> rank = e.rank(e.in(kInput));
  const std::optional<std::int64_t> position_rank = e.rank(e.in(kPositions));
  if (!rank || !position_rank) return fail(ErrorCode::kUnsupported, "the ranks of its inputs are not known");
  ValueId x = e.in(kInput);
  ValueId positions = e.in(kPositions);
  const ValueId length = e.dim(x, *rank == 3 ? 1 : 2);
  if (*position_rank < 2) {  // the position of the first token of every sequence
    const ValueId scalar_zero = rewriter.constant(Tensor::scalar(std::int64_t{0}));
    const ValueId scalar_one = rewriter.constant(Tensor::scalar(std::int64_t{1}));
    const ValueId steps = e.op("Range", {scalar_zero, e.op("Squeeze", {length, e.ints({0})}), scalar_one});
    const ValueId size = e.op("Concat", {e.dim(x, 0), length}, {{"axis", std::int64_t{0}}});
    positions = e.op("Expand", {e.op("Add", {steps, positions}), size});
  }
  std::vector<Attribute> attributes = {{"interleaved", interleaved}, {"rotary_embedding_dim", rotary}};
  if (*rank == 4 || heads > 0) {
    if (*rank == 3) attributes.push_back({"num_heads", heads});
    e.op("RotaryEmbedding", {x, e.in(kCosines), e.in(kSines), positions}, attributes, e.out(0));
    return {};
  }
  // Without num_heads the caches tell the size of a head: [B,S,hidden] to [B,N,S,D] and back.
  const ValueId head_size = e.op("Mul", {e.dim(e.in(kCosines), 1), e.ints({2})});
  const ValueId by_head = e.op("Concat", {e.ints({0, 0, -1}), head_size}, {{"axis", std::int64_t{0}}});
  const std::vector<std::int64_t> swap = {0, 2, 1, 3};
  x = e.op("Transpose", {e.op("Reshape", {x, by_head})}, {{"perm", swap}});
  x = e.op("RotaryEmbedding", {x, e.in(kCosines), e.in(kSines), positions}, attributes);
  e.op("Reshape", {e.op("Transpose", {x}, {{"perm", swap}}), e.ints({0, 0, -1})}, {}, e.out(0));
  return {};
}

}  // namespace narthex
