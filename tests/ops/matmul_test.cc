// MatMul, Gemm and Einsum: what the golden models do not say: errors, wrapping, inference.
#include <limits>

#include "ops/op_harness.h"

namespace narthex {
namespace {

Tensor zeros(Dims dims) {
  Tensor tensor = *Tensor::allocate(DType::kFloat32, std::move(dims));
  std::ranges::fill(tensor.as_mutable<float>(), 0.0f);
  return tensor;
}

TEST(MatMul, MismatchesAreSentences) {
  EXPECT_EQ(run_text<float>({"MatMul"}, {zeros({2, 3}), zeros({4, 2})}),
            "the columns of [2,3] do not match the rows of [4,2]");
  EXPECT_EQ(run_text<float>({"MatMul"}, {zeros({}), zeros({4, 2})}), "cannot multiply a scalar as a matrix");
  EXPECT_EQ(run_text<float>({"MatMul"}, {zeros({3, 2, 4}), zeros({2, 4, 2})}),
            "shapes [3] and [2] do not broadcast together");
  EXPECT_EQ(run_text<float>({"MatMul"}, {zeros({2, 2}), matrix(2, 2, {1, 2, 3, 4})}),
            "its inputs have different types");
}

TEST(MatMul, AnEmptySumIsZeroAndAnEmptyProductIsEmpty) {
  EXPECT_EQ(run_text<float>({"MatMul"}, {zeros({1, 0}), zeros({0, 2})}), "[1,2] 0 0");
  EXPECT_EQ(run_text<float>({"MatMul"}, {zeros({0, 3}), zeros({3, 2})}), "[0,2]");
}

TEST(MatMul, IntegersWrap) {
  const std::int64_t big = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(run_text<std::int64_t>({"MatMul"}, {matrix(1, 2, {big, 1}), matrix(2, 1, {2, 1})}), "[1,1] -1");
}

TEST(MatMul, InfersSymbols) {
  const Dim b = Dim::symbol("batch");
  const Dim s = Dim::symbol("seq");
  EXPECT_EQ(infer_text({"MatMul"}, {shaped({b, s, Dim(384)}), shaped({Dim(384), Dim(1536)})}), "[batch, seq, 1536]");
  EXPECT_EQ(infer_text({"MatMul"}, {shaped({b, Dim(12), s, Dim(32)}), shaped({b, Dim(12), Dim(32), s})}),
            "[batch, 12, seq, seq]");
  EXPECT_EQ(infer_text({"MatMul"}, {shaped({s}), shaped({s})}), "[]");
  EXPECT_EQ(infer_text({"MatMul"}, {Value{}, shaped({s})}), "?");
}

TEST(Gemm, ChecksItsMatrices) {
  EXPECT_EQ(run_text<float>({"Gemm"}, {zeros({2, 3, 4}), zeros({4, 2})}),
            "multiplies matrices, but its inputs have shapes [2,3,4] and [4,2]");
  EXPECT_EQ(run_text<float>({"Gemm"}, {zeros({2, 3}), zeros({3, 4}), zeros({3})}),
            "shapes [3] and [2,4] do not broadcast together");
  EXPECT_EQ(run_text<float>({"Gemm"}, {zeros({1, 3}), zeros({3, 4}), zeros({2, 4})}),
            "C of shape [2,4] does not broadcast to [1,4]");
  const OpCall transposed = {"Gemm", {{"transA", std::int64_t{1}}, {"transB", std::int64_t{1}}}};
  EXPECT_EQ(infer_text(transposed, {shaped({Dim::symbol("k"), Dim::symbol("m")}), shaped({Dim(5), Dim::symbol("k")})}),
            "[m, 5]");
}

OpCall einsum(const char* equation) {
  return {"Einsum", {{"equation", std::string(equation)}}};
}

TEST(Einsum, BadEquationsAreSentences) {
  const Tensor m = zeros({2, 3});
  EXPECT_EQ(run_text<float>(einsum("ij,jk->ik"), {m}), "the equation 'ij,jk->ik' has 2 terms for 1 inputs");
  EXPECT_EQ(run_text<float>(einsum("ijk->i"), {m}), "term 0 of the equation 'ijk->i' does not fit an input of rank 2");
  EXPECT_EQ(run_text<float>(einsum("ij->ii"), {m}), "the equation 'ij->ii' repeats a label in its output");
  EXPECT_EQ(run_text<float>(einsum("ij->k"), {m}), "the equation 'ij->k' has an output label that no input has");
  EXPECT_EQ(run_text<float>(einsum("i1->i"), {m}), "the equation's term 'i1' is not made of letters and one '...'");
  EXPECT_EQ(run_text<float>(einsum("ii->i"), {m}), "one label of the equation stands for sizes 2 and 3");
  EXPECT_EQ(run_text<float>(einsum(""), {m}), "term 0 of the equation '' does not fit an input of rank 2");
}

TEST(Einsum, AnEndlessProductIsRefused) {
  const Tensor row = zeros({4096});
  EXPECT_EQ(run_text<float>(einsum("a,b,c,d->"), {row, row, row, row}),
            "the equation 'a,b,c,d->' needs more than 274877906944 steps");
}

TEST(Einsum, BroadcastsAndInfers) {
  EXPECT_EQ(run_text<std::int64_t>(einsum("ij,ij->i"), {matrix(1, 2, {1, 2}), matrix(2, 2, {1, 2, 3, 4})}), "[2] 5 11");
  EXPECT_EQ(run_text<float>(einsum("ij->i"), {zeros({2, 0})}), "[2] 0 0");
  const Dim b = Dim::symbol("batch");
  EXPECT_EQ(
      infer_text(einsum("bsd,dhk->bshk"), {shaped({b, Dim::symbol("seq"), Dim(8)}), shaped({Dim(8), Dim(2), Dim(4)})}),
      "[batch, seq, 2, 4]");
  EXPECT_EQ(infer_text(einsum("...ij->...ji"), {shaped({b, Dim(3), Dim(4)})}), "[batch, 4, 3]");
}

}  // namespace
}  // namespace narthex
