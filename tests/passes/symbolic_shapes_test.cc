#include "passes/graph_maker.h"
#include "passes/passes.h"

namespace narthex::testing {
namespace {

TEST(SymbolicShapes, KnownShapeChainBecomesConstant) {
  GraphMaker m;
  const ValueId x = m.input("x", DType::kFloat32, {kBatch, 6});
  const ValueId width = m.op("Gather", {m.op("Shape", {x}), m.ints({1})});
  const ValueId target = m.op("Concat", {m.ints({-1}), width}, {{"axis", std::int64_t{0}}});
  m.output(m.op("Reshape", {x, target}));
  // Shape itself holds the batch and stays; width and target do not.
  EXPECT_EQ(run_checked(m.graph(), symbolic_shapes, {random_floats({2, 6})}), 2U);
  EXPECT_TRUE(m.graph().value(target).constant);
  EXPECT_EQ(count_op(m.graph(), "Concat"), 0U);
}

TEST(SymbolicShapes, DimensionsAreExpressionsInTheNamesOfTheInputs) {
  GraphMaker m;
  const ValueId x = m.input("x", DType::kFloat32, {kBatch, kSeq, 8});
  const ValueId y = m.op("Transpose", {x}, {{"perm", std::vector<std::int64_t>{0, 2, 1}}});
  const ValueId joined = m.op("Concat", {y, y}, {{"axis", std::int64_t{2}}});
  m.output(joined);
  run_checked(m.graph(), symbolic_shapes, {random_floats({2, 3, 8})});
  ASSERT_TRUE(m.graph().value(joined).shape);
  EXPECT_EQ(shape_string(*m.graph().value(joined).shape), shape_string({kBatch, 8, kSeq + kSeq}));
  EXPECT_EQ(m.graph().value(joined).dtype, DType::kFloat32);
}

TEST(SymbolicShapes, SymbolsDoNotBecomeConstants) {
  GraphMaker m;
  const ValueId x = m.input("x", DType::kFloat32, {kBatch, 6});
  m.output(m.op("Shape", {x}));
  EXPECT_EQ(run_checked(m.graph(), symbolic_shapes, {random_floats({2, 6})}), 0U);
  EXPECT_EQ(m.graph().nodes.size(), 1U);
}

}  // namespace
}  // namespace narthex::testing
