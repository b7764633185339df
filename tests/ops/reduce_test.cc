// Empty sets, wrapping, NaNs and hostile axes of the reduce family; values at large are checked by tests/conformance.
#include <cmath>

#include "ops/op_harness.h"

namespace narthex {
namespace {

Tensor empty_rows() {
  return *Tensor::allocate(DType::kFloat32, {2, 0});
}

TEST(Reduce, AnEmptySetGivesTheNeutralElement) {
  const auto over_columns = [](const char* op) { return run_text<float>({op}, {empty_rows(), ints({1})}); };
  EXPECT_EQ(over_columns("ReduceSum"), "[2,1] 0 0");
  EXPECT_EQ(over_columns("ReduceProd"), "[2,1] 1 1");
  EXPECT_EQ(over_columns("ReduceMax"), "[2,1] -inf -inf");
  EXPECT_EQ(over_columns("ReduceMin"), "[2,1] inf inf");
  EXPECT_EQ(over_columns("ReduceLogSumExp"), "[2,1] -inf -inf");
}

TEST(Reduce, LogSumExpNeitherOverflowsNorLosesInfinities) {
  EXPECT_EQ(run_text<float>({"ReduceLogSumExp"}, {Tensor::vector<float>({1000, 1000})}),
            fmt::format("[1] {}", 1000 + std::log(2.0F)));
  EXPECT_EQ(run_text<float>({"ReduceLogSumExp"}, {Tensor::vector<float>({-INFINITY, -INFINITY})}), "[1] -inf");
  EXPECT_EQ(run_text<float>({"ReduceLogSumExp"}, {Tensor::vector<float>({INFINITY, 1})}), "[1] inf");
}

TEST(Reduce, ANaNStays) {
  EXPECT_EQ(run_text<float>({"ReduceMax"}, {Tensor::vector<float>({1, NAN, 2})}), "[1] nan");
  EXPECT_EQ(run_text<float>({"ReduceMin"}, {Tensor::vector<float>({NAN, 2})}), "[1] nan");
}

TEST(Reduce, NoAxesWithNoopReducesNothing) {
  const OpCall call{"ReduceSumSquare", {{"noop_with_empty_axes", std::int64_t{1}}}};
  EXPECT_EQ(run_text<std::int64_t>(call, {ints({2, 3})}), "[2] 4 9");
  EXPECT_EQ(run_text<std::int64_t>({"ReduceSumSquare"}, {ints({2, 3}), ints({})}), "[1] 13");
}

TEST(Reduce, WrongAxesAreSentences) {
  EXPECT_EQ(run_text<std::int64_t>({"ReduceSum"}, {ints({1}), ints({3})}), "axis 3 is out of range for rank 1");
  EXPECT_EQ(run_text<std::int64_t>({"ReduceSum"}, {ints({1}), ints({0, -1})}), "axes [0,0] name one dimension twice");
  EXPECT_EQ(run_text<std::int64_t>({"ArgMax", {{"axis", std::int64_t{1}}}}, {*Tensor::allocate(DType::kInt64, {2, 0})}),
            "dimension 1 of [2,0] is empty: it has no extremum");
  EXPECT_EQ(run_text<std::int64_t>({"CumSum"}, {ints({1}), ints({0, 0})}),
            "axis must be one number, but has shape [2]");
}

TEST(TopK, OrdersNaNsAboveAllAndTiesByIndex) {
  const auto outputs = run_op({"TopK", {}, 2}, {Tensor::vector<float>({1, NAN, 3, 3}), ints({3})});
  ASSERT_TRUE(outputs) << outputs.error().message;
  const auto places = (*outputs)[1].as<std::int64_t>();
  EXPECT_EQ(std::vector(places.begin(), places.end()), (std::vector<std::int64_t>{1, 2, 3}));
}

TEST(TopK, RefusesMoreThanThereIs) {
  EXPECT_EQ(run_text<std::int64_t>({"TopK", {}, 2}, {ints({1, 2}), ints({3})}),
            "k must be one number between 0 and 2, but is [3]");
  EXPECT_EQ(run_text<std::int64_t>({"TopK", {}, 2}, {ints({1, 2}), ints({-1})}),
            "k must be one number between 0 and 2, but is [-1]");
}

TEST(ReduceInfer, ShapesOfKnownAndUnknownAxes) {
  const Dim batch = Dim::symbol("batch");
  const Dim seq = Dim::symbol("seq");
  const Value x = shaped({batch, seq, Dim(384)});
  const Value unknown = infer_op({"ReduceMean"}, {x, sizes({seq})}).front();
  ASSERT_TRUE(unknown.shape);
  ASSERT_EQ(unknown.shape->size(), 3U);
  for (const Dim& d : *unknown.shape) EXPECT_TRUE(d.is_unknown());
  const Value axes = sizes({Dim(-1)});
  EXPECT_EQ(infer_text({"ReduceMean"}, {x, axes}), "[batch, seq, 1]");
  EXPECT_EQ(infer_text({"ReduceMean", {{"keepdims", std::int64_t{0}}}}, {x, axes}), "[batch, seq]");
  EXPECT_EQ(infer_text({"ArgMax", {{"axis", std::int64_t{-1}}, {"keepdims", std::int64_t{0}}}}, {x}), "[batch, seq]");
  EXPECT_EQ(infer_text({"TopK", {}, 2}, {x, sizes({seq})}), "[batch, seq, seq]");
}

}  // namespace
}  // namespace narthex
