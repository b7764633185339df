// The table of com.microsoft operators: ONNX Runtime's optimisers write them into models; here every one is rewritten
// into canonical operators and none is evaluated.
//
//   contrib_ops()   the table; contrib_*.cc hold the expansions
//
// Covered by tests/ops/contrib_test.cc, whose expected outputs are ONNX Runtime's.
#include "ops/contrib.h"

namespace narthex {

const Shape* Expansion::shape(ValueId x) const {
  if (x == kNoValue) return nullptr;
  const std::optional<Shape>& shape = rewriter_.graph().value(x).shape;
  return shape ? &*shape : nullptr;
}

std::optional<std::int64_t> Expansion::rank(ValueId x) const {
  const Shape* known = shape(x);
  if (known == nullptr) return std::nullopt;
  return static_cast<std::int64_t>(known->size());
}

ValueId Expansion::scalar_like(float value, std::initializer_list<ValueId> like) {
  for (const ValueId x : like) {
    switch (dtype(x)) {
      case DType::kFloat32:
        return rewriter_.constant(Tensor::scalar(value));
      case DType::kFloat64:
        return rewriter_.constant(Tensor::scalar(static_cast<double>(value)));
      case DType::kFloat16:
        return rewriter_.constant(Tensor::scalar(Half(value)));
      case DType::kBFloat16:
        return rewriter_.constant(Tensor::scalar(BFloat16(value)));
      default:
        break;
    }
  }
  return op("CastLike", {rewriter_.constant(Tensor::scalar(value)), *like.begin()});
}

Result<void> refuse_attribute(const Node& node, std::string_view name, std::int64_t neutral) {
  NX_TRY(const std::int64_t value, node.int_attr(name, neutral));
  if (value == neutral) return {};
  return fail(ErrorCode::kUnsupported, "attribute '{}' = {} is not supported", name, value);
}

Result<void> refuse_input(const Node& node, std::size_t i, std::string_view name) {
  if (!node.has_input(i)) return {};
  return fail(ErrorCode::kUnsupported, "input {} ('{}') is not supported", i, name);
}

namespace {

// The 8-bit-and-wider forms of the ONNX operators that older models write in this domain; the semantics are the same.
Result<void> to_onnx_domain(const Node& node, Rewriter& rewriter) {
  rewriter.emit_many(node.op, node.inputs, node.attributes, node.outputs);
  return {};
}

constexpr OpDef kContribOps[] = {
    // name, domain, since, inputs, outputs, normalise, infer, eval
    {"Gelu", kMs, 1, 1, 1, 1, 1, expand_gelu, nullptr, nullptr},
    {"BiasGelu", kMs, 1, 2, 2, 1, 1, expand_bias_gelu, nullptr, nullptr},
    {"FastGelu", kMs, 1, 1, 2, 1, 1, expand_fast_gelu, nullptr, nullptr},
    {"QuickGelu", kMs, 1, 1, 1, 1, 1, expand_quick_gelu, nullptr, nullptr},
    {"FusedMatMul", kMs, 1, 2, 2, 1, 1, expand_fused_matmul, nullptr, nullptr},
    {"FusedGemm", kMs, 1, 2, 3, 1, 1, expand_fused_gemm, nullptr, nullptr},
    {"EmbedLayerNormalization", kMs, 1, 1, 9, 1, 3, expand_embed_layer_norm, nullptr, nullptr},
    {"QEmbedLayerNormalization", kMs, 1, 1, 18, 1, 2, expand_q_embed_layer_norm, nullptr, nullptr},
    {"SkipLayerNormalization", kMs, 1, 3, 5, 1, 4, expand_skip_layer_norm, nullptr, nullptr},
    {"SkipSimplifiedLayerNormalization", kMs, 1, 3, 4, 1, 4, expand_skip_simplified_layer_norm, nullptr, nullptr},
    {"Attention", kMs, 1, 2, 7, 1, 2, expand_attention, nullptr, nullptr},
    {"QAttention", kMs, 1, 5, 9, 1, 2, expand_q_attention, nullptr, nullptr},
    {"MultiHeadAttention", kMs, 1, 1, 10, 1, 4, expand_multi_head_attention, nullptr, nullptr},
    {"RotaryEmbedding", kMs, 1, 4, 4, 1, 1, expand_rotary_embedding, nullptr, nullptr},
    {"DynamicQuantizeMatMul", kMs, 1, 3, 5, 1, 1, expand_dynamic_quantize_matmul, nullptr, nullptr},
    {"MatMulIntegerToFloat", kMs, 1, 4, 7, 1, 1, expand_matmul_integer_to_float, nullptr, nullptr},
    {"MatMulNBits", kMs, 1, 3, 6, 1, 1, expand_matmul_nbits, nullptr, nullptr},
    {"GatherBlockQuantized", kMs, 1, 3, 4, 1, 1, expand_gather_block_quantized, nullptr, nullptr},
    {"QuantizeLinear", kMs, 1, 2, 3, 1, 1, to_onnx_domain, nullptr, nullptr},
    {"DequantizeLinear", kMs, 1, 2, 3, 1, 1, to_onnx_domain, nullptr, nullptr},
};

}  // namespace

std::span<const OpDef> contrib_ops() {
  return kContribOps;
}

}  // namespace narthex
