#include "passes/graph_maker.h"
#include "passes/passes.h"

namespace narthex::testing {
namespace {

struct Gelu {
  GraphMaker m;
  ValueId x = kNoValue;
  ValueId gate = kNoValue;  // 1 + erf or tanh
};

Gelu with_erf(bool by_mul, float root = 1.41421356F) {
  Gelu g;
  g.x = g.m.input("x", DType::kFloat32, {kBatch, 8});
  const ValueId scaled =
      by_mul ? g.m.op("Mul", {g.m.scalar(1 / root), g.x}) : g.m.op("Div", {g.x, g.m.floats({1}, root)});
  g.gate = g.m.op("Add", {g.m.op("Erf", {scaled}), g.m.scalar(1)});
  return g;
}

Gelu with_tanh(bool by_pow) {
  Gelu g;
  g.x = g.m.input("x", DType::kFloat32, {kBatch, 8});
  const ValueId cube = by_pow ? g.m.op("Pow", {g.x, g.m.scalar(3)}) : g.m.op("Mul", {g.m.op("Mul", {g.x, g.x}), g.x});
  const ValueId sum = g.m.op("Add", {g.x, g.m.op("Mul", {g.m.scalar(0.044715F), cube})});
  g.gate = g.m.op("Add", {g.m.scalar(1), g.m.op("Tanh", {g.m.op("Mul", {sum, g.m.scalar(0.7978845608F)})})});
  return g;
}

// The four associations of x * gate * 0.5.
ValueId product(Gelu& g, int association, float half = 0.5F) {
  GraphMaker& m = g.m;
  switch (association) {
    case 0:
      return m.op("Mul", {m.op("Mul", {g.x, g.gate}), m.scalar(half)});
    case 1:
      return m.op("Mul", {g.x, m.op("Mul", {m.scalar(half), g.gate})});
    case 2:
      return m.op("Mul", {m.op("Mul", {g.x, m.scalar(half)}), g.gate});
    default:
      return m.op("Div", {m.op("Mul", {g.gate, g.x}), m.scalar(1 / half)});
  }
}

std::size_t found(Gelu& g) {
  EXPECT_TRUE(symbolic_shapes(g.m.graph()));
  const std::size_t changes = run_checked(g.m.graph(), fuse_gelu, {random_floats({5, 8})}, 1e-6);
  EXPECT_TRUE(dead_code(g.m.graph()));
  EXPECT_EQ(count_op(g.m.graph(), "Gelu"), changes);
  return changes;
}

TEST(FuseGelu, ErfInEveryAssociation) {
  for (int association = 0; association < 4; ++association) {
    for (const bool by_mul : {false, true}) {
      Gelu g = with_erf(by_mul);
      g.m.output(product(g, association));
      EXPECT_EQ(found(g), 1U) << association << by_mul;
      EXPECT_EQ(g.m.graph().nodes.size(), 1U);
    }
  }
}

TEST(FuseGelu, TanhInEveryAssociation) {
  for (int association = 0; association < 4; ++association) {
    for (const bool by_pow : {false, true}) {
      Gelu g = with_tanh(by_pow);
      g.m.output(product(g, association));
      EXPECT_EQ(found(g), 1U) << association << by_pow;
    }
  }
}

TEST(FuseGelu, NotWithOtherConstants) {
  Gelu root = with_erf(false, 1.4282F);  // 1 % off
  root.m.output(product(root, 0));
  EXPECT_EQ(found(root), 0U);
  Gelu half = with_erf(false);
  half.m.output(product(half, 0, 0.505F));
  EXPECT_EQ(found(half), 0U);
}

TEST(FuseGelu, NotWhereTheGateIsAnOutput) {
  Gelu g = with_erf(false);
  g.m.output(product(g, 0));
  g.m.output(g.gate);
  EXPECT_EQ(found(g), 0U);
}

TEST(FuseGelu, NotOfAnotherInput) {
  Gelu g = with_erf(false);
  g.x = g.m.input("z", DType::kFloat32, {kBatch, 8});
  g.m.output(product(g, 0));
  ASSERT_TRUE(symbolic_shapes(g.m.graph()));
  EXPECT_EQ(run_checked(g.m.graph(), fuse_gelu, {random_floats({5, 8}), random_floats({5, 8}, 3)}), 0U);
}

}  // namespace
}  // namespace narthex::testing
