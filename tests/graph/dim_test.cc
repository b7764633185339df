// Symbolic dimensions against plain integer arithmetic, and the forms that shape inference relies on.
#include "graph/dim.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <thread>

namespace narthex {
namespace {

const Dim kBatch = Dim::symbol("batch");
const Dim kSeq = Dim::symbol("seq");

Dim::Bindings bind(std::map<std::string, std::int64_t, std::less<>> values) {
  return [values = std::move(values)](std::string_view name) -> std::optional<std::int64_t> {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  };
}

TEST(Dim, EqualExpressionsHaveOneForm) {
  EXPECT_EQ(kBatch * kSeq, kSeq * kBatch);
  EXPECT_EQ((kBatch + kSeq) * (kBatch - kSeq), kBatch * kBatch - kSeq * kSeq);
  EXPECT_EQ(kSeq - kSeq, Dim(0));
  EXPECT_EQ(Dim::symbol("seq"), kSeq);
  EXPECT_NE(kBatch, kSeq);
  EXPECT_EQ(Dim::min(kSeq, Dim(512)), Dim::min(Dim(512), kSeq));
  EXPECT_EQ(Dim::min(Dim::min(kSeq, Dim(512)), kBatch), Dim::min(kSeq, Dim::min(kBatch, Dim(512))));
  EXPECT_EQ(Dim::min(Dim::min(kSeq, Dim(512)), Dim(256)), Dim::min(kSeq, Dim(256)));
  EXPECT_EQ(Dim::min(kSeq, kSeq + Dim(1)), kSeq);
  EXPECT_EQ(Dim::max(kSeq, Dim(1)), kSeq);
  EXPECT_EQ(Dim::max(kSeq - Dim(1), Dim(0)), kSeq - Dim(1));
}

TEST(Dim, DivisionIsExactWhereItCanBe) {
  EXPECT_EQ(Dim::floor_div(kBatch * kSeq * Dim(384), kBatch * kSeq), Dim(384));
  EXPECT_EQ(Dim::floor_div(kBatch * kSeq * Dim(384), Dim(32)), kBatch * kSeq * Dim(12));
  EXPECT_EQ(Dim::floor_div(kBatch * kSeq + kSeq, kBatch + Dim(1)), kSeq);
  EXPECT_EQ(Dim::floor_div(kSeq * Dim(2) + Dim(1), Dim(2)), kSeq);
  EXPECT_EQ(Dim::floor_div(kSeq + Dim(2), Dim(2)), Dim::floor_div(kSeq, Dim(2)) + Dim(1));
  EXPECT_EQ(Dim::floor_div(Dim::floor_div(kSeq, Dim(2)), Dim(3)), Dim::floor_div(kSeq, Dim(6)));
  EXPECT_EQ(Dim::floor_div(kSeq, Dim(-2)), Dim::floor_div(Dim(0) - kSeq, Dim(2)));
  EXPECT_EQ(Dim::floor_div(Dim(6) * kBatch * kSeq, Dim(4) * kSeq), Dim::floor_div(Dim(3) * kBatch, Dim(2)));
  EXPECT_EQ(Dim::floor_div(Dim(-7), Dim(2)), Dim(-4));
  EXPECT_EQ(Dim::floor_div(Dim::min(kSeq, Dim(7)), Dim(8)), Dim(0));
  EXPECT_TRUE(Dim::floor_div(kSeq, Dim(0)).is_unknown());
  const Dim unknown = Dim::unknown();
  EXPECT_EQ(Dim::floor_div(unknown * Dim(384), unknown), Dim(384));
}

TEST(Dim, UnknownsEqualOnlyThemselves) {
  const Dim a = Dim::unknown();
  EXPECT_EQ(a, a);
  EXPECT_NE(a, Dim::unknown());
  EXPECT_TRUE((a + kSeq).is_unknown());
  EXPECT_FALSE((a + kSeq - a).is_unknown());
  EXPECT_EQ(a.evaluate(bind({})), std::nullopt);
}

TEST(Dim, OverflowBecomesUnknown) {
  const Dim big(INT64_MAX);
  EXPECT_TRUE((big + Dim(1)).is_unknown());
  EXPECT_TRUE((big * Dim(2)).is_unknown());
  EXPECT_TRUE((big * kSeq + kSeq).is_unknown());
  EXPECT_TRUE((Dim(0) - Dim(INT64_MIN)).is_unknown());
  EXPECT_TRUE(Dim::floor_div(Dim(INT64_MIN), Dim(-1)).is_unknown());
  EXPECT_EQ(Dim::floor_div(kSeq + Dim(INT64_MIN), Dim(3)).evaluate(bind({{"seq", 2}})), INT64_MIN / 3);
  EXPECT_EQ((kSeq * kSeq).evaluate(bind({{"seq", std::int64_t{1} << 32}})), std::nullopt);
}

TEST(Dim, Inequalities) {
  EXPECT_EQ(Dim::always_at_least(kSeq, Dim(1)), true);
  EXPECT_EQ(Dim::always_at_least(kSeq, Dim(2)), false);
  EXPECT_EQ(Dim::always_at_least(kBatch * kSeq, kSeq), true);
  EXPECT_EQ(Dim::always_at_least(kBatch * kSeq, kSeq + Dim(1)), false);
  EXPECT_EQ(Dim::always_at_least(kSeq, kBatch), std::nullopt);
  EXPECT_EQ(Dim::always_at_least(kSeq, Dim::min(kSeq, Dim(512))), true);
  EXPECT_EQ(Dim::always_at_least(Dim(512), Dim::min(kSeq, Dim(512))), true);
  EXPECT_EQ(Dim::always_at_least(Dim(512), kSeq), false);
  EXPECT_EQ(Dim::always_at_least(Dim::max(kSeq, kBatch), kBatch), true);
  EXPECT_EQ(Dim::always_at_least(kSeq, Dim::floor_div(kSeq, Dim(2))), true);
  EXPECT_EQ(Dim::always_at_least(Dim(2) * Dim::floor_div(kSeq, Dim(2)), kSeq - Dim(1)), true);
  EXPECT_EQ(Dim::always_at_least(Dim::unknown(), Dim(0)), std::nullopt);
}

TEST(Dim, PrintsAsPeopleWrite) {
  EXPECT_EQ((kBatch * kSeq + Dim(1)).to_string(), "batch*seq + 1");
  EXPECT_EQ((Dim(2) * kSeq - kBatch).to_string(), "-batch + 2*seq");
  EXPECT_EQ(Dim::floor_div(kSeq + Dim(1), Dim(2)).to_string(), "floor((seq + 1)/2)");
  EXPECT_EQ(Dim::min(kSeq, Dim(512)).to_string(), "min(512, seq)");
  EXPECT_EQ(Dim(0).to_string(), "0");
  EXPECT_EQ(Dim(-3).to_string(), "-3");
  EXPECT_EQ(shape_string({kBatch, kSeq - Dim(1), Dim(384)}), "[batch, seq - 1, 384]");
  EXPECT_EQ(kSeq.symbol_name(), "seq");
  EXPECT_EQ((kSeq + Dim(1)).symbol_name(), std::nullopt);
}

// An expression and its value by plain arithmetic under three bindings at once; nullopt where it is not defined.
struct Sample {
  Dim dim;
  std::array<std::optional<std::int64_t>, 3> values;
};
constexpr std::array<std::array<std::int64_t, 3>, 3> kBindings{{{1, 1, 1}, {3, 17, 5}, {8, 512, 2}}};

std::int64_t floor_of(std::int64_t a, std::int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

Sample random_sample(std::mt19937& random, int depth) {
  const unsigned kind = random() % (depth == 0 ? 2 : 9);
  if (kind == 0) {
    const std::int64_t value = static_cast<std::int64_t>(random() % 25) - 8;
    return {Dim(value), {value, value, value}};
  }
  if (kind == 1) {
    const unsigned i = random() % 3;
    const char* names[] = {"batch", "seq", "heads"};
    return {Dim::symbol(names[i]), {kBindings[0][i], kBindings[1][i], kBindings[2][i]}};
  }
  const Sample a = random_sample(random, depth - 1);
  const Sample b = random_sample(random, depth - 1);
  const auto combine = [&](const Dim& dim, auto&& f) {
    Sample out{dim, {}};
    for (std::size_t i = 0; i < out.values.size(); ++i) {
      if (a.values[i] && b.values[i]) out.values[i] = f(*a.values[i], *b.values[i]);
    }
    return out;
  };
  using Int = std::int64_t;
  switch (kind) {
    case 2:
    case 3:
      return combine(a.dim + b.dim, [](Int x, Int y) { return x + y; });
    case 4:
      return combine(a.dim - b.dim, [](Int x, Int y) { return x - y; });
    case 5:
      return combine(a.dim * b.dim, [](Int x, Int y) { return x * y; });
    case 6:
      return combine(Dim::floor_div(a.dim, b.dim),
                     [](Int x, Int y) { return y == 0 ? std::nullopt : std::optional(floor_of(x, y)); });
    case 7:
      return combine(Dim::min(a.dim, b.dim), [](Int x, Int y) { return std::min(x, y); });
    default:
      return combine(Dim::max(a.dim, b.dim), [](Int x, Int y) { return std::max(x, y); });
  }
}

TEST(Dim, RandomExpressionsEvaluateAsPlainArithmetic) {
  std::mt19937 random(7);
  std::size_t n_compared = 0;
  for (int i = 0; i < 20000; ++i) {
    const Sample a = random_sample(random, 4);
    const Sample b = random_sample(random, 3);
    const auto at_least = Dim::always_at_least(a.dim, b.dim);
    for (std::size_t k = 0; k < kBindings.size(); ++k) {
      const auto bindings = bind({{"batch", kBindings[k][0]}, {"seq", kBindings[k][1]}, {"heads", kBindings[k][2]}});
      const auto value = a.dim.evaluate(bindings);
      // A division by zero may have been simplified away, never the other way round.
      if (a.values[k] && !a.dim.is_unknown()) {
        ASSERT_EQ(value, a.values[k]) << a.dim.to_string();
        ++n_compared;
      }
      if (at_least == true && a.values[k] && b.values[k]) {
        ASSERT_GE(*a.values[k], *b.values[k]) << a.dim.to_string() << " and " << b.dim.to_string();
      }
      const bool same = a.dim == b.dim && a.values[k] && b.values[k];
      ASSERT_TRUE(!same || a.values[k] == b.values[k]) << a.dim.to_string();
    }
    ASSERT_TRUE((a.dim - a.dim).is_unknown() || a.dim - a.dim == Dim(0));
    ASSERT_EQ(a.dim + b.dim, b.dim + a.dim);
  }
  EXPECT_GT(n_compared, 40000U);
}

TEST(Dim, NothingGrowsWithoutBound) {
  Dim sum = kSeq;
  Dim nested = kSeq;
  for (int i = 0; i < 300; ++i) {
    sum = sum * (Dim::symbol("s" + std::to_string(i)) + Dim(1));
    nested = Dim::floor_div(nested * nested + Dim::min(nested, Dim(i)), Dim(2) * nested + Dim(1));
    ASSERT_LT(sum.to_string().size(), 10000U);
    ASSERT_LT(nested.to_string().size(), 10000U);
    ASSERT_TRUE(i <= 20 || sum.is_unknown());
  }
}

TEST(Dim, SharedBetweenThreads) {
  const Dim shared = kBatch * kSeq + Dim::min(kSeq, Dim(512));
  std::vector<std::thread> threads;
  std::vector<Dim> unknowns(4);
  for (std::size_t t = 0; t < unknowns.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 2000; ++i) {
        const Dim copy = shared;
        EXPECT_EQ(copy - shared, Dim(0));
        unknowns[t] = Dim::unknown();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < unknowns.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(unknowns[i], unknowns[j]);
  }
}

}  // namespace
}  // namespace narthex
