// What the expansions of com.microsoft operators share. contrib.cc has their table; each contrib_*.cc one group.
//
//   Expansion e(node, rewriter);  e.op("Add", {e.in(0), e.in(1)})
//
// Shapes may be unknown or symbolic: where sizes matter, an expansion emits Shape chains, which later fold; where only
// the rank can decide, it asks for it and fails with a sentence. Covered by tests/ops/contrib_test.cc.
#pragma once

#include "ops/util.h"

namespace narthex {

class Expansion {
 public:
  Expansion(const Node& node, Rewriter& rewriter) : node_(node), rewriter_(rewriter) {}
  const Node& node() const { return node_; }
  Rewriter& rewriter() { return rewriter_; }

  bool has(std::size_t i) const { return node_.has_input(i); }
  ValueId in(std::size_t i) const { return has(i) ? node_.inputs[i] : kNoValue; }
  // The node's own output i, or kNoValue: a new value.
  ValueId out(std::size_t i) const { return node_.has_output(i) ? node_.outputs[i] : kNoValue; }

  ValueId op(std::string_view name, std::vector<ValueId> inputs, std::vector<Attribute> attributes = {},
             ValueId output = kNoValue) {
    return rewriter_.emit(name, std::move(inputs), std::move(attributes), output);
  }
  std::vector<ValueId> ops(std::string_view name, std::vector<ValueId> inputs, std::vector<Attribute> attributes,
                           std::vector<ValueId> outputs) {
    return rewriter_.emit_many(name, std::move(inputs), std::move(attributes), std::move(outputs));
  }
  ValueId fresh() { return rewriter_.new_value(); }
  ValueId ints(const std::vector<std::int64_t>& values) { return rewriter_.constant(Tensor::vector(values)); }
  // A scalar of the type of the first of `like` whose type is known; else cast to that of the first when it runs.
  ValueId scalar_like(float value, std::initializer_list<ValueId> like);
  ValueId cast(ValueId x, DType to, ValueId output = kNoValue) {
    return op("Cast", {x}, {{"to", static_cast<std::int64_t>(to)}}, output);
  }
  // Dimension i as an int64 vector of one element.
  ValueId dim(ValueId x, std::int64_t i) { return op("Shape", {x}, {{"start", i}, {"end", i + 1}}); }
  ValueId unsqueeze(ValueId x, const std::vector<std::int64_t>& axes) { return op("Unsqueeze", {x, ints(axes)}); }
  // x[start:end] along one axis; both ends are int64 vectors of one element.
  ValueId slice(ValueId x, ValueId start, ValueId end, std::int64_t axis) {
    return op("Slice", {x, start, end, ints({axis})});
  }

  DType dtype(ValueId x) const { return x == kNoValue ? DType::kUndefined : rewriter_.graph().value(x).dtype; }
  const Shape* shape(ValueId x) const;
  std::optional<std::int64_t> rank(ValueId x) const;
  const Tensor* constant(ValueId x) const { return rewriter_.constant_of(x); }

 private:
  const Node& node_;
  Rewriter& rewriter_;
};

// "attribute 'do_rotary' = 1 is not supported" unless it has the value that means nothing.
Result<void> refuse_attribute(const Node& node, std::string_view name, std::int64_t neutral);
Result<void> refuse_input(const Node& node, std::size_t i, std::string_view name);

Result<void> expand_gelu(const Node& node, Rewriter& rewriter);
Result<void> expand_bias_gelu(const Node& node, Rewriter& rewriter);
Result<void> expand_fast_gelu(const Node& node, Rewriter& rewriter);
Result<void> expand_quick_gelu(const Node& node, Rewriter& rewriter);

Result<void> expand_fused_matmul(const Node& node, Rewriter& rewriter);
Result<void> expand_fused_gemm(const Node& node, Rewriter& rewriter);

Result<void> expand_embed_layer_norm(const Node& node, Rewriter& rewriter);
Result<void> expand_q_embed_layer_norm(const Node& node, Rewriter& rewriter);
Result<void> expand_skip_layer_norm(const Node& node, Rewriter& rewriter);
Result<void> expand_skip_simplified_layer_norm(const Node& node, Rewriter& rewriter);

Result<void> expand_attention(const Node& node, Rewriter& rewriter);
Result<void> expand_q_attention(const Node& node, Rewriter& rewriter);
Result<void> expand_multi_head_attention(const Node& node, Rewriter& rewriter);
Result<void> expand_rotary_embedding(const Node& node, Rewriter& rewriter);
// The additive mask [B,1,1 or S,T] of a mask_index of any rank; total is the number of keys, past that of cached ones
// (kNoValue: none), both int64 vectors of one element.
struct MaskRequest {
  ValueId mask = kNoValue;
  ValueId query = kNoValue;  // [B,S,...]
  ValueId total = kNoValue;
  ValueId past = kNoValue;
  float filter_value = -10000;
  ValueId like = kNoValue;  // of the type that the mask shall have
};
Result<ValueId> expand_mask(Expansion& e, const MaskRequest& request);

Result<void> expand_dynamic_quantize_matmul(const Node& node, Rewriter& rewriter);
Result<void> expand_matmul_integer_to_float(const Node& node, Rewriter& rewriter);
// float(A·B in integers) · a_scale · b_scale + bias, as the three quantised operators have it.
struct IntegerProduct {
  ValueId a, b, a_scale, b_scale, a_zero, b_zero, bias;
};
ValueId emit_integer_product(Expansion& e, const IntegerProduct& product, ValueId output);

Result<void> expand_matmul_nbits(const Node& node, Rewriter& rewriter);
Result<void> expand_gather_block_quantized(const Node& node, Rewriter& rewriter);

}  // namespace narthex
