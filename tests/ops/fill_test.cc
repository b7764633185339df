// ConstantOfShape, Range, EyeLike, OneHot.
#include "ops/op_harness.h"

namespace narthex {
namespace {

const Dim kBatch = Dim::symbol("batch");
const Dim kSeq = Dim::symbol("seq");
using Int = std::int64_t;

TEST(ConstantOfShape, RepeatsItsValue) {
  EXPECT_EQ(run_text<float>({"ConstantOfShape"}, {ints({2})}), "[2] 0 0");
  const OpCall ones{"ConstantOfShape", {{"value", Tensor::vector(std::vector<Int>{1})}}};
  EXPECT_EQ(run_text<Int>(ones, {ints({})}), "[] 1");
  EXPECT_FALSE(run_op(ones, {ints({-1})}));
  EXPECT_FALSE(run_op(ones, {ints({Int{1} << 40})}));
  EXPECT_EQ(infer_text(ones, {sizes({kBatch, kSeq})}), "[batch, seq]");
  EXPECT_EQ(infer_text(ones, {sizes({3})}), "[3] = 1, 1, 1");
}

TEST(Range, CountsUpAndDown) {
  const auto range = [](Int start, Int limit, Int delta) {
    const Tensor a = Tensor::scalar(start);
    const Tensor b = Tensor::scalar(limit);
    const Tensor c = Tensor::scalar(delta);
    return run_text<Int>({"Range"}, {a, b, c});
  };
  EXPECT_EQ(range(0, 5, 2), "[3] 0 2 4");
  EXPECT_EQ(range(10, 4, -3), "[2] 10 7");
  EXPECT_EQ(range(4, 10, -3), "[0]");
  EXPECT_EQ(range(INT64_MIN, INT64_MAX, INT64_MAX), "[3] -9223372036854775808 -1 9223372036854775806");
  EXPECT_EQ(range(0, 1, 0), "a range in steps of 0 has no end");
  EXPECT_NE(range(INT64_MIN, INT64_MAX, 1).find("too large"), std::string::npos);
  const Tensor zero = Tensor::scalar(0.0F);
  const Tensor one = Tensor::scalar(1.0F);
  const Tensor third = Tensor::scalar(0.3F);
  EXPECT_EQ(run_op({"Range"}, {zero, one, third})->front().dims(), Dims({4}));
  EXPECT_EQ(run_text<float>({"Range"}, {zero, one, zero}), "a range from 0 to 1 in steps of 0 has no end");
  const auto inferred = [](Dim start, Dim limit, Int delta) {
    return infer_text({"Range"}, {scalar_size(start), scalar_size(limit), scalar_size(delta)});
  };
  EXPECT_EQ(inferred(0, kSeq, 1), "[seq]");
  EXPECT_EQ(inferred(kBatch, kBatch + kSeq, 1), "[seq]");
  EXPECT_EQ(inferred(kSeq, kSeq + Dim(3), 1), "[3] = seq, seq + 1, seq + 2");
  EXPECT_EQ(inferred(0, kSeq, 2), "[seq - floor(seq/2)]");
  EXPECT_EQ(inferred(kSeq, 0, -1), "[seq]");
}

TEST(EyeLike, DiagonalsInsideAndOutside) {
  const Tensor x = matrix(2, 3, {0, 0, 0, 0, 0, 0});
  EXPECT_EQ(run_text<Int>({"EyeLike", {{"k", Int{1}}}}, {x}), "[2,3] 0 1 0 0 0 1");
  EXPECT_EQ(run_text<Int>({"EyeLike", {{"k", Int{INT64_MIN}}}}, {x}), "[2,3] 0 0 0 0 0 0");
  EXPECT_EQ(run_text<float>({"EyeLike", {{"dtype", Int{1}}}}, {x}), "[2,3] 1 0 0 0 1 0");
}

TEST(OneHot, NegativeAndOutside) {
  const Tensor depth = Tensor::scalar(Int{3});
  const Tensor values = ints({5, 7});
  EXPECT_EQ(run_text<Int>({"OneHot"}, {ints({0, -1, 3}), depth, values}), "[3,3] 7 5 5 5 5 7 5 5 5");
  EXPECT_EQ(run_text<Int>({"OneHot", {{"axis", Int{0}}}}, {ints({0, 2}), depth, values}), "[3,2] 7 5 5 5 5 7");
  EXPECT_EQ(infer_text({"OneHot"}, {shaped({kBatch}), scalar_size(3), sizes({0, 1})}), "[batch, 3]");
}

}  // namespace
}  // namespace narthex
