// Shape, Size, Reshape, Squeeze, Unsqueeze, Flatten, Transpose, Expand, Tile; what they infer of symbolic sizes.
#include "ops/op_harness.h"

namespace narthex {
namespace {

const Dim kBatch = Dim::symbol("batch");
const Dim kSeq = Dim::symbol("seq");
using Int = std::int64_t;

TEST(Shape, WindowAndContent) {
  const Tensor x = *Tensor::allocate(DType::kFloat16, {2, 3, 4});
  EXPECT_EQ(run_text<Int>({"Shape"}, {x}), "[3] 2 3 4");
  EXPECT_EQ(run_text<Int>({"Shape", {{"start", Int{-2}}}}, {x}), "[2] 3 4");
  EXPECT_EQ(run_text<Int>({"Shape", {{"start", Int{1}}, {"end", Int{-1}}}}, {x}), "[1] 3");
  EXPECT_EQ(run_text<Int>({"Shape", {{"start", Int{9}}, {"end", Int{INT64_MIN}}}}, {x}), "[0]");
  EXPECT_EQ(infer_text({"Shape"}, {shaped({kBatch, kSeq, 384})}), "[3] = batch, seq, 384");
  EXPECT_EQ(infer_text({"Shape", {{"start", Int{1}}, {"end", Int{2}}}}, {shaped({kBatch, kSeq, 384})}), "[1] = seq");
  EXPECT_EQ(infer_text({"Size"}, {shaped({kBatch, kSeq, 384})}), "[] = 384*batch*seq");
}

TEST(Reshape, ZerosAndOneOpenDimension) {
  const Tensor x = matrix(2, 6, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  EXPECT_EQ(run_op({"Reshape"}, {x, ints({0, 3, -1})})->front().dims(), Dims({2, 3, 2}));
  EXPECT_EQ(run_text<Int>({"Reshape"}, {x, ints({5, -1})}), "a tensor of shape [2,6] cannot have shape [5,-1]");
  EXPECT_EQ(run_text<Int>({"Reshape"}, {x, ints({-1, -1})}), "target [-1,-1] has more than one -1");
  EXPECT_EQ(run_text<Int>({"Reshape"}, {x, ints({4, 3, 0})}),
            "target [4,3,0] copies dimension 2 of a tensor of shape [2,6]");
  EXPECT_FALSE(run_op({"Reshape"}, {x, ints({INT64_MAX, INT64_MAX, -1})}));
  const Tensor empty = *Tensor::allocate(DType::kInt64, {0, 3});
  EXPECT_EQ(run_text<Int>({"Reshape", {{"allowzero", Int{1}}}}, {empty, ints({7, 0})}), "[7,0]");
  EXPECT_FALSE(run_op({"Reshape"}, {empty, ints({0, 0, -1})}));
}

TEST(Reshape, SolvesSymbolicTargets) {
  const Value x = shaped({kBatch, kSeq, 384});
  const auto to = [&](std::vector<Dim> target) { return infer_text({"Reshape"}, {x, sizes(std::move(target))}); };
  EXPECT_EQ(to({kBatch, kSeq, 12, 32}), "[batch, seq, 12, 32]");
  EXPECT_EQ(to({0, 0, 12, -1}), "[batch, seq, 12, 32]");
  EXPECT_EQ(to({kBatch, -1, 12, 32}), "[batch, seq, 12, 32]");
  EXPECT_EQ(to({kBatch * Dim(12), kSeq, -1}), "[12*batch, seq, 32]");
  EXPECT_EQ(to({-1, 384}), "[batch*seq, 384]");
  EXPECT_EQ(to({kBatch, kSeq, Dim::unknown()}), "[batch, seq, 384]");
  // seq − 1 may be 0 for a sequence of one, and 0 means "copy": nothing is guessed.
  const auto guessed = infer_op({"Reshape"}, {x, sizes({kSeq - Dim(1), Dim::unknown()})});
  EXPECT_TRUE((*guessed[0].shape)[0].is_unknown());
  EXPECT_EQ(infer_text({"Reshape"}, {sizes({kBatch, kSeq}), sizes({-1, 1})}), "[2, 1] = batch, seq");
}

TEST(Squeeze, OnlyWhatIsOne) {
  const Tensor x = *Tensor::allocate(DType::kBool, {1, 3, 1, 5});
  EXPECT_EQ(run_op({"Squeeze"}, {x})->front().dims(), Dims({3, 5}));
  EXPECT_EQ(run_op({"Squeeze"}, {x, ints({-2})})->front().dims(), Dims({1, 3, 5}));
  EXPECT_EQ(run_text<bool>({"Squeeze"}, {x, ints({1})}),
            "dimension 1 of shape [1,3,1,5] is not 1 and cannot be removed");
  EXPECT_EQ(run_text<bool>({"Squeeze"}, {x, ints({4})}), "axis 4 is out of range for rank 4");
  EXPECT_EQ(infer_text({"Squeeze"}, {shaped({1, kSeq, 384}), sizes({0})}), "[seq, 384]");
  EXPECT_EQ(infer_text({"Squeeze"}, {shaped({1, kSeq, 384})}), "?");  // seq may be 1
  EXPECT_EQ(infer_text({"Squeeze"}, {shaped({1, kSeq + Dim(1), 384})}), "[seq + 1, 384]");
}

TEST(Unsqueeze, AxesAreOfTheResult) {
  const Tensor x = *Tensor::allocate(DType::kInt8, {3, 5});
  EXPECT_EQ(run_op({"Unsqueeze"}, {x, ints({-1, 0})})->front().dims(), Dims({1, 3, 5, 1}));
  EXPECT_EQ(run_text<std::int8_t>({"Unsqueeze"}, {x, ints({1, 1})}), "axes [1,1] name one dimension twice");
  EXPECT_EQ(infer_text({"Unsqueeze"}, {shaped({kBatch, kSeq}), sizes({1, 2})}), "[batch, 1, 1, seq]");
  EXPECT_EQ(infer_text({"Unsqueeze"}, {scalar_size(kSeq), sizes({0})}), "[1] = seq");
}

TEST(Flatten, ProductsBeforeAndAfter) {
  const Tensor x = *Tensor::allocate(DType::kInt8, {2, 3, 4});
  EXPECT_EQ(run_op({"Flatten"}, {x})->front().dims(), Dims({2, 12}));
  EXPECT_EQ(run_op({"Flatten", {{"axis", Int{3}}}}, {x})->front().dims(), Dims({24, 1}));
  EXPECT_EQ(run_op({"Flatten", {{"axis", Int{-1}}}}, {x})->front().dims(), Dims({6, 4}));
  EXPECT_FALSE(run_op({"Flatten", {{"axis", Int{4}}}}, {x}));
  EXPECT_EQ(infer_text({"Flatten", {{"axis", Int{2}}}}, {shaped({kBatch, kSeq, 64})}), "[batch*seq, 64]");
}

TEST(Transpose, EveryElementSize) {
  const Tensor x = matrix(2, 3, {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(run_text<Int>({"Transpose"}, {x}), "[3,2] 0 3 1 4 2 5");
  const Tensor bytes = Tensor::make<std::uint8_t>({2, 3}, std::vector<std::uint8_t>{0, 1, 2, 3, 4, 5});
  EXPECT_EQ(run_text<std::uint8_t>({"Transpose"}, {bytes}), "[3,2] 0 3 1 4 2 5");
  Tensor strings = *Tensor::allocate(DType::kString, {1, 2});
  strings.mutable_strings() = {"a", "b"};
  EXPECT_EQ(run_op({"Transpose"}, {strings})->front().strings(), (std::vector<std::string>{"a", "b"}));
  const OpCall bad{"Transpose", {{"perm", std::vector<Int>{0, 0}}}};
  EXPECT_EQ(run_text<Int>(bad, {x}), "axes [0,0] name one dimension twice");
  const OpCall heads{"Transpose", {{"perm", std::vector<Int>{0, 2, 1, 3}}}};
  EXPECT_EQ(infer_text(heads, {shaped({kBatch, kSeq, 12, 32})}), "[batch, 12, seq, 32]");
  // Products of the other dimensions overflow here, and nothing may compute them.
  const Tensor empty = *Tensor::allocate(DType::kInt8, {INT64_MAX, INT64_MAX, 0});
  EXPECT_EQ(run_op({"Transpose"}, {empty})->front().dims(), Dims({0, INT64_MAX, INT64_MAX}));
}

TEST(Expand, Broadcasts) {
  const Tensor x = matrix(2, 1, {7, 8});
  EXPECT_EQ(run_text<Int>({"Expand"}, {x, ints({2, 1, 3})}), "[2,2,3] 7 7 7 8 8 8 7 7 7 8 8 8");
  EXPECT_FALSE(run_op({"Expand"}, {x, ints({3, 1})}));
  EXPECT_FALSE(run_op({"Expand"}, {x, ints({Int{1} << 40, 1, 1})}));
  EXPECT_EQ(infer_text({"Expand"}, {shaped({kBatch, 1, 1, kSeq}), sizes({kBatch, 1, kSeq, kSeq})}),
            "[batch, 1, seq, seq]");
  EXPECT_EQ(infer_text({"Expand"}, {sizes({kSeq}), sizes({3})}), "[3] = seq, seq, seq");
}

TEST(Tile, Repeats) {
  const Tensor x = matrix(1, 2, {1, 2});
  EXPECT_EQ(run_text<Int>({"Tile"}, {x, ints({2, 2})}), "[2,4] 1 2 1 2 1 2 1 2");
  EXPECT_FALSE(run_op({"Tile"}, {x, ints({2})}));
  EXPECT_FALSE(run_op({"Tile"}, {x, ints({-1, 1})}));
  EXPECT_FALSE(run_op({"Tile"}, {x, ints({INT64_MAX, INT64_MAX})}));
  EXPECT_EQ(infer_text({"Tile"}, {shaped({1, kSeq}), sizes({kBatch, 2})}), "[batch, 2*seq]");
}

}  // namespace
}  // namespace narthex
