#include "passes/graph_maker.h"
#include "passes/passes.h"

namespace narthex::testing {
namespace {

TEST(FoldConstants, NodeOfConstantsBecomesConstant) {
  GraphMaker m;
  const ValueId x = m.input("x", DType::kFloat32, {kBatch, 3});
  const ValueId w = m.op("Mul", {m.op("Neg", {m.floats({3})}), m.scalar(2)});
  m.output(m.op("Add", {x, w}));
  EXPECT_EQ(run_checked(m.graph(), fold_constants, {random_floats({2, 3})}, 0), 2U);
  EXPECT_EQ(m.graph().nodes.size(), 1U);
}

TEST(FoldConstants, ASmallFileDoesNotGrow) {
  GraphMaker m;
  const ValueId x = m.input("x", DType::kFloat32, {kBatch, 3});
  const ValueId huge = m.op("Expand", {m.scalar(1), m.ints({1 << 14, 1 << 14})});  // 4 bytes to 1 GiB
  const ValueId large = m.op("Expand", {m.scalar(1), m.ints({1 << 10, 1 << 9})});  // 4 bytes to 2 MiB
  m.output(m.op("Add", {x, m.op("ReduceSum", {large}, {{"keepdims", std::int64_t{0}}})}));
  m.output(m.op("Shape", {huge}));
  const auto changes = fold_constants(m.graph());
  ASSERT_TRUE(changes);
  EXPECT_EQ(*changes, 0U);
}

TEST(FoldConstants, WeightMayGrowByItsType) {
  GraphMaker m;
  const ValueId x = m.input("x", DType::kFloat32, {kBatch, 1024});
  Tensor bytes = *Tensor::allocate(DType::kInt8, {1024, 1024});
  std::fill_n(bytes.mutable_data(), bytes.bytes(), std::byte{3});
  const ValueId w = m.op("Cast", {m.constant(bytes)}, {{"to", std::int64_t{1}}});
  m.output(m.op("MatMul", {x, w}));
  const auto changes = fold_constants(m.graph());
  ASSERT_TRUE(changes);
  EXPECT_EQ(*changes, 1U);
}

TEST(FoldConstants, AFailingNodeStays) {
  GraphMaker m;
  m.output(m.op("Reshape", {m.floats({4}), m.ints({3})}));
  const auto changes = fold_constants(m.graph());
  ASSERT_TRUE(changes);
  EXPECT_EQ(*changes, 0U);
  EXPECT_EQ(m.graph().nodes.size(), 1U);
}

// then: captured + captured; else: the captured value itself.
Graph with_if(bool condition, bool is_output) {
  GraphMaker yes;
  const ValueId a = yes.input("x", DType::kFloat32, {3});
  yes.output(yes.op("Add", {a, yes.op("Mul", {a, yes.scalar(3)})}));
  GraphMaker no;
  no.output(no.input("x", DType::kFloat32, {3}));
  GraphMaker m;
  const ValueId x = m.input("x", DType::kFloat32, {3});
  const ValueId flag = m.constant(Tensor::scalar(condition));
  const ValueId chosen = m.op(
      "If", {flag, x},
      {{"then_branch", std::make_shared<Graph>(yes.graph())}, {"else_branch", std::make_shared<Graph>(no.graph())}});
  m.output(is_output ? chosen : m.op("Neg", {chosen}));
  return m.graph();
}

TEST(FoldConstants, IfWithConstantConditionBecomesItsBranch) {
  for (const bool condition : {true, false}) {
    Graph graph = with_if(condition, false);
    EXPECT_EQ(run_checked(graph, fold_constants, {random_floats({3})}, 0), 1U);
    EXPECT_EQ(count_op(graph, "If"), 0U);
    EXPECT_EQ(graph.nodes.size(), condition ? 3U : 1U);
  }
}

TEST(FoldConstants, IfThatPassesAnInputToAnOutputStays) {
  Graph taken = with_if(true, true);
  EXPECT_EQ(run_checked(taken, fold_constants, {random_floats({3})}, 0), 1U);
  Graph passed = with_if(false, true);
  run_checked(passed, fold_constants, {random_floats({3})}, 0);
  EXPECT_EQ(count_op(passed, "If"), 1U);
}

}  // namespace
}  // namespace narthex::testing
