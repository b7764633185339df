// Corners of the unary operators; values at large are checked by tests/conformance.
#include <cmath>

#include "ops/op_harness.h"

namespace narthex {
namespace {

TEST(Elementwise, NaNPassesThroughEveryActivation) {
  for (const char* op : {"Relu", "Clip", "Elu", "Selu", "LeakyRelu", "HardSigmoid", "HardSwish", "Softplus", "Mish",
                         "Gelu", "ThresholdedRelu", "Shrink", "Sign", "Sigmoid", "Tanh", "Celu", "Softsign"}) {
    const auto outputs = run_op({op}, {Tensor::vector<float>({NAN})});
    ASSERT_TRUE(outputs) << op << ": " << outputs.error().message;
    EXPECT_TRUE(std::isnan(outputs->front().as<float>()[0])) << op;
  }
}

TEST(Elementwise, LargeArgumentsDoNotOverflow) {
  EXPECT_EQ(run_text<float>({"Sigmoid"}, {Tensor::vector<float>({1000, -1000})}), "[2] 1 0");
  EXPECT_EQ(run_text<float>({"Softplus"}, {Tensor::vector<float>({1000, -1000})}), "[2] 1000 0");
  EXPECT_EQ(run_text<float>({"Mish"}, {Tensor::vector<float>({1000})}), "[1] 1000");
}

TEST(Elementwise, ClipTakesTheUpperBoundWhereTheyCross) {
  EXPECT_EQ(run_text<std::int64_t>({"Clip"},
                                   {ints({1, 5, 9}), Tensor::scalar<std::int64_t>(6), Tensor::scalar<std::int64_t>(4)}),
            "[3] 4 4 4");
  EXPECT_EQ(run_text<float>({"Clip"}, {Tensor::vector<float>({INFINITY})}),
            fmt::format("[1] {}", std::numeric_limits<float>::max()));
  EXPECT_EQ(run_text<std::int64_t>({"Clip"}, {ints({1}), ints({1, 2})}),
            "input 1 must be one int64, but is a int64 of shape [2]");
}

TEST(Elementwise, TypesWithoutAMeaningAreRefused) {
  EXPECT_EQ(run_text<std::int64_t>({"Exp"}, {ints({1})}), "does not support elements of type int64");
  EXPECT_EQ(run_text<std::int64_t>({"Not"}, {ints({1})}), "does not support elements of type int64");
  EXPECT_EQ(run_text<float>({"Gelu", {{"approximate", std::string("sigmoid")}}}, {Tensor::vector<float>({1})}),
            "attribute 'approximate' must be 'none' or 'tanh', but is 'sigmoid'");
  EXPECT_EQ(run_text<float>({"Elu", {{"alpha", std::int64_t{1}}}}, {Tensor::vector<float>({1})}),
            "attribute 'alpha' must be a float");
}

}  // namespace
}  // namespace narthex
