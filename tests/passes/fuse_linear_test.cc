#include "passes/graph_maker.h"
#include "passes/passes.h"

namespace narthex::testing {
namespace {

std::size_t linears(GraphMaker& m, const std::vector<Tensor>& inputs, std::size_t expected_nodes) {
  EXPECT_TRUE(symbolic_shapes(m.graph()));
  run_checked(m.graph(), fuse_linear, inputs, 1e-5);
  EXPECT_TRUE(dead_code(m.graph()));
  EXPECT_EQ(m.graph().nodes.size(), expected_nodes);
  return count_op(m.graph(), "Linear");
}

TEST(FuseLinear, ProductBiasAndActivation) {
  for (const bool bias_first : {false, true}) {
    for (const char* activation : {"Relu", "Tanh", "Gelu", "Exp"}) {
      GraphMaker m;
      const ValueId x = m.input("x", DType::kFloat32, {kBatch, kSeq, 6});
      const ValueId product = m.op("MatMul", {x, m.floats({6, 4})});
      const ValueId bias = m.floats({4}, -1);
      const ValueId sum = bias_first ? m.op("Add", {bias, product}) : m.op("Add", {product, bias});
      m.output(m.op(activation, {sum}));
      EXPECT_EQ(linears(m, {random_floats({2, 3, 6})}, std::string_view(activation) == "Exp" ? 2 : 1), 1U);
    }
  }
}

TEST(FuseLinear, GemmOfBothLayouts) {
  for (const std::int64_t transposed : {0, 1}) {
    GraphMaker m;
    const ValueId x = m.input("x", DType::kFloat32, {kBatch, 6});
    const ValueId w = transposed != 0 ? m.floats({4, 6}) : m.floats({6, 4});
    m.output(m.op("Tanh", {m.op("Gemm", {x, w, m.floats({4})}, {{"transB", transposed}})}));
    EXPECT_EQ(linears(m, {random_floats({3, 6})}, 1), 1U);
  }
}

TEST(FuseLinear, NotWithScaledGemmOrMatrixBias) {
  GraphMaker m;
  const ValueId x = m.input("x", DType::kFloat32, {2, 6});
  m.output(m.op("Gemm", {x, m.floats({6, 4}), m.floats({4})}, {{"alpha", 0.5F}}));
  m.output(m.op("Gemm", {x, m.floats({6, 4}), m.floats({2, 4})}));
  m.output(m.op("Add", {m.op("MatMul", {x, m.floats({6, 4})}), m.floats({2, 4})}));
  EXPECT_EQ(linears(m, {random_floats({2, 6})}, 4), 0U);
}

TEST(FuseLinear, NotWhereTheProductIsAnOutputOrUsedTwice) {
  GraphMaker m;
  const ValueId x = m.input("x", DType::kFloat32, {kBatch, 6});
  const ValueId seen = m.op("MatMul", {x, m.floats({6, 4})});
  m.output(m.op("Add", {seen, m.floats({4})}));
  m.output(seen);
  const ValueId twice = m.op("MatMul", {x, m.floats({6, 4}, 1)});
  m.output(m.op("Mul", {m.op("Add", {twice, m.floats({4})}), twice}));
  EXPECT_EQ(linears(m, {random_floats({2, 6})}, 5), 0U);
}

TEST(FuseLinear, NotOfARuntimeMatrix) {
  GraphMaker m;
  const ValueId x = m.input("x", DType::kFloat32, {3, 6});
  const ValueId w = m.input("w", DType::kFloat32, {6, 4});
  m.output(m.op("Add", {m.op("MatMul", {x, w}), m.floats({4})}));
  EXPECT_EQ(linears(m, {random_floats({3, 6}), random_floats({6, 4})}, 2), 0U);
}

}  // namespace
}  // namespace narthex::testing
