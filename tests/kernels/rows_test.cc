// Rows on their way into a product: on every table the bits of their definition, whatever the format, the length and
// the neighbours; margins stay untouched.
#include <functional>
#include <tuple>

#include "kernels/rows_testing.h"

namespace narthex {
namespace {

constexpr std::size_t kRows = 10;

TEST(EncodeRows, HaveTheBitsOfTheirDefinition) {
  for (const std::size_t n : row_lengths()) {
    const std::vector<float> x = varied_rows(kRows, n, 1), factor = random_floats(n, 2, 0.1F, 2.0F);
    std::vector<std::uint16_t> x16(x.size());
    std::ranges::transform(x, x16.begin(), to_bf16);
    std::vector<float> widened(x.size());
    std::ranges::transform(x16, widened.begin(), from_bf16);
    for (const RowFormat format : kFormats)
      for (const int with : {0, 1, 2, 3}) {
        const bool bf16 = (with & 1) != 0;
        const float* scaled_by = (with & 2) != 0 ? factor.data() : nullptr;
        RowBuffer want(format, kRows, n);
        for (std::size_t r = 0; r < kRows; r++) want.encode(r, (bf16 ? widened : x).data() + r * n, scaled_by);
        for (const KernelTable& t : supported_tables()) {
          RowBuffer y(format, kRows, n);
          const void* from = bf16 ? static_cast<const void*>(x16.data()) : x.data();
          t.encode_rows({kRows, n, from, n, bf16, y.args(scaled_by)});
          ASSERT_EQ(want.words(), y.words())
              << t.name << " length " << n << " format " << static_cast<int>(format) << " with " << with;
        }
      }
  }
}

// The definition above is that of the code; this is what it is for.
TEST(EncodeRows, AreWithinHalfAStepOfTheValue) {
  for (const std::size_t n : lengths()) {
    const std::vector<float> x = random_floats(n, 3, -3, 5);
    RowBuffer y(RowFormat::kU8, 1, n);
    supported_tables().back().encode_rows({1, n, x.data(), n, false, y.args()});
    for (std::size_t i = 0; i < n; i++) ASSERT_NEAR(y.value(0, i), x[i], 1.001F * y.scale(0)) << n;
    const std::vector<float> positive = random_floats(n, 3, 0, 5);
    supported_tables().back().encode_rows({1, n, positive.data(), n, false, y.args()});
    ASSERT_EQ(y.zero(0), 0);
    for (std::size_t i = 0; i < n; i++) ASSERT_NEAR(y.value(0, i), positive[i], 0.501F * y.scale(0)) << n;
  }
}

struct NormCase {
  NormKind kind;
  bool residual, sum, gamma, beta, y;
};
std::vector<NormCase> norm_cases() {
  std::vector<NormCase> cases;
  for (const NormKind kind : {NormKind::kNone, NormKind::kLayer, NormKind::kRms})
    for (unsigned with = 0; with < 32; with++)
      if (kind != NormKind::kNone || (with & 12) == 0)
        cases.push_back({kind, (with & 1) != 0, (with & 2) != 0, (with & 4) != 0, (with & 8) != 0, (with & 16) != 0});
  return cases;
}
// y as the plain norms have it, which rowwise_test.cc compares with float64.
std::vector<float> normalised(const NormCase& c, std::size_t rows, std::size_t n, const std::vector<float>& s,
                              const float* gamma, const float* beta) {
  std::vector<float> y = s;
  const Norm norm{rows, n, s.data(), n, c.gamma ? gamma : nullptr, c.beta ? beta : nullptr, 1e-5F, y.data(), n};
  if (c.kind == NormKind::kLayer) supported_tables().front().layer_norm(norm);
  if (c.kind == NormKind::kRms) supported_tables().front().rms_norm(norm);
  return y;
}

void check_norm(const NormCase& c, std::size_t n, RowFormat format) {
  const std::vector<float> x = varied_rows(kRows, n, 1), residual = random_floats(kRows * n, 2, -2, 2),
                           gamma = random_floats(n, 3), beta = random_floats(n, 4),
                           factor = random_floats(n, 5, 0.1F, 2.0F);
  std::vector<float> sum = x;
  if (c.residual) std::ranges::transform(x, residual, sum.begin(), std::plus<>());
  const std::vector<float> want = normalised(c, kRows, n, sum, gamma.data(), beta.data());
  const float* scaled_by = c.beta ? factor.data() : nullptr;
  RowBuffer encoded(format, kRows, n);
  for (std::size_t r = 0; r < kRows; r++) encoded.encode(r, want.data() + r * n, scaled_by);
  for (const KernelTable& t : supported_tables()) {
    std::vector<float> s(kRows * n), y(kRows * n);
    RowBuffer out(format, kRows, n);
    t.norm_rows({kRows, n, x.data(), n, c.residual ? residual.data() : nullptr, n, c.sum ? s.data() : nullptr, n,
                 c.kind, c.gamma ? gamma.data() : nullptr, c.beta ? beta.data() : nullptr, 1e-5F,
                 c.y ? y.data() : nullptr, n, out.args(scaled_by)});
    const auto name = [&] {
      return testing::Message() << t.name << " length " << n << " kind " << static_cast<int>(c.kind) << " format "
                                << static_cast<int>(format) << " residual " << c.residual << " sum " << c.sum << " y "
                                << c.y;
    };
    ASSERT_EQ(encoded.words(), out.words()) << name();
    if (c.y) {
      ASSERT_TRUE(same_bits(want, y)) << name();
    }
    if (c.sum) {
      ASSERT_TRUE(same_bits(sum, s)) << name();
    }
  }
}
TEST(NormRows, AreTheSumThePlainNormAndItsEncoding) {
  const auto cases = norm_cases();
  for (std::size_t i = 0; i < cases.size(); i++)
    for (const std::size_t n : {1U, 15U, 16U, 33U, 64U, 70U, 384U, 4096U, 4100U}) {
      if (n > 1000 && i % 5 != 0) continue;
      for (const RowFormat format : kFormats) check_norm(cases[i], n, format);
    }
}
TEST(NormRows, EveryLength) {
  for (const std::size_t n : lengths())
    for (const NormKind kind : {NormKind::kLayer, NormKind::kRms})
      check_norm({kind, true, false, true, true, true}, n, RowFormat::kU8);
}

TEST(NormRows, InPlaceAndWithNothingEncoded) {
  constexpr std::size_t n = 100;
  const std::vector<float> x = random_floats(kRows * n, 1), residual = random_floats(kRows * n, 2);
  for (const KernelTable& t : supported_tables()) {
    NormRows g{kRows, n,       x.data(), n, residual.data(), n, nullptr, n, NormKind::kLayer, nullptr, nullptr,
               1e-5F, nullptr, n,        {}};
    std::vector<float> apart(kRows * n), kept(kRows * n), over_x = x, over_residual = residual, sum = residual;
    g.y = apart.data(), g.sum = kept.data();
    t.norm_rows(g);
    g.sum = nullptr, g.x = over_x.data(), g.y = over_x.data();
    t.norm_rows(g);
    EXPECT_TRUE(same_bits(apart, over_x)) << t.name;
    g.x = x.data(), g.residual = over_residual.data(), g.y = over_residual.data();
    t.norm_rows(g);
    EXPECT_TRUE(same_bits(apart, over_residual)) << t.name;
    std::vector<float> y(kRows * n);
    g.residual = sum.data(), g.sum = sum.data(), g.y = y.data();
    t.norm_rows(g);
    EXPECT_TRUE(same_bits(apart, y)) << t.name;
    EXPECT_TRUE(same_bits(kept, sum)) << t.name;
  }
}

TEST(GatedRows, AreTheActivationTimesTheOtherHalf) {
  const KernelTable& plain = supported_tables().front();
  UnaryFn* const fns[] = {nullptr, plain.relu, plain.gelu_erf, plain.gelu_tanh, plain.tanh, plain.sigmoid, plain.silu};
  for (const std::size_t n : row_lengths())
    for (std::size_t kind = 0; kind < std::size(fns); kind++) {
      if (n > 1000 && kind % 3 != 0) continue;
      const std::vector<float> a = varied_rows(kRows, n, 1), b = random_floats(kRows * n, 2),
                               factor = random_floats(n, 3, 0.1F, 2.0F);
      std::vector<float> product = a;
      if (kind != 0) fns[kind](a.size(), a.data(), product.data());
      std::ranges::transform(product, b, product.begin(), std::multiplies<>());
      for (const RowFormat format : kFormats) {
        const float* scaled_by = n % 2 == 0 ? factor.data() : nullptr;
        RowBuffer want(format, kRows, n);
        for (std::size_t r = 0; r < kRows; r++) want.encode(r, product.data() + r * n, scaled_by);
        for (const KernelTable& t : supported_tables()) {
          RowBuffer y(format, kRows, n);
          t.gated_rows({kRows, n, a.data(), n, b.data(), n, static_cast<Activation>(kind), y.args(scaled_by)});
          ASSERT_EQ(want.words(), y.words())
              << t.name << " length " << n << " activation " << kind << " format " << static_cast<int>(format);
        }
      }
    }
}

TEST(RotateRows, TurnTheFirstColumnsOfEveryHead) {
  constexpr std::size_t kHeads = 3, kFirst = 2, kPositions = kFirst + 4;
  for (std::size_t rotary = 2; rotary <= 130; rotary += 2)
    for (const std::size_t rest : {0U, 5U}) {
      const std::size_t d = rotary + rest, ld = kHeads * d + 3;
      const auto x = random_floats(4 * ld, 1, -2, 2), cos = random_floats(kPositions * rotary, 2),
                 sin = random_floats(kPositions * rotary, 3);
      std::vector<float> want = x;
      for (std::size_t r = 0; r < 4; r++)
        for (std::size_t h = 0; h < kHeads; h++)
          for (std::size_t i = 0; i < rotary; i++) {
            const float* head = x.data() + r * ld + h * d;
            const float turned = i < rotary / 2 ? -head[i + rotary / 2] : head[i - rotary / 2];
            const std::size_t at = (kFirst + r) * rotary + i;
            want[r * ld + h * d + i] = std::fma(turned, sin[at], head[i] * cos[at]);
          }
      for (const KernelTable& t : supported_tables()) {
        std::vector<float> y = x;
        t.rotate_rows({4, kHeads, d, rotary, y.data(), ld, cos.data(), sin.data(), kFirst});
        ASSERT_TRUE(same_bits(want, y)) << t.name << " rotary " << rotary << " of " << d;
      }
    }
}

TEST(Rows, ARowDoesNotDependOnItsNeighbours) {
  constexpr std::size_t n = 200;
  const std::vector<float> x = varied_rows(kRows, n, 1), residual = random_floats(kRows * n, 2);
  for (const KernelTable& t : supported_tables())
    for (const RowFormat format : kFormats) {
      const auto run = [&](std::size_t first, std::size_t rows) {
        RowBuffer e(format, rows, n), m(format, rows, n), g(format, rows, n);
        const float *a = x.data() + first * n, *b = residual.data() + first * n;
        t.encode_rows({rows, n, a, n, false, e.args()});
        t.norm_rows({rows, n, a, n, b, n, nullptr, 0, NormKind::kLayer, nullptr, nullptr, 1e-5F, nullptr, 0, m.args()});
        t.gated_rows({rows, n, a, n, b, n, Activation::kSilu, g.args()});
        return std::tuple(e, m, g);
      };
      const auto [e, m, g] = run(0, kRows);
      for (std::size_t r = 0; r < kRows; r++) {
        const auto [e1, m1, g1] = run(r, 1);
        ASSERT_EQ(e.words(r, 1), e1.words()) << t.name << " encode, row " << r;
        ASSERT_EQ(m.words(r, 1), m1.words()) << t.name << " norm, row " << r;
        ASSERT_EQ(g.words(r, 1), g1.words()) << t.name << " gate, row " << r;
      }
    }
}

}  // namespace
}  // namespace narthex
