// Contents of small integer tensors through the arithmetic and elementwise operators.
#include <random>

#include "ops/op_harness.h"
#include "ops/util.h"

namespace narthex {
namespace {

const Dim kBatch = Dim::symbol("batch");
const Dim kSeq = Dim::symbol("seq");

TEST(ArithmeticInfer, ContentsBroadcast) {
  EXPECT_EQ(infer_text({"Mul"}, {sizes({kBatch, kSeq}), scalar_size(Dim(2))}), "[2] = 2*batch, 2*seq");
  EXPECT_EQ(infer_text({"Sub"}, {sizes({kBatch + kSeq}), sizes({kSeq})}), "[1] = batch");
}

TEST(ArithmeticInfer, DivisionIsExactTruncationOrUnknown) {
  EXPECT_EQ(infer_text({"Div"}, {sizes({kSeq * Dim(12)}), sizes({Dim(4)})}), "[1] = 3*seq");
  EXPECT_EQ(infer_text({"Div"}, {sizes({Dim(-7)}), sizes({Dim(2)})}), "[1] = -3");
  EXPECT_EQ(infer_text({"Div"}, {sizes({Dim(7)}), sizes({Dim(-2)})}), "[1] = -3");
  // −seq / 2 rounds toward zero, which is no floor.
  const auto value = infer_op({"Div"}, {sizes({Dim(0) - kSeq}), sizes({Dim(2)})}).front();
  ASSERT_TRUE(value.content);
  EXPECT_TRUE(value.content->front().is_unknown());
  EXPECT_TRUE(infer_op({"Div"}, {sizes({Dim(1)}), sizes({Dim(0)})}).front().content->front().is_unknown());
}

TEST(ArithmeticInfer, ComparisonsAreDecidedWhereEverySizeAgrees) {
  EXPECT_EQ(infer_text({"Greater"}, {sizes({kSeq}), sizes({Dim(0)})}), "[1] = 1");
  EXPECT_EQ(infer_text({"Equal"}, {sizes({kSeq, Dim(-1)}), sizes({Dim(-1)})}), "[2] = 0, 1");
  EXPECT_TRUE(infer_op({"Equal"}, {sizes({kSeq}), sizes({kBatch})}).front().content->front().is_unknown());
  EXPECT_EQ(infer_text({"LessOrEqual"}, {sizes({kSeq}), sizes({kSeq + kBatch})}), "[1] = 1");
}

// The idiom of exporters for Expand: where(shape == -1, 1, shape).
TEST(ArithmeticInfer, WhereChoosesByDecidedConditions) {
  const Value shape = sizes({kBatch, Dim(-1), kSeq});
  const Value condition = infer_op({"Equal"}, {shape, scalar_size(Dim(-1))}).front();
  EXPECT_EQ(infer_text({"Where"}, {condition, sizes({Dim(1), Dim(1), Dim(1)}), shape}), "[3] = batch, 1, seq");
}

TEST(ArithmeticInfer, CastKeepsSizes) {
  EXPECT_EQ(infer_text({"Cast", {{"to", std::int64_t{6}}}}, {sizes({kSeq})}), "[1] = seq");
  EXPECT_EQ(infer_text({"Cast", {{"to", std::int64_t{9}}}}, {sizes({kSeq, Dim(0)})}), "[2] = 1, 0");
  EXPECT_EQ(infer_text({"Cast", {{"to", std::int64_t{1}}}}, {sizes({kSeq})}), "[1]");
  EXPECT_EQ(infer_text({"ReduceProd"}, {sizes({kSeq, kBatch, Dim(3)})}), "[1] = 3*batch*seq");
}

// Each inferred element, bound to numbers, is what the evaluator computes from these numbers.
TEST(ArithmeticInfer, AgreesWithTheEvaluatorOnRandomExpressions) {
  std::mt19937 random(5);
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
  };
  constexpr const char* kOps[] = {
      "Add",  "Sub",         "Mul",   "Div", "Mod", "Min", "Max", "Greater", "GreaterOrEqual",
      "Less", "LessOrEqual", "Equal", "Abs", "Neg"};
  std::size_t known = 0;
  for (int round = 0; round < 20000; ++round) {
    const std::int64_t batch = pick(1, 5);
    const std::int64_t seq = pick(1, 9);
    const auto bindings = [&](std::string_view name) { return std::optional(name == "batch" ? batch : seq); };
    const auto expression = [&] { return Dim(pick(-3, 3)) + kBatch * Dim(pick(-1, 2)) + kSeq * Dim(pick(-1, 2)); };
    const OpCall call{kOps[random() % std::size(kOps)]};
    const bool unary = call.op == "Abs" || call.op == "Neg";
    std::vector<Value> described;
    std::vector<Tensor> inputs;
    for (int i = 0; i < (unary ? 1 : 2); ++i) {
      const Dim dim = expression();
      described.push_back(sizes({dim}));
      inputs.push_back(ints({*dim.evaluate(bindings)}));
    }
    const auto outputs = run_op(call, inputs);
    const Value value = infer_op(call, described).front();
    if (!outputs || !value.content) continue;
    const auto bound = value.content->front().evaluate(bindings);
    if (!bound) continue;
    ++known;
    const Tensor& y = outputs->front();
    const std::int64_t actual = y.dtype() == DType::kBool ? std::int64_t{y.as<bool>()[0]} : y.as<std::int64_t>()[0];
    ASSERT_EQ(*bound, actual) << call.op << " of " << described[0].content->front().to_string() << " and "
                              << described.back().content->front().to_string();
  }
  EXPECT_GT(known, 8000U);
}

}  // namespace
}  // namespace narthex
