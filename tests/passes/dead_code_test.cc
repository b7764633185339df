#include "passes/graph_maker.h"
#include "passes/passes.h"

namespace narthex::testing {
namespace {

TEST(DeadCode, DropsWhatNoOutputNeedsAndItsConstants) {
  GraphMaker m;
  const ValueId x = m.input("x", DType::kFloat32, {kBatch, 4});
  const ValueId unused_constant = m.floats({4});
  m.op("Exp", {m.op("Mul", {x, unused_constant})});
  m.output(m.op("Neg", {x}));
  EXPECT_EQ(run_checked(m.graph(), dead_code, {random_floats({2, 4})}), 2U);
  EXPECT_EQ(m.graph().nodes.size(), 1U);
  EXPECT_FALSE(m.graph().value(unused_constant).constant);
}

TEST(DeadCode, KeepsANodeOfWhichOneOutputIsUsed) {
  GraphMaker m;
  const ValueId x = m.input("x", DType::kFloat32, {6});
  m.output(m.node("Split", {x}, 2, {{"num_outputs", std::int64_t{2}}})[1]);
  EXPECT_EQ(run_checked(m.graph(), dead_code, {random_floats({6})}), 0U);
}

TEST(DeadCode, KeepsInputsAndConstantOutputs) {
  GraphMaker m;
  m.input("x", DType::kFloat32, {6});
  m.output(m.floats({2}));
  EXPECT_EQ(run_checked(m.graph(), dead_code, {random_floats({6})}), 0U);
  EXPECT_EQ(m.graph().inputs.size(), 1U);
}

}  // namespace
}  // namespace narthex::testing
