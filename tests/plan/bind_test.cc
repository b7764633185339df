#include "plan/bind.h"

#include "passes/graph_maker.h"

namespace narthex::testing {
namespace {

Tensor zeros(Dims dims) {
  Tensor tensor = *Tensor::allocate(DType::kInt64, std::move(dims));
  for (std::int64_t& v : tensor.as_mutable<std::int64_t>()) v = 0;
  return tensor;
}

std::string refusal(const std::vector<Tensor>& inputs) {
  GraphMaker m;
  m.input("ids", DType::kInt64, {kBatch, kSeq});
  m.input("mask", DType::kInt64, {kBatch, kSeq});
  m.input("two", DType::kInt64, {2});
  const auto status = check_inputs(m.graph(), inputs);
  return status ? "" : status.error().message;
}

TEST(CheckInputs, FittingInputsPass) {
  EXPECT_EQ(refusal({zeros({3, 5}), zeros({3, 5}), zeros({2})}), "");
}

TEST(CheckInputs, SentencesNameTheInput) {
  EXPECT_EQ(refusal({zeros({3, 5})}), "test.onnx: 1 inputs given, the graph has 3");
  EXPECT_EQ(refusal({zeros({3, 5}), zeros({3, 4}), zeros({2})}),
            "test.onnx: input 'mask' has 4 in dimension 1 (seq), but input 'ids' has 5");
  EXPECT_EQ(refusal({zeros({3, 5}), zeros({3, 5}), zeros({1})}),
            "test.onnx: input 'two' must have 2 in dimension 0, but has 1");
  EXPECT_EQ(refusal({zeros({3, 0}), zeros({3, 0}), zeros({2})}),
            "test.onnx: input 'ids' is empty in dimension 1 (seq)");
  EXPECT_EQ(refusal({zeros({15}), zeros({3, 5}), zeros({2})}),
            "test.onnx: input 'ids' must have shape [batch, seq], but has [15]");
  EXPECT_EQ(refusal({random_floats({3, 5}), zeros({3, 5}), zeros({2})}),
            "test.onnx: input 'ids' must be int64, but is float");
}

}  // namespace
}  // namespace narthex::testing
