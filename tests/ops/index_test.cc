// Gather*, Scatter*, NonZero, Compress, Trilu, ReverseSequence.
#include "ops/op_harness.h"

namespace narthex {
namespace {

const Dim kBatch = Dim::symbol("batch");
const Dim kSeq = Dim::symbol("seq");
using Int = std::int64_t;

Tensor bools(std::initializer_list<bool> values) {
  Tensor out = *Tensor::allocate(DType::kBool, {static_cast<Int>(values.size())});
  std::ranges::copy(values, out.as_mutable<bool>().begin());
  return out;
}

TEST(Gather, AxesAndNegativeIndices) {
  const Tensor x = matrix(2, 3, {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(run_text<Int>({"Gather"}, {x, ints({-1, 0})}), "[2,3] 3 4 5 0 1 2");
  const OpCall columns{"Gather", {{"axis", Int{-1}}}};
  const Tensor scalar = Tensor::scalar(Int{1});
  EXPECT_EQ(run_text<Int>(columns, {x, scalar}), "[2] 1 4");
  EXPECT_EQ(run_text<Int>(columns, {x, ints({3})}), "index 3 is out of range for a dimension of 3");
  EXPECT_FALSE(run_op(columns, {x, ints({INT64_MIN})}));
  const Tensor empty = *Tensor::allocate(DType::kInt8, {Int{1} << 60, 0, Int{1} << 60});
  EXPECT_EQ(run_op({"Gather"}, {empty, ints({1})})->front().count(), 0);
}

TEST(Gather, ContentOfShapeChains) {
  const Value shape = sizes({kBatch, kSeq, 384});
  EXPECT_EQ(infer_text({"Gather"}, {shape, scalar_size(1)}), "[] = seq");
  EXPECT_EQ(infer_text({"Gather"}, {shape, scalar_size(-1)}), "[] = 384");
  EXPECT_EQ(infer_text({"Gather"}, {shape, sizes({0, 1})}), "[2] = batch, seq");
  EXPECT_EQ(infer_text({"Gather"}, {shaped({1000, 64}), shaped({kBatch, kSeq})}), "[batch, seq, 64]");
}

TEST(GatherElements, AlongOneAxis) {
  const Tensor x = matrix(2, 2, {1, 2, 3, 4});
  const Tensor index = matrix(2, 2, {0, 0, -1, 0});
  EXPECT_EQ(run_text<Int>({"GatherElements", {{"axis", Int{1}}}}, {x, index}), "[2,2] 1 1 4 3");
  EXPECT_EQ(run_text<Int>({"GatherElements"}, {x, index}), "[2,2] 1 2 3 2");
  EXPECT_FALSE(run_op({"GatherElements"}, {x, ints({0})}));
  const Tensor wide = matrix(1, 3, {0, 0, 0});
  EXPECT_FALSE(run_op({"GatherElements"}, {x, wide}));
}

TEST(GatherND, TuplesAndBatches) {
  const Tensor x = matrix(2, 2, {1, 2, 3, 4});
  const Tensor tuples = matrix(2, 2, {0, 0, 1, -1});
  EXPECT_EQ(run_text<Int>({"GatherND"}, {x, tuples}), "[2] 1 4");
  const Tensor rows = matrix(2, 1, {1, 0});
  EXPECT_EQ(run_text<Int>({"GatherND"}, {x, rows}), "[2,2] 3 4 1 2");
  EXPECT_EQ(run_text<Int>({"GatherND", {{"batch_dims", Int{1}}}}, {x, rows}), "[2] 2 3");
  EXPECT_FALSE(run_op({"GatherND", {{"batch_dims", Int{2}}}}, {x, rows}));
  const Tensor triples = matrix(1, 3, {0, 0, 0});
  EXPECT_FALSE(run_op({"GatherND"}, {x, triples}));
  EXPECT_EQ(infer_text({"GatherND"}, {shaped({kBatch, kSeq, 64}), shaped({kBatch, 2})}), "[batch, 64]");
}

TEST(Scatter, LastOneStaysOrAllCombine) {
  const Tensor x = ints({1, 2, 3});
  const Tensor index = ints({1, -2});
  const Tensor updates = ints({10, 20});
  const auto reduced = [&](const char* reduction) {
    return run_text<Int>({"ScatterElements", {{"reduction", std::string(reduction)}}}, {x, index, updates});
  };
  EXPECT_EQ(reduced("none"), "[3] 1 20 3");
  EXPECT_EQ(reduced("add"), "[3] 1 32 3");
  EXPECT_EQ(reduced("mul"), "[3] 1 400 3");
  EXPECT_EQ(reduced("max"), "[3] 1 20 3");
  EXPECT_EQ(reduced("min"), "[3] 1 2 3");
  EXPECT_EQ(reduced("sum"), "reduction 'sum' is not known");
  const Tensor tuples = matrix(2, 1, {2, 0});
  EXPECT_EQ(run_text<Int>({"ScatterND"}, {x, tuples, updates}), "[3] 20 2 10");
  EXPECT_FALSE(run_op({"ScatterND"}, {x, tuples, x}));
  EXPECT_FALSE(run_op({"ScatterElements"}, {x, ints({3}), ints({0})}));
  EXPECT_EQ(infer_text({"ScatterND"},
                       {sizes({kBatch, 1}), Value{"", DType::kInt64, Shape{1, 1}, {}, {{Dim(1)}}}, sizes({kSeq})}),
            "[2] = batch, seq");
}

TEST(NonZero, PositionsByDimension) {
  const Tensor x = matrix(2, 2, {1, 0, 1, 1});
  EXPECT_EQ(run_text<Int>({"NonZero"}, {x}), "[2,3] 0 1 1 0 0 1");
  const Tensor one = Tensor::scalar(2.0F);
  EXPECT_EQ(run_text<Int>({"NonZero"}, {one}), "[1,1] 0");
  const Tensor empty = *Tensor::allocate(DType::kFloat32, {0, 3});
  EXPECT_EQ(run_text<Int>({"NonZero"}, {empty}), "[2,0]");
}

TEST(Compress, ShortConditionsDropTheRest) {
  const Tensor x = matrix(2, 3, {0, 1, 2, 3, 4, 5});
  const Tensor condition = bools({false, true});
  EXPECT_EQ(run_text<Int>({"Compress"}, {x, condition}), "[1] 1");
  EXPECT_EQ(run_text<Int>({"Compress", {{"axis", Int{1}}}}, {x, condition}), "[2,1] 1 4");
}

TEST(Trilu, Diagonals) {
  const Tensor x = matrix(2, 3, {1, 2, 3, 4, 5, 6});
  const Tensor k = Tensor::scalar(Int{-1});
  EXPECT_EQ(run_text<Int>({"Trilu"}, {x}), "[2,3] 1 2 3 0 5 6");
  EXPECT_EQ(run_text<Int>({"Trilu", {{"upper", Int{0}}}}, {x, k}), "[2,3] 0 0 0 4 0 0");
  EXPECT_FALSE(run_op({"Trilu"}, {k}));
}

TEST(ReverseSequence, OnlyTheFirstSteps) {
  const Tensor x = matrix(2, 3, {0, 1, 2, 3, 4, 5});
  const OpCall by_row{"ReverseSequence", {{"batch_axis", Int{0}}, {"time_axis", Int{1}}}};
  EXPECT_EQ(run_text<Int>(by_row, {x, ints({2, 3})}), "[2,3] 1 0 2 5 4 3");
  EXPECT_FALSE(run_op(by_row, {x, ints({2, 4})}));
  EXPECT_FALSE(run_op({"ReverseSequence", {{"batch_axis", Int{1}}, {"time_axis", Int{1}}}}, {x, ints({1, 1, 1})}));
}

}  // namespace
}  // namespace narthex
