#include "passes/graph_maker.h"
#include "passes/passes.h"

namespace narthex::testing {
namespace {

std::size_t simplified_nodes(GraphMaker& m, const std::vector<Tensor>& inputs) {
  EXPECT_TRUE(symbolic_shapes(m.graph()));
  run_checked(m.graph(), simplify, inputs, 0);
  EXPECT_TRUE(dead_code(m.graph()));
  return m.graph().nodes.size();
}

TEST(Simplify, DropsWhatDoesNothing) {
  GraphMaker m;
  const ValueId x = m.input("x", DType::kFloat32, {kBatch, 4});
  ValueId y = m.op("Reshape", {x, m.ints({0, 4})});
  y = m.op("Transpose", {y}, {{"perm", std::vector<std::int64_t>{0, 1}}});
  y = m.op("Cast", {y}, {{"to", std::int64_t{1}}});
  y = m.op("Mul", {y, m.scalar(1)});
  y = m.op("Div", {y, m.scalar(1)});
  y = m.op("Sub", {y, m.scalar(0)});
  y = m.op("Expand", {y, m.ints({1, 4})});
  m.output(m.op("Neg", {y}));
  EXPECT_EQ(simplified_nodes(m, {random_floats({3, 4})}), 1U);
}

TEST(Simplify, KeepsWhatIsNotExactOrBroadcasts) {
  GraphMaker m;
  const ValueId x = m.input("x", DType::kFloat32, {kBatch, 4});
  m.output(m.op("Neg", {m.op("Add", {x, m.scalar(0)})}));             // -0 + 0
  m.output(m.op("Neg", {m.op("Mul", {x, m.floats({1, 1, 1}, 1)})}));  // raises the rank
  m.output(m.op("Neg", {m.op("Expand", {x, m.ints({2, 1, 1})})}));
  m.output(m.op("Neg", {m.op("Sub", {m.scalar(0), x})}));
  EXPECT_EQ(simplified_nodes(m, {random_floats({3, 4})}), 8U);
}

TEST(Simplify, TwoReshapesAndTwoTransposesBecomeOne) {
  GraphMaker m;
  const ValueId x = m.input("x", DType::kFloat32, {kBatch, 4, 6});
  const std::vector<std::int64_t> swap = {0, 2, 1};
  m.output(m.op("Reshape", {m.op("Unsqueeze", {x, m.ints({1})}), m.ints({-1, 24})}));
  m.output(m.op("Neg", {m.op("Transpose", {m.op("Transpose", {x}, {{"perm", swap}})}, {{"perm", swap}})}));
  simplified_nodes(m, {random_floats({3, 4, 6})});
  ASSERT_TRUE(simplify(m.graph()));  // the merged Transpose moves nothing
  ASSERT_TRUE(dead_code(m.graph()));
  EXPECT_EQ(m.graph().nodes.size(), 2U);
}

TEST(Simplify, ComputedTargetBecomesConstant) {
  GraphMaker m;
  const ValueId x = m.input("x", DType::kFloat32, {kBatch, kSeq, 12});
  const ValueId shape = m.op("Slice", {m.op("Shape", {x}), m.ints({0}), m.ints({2})});
  const ValueId target = m.op("Concat", {shape, m.ints({3, 4})}, {{"axis", std::int64_t{0}}});
  m.output(m.op("Reshape", {x, target}));
  EXPECT_EQ(simplified_nodes(m, {random_floats({2, 5, 12})}), 1U);
}

TEST(Simplify, TargetWithTwoFreeDimensionsStaysComputed) {
  GraphMaker m;
  const ValueId x = m.input("x", DType::kFloat32, {kBatch, kSeq});
  const ValueId shape = m.op("Shape", {x});
  const ValueId swapped = m.op("Gather", {shape, m.ints({1, 0})});
  m.output(m.op("Reshape", {x, swapped}));
  EXPECT_EQ(simplified_nodes(m, {random_floats({2, 5})}), 3U);
}

TEST(Simplify, AnInputIsNotRenamedToAnOutput) {
  GraphMaker m;
  const ValueId x = m.input("x", DType::kFloat32, {kBatch, 4});
  m.output(m.op("Mul", {x, m.scalar(1)}));
  EXPECT_EQ(simplified_nodes(m, {random_floats({2, 4})}), 1U);
}

TEST(Simplify, OutputKeepsItsName) {
  GraphMaker m;
  const ValueId x = m.input("x", DType::kFloat32, {kBatch, 4});
  const ValueId out = m.op("Mul", {m.op("Neg", {x}), m.scalar(1)});
  m.graph().value(out).name = "embedding";
  m.output(out);
  EXPECT_EQ(simplified_nodes(m, {random_floats({2, 4})}), 1U);
  EXPECT_EQ(m.graph().value(m.graph().outputs[0]).name, "embedding");
}

}  // namespace
}  // namespace narthex::testing
