// Every row of the tables of fast_ops.h against the operator's reference `eval`, over shapes with every kind of
// broadcast, and that a row was indeed taken.
#include "plan/fast_ops.h"

#include "passes/graph_maker.h"
#include "passes/passes.h"
#include "plan/interpreter.h"

namespace narthex::testing {
namespace {

// Compiles without passes, so that the node under test is the node that runs.
void check(GraphMaker& m, const std::vector<Tensor>& inputs, double tolerance, bool by_kernel = true) {
  ASSERT_TRUE(symbolic_shapes(m.graph()));
  const auto expected = evaluate(m.graph(), inputs);
  ASSERT_TRUE(expected) << expected.error().message;
  CompileOptions options;
  for (const std::string_view name : pass_names()) options.passes.skip.emplace_back(name);
  const auto program = compile(m.graph(), options);
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ((*program)->summary().steps.back().by_kernel, by_kernel);
  for (int repeat = 0; repeat < 2; ++repeat) {  // the second run reuses memory of the first
    const auto got = (*program)->run(inputs);
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_LE(largest_difference(*expected, *got), tolerance);
  }
}

TEST(FastOps, Unary) {
  for (const char* op : {"Exp", "Erf", "Tanh", "Sigmoid", "Relu", "Reciprocal", "Neg", "Abs", "Gelu", "IsNaN"}) {
    for (const Dims& dims : {Dims{}, Dims{1}, Dims{3, 17}, Dims{2, 5, 4001}, Dims{0, 3}}) {
      SCOPED_TRACE(op);
      GraphMaker m;
      m.output(m.op(op, {m.input("x", DType::kFloat32, Shape(dims.begin(), dims.end()))}));
      Tensor x = random_floats(dims);
      for (float& v : x.as_mutable<float>()) v = v == 0 ? 0.5F : v;
      check(m, {x}, 1e-5);
    }
  }
}

TEST(FastOps, UnaryOfPositiveNumbers) {
  for (const char* op : {"Sqrt", "Log"}) {
    GraphMaker m;
    m.output(m.op(op, {m.input("x", DType::kFloat32, {7, 19})}));
    Tensor x = random_floats({7, 19});
    for (float& v : x.as_mutable<float>()) v = v * v + 0.01F;
    check(m, {x}, 1e-6);
  }
}

TEST(FastOps, GeluByTanhAndSquare) {
  GraphMaker m;
  const ValueId x = m.input("x", DType::kFloat32, {7, 19});
  m.output(m.op("Gelu", {x}, {{"approximate", std::string("tanh")}}));
  check(m, {random_floats({7, 19})}, 1e-6);
  GraphMaker square;
  square.output(square.op("Pow", {square.input("x", DType::kFloat32, {7, 19}), square.scalar(2)}));
  check(square, {random_floats({7, 19})}, 0);
}

const std::vector<std::pair<Dims, Dims>> kBroadcasts = {
    {{2, 3, 5}, {2, 3, 5}},
    {{2, 3, 5}, {}},
    {{2, 3, 5}, {5}},
    {{2, 3, 5}, {3, 1}},
    {{2, 3, 5}, {2, 1, 1}},
    {{2, 1, 5}, {1, 3, 1}},
    {{5}, {2, 3, 5}},
    {{2, 4, 3, 5}, {2, 1, 1, 5}},
    {{2, 4, 3, 5}, {1, 4, 3, 5}},
    {{2, 4, 3, 5}, {4, 1, 5}},
    {{3, 1, 64}, {1, 40, 64}},
    {{40000}, {1}},
    {{3, 16384}, {3, 16384}},
    {{0, 4}, {4}},
    {{1, 1}, {1}},
    {{2, 3, 4, 5, 6}, {3, 1, 5, 1}},
};

TEST(FastOps, BinaryWithEveryBroadcast) {
  for (const char* op : {"Add", "Sub", "Mul", "Div", "Min", "Max"}) {
    for (const auto& [a, b] : kBroadcasts) {
      SCOPED_TRACE(fmt::format("{} {} {}", op, dims_string(a), dims_string(b)));
      GraphMaker m;
      const ValueId x = m.input("x", DType::kFloat32, Shape(a.begin(), a.end()));
      const ValueId y = m.input("y", DType::kFloat32, Shape(b.begin(), b.end()));
      m.output(m.op(op, {x, y}));
      Tensor divisor = random_floats(b, 9);
      for (float& v : divisor.as_mutable<float>()) v = v == 0 ? 1 : v;
      check(m, {random_floats(a), divisor}, 1e-5);
    }
  }
}

TEST(FastOps, BinaryOverwritesADyingOperandOnly) {
  GraphMaker m;
  const ValueId x = m.input("x", DType::kFloat32, {4, 8});
  const ValueId a = m.op("Neg", {x});
  const ValueId b = m.op("Abs", {x});
  const ValueId view = m.op("Reshape", {a, m.ints({32})});
  const ValueId sum = m.op("Add", {a, b});  // a lives on in its view, b dies here
  m.output(m.op("Sub", {m.op("Reshape", {sum, m.ints({32})}), view}));
  check(m, {random_floats({4, 8})}, 0);
}

TEST(FastOps, Where) {
  for (const auto& [a, b] : kBroadcasts) {
    SCOPED_TRACE(fmt::format("{} {}", dims_string(a), dims_string(b)));
    GraphMaker m;
    const ValueId p = m.input("p", DType::kBool, Shape(b.begin(), b.end()));
    const ValueId x = m.input("x", DType::kFloat32, Shape(a.begin(), a.end()));
    m.output(m.op("Where", {p, x, m.scalar(-7)}));
    Tensor condition = *Tensor::allocate(DType::kBool, b);
    for (std::size_t i = 0; i < condition.as<bool>().size(); ++i) condition.as_mutable<bool>()[i] = i % 3 != 0;
    check(m, {condition, random_floats(a)}, 0);
  }
}

TEST(FastOps, MatMulByAConstant) {
  for (const Dims& dims : {Dims{6}, Dims{1, 6}, Dims{2, 3, 6}, Dims{70, 6}, Dims{0, 6}}) {
    GraphMaker m;
    const ValueId x = m.input("x", DType::kFloat32, Shape(dims.begin(), dims.end()));
    m.output(m.op("MatMul", {x, m.floats({6, 21})}));
    check(m, {random_floats(dims)}, 1e-5);
  }
}

TEST(FastOps, MatMulOfTwoTensors) {
  const std::vector<std::pair<Dims, Dims>> shapes = {
      {{2, 3, 5, 4}, {2, 3, 4, 6}}, {{2, 1, 5, 4}, {3, 4, 6}},  {{5, 4}, {4, 6}},
      {{5, 4}, {3, 4, 6}},          {{2, 33, 40}, {2, 40, 17}}, {{0, 5, 4}, {4, 6}}};
  for (const auto& [a, b] : shapes) {
    SCOPED_TRACE(fmt::format("{} {}", dims_string(a), dims_string(b)));
    GraphMaker m;
    const ValueId x = m.input("x", DType::kFloat32, Shape(a.begin(), a.end()));
    m.output(m.op("MatMul", {x, m.input("y", DType::kFloat32, Shape(b.begin(), b.end()))}));
    check(m, {random_floats(a), random_floats(b, 5)}, 1e-4);
  }
}

TEST(FastOps, RowsOfTheLastAxis) {
  const Dims dims = {3, 5, 37};
  GraphMaker softmax;
  softmax.output(
      softmax.op("Softmax", {softmax.input("x", DType::kFloat32, {3, 5, 37})}, {{"axis", std::int64_t{-1}}}));
  check(softmax, {random_floats(dims)}, 1e-6);
  for (const bool bias : {false, true}) {
    GraphMaker m;
    std::vector<ValueId> inputs = {m.input("x", DType::kFloat32, {3, 5, 37}), m.floats({37})};
    if (bias) inputs.push_back(m.floats({37}, -1));
    m.output(m.op("LayerNormalization", inputs, {{"epsilon", 1e-12F}}));
    check(m, {random_floats(dims)}, 1e-5);
  }
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin"}) {
    for (const std::int64_t keep : {0, 1}) {
      GraphMaker m;
      m.output(m.op(op, {m.input("x", DType::kFloat32, {3, 5, 37}), m.ints({2})}, {{"keepdims", keep}}));
      check(m, {random_floats(dims)}, 1e-4);
    }
  }
}

TEST(FastOps, OtherAxesGoToEval) {
  GraphMaker softmax;
  softmax.output(softmax.op("Softmax", {softmax.input("x", DType::kFloat32, {3, 5})}, {{"axis", std::int64_t{0}}}));
  check(softmax, {random_floats({3, 5})}, 1e-6);
  GraphMaker sum;
  sum.output(sum.op("ReduceSum", {sum.input("x", DType::kFloat32, {3, 5}), sum.ints({0})}));
  check(sum, {random_floats({3, 5})}, 1e-6);
}

TEST(FastOps, Views) {
  GraphMaker m;
  const ValueId x = m.input("x", DType::kFloat32, {2, 3, 4});
  const ValueId a = m.op("Reshape", {x, m.ints({0, -1})});
  const ValueId b = m.op("Unsqueeze", {a, m.ints({-1, 0})});
  m.output(m.op("Squeeze", {b, m.ints({0})}));
  check(m, {random_floats({2, 3, 4})}, 0);
}

TEST(FastOps, TransposeEveryOrder) {
  std::vector<std::int64_t> order = {0, 1, 2, 3};
  do {
    GraphMaker m;
    m.output(m.op("Transpose", {m.input("x", DType::kFloat32, {2, 3, 4, 5})}, {{"perm", order}}));
    check(m, {random_floats({2, 3, 4, 5})}, 0);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(FastOps, GatherOfRows) {
  GraphMaker m;
  const ValueId ids = m.input("ids", DType::kInt64, {2, 3});
  m.output(m.op("Gather", {m.floats({7, 5}), ids}));
  const std::vector<std::int64_t> rows = {0, 6, -1, -7, 3, 3};
  check(m, {Tensor::vector(rows).reshaped({2, 3})}, 0);
}

TEST(FastOps, GatherOutsideTheTableIsASentence) {
  GraphMaker m;
  m.output(m.op("Gather", {m.floats({7, 5}), m.input("ids", DType::kInt64, {1})}));
  const auto program = compile(m.graph());
  ASSERT_TRUE(program);
  const auto got = (*program)->run(std::vector{Tensor::vector(std::vector<std::int64_t>{7})});
  ASSERT_FALSE(got);
  EXPECT_NE(got.error().message.find("test.onnx: node 'Gather_0' (Gather)"), std::string::npos) << got.error().message;
}

TEST(FastOps, CastToFloat) {
  GraphMaker m;
  m.output(m.op("Cast", {m.input("x", DType::kInt64, {3})}, {{"to", std::int64_t{1}}}));
  check(m, {Tensor::vector(std::vector<std::int64_t>{-5, 0, 1LL << 40})}, 0);
}

TEST(FastOps, DynamicQuantisation) {
  GraphMaker m;
  const ValueId x = m.input("x", DType::kFloat32, {4, 32});
  Tensor weight = *Tensor::allocate(DType::kInt8, {32, 20});
  Tensor zeros = *Tensor::allocate(DType::kInt8, {20});
  for (std::size_t i = 0; i < 640; ++i) weight.as_mutable<std::int8_t>()[i] = static_cast<std::int8_t>(i * 37 % 251);
  for (std::size_t i = 0; i < 20; ++i) zeros.as_mutable<std::int8_t>()[i] = static_cast<std::int8_t>(i) - 9;
  const auto quantised = m.node("DynamicQuantizeLinear", {x}, 3);
  m.output(m.op("MatMulInteger", {quantised[0], m.constant(weight), quantised[2], m.constant(zeros)}));
  check(m, {random_floats({4, 32})}, 0);
}

}  // namespace
}  // namespace narthex::testing
