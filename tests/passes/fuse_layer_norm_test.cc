#include "passes/graph_maker.h"
#include "passes/passes.h"

namespace narthex::testing {
namespace {

struct Form {
  bool square_by_mul = false;
  bool two_differences = false;
  bool reciprocal = false;
  bool swapped = false;
  bool bias = true;
  std::int64_t axis = -1;
  float exponent = 2;
};

struct Norm {
  GraphMaker m;
  ValueId centred = kNoValue;
};

Norm written_out(const Form& form) {
  Norm n;
  GraphMaker& m = n.m;
  const auto either = [&](const std::string& op, ValueId a, ValueId b) {
    return form.swapped ? m.op(op, {b, a}) : m.op(op, {a, b});
  };
  const ValueId x = m.input("x", DType::kFloat32, {kBatch, kSeq, 8});
  const ValueId mean = m.op("ReduceMean", {x, m.ints({form.axis})});
  n.centred = m.op("Sub", {x, mean});
  const ValueId again = form.two_differences ? m.op("Sub", {x, mean}) : n.centred;
  const ValueId square =
      form.square_by_mul ? m.op("Mul", {again, again}) : m.op("Pow", {again, m.scalar(form.exponent)});
  const ValueId variance = m.op("ReduceMean", {square, m.ints({form.axis})});
  const ValueId deviation = m.op("Sqrt", {either("Add", variance, m.scalar(1e-5F))});
  const ValueId norm =
      form.reciprocal ? either("Mul", n.centred, m.op("Reciprocal", {deviation})) : m.op("Div", {n.centred, deviation});
  ValueId y = either("Mul", norm, m.floats({8}));
  if (form.bias) y = either("Add", y, m.floats({8}, -1));
  m.output(y);
  return n;
}

std::size_t found(Norm& n) {
  EXPECT_TRUE(symbolic_shapes(n.m.graph()));
  const std::size_t changes = run_checked(n.m.graph(), fuse_layer_norm, {random_floats({2, 3, 8})}, 1e-5);
  EXPECT_TRUE(dead_code(n.m.graph()));
  EXPECT_EQ(count_op(n.m.graph(), "LayerNormalization"), changes);
  return changes;
}

TEST(FuseLayerNorm, EverySpelling) {
  for (int bits = 0; bits < 32; ++bits) {
    Norm n = written_out({(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0, (bits & 16) != 0});
    EXPECT_EQ(found(n), 1U) << "spelling " << bits;
    EXPECT_EQ(n.m.graph().nodes.size(), 1U) << "spelling " << bits;
  }
}

TEST(FuseLayerNorm, LastAxisByNumber) {
  Norm n = written_out({.axis = 2});
  EXPECT_EQ(found(n), 1U);
}

TEST(FuseLayerNorm, NotOverAnotherAxisOrPower) {
  Norm axis = written_out({.axis = 1});
  EXPECT_EQ(found(axis), 0U);
  Norm power = written_out({.exponent = 2.02F});
  EXPECT_EQ(found(power), 0U);
}

TEST(FuseLayerNorm, NotWhereAnIntermediateIsAnOutput) {
  Norm n = written_out({});
  n.m.output(n.centred);
  EXPECT_EQ(found(n), 0U);
}

TEST(FuseLayerNorm, NotWhereAnIntermediateIsUsedElsewhere) {
  Norm n = written_out({});
  n.m.output(n.m.op("Exp", {n.centred}));
  EXPECT_EQ(found(n), 0U);
}

}  // namespace
}  // namespace narthex::testing
