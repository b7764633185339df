#include "passes/graph_maker.h"
#include "passes/passes.h"

namespace narthex::testing {
namespace {

TEST(CommonSubexpressions, EqualNodesAndConstantsAreKeptOnce) {
  GraphMaker m;
  const ValueId x = m.input("x", DType::kFloat32, {kBatch, 3});
  const ValueId a = m.op("Exp", {m.op("Mul", {x, m.scalar(2)})});
  const ValueId b = m.op("Exp", {m.op("Mul", {x, m.scalar(2)})});
  m.output(m.op("Sub", {a, b}));
  EXPECT_EQ(run_checked(m.graph(), common_subexpressions, {random_floats({2, 3})}, 0), 3U);
  ASSERT_TRUE(dead_code(m.graph()));
  EXPECT_EQ(m.graph().nodes.size(), 3U);
}

TEST(CommonSubexpressions, OtherAttributesTypesOrInputsDiffer) {
  GraphMaker m;
  const ValueId x = m.input("x", DType::kFloat32, {kBatch, 3});
  m.output(m.op("Softmax", {x}, {{"axis", std::int64_t{0}}}));
  m.output(m.op("Softmax", {x}, {{"axis", std::int64_t{1}}}));
  m.output(m.op("Mul", {x, m.scalar(2)}));
  m.output(m.op("Mul", {x, m.scalar(3)}));
  m.output(m.op("Add", {x, m.floats({3})}));
  m.output(m.op("Add", {x, m.floats({1, 3})}));
  EXPECT_EQ(run_checked(m.graph(), common_subexpressions, {random_floats({2, 3})}, 0), 0U);
}

TEST(CommonSubexpressions, TwoOutputsOfTheGraphStayTwo) {
  GraphMaker m;
  const ValueId x = m.input("x", DType::kFloat32, {kBatch, 3});
  m.output(m.op("Exp", {x}));
  m.output(m.op("Exp", {x}));
  EXPECT_EQ(run_checked(m.graph(), common_subexpressions, {random_floats({2, 3})}, 0), 0U);
}

TEST(CommonSubexpressions, SameShapeOfDifferentTensors) {
  GraphMaker m;
  const ValueId x = m.input("x", DType::kFloat32, {kBatch, 3});
  const ValueId y = m.op("Exp", {x});
  m.output(m.op("Add", {m.op("Shape", {x}), m.op("Shape", {y})}));
  ASSERT_TRUE(symbolic_shapes(m.graph()));
  EXPECT_EQ(run_checked(m.graph(), common_subexpressions, {random_floats({2, 3})}, 0), 1U);
}

}  // namespace
}  // namespace narthex::testing
