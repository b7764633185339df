// Quantisation: errors, NaN and infinities, types. Values are checked by families_test.cc and contrib_test.cc, where
// DynamicQuantizeLinear → MatMulInteger chains must equal ONNX Runtime's to the bit.
#include <limits>

#include "ops/op_harness.h"

namespace narthex {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

Tensor floats(std::vector<float> values) {
  return Tensor::vector(values);
}

TEST(QuantizeLinear, NanInfinityAndAZeroScaleSaturate) {
  EXPECT_EQ(run_text<std::uint8_t>({"QuantizeLinear"}, {floats({kNan, kInf, -kInf, 2.5f}), Tensor::scalar(1.0f)}),
            "[4] 0 255 0 2");
  EXPECT_EQ(run_text<std::uint8_t>({"QuantizeLinear"}, {floats({1, -1, 0}), Tensor::scalar(0.0f)}), "[3] 255 0 0");
}

TEST(QuantizeLinear, ScalesThatDoNotFitAreSentences) {
  EXPECT_EQ(run_text<std::uint8_t>({"QuantizeLinear"}, {floats({1, 2}), floats({1, 2})}),
            "axis 1 is out of range for rank 1");
  const OpCall axis0 = {"QuantizeLinear", {{"axis", std::int64_t{0}}}};
  EXPECT_EQ(run_text<std::uint8_t>(axis0, {floats({1, 2}), floats({1, 2, 3})}),
            "the scale has shape [3], expected [2]");
  EXPECT_EQ(
      run_text<std::uint8_t>(axis0, {floats({1, 2}), floats({1, 2}), Tensor::vector(std::vector<std::uint8_t>(3))}),
      "the zero point has shape [3], expected that of the scale, [2]");
  const OpCall blocks = {"QuantizeLinear",
                         {{"axis", std::int64_t{0}}, {"block_size", std::numeric_limits<std::int64_t>::max()}}};
  EXPECT_EQ(run_text<std::uint8_t>(blocks, {floats({1, 2}), floats({1, 2})}), "the scale has shape [2], expected [1]");
  EXPECT_EQ(run_text<std::uint8_t>({"QuantizeLinear", {{"output_dtype", std::int64_t{1}}}}, {floats({1}), floats({1})}),
            "cannot quantise to float");
}

TEST(DynamicQuantizeLinear, HostileRangesAreHarmless) {
  const OpCall call = {"DynamicQuantizeLinear", {}, 3};
  EXPECT_EQ(run_text<std::uint8_t>(call, {floats({})}), "[0]");
  EXPECT_EQ(run_text<std::uint8_t>(call, {floats({0, 0})}), "[2] 0 0");
  EXPECT_EQ(run_text<std::uint8_t>(call, {floats({-kInf, kInf, kNan, 1})}), "[4] 0 0 0 0");
}

TEST(MatMulInteger, WrapsInInt32AndChecksZeroPoints) {
  const Tensor a = Tensor::make<std::uint8_t>({1, 2}, std::vector<std::uint8_t>{255, 0});
  const Tensor b = Tensor::make<std::int8_t>({2, 1}, std::vector<std::int8_t>{-128, 127});
  const Tensor a_zero = Tensor::scalar(std::uint8_t{255});
  EXPECT_EQ(run_text<std::int32_t>({"MatMulInteger"}, {a, b}), "[1,1] -32640");
  EXPECT_EQ(run_text<std::int32_t>({"MatMulInteger"}, {a, b, a_zero}), "[1,1] -32385");
  EXPECT_EQ(run_text<std::int32_t>({"MatMulInteger"}, {a, b, Tensor::scalar(std::int8_t{1})}),
            "a matrix of uint8 has a zero point of int8");
  EXPECT_EQ(run_text<std::int32_t>({"MatMulInteger"}, {a, b, Tensor::vector(std::vector<std::uint8_t>(3))}),
            "a zero point of shape [3] does not fit a matrix of shape [1,2]");
  EXPECT_EQ(infer_text({"MatMulInteger"}, {shaped({Dim::symbol("n"), Dim(2)}), shaped({Dim(2), Dim(4)})}), "[n, 4]");
}

TEST(DequantizeLinear, InfersTheTypeOfTheScale) {
  const auto values = infer_op({"DequantizeLinear"}, {Value{"", DType::kUint8, Shape{Dim::symbol("n")}, {}, {}},
                                                      Value{"", DType::kFloat16, Shape{}, {}, {}}});
  EXPECT_EQ(values[0].dtype, DType::kFloat16);
  EXPECT_EQ(shape_string(*values[0].shape), "[n]");
}

}  // namespace
}  // namespace narthex
