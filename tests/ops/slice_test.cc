// Slice, Split, Concat, Pad.
#include <random>

#include "ops/op_harness.h"

namespace narthex {
namespace {

const Dim kBatch = Dim::symbol("batch");
const Dim kSeq = Dim::symbol("seq");
using Int = std::int64_t;

std::string slice_text(const Tensor& x, Int start, Int end, Int axis, Int step) {
  const Tensor starts = ints({start});
  const Tensor ends = ints({end});
  const Tensor axes = ints({axis});
  const Tensor steps = ints({step});
  return run_text<Int>({"Slice"}, {x, starts, ends, axes, steps});
}

TEST(Slice, ClampsAndSteps) {
  const Tensor x = matrix(2, 4, {0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(slice_text(x, 1, 1000, 1, 2), "[2,2] 1 3 5 7");
  EXPECT_EQ(slice_text(x, -1, INT64_MIN, 1, -1), "[2,4] 3 2 1 0 7 6 5 4");
  EXPECT_EQ(slice_text(x, INT64_MAX, INT64_MIN, 1, INT64_MIN), "[2,1] 3 7");
  EXPECT_EQ(slice_text(x, 0, INT64_MAX, 1, INT64_MAX), "[2,1] 0 4");
  EXPECT_EQ(slice_text(x, 3, 1, -1, -1), "[2,2] 3 2 7 6");
  EXPECT_EQ(slice_text(x, 2, 1, 0, 1), "[0,4]");
  EXPECT_EQ(slice_text(x, 0, 1, 0, 0), "step 0 of axis 0 goes nowhere");
  EXPECT_EQ(slice_text(x, 0, 1, 2, 1), "axis 2 is out of range for rank 2");
}

// Python's own rule for one dimension, by walking.
std::vector<Int> python_slice(Int size, Int start, Int end, Int step) {
  if (start < 0) start += size;
  if (end < 0) end += size;
  start = std::clamp<Int>(start, step > 0 ? 0 : -1, step > 0 ? size : size - 1);
  end = std::clamp<Int>(end, step > 0 ? 0 : -1, step > 0 ? size : size - 1);
  std::vector<Int> out;
  for (Int i = start; step > 0 ? i < end : i > end; i += step) out.push_back(i);
  return out;
}

// ONNX differs from Python in one point: with a negative step, a start before the first element means the first.
TEST(Slice, LikePythonAndInferredSymbolically) {
  std::mt19937 random(5);
  const auto number = [&](Int low, Int high) { return low + static_cast<Int>(random() % (high - low + 1)); };
  for (int i = 0; i < 5000; ++i) {
    const Int size = number(1, 7);
    const Int start = number(-9, 9);
    const Int end = number(-9, 9);
    const Int step = number(0, 1) == 0 ? number(1, 4) : number(-4, -1);
    if (step < 0 && start < -size) continue;
    std::vector<Int> values(static_cast<std::size_t>(size));
    for (std::size_t k = 0; k < values.size(); ++k) values[k] = static_cast<Int>(k);
    const std::vector<Int> want = python_slice(size, start, end, step);
    std::string text = fmt::format("[{}]", want.size());
    for (const Int index : want) text += fmt::format(" {}", index);
    ASSERT_EQ(slice_text(ints(values), start, end, 0, step), text)
        << size << ": " << start << ":" << end << ":" << step;
    const auto inferred =
        infer_op({"Slice"}, {shaped({kSeq}), sizes({start}), sizes({end}), sizes({0}), sizes({step})});
    const Dim dim = (*inferred[0].shape)[0];
    const auto bound = dim.evaluate([&](std::string_view) { return size; });
    ASSERT_EQ(bound, static_cast<Int>(want.size())) << dim.to_string() << " for " << start << ":" << end << ":" << step;
  }
}

TEST(Slice, SymbolicBounds) {
  const auto sliced = [](Dim size, Dim start, Dim end) {
    return infer_text({"Slice"}, {shaped({1, size}), sizes({start}), sizes({end}), sizes({1})});
  };
  EXPECT_EQ(sliced(512, 0, kSeq), "[1, min(512, seq)]");
  EXPECT_EQ(sliced(kSeq, 0, INT64_MAX), "[1, seq]");
  EXPECT_EQ(sliced(kSeq, 1, INT64_MAX), "[1, seq - 1]");
  EXPECT_EQ(sliced(kSeq, 0, kSeq), "[1, seq]");
  EXPECT_EQ(sliced(kSeq, -1, INT64_MAX), "[1, 1]");
  EXPECT_EQ(sliced(kSeq, 0, -1), "[1, seq - 1]");
  EXPECT_EQ(sliced(Dim(2) * kSeq, kSeq, INT64_MAX), "[1, seq]");
  EXPECT_EQ(infer_text({"Slice"}, {sizes({kBatch, kSeq, 64}), sizes({-2}), sizes({INT64_MAX}), sizes({0})}),
            "[2] = seq, 64");
  const auto open = infer_op({"Slice"}, {shaped({kSeq}), sizes({Dim::unknown()}), sizes({kSeq}), sizes({0})});
  EXPECT_TRUE((*open[0].shape)[0].is_unknown());
}

TEST(Split, SizesAndEqualParts) {
  const Tensor x = ints({0, 1, 2, 3, 4});
  const auto parts = run_op({"Split", {{"num_outputs", Int{2}}}, 2}, {x});
  EXPECT_EQ((*parts)[0].dims(), Dims({3}));
  EXPECT_EQ((*parts)[1].as<Int>()[0], 3);
  EXPECT_EQ(run_op({"Split", {}, 2}, {x, ints({1, 4})})->back().dims(), Dims({4}));
  EXPECT_FALSE(run_op({"Split", {}, 2}, {x, ints({2, 2})}));
  EXPECT_FALSE(run_op({"Split", {}, 2}, {x, ints({6, -1})}));
  EXPECT_FALSE(run_op({"Split", {}, 2}, {x, ints({INT64_MAX, INT64_MAX})}));
  EXPECT_FALSE(run_op({"Split", {}, 4}, {ints({1})}));
  const auto inferred = infer_op({"Split", {{"axis", Int{-1}}}, 3}, {shaped({kBatch, kSeq, 192})});
  EXPECT_EQ(shape_string(*inferred[2].shape), "[batch, seq, 64]");
  const auto contents = infer_op({"Split", {}, 2}, {sizes({kBatch, kSeq}), sizes({1, 1})});
  EXPECT_EQ(contents[1].content->front(), kSeq);
}

TEST(Concat, ChainsAndMismatches) {
  const Tensor x = matrix(1, 2, {1, 2});
  const Tensor y = matrix(1, 1, {3});
  EXPECT_EQ(run_text<Int>({"Concat", {{"axis", Int{-1}}}}, {x, y, x}), "[1,5] 1 2 3 1 2");
  EXPECT_FALSE(run_op({"Concat", {{"axis", Int{0}}}}, {x, y}));
  EXPECT_FALSE(run_op({"Concat", {{"axis", Int{2}}}}, {x, y}));
  const OpCall concat{"Concat", {{"axis", Int{0}}}};
  EXPECT_EQ(infer_text(concat, {sizes({kBatch}), sizes({kSeq}), sizes({12, -1})}), "[4] = batch, seq, 12, -1");
  EXPECT_EQ(infer_text({"Concat", {{"axis", Int{1}}}}, {shaped({kBatch, kSeq}), shaped({kBatch, 1})}),
            "[batch, seq + 1]");
}

TEST(Pad, EveryMode) {
  const Tensor x = ints({1, 2, 3});
  const Tensor pads = ints({4, 5});
  const auto padded = [&](const char* mode) {
    return run_text<Int>({"Pad", {{"mode", std::string(mode)}}}, {x, pads});
  };
  EXPECT_EQ(padded("constant"), "[12] 0 0 0 0 1 2 3 0 0 0 0 0");
  EXPECT_EQ(padded("edge"), "[12] 1 1 1 1 1 2 3 3 3 3 3 3");
  EXPECT_EQ(padded("reflect"), "[12] 1 2 3 2 1 2 3 2 1 2 3 2");
  EXPECT_EQ(padded("wrap"), "[12] 3 1 2 3 1 2 3 1 2 3 1 2");
  EXPECT_EQ(padded("mirror"), "mode 'mirror' is not known");
  const Tensor value = Tensor::scalar(Int{9});
  EXPECT_EQ(run_text<Int>({"Pad"}, {x, ints({-1, 2}), value}), "[4] 2 3 9 9");
  EXPECT_FALSE(run_op({"Pad"}, {x, ints({-3, -1})}));
  EXPECT_FALSE(run_op({"Pad"}, {x, ints({INT64_MAX, INT64_MAX})}));
  const Tensor empty = *Tensor::allocate(DType::kInt64, {0});
  EXPECT_EQ(run_text<Int>({"Pad"}, {empty, ints({1, 1})}), "[2] 0 0");
  EXPECT_FALSE(run_op({"Pad", {{"mode", std::string("edge")}}}, {empty, ints({1, 1})}));
  const Tensor axes = ints({-1});
  const Tensor grid = matrix(1, 2, {1, 2});
  EXPECT_EQ(run_text<Int>({"Pad"}, {grid, ints({1, 0}), Tensor(), axes}), "[1,3] 0 1 2");
  EXPECT_EQ(infer_text({"Pad"}, {shaped({kBatch, kSeq}), sizes({0, 1, 0, kBatch})}), "[batch, batch + seq + 1]");
}

}  // namespace
}  // namespace narthex
