// Integer corners of the arithmetic family; values at large are checked by tests/conformance.
#include <limits>

#include "ops/op_harness.h"

namespace narthex {
namespace {

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

template <class T>
Tensor list(std::vector<T> values) {
  return Tensor::vector(values);
}

TEST(Arithmetic, IntegersWrap) {
  EXPECT_EQ(run_text<std::int64_t>({"Add"}, {ints({kMax}), ints({1})}), fmt::format("[1] {}", kMin));
  EXPECT_EQ(run_text<std::int64_t>({"Sub"}, {ints({kMin}), ints({1})}), fmt::format("[1] {}", kMax));
  EXPECT_EQ(run_text<std::int64_t>({"Mul"}, {ints({kMin}), ints({-1})}), fmt::format("[1] {}", kMin));
  EXPECT_EQ(run_text<std::int64_t>({"Neg"}, {ints({kMin})}), fmt::format("[1] {}", kMin));
  EXPECT_EQ(run_text<std::int64_t>({"Abs"}, {ints({kMin, -3})}), fmt::format("[2] {} 3", kMin));
  const auto shorts = list<std::uint16_t>({65535});
  EXPECT_EQ(run_text<std::uint16_t>({"Mul"}, {shorts, shorts}), "[1] 1");
}

TEST(Arithmetic, IntegerDivisionTruncatesAndNeverTraps) {
  EXPECT_EQ(run_text<std::int64_t>({"Div"}, {ints({7, -7, 7, -7}), ints({2, 2, -2, -2})}), "[4] 3 -3 -3 3");
  EXPECT_EQ(run_text<std::int64_t>({"Div"}, {ints({kMin}), ints({-1})}), fmt::format("[1] {}", kMin));
  EXPECT_EQ(run_text<std::int64_t>({"Div"}, {ints({1}), ints({0})}), "divides an integer by zero");
  EXPECT_EQ(run_text<std::int64_t>({"Mod"}, {ints({1}), ints({0})}), "divides an integer by zero");
  EXPECT_EQ(run_text<std::int64_t>({"Mod"}, {ints({7, -7, 7, -7}), ints({3, 3, -3, -3})}), "[4] 1 2 -2 -1");
  EXPECT_EQ(run_text<std::int64_t>({"Mod", {{"fmod", std::int64_t{1}}}}, {ints({7, -7, 7, -7}), ints({3, 3, -3, -3})}),
            "[4] 1 -1 1 -1");
  EXPECT_EQ(run_text<std::int64_t>({"Mod"}, {ints({kMin}), ints({-1})}), "[1] 0");
}

TEST(Arithmetic, PowersOfIntegersAreExact) {
  EXPECT_EQ(run_text<std::int64_t>({"Pow"}, {ints({3, -2, 5, 2}), ints({39, 63, 0, -1})}),
            fmt::format("[4] 4052555153018976267 {} 1 0", kMin));
}

TEST(Arithmetic, ShiftsPastTheWidthAreDefined) {
  const auto x = list<std::int32_t>({-8, 8, 1, -1});
  const auto by = list<std::int32_t>({1, 100, 31, -1});
  EXPECT_EQ(run_text<std::int32_t>({"BitShift", {{"direction", std::string("RIGHT")}}}, {x, by}), "[4] -4 0 0 -1");
  EXPECT_EQ(run_text<std::int32_t>({"BitShift", {{"direction", std::string("LEFT")}}}, {x, by}),
            "[4] -16 0 -2147483648 0");
  EXPECT_EQ(run_text<std::int32_t>({"BitShift"}, {x, by}),
            "attribute 'direction' must be 'LEFT' or 'RIGHT', but is ''");
}

TEST(Arithmetic, BroadcastsOrSaysWhyNot) {
  EXPECT_EQ(run_text<std::int64_t>({"Add"}, {matrix(2, 1, {10, 20}), ints({1, 2})}), "[2,2] 11 12 21 22");
  EXPECT_EQ(run_text<std::int64_t>({"Add"}, {ints({1, 2, 3}), ints({1, 2})}),
            "shapes [3] and [2] do not broadcast together");
  EXPECT_EQ(run_text<std::int64_t>({"Add"}, {ints({1}), list<float>({1})}),
            "inputs have types int64 and float, expected one type");
}

TEST(Arithmetic, WhereAndEqualTakeStrings) {
  Tensor a = *Tensor::allocate(DType::kString, {2});
  a.mutable_strings() = {"yes", "so"};
  Tensor b = *Tensor::allocate(DType::kString, {1});
  b.mutable_strings() = {"no"};
  const Tensor condition = run_op({"Greater"}, {ints({1, 0}), ints({0})})->front();
  const auto chosen = run_op({"Where"}, {condition, a, b});
  ASSERT_TRUE(chosen) << chosen.error().message;
  EXPECT_EQ((*chosen)[0].strings(), (std::vector<std::string>{"yes", "no"}));
  EXPECT_EQ(run_text<bool>({"Equal"}, {(*chosen)[0], b}), "[2] false true");
}

}  // namespace
}  // namespace narthex
