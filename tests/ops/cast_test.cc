// Conversions that C++ leaves open, against what ONNX Runtime gives on x86; strings.
#include <cmath>

#include "ops/number.h"
#include "ops/op_harness.h"

namespace narthex {
namespace {

OpCall cast_to(DType dtype) {
  return {"Cast", {{"to", static_cast<std::int64_t>(dtype)}}};
}

TEST(Cast, FloatsThatDoNotFitGiveWhatOnnxRuntimeGives) {
  const Tensor x = Tensor::vector<float>({300.7F, -300.7F, 7e4F, 3e9F, -3e9F, 1e19F, 3e19F, NAN, INFINITY, -2.5F});
  EXPECT_EQ(run_text<std::int8_t>(cast_to(DType::kInt8), {x}), "[10] 44 -44 112 0 0 0 0 0 0 -2");
  EXPECT_EQ(run_text<std::uint16_t>(cast_to(DType::kUint16), {x}), "[10] 300 65236 4464 0 0 0 0 0 0 65534");
  EXPECT_EQ(run_text<std::int32_t>(cast_to(DType::kInt32), {x}),
            "[10] 300 -300 70000 -2147483648 -2147483648 -2147483648 -2147483648 -2147483648 -2147483648 -2");
  EXPECT_EQ(run_text<std::uint32_t>(cast_to(DType::kUint32), {x}),
            "[10] 300 4294966996 70000 3000000000 2147483648 0 0 2147483648 0 4294967294");
  EXPECT_EQ(run_text<std::uint64_t>(cast_to(DType::kUint64), {x}),
            "[10] 300 18446744073709551316 70000 3000000000 18446744070709551616 9999999980506447872 0 "
            "9223372036854775808 0 18446744073709551614");
  EXPECT_EQ(run_text<bool>(cast_to(DType::kBool), {Tensor::vector<float>({0, -0.0F, NAN, 0.1F})}),
            "[4] false false true true");
}

TEST(Cast, IntegersKeepTheirLowBits) {
  EXPECT_EQ(run_text<std::int8_t>(cast_to(DType::kInt8), {ints({200, -1, 256})}), "[3] -56 -1 0");
  const auto packed = run_op(cast_to(DType::kInt4), {ints({7, 8, -9, 16})});
  ASSERT_TRUE(packed) << packed.error().message;
  EXPECT_EQ(run_text<std::int64_t>(cast_to(DType::kInt64), *packed), "[4] 7 -8 7 0");
}

TEST(Cast, LargeIntegersRoundOnce) {
  // Just above the middle of two floats: by way of float64, which drops the 1, it would be rounded down.
  const std::int64_t above = (std::int64_t{1} << 55) + (std::int64_t{1} << 31) + 1;
  EXPECT_EQ(run_text<float>(cast_to(DType::kFloat32), {ints({16777217, above})}),
            fmt::format("[2] {} {}", 16777216.0F, std::ldexp(1.0F, 55) + std::ldexp(1.0F, 32)));
}

TEST(Cast, StringsAndNumbers) {
  const auto texts = run_op(cast_to(DType::kString), {Tensor::vector<float>({300.7F, -4e4F, 3e9F, NAN, -INFINITY})});
  ASSERT_TRUE(texts) << texts.error().message;
  EXPECT_EQ((*texts)[0].strings(), (std::vector<std::string>{"300.70001", "-40000", "3e+09", "NaN", "-INF"}));
  Tensor numbers = *Tensor::allocate(DType::kString, {5});
  numbers.mutable_strings() = {"1.5", "1e3", "-INF", "+inf", " 7"};
  EXPECT_EQ(run_text<float>(cast_to(DType::kFloat32), {numbers}), "[5] 1.5 1000 -inf inf 7");
  numbers.mutable_strings()[0] = "twelve";
  EXPECT_EQ(run_text<float>(cast_to(DType::kFloat32), {numbers}), "'twelve' is not a number");
  numbers.mutable_strings()[0] = "";
  EXPECT_EQ(run_text<float>(cast_to(DType::kFloat32), {numbers}), "'' is not a number");
}

TEST(Cast, UnknownTargetsAreRefused) {
  EXPECT_EQ(run_text<float>({"Cast", {{"to", std::int64_t{99}}}}, {ints({1})}),
            "attribute 'to' is 99, which names no supported type");
  EXPECT_FALSE(run_op(cast_to(DType::kComplex64), {ints({1})}));
}

}  // namespace
}  // namespace narthex
