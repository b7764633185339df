// Attention and RotaryEmbedding: errors, masked rows and inference. Values are checked by the 101 ONNX node tests
// (tests/conformance) and, through com.microsoft, by contrib_test.cc.
#include <limits>

#include "ops/op_harness.h"

namespace narthex {
namespace {

Tensor filled(Dims dims, float value) {
  Tensor tensor = *Tensor::allocate(DType::kFloat32, std::move(dims));
  std::ranges::fill(tensor.as_mutable<float>(), value);
  return tensor;
}

OpCall with_heads(std::int64_t q, std::int64_t kv) {
  return {"Attention", {{"q_num_heads", q}, {"kv_num_heads", kv}}};
}

TEST(Attention, ShapesThatDoNotFitAreSentences) {
  const Tensor x = filled({1, 2, 6}, 1);
  EXPECT_EQ(run_text<float>({"Attention"}, {x, x, x}), "3-D inputs need q_num_heads and kv_num_heads");
  EXPECT_EQ(run_text<float>(with_heads(4, 4), {x, x, x}), "hidden sizes 6, 6 and 6 do not divide into 4 and 4 heads");
  EXPECT_EQ(run_text<float>(with_heads(2, 3), {x, x, x}),
            "Q [1,2,6], K [1,2,6] and V [1,2,6] do not fit together with 2 and 3 heads");
  EXPECT_EQ(run_text<float>(with_heads(2, 2), {x, x, x, filled({3, 2}, 0)}),
            "attn_mask of shape [3,2] does not broadcast to [1,2,2,2]");
  EXPECT_EQ(run_text<float>(with_heads(2, 2), {x, x, x, filled({2, 9}, 0)}),
            "attn_mask of shape [2,9] does not broadcast to [1,2,2,2]");
  EXPECT_EQ(run_text<float>(with_heads(2, 2), {x, x, x, Tensor(), filled({1, 2, 1, 3}, 0)}),
            "past_key and past_value must be given together");
  EXPECT_EQ(run_text<float>({"Attention", {{"qk_matmul_output_mode", std::int64_t{4}}}}, {x, x, x}),
            "qk_matmul_output_mode must be 0 to 3, but is 4");
}

TEST(Attention, HostileLengthsOfTheCacheAreHarmless) {
  const Tensor x = filled({2, 1, 2, 4}, 1);
  const std::int64_t min = std::numeric_limits<std::int64_t>::min();
  const std::int64_t max = std::numeric_limits<std::int64_t>::max();
  const OpCall causal = {"Attention", {{"is_causal", std::int64_t{1}}}};
  // Nothing to attend to gives zeros; more than there is gives everything.
  EXPECT_EQ(run_text<float>(causal, {x, x, x, Tensor(), Tensor(), Tensor(), ints({min, max})}),
            "[2,1,2,4] 0 0 0 0 0 0 0 0 1 1 1 1 1 1 1 1");
}

TEST(Attention, NoKeysGiveZeros) {
  EXPECT_EQ(run_text<float>(with_heads(1, 1), {filled({1, 1, 2}, 1), filled({1, 0, 2}, 1), filled({1, 0, 2}, 1)}),
            "[1,1,2] 0 0");
}

TEST(Attention, InfersAllOutputs) {
  const Dim b = Dim::symbol("batch");
  const Dim s = Dim::symbol("seq");
  OpCall call = with_heads(12, 4);
  call.n_outputs = 4;
  const Value q = shaped({b, s, Dim(384)});
  const Value kv = shaped({b, s, Dim(128)});
  const Value past = shaped({b, Dim(4), Dim::symbol("past"), Dim(32)});
  const auto values = infer_op(call, {q, kv, kv, Value{}, past, past});
  EXPECT_EQ(shape_string(*values[0].shape), "[batch, seq, 384]");
  EXPECT_EQ(shape_string(*values[1].shape), shape_string({b, Dim(4), Dim::symbol("past") + s, Dim(32)}));
  EXPECT_EQ((*values[3].shape)[1], Dim(12));
}

TEST(RotaryEmbedding, PositionsOutsideTheCacheAreRefused) {
  const Tensor x = filled({1, 2, 4}, 1);
  const Tensor cache = filled({3, 2}, 1);
  const OpCall call = {"RotaryEmbedding", {{"num_heads", std::int64_t{1}}}};
  EXPECT_EQ(run_text<float>(call, {x, cache, cache, matrix(1, 2, {0, 3})}),
            "position 3 is out of range for a cache of 3");
  EXPECT_EQ(run_text<float>(call, {x, cache, cache}), "cos_cache has shape [3,2], expected [1,2,2]");
  EXPECT_EQ(run_text<float>(call, {x, cache, cache, matrix(1, 2, {0, 2})}), "[1,2,4] 0 0 2 2 0 0 2 2");
  EXPECT_EQ(run_text<float>({"RotaryEmbedding", {{"num_heads", std::int64_t{3}}}}, {x, cache, cache}),
            "hidden size 4 does not divide into 3 heads");
}

}  // namespace
}  // namespace narthex
