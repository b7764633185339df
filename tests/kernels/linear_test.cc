// Products of encoded rows on every table, and on the control flow of AMX with tiles in plain C: int8 has the bits of
// its definition everywhere; bf16 that of one chain of fma where nothing multiplies bf16, and a bound from float64
// elsewhere.
#include <algorithm>
#include <string>
#include <tuple>

#include <fmt/format.h>

#include "base/half.h"
#include "kernels/linear_testing.h"

namespace narthex {
namespace {

constexpr float kUntouched = 12345.0F;  // not changed by rounding to bf16

std::uint16_t to_bf16(float x) {
  return BFloat16(x).bits;
}
float from_bf16(std::uint16_t bits) {
  BFloat16 x;
  x.bits = bits;
  return static_cast<float>(x);
}
float rounded(float x) {
  return from_bf16(to_bf16(x));
}

struct Options {
  Activation activation = Activation::kNone;
  bool bias = true, zero = true, bf16 = false;
};

// Outputs of a product in floats, and a check that nothing around them was written. They begin at an odd element.
template <class Linear, class Kernel>
std::vector<float> outputs(const KernelTable& t, Kernel kernel, Linear g, bool bf16) {
  g.ldc = g.n + 5;
  g.c_bf16 = bf16;
  std::vector<float> c(1 + g.m * g.ldc, kUntouched);
  std::vector<std::uint16_t> c16(c.size(), to_bf16(kUntouched));
  g.c = bf16 ? static_cast<void*>(c16.data() + 1) : static_cast<void*>(c.data() + 1);
  t.begin_products();
  (t.*kernel)(g);
  t.end_products();
  if (bf16) std::ranges::transform(c16, c.begin(), from_bf16);
  const float around = bf16 ? rounded(kUntouched) : kUntouched;
  std::vector<float> out;
  EXPECT_EQ(c[0], around) << t.name;
  for (std::size_t i = 0; i < g.m; i++) {
    for (std::size_t j = 0; j < g.ldc; j++) {
      const float x = c[1 + i * g.ldc + j];
      if (j < g.n) {
        out.push_back(x);
      } else {
        EXPECT_EQ(x, around) << t.name << " wrote past the end of row " << i;
      }
    }
  }
  return out;
}

struct ProductInt8 {
  std::size_t m, n, k, lda;
  std::vector<std::uint8_t> a;
  std::vector<std::int8_t> b, packed;
  std::vector<float> a_scale, b_scale, bias;
  std::vector<std::int32_t> a_zero, colsum;

  ProductInt8(std::size_t m_, std::size_t n_, std::size_t k_, std::uint32_t seed = 1)
      : m(m_),
        n(n_),
        k(k_),
        lda(k + 3),
        a(random_bytes(round_up(m, 16) * lda, seed)),
        b(n * k),
        packed(round_up(n, 16) * k),
        a_scale(random_floats(m, seed + 1, 0.001F, 0.02F)),
        b_scale(random_floats(n, seed + 2, 0.001F, 0.01F)),
        bias(random_floats(n, seed + 3)),
        a_zero(m),
        colsum(n) {
    const auto bytes = random_bytes(n * k + m, seed + 4);
    for (std::size_t i = 0; i < m; i++) a_zero[i] = bytes[n * k + i];
    for (std::size_t j = 0; j < n; j++)
      for (std::size_t p = 0; p < k; p++) {
        // The first column and row are the largest values: where instructions that saturate would show.
        const std::int8_t value = j == 0 ? 127 : static_cast<std::int8_t>(std::max<int>(bytes[j * k + p] - 128, -127));
        b[j * k + p] = value;
        packed[(j / 16 * (k / 4) + p / 4) * 64 + j % 16 * 4 + p % 4] = value;
        colsum[j] += value;
      }
    std::fill_n(a.begin(), k, std::uint8_t{255});
  }
  LinearInt8 args(const Options& o) const {
    return {m,
            n,
            k,
            a.data(),
            lda,
            a_scale.data(),
            o.zero ? a_zero.data() : nullptr,
            packed.data(),
            b_scale.data(),
            o.zero ? colsum.data() : nullptr,
            o.bias ? bias.data() : nullptr,
            nullptr,
            0,
            false,
            o.activation};
  }
  std::vector<float> run(const KernelTable& t, const Options& o) const {
    return outputs(t, &KernelTable::linear_int8, args(o), o.bf16);
  }
  std::vector<float> expected(const Options& o) const {
    std::vector<float> out;
    for (std::size_t i = 0; i < m; i++) {
      for (std::size_t j = 0; j < n; j++) {
        std::int32_t sum = 0;
        for (std::size_t p = 0; p < k; p++) sum += (a[i * lda + p] - (o.zero ? a_zero[i] : 0)) * b[j * k + p];
        const float y = activated(o.activation,
                                  std::fma(static_cast<float>(sum), a_scale[i] * b_scale[j], o.bias ? bias[j] : 0.0F));
        out.push_back(o.bf16 ? rounded(y) : y);
      }
    }
    return out;
  }
  std::string name() const { return fmt::format("m {} n {} k {}", m, n, k); }
};

TEST(LinearInt8, HasTheBitsOfItsDefinitionOnEveryShapeAndTable) {
  const auto tables = tables_to_test();
  for (std::size_t m = 1; m <= 70; m += m < 34 ? 1 : 3)
    for (const std::size_t n : {1U, 7U, 15U, 16U, 17U, 31U, 32U, 33U, 48U, 50U, 64U, 65U, 70U, 130U})
      for (const std::size_t k : {64U, 128U, 192U}) {
        if (m > 20 && k == 128) continue;
        const ProductInt8 p(m, n, k);
        const Options o;
        const std::vector<float> want = p.expected(o);
        for (const KernelTable& t : tables) ASSERT_TRUE(same_bits(want, p.run(t, o))) << t.name << " " << p.name();
      }
}

TEST(LinearInt8, EveryActivationOutputAndOption) {
  const auto tables = tables_to_test();
  for (const auto& [m, n] : {std::pair<std::size_t, std::size_t>{5, 21}, {16, 96}, {37, 75}}) {
    const ProductInt8 p(m, n, 128, 7);
    for (const Activation kind : kActivations)
      for (const int with : {0, 1, 2, 3, 4, 5, 6, 7}) {
        const Options o{kind, (with & 1) != 0, (with & 2) != 0, (with & 4) != 0};
        const std::vector<float> want = p.expected(o);
        for (const KernelTable& t : tables)
          ASSERT_TRUE(same_bits(want, p.run(t, o)))
              << t.name << " " << p.name() << " activation " << static_cast<int>(kind) << " with " << with;
      }
  }
}

TEST(LinearInt8, LargeProducts) {
  for (const auto& [m, n, k] : {std::tuple<std::size_t, std::size_t, std::size_t>{300, 100, 1536},
                                {11, 1536, 384},
                                {65, 384, 3072},
                                {1, 1000, 64}}) {
    const ProductInt8 p(m, n, k, 3);
    const std::vector<float> want = p.expected({Activation::kGeluErf});
    for (const KernelTable& t : tables_to_test())
      ASSERT_TRUE(same_bits(want, p.run(t, {Activation::kGeluErf}))) << t.name << " " << p.name();
  }
}

struct ProductBf16 {
  std::size_t m, n, k, lda;
  std::vector<std::uint16_t> a, b, packed;
  std::vector<float> bias;

  ProductBf16(std::size_t m_, std::size_t n_, std::size_t k_, std::uint32_t seed = 1)
      : m(m_),
        n(n_),
        k(k_),
        lda(k + 3),
        a(round_up(m, 16) * lda),
        b(n * k),
        packed(round_up(n, 16) * k),
        bias(random_floats(n, seed + 3)) {
    const auto x = random_floats(a.size(), seed), y = random_floats(b.size(), seed + 1);
    std::ranges::transform(x, a.begin(), to_bf16);
    std::ranges::transform(y, b.begin(), to_bf16);
    for (std::size_t j = 0; j < n; j++)
      for (std::size_t p = 0; p < k; p++) packed[(j / 16 * (k / 2) + p / 2) * 32 + j % 16 * 2 + p % 2] = b[j * k + p];
  }
  LinearBf16 args(const Options& o) const {
    return {m, n, k, a.data(), lda, packed.data(), o.bias ? bias.data() : nullptr, nullptr, 0, false, o.activation};
  }
  std::vector<float> run(const KernelTable& t, const Options& o) const {
    return outputs(t, &KernelTable::linear_bf16, args(o), o.bf16);
  }
  float a_at(std::size_t i, std::size_t p) const { return from_bf16(a[i * lda + p]); }
  float b_at(std::size_t p, std::size_t j) const { return from_bf16(b[j * k + p]); }

  // What the tables give that widen to float32 first.
  std::vector<float> expected(const Options& o) const {
    std::vector<float> out;
    for (std::size_t i = 0; i < m; i++) {
      for (std::size_t j = 0; j < n; j++) {
        float sum = 0.0F;
        for (std::size_t p = 0; p < k; p++) sum = std::fma(a_at(i, p), b_at(p, j), sum);
        const float y = activated(o.activation, sum + (o.bias ? bias[j] : 0.0F));
        out.push_back(o.bf16 ? rounded(y) : y);
      }
    }
    return out;
  }
  // Against float64: any order of k roundings, each of at most 2^-23 of what may have been summed up to there.
  void check_bound(std::string_view table, const std::vector<float>& c) const {
    for (std::size_t i = 0; i < m; i++) {
      for (std::size_t j = 0; j < n; j++) {
        double sum = bias[j], most = std::abs(bias[j]);
        for (std::size_t p = 0; p < k; p++) {
          const double product = static_cast<double>(a_at(i, p)) * b_at(p, j);
          sum += product;
          most += std::abs(product);
        }
        ASSERT_NEAR(c[i * n + j], sum, most * 0x1p-23 * std::sqrt(static_cast<double>(k)))
            << table << " " << name() << " at " << i << ", " << j;
      }
    }
  }
  std::string name() const { return fmt::format("m {} n {} k {}", m, n, k); }
};

bool widens(const KernelTable& t) {
  return t.name == "scalar" || t.name == "avx2" || t.name == "avx2+vnni" || t.name == "avx512" ||
         t.name == "avx512+vnni" || t.name == "neon";
}

TEST(LinearBf16, HasTheBitsOfAChainOrIsCloseToItOnEveryShape) {
  const auto tables = tables_to_test();
  for (std::size_t m = 1; m <= 70; m += m < 34 ? 1 : 3)
    for (const std::size_t n : {1U, 15U, 16U, 17U, 32U, 33U, 50U, 64U, 70U, 130U})
      for (const std::size_t k : {32U, 64U, 96U}) {
        const ProductBf16 p(m, n, k);
        if (m > 20 && k == 64) continue;
        const Options o;
        const std::vector<float> want = p.expected(o);
        for (const KernelTable& t : tables) {
          const std::vector<float> c = p.run(t, o);
          if (widens(t)) {
            ASSERT_TRUE(same_bits(want, c)) << t.name << " " << p.name();
          } else {
            p.check_bound(t.name, c);
          }
        }
      }
}

TEST(LinearBf16, EveryActivationOutputAndOption) {
  for (const auto& [m, n] : {std::pair<std::size_t, std::size_t>{5, 21}, {16, 96}, {37, 75}}) {
    const ProductBf16 p(m, n, 64, 7);
    for (const KernelTable& t : tables_to_test()) {
      for (const int with : {0, 1, 2, 3})
        for (const Activation kind : kActivations) {
          const bool bias = (with & 1) != 0, bf16 = (with & 2) != 0;
          // The sums are this table's own; what follows them is the same everywhere.
          std::vector<float> want = p.run(t, {Activation::kNone, bias, false, false});
          for (float& x : want) {
            x = activated(kind, x);
            if (bf16) x = rounded(x);
          }
          ASSERT_TRUE(same_bits(want, p.run(t, {kind, bias, false, bf16})))
              << t.name << " " << p.name() << " activation " << static_cast<int>(kind) << " with " << with;
        }
    }
  }
}

TEST(LinearBf16, LargeProducts) {
  for (const auto& [m, n, k] :
       {std::tuple<std::size_t, std::size_t, std::size_t>{300, 100, 1536}, {11, 1536, 384}, {65, 384, 3072}}) {
    const ProductBf16 p(m, n, k, 3);
    for (const KernelTable& t : tables_to_test()) {
      if (t.isa != Isa::kScalar) p.check_bound(t.name, p.run(t, {}));
    }
  }
}

// Rows [first, first + m) and columns [col, col + n) of a product, as a product of their own.
LinearInt8 part(const LinearInt8& g, std::size_t first, std::size_t m, std::size_t col, std::size_t n) {
  LinearInt8 p = g;
  p.m = m, p.n = n;
  p.a += first * g.lda, p.a_scale += first, p.a_zero += first;
  p.b += col * g.k, p.b_scale += col, p.b_colsum += col, p.bias += col;
  return p;
}
LinearBf16 part(const LinearBf16& g, std::size_t first, std::size_t m, std::size_t col, std::size_t n) {
  LinearBf16 p = g;
  p.m = m, p.n = n;
  p.a += first * g.lda, p.b += col * g.k, p.bias += col;
  return p;
}
template <class Product, class Kernel>
void expect_parts_equal_the_whole(const Product& p, Kernel kernel) {
  const Options o{Activation::kGeluErf};
  for (const KernelTable& t : tables_to_test()) {
    const std::vector<float> all = p.run(t, o);
    const auto check = [&](std::size_t first, std::size_t m, std::size_t col, std::size_t n) {
      const auto c = outputs(t, kernel, part(p.args(o), first, m, col, n), false);
      for (std::size_t i = 0; i < m; i++)
        for (std::size_t j = 0; j < n; j++)
          ASSERT_TRUE(same_bits(c[i * n + j], all[(first + i) * p.n + col + j]))
              << t.name << " rows " << first << " + " << m << " columns " << col << " + " << n << " at " << i << ", "
              << j;
    };
    for (std::size_t i = 0; i + 16 <= round_up(p.m, 16); i++) check(i, 1, 0, p.n);
    for (std::size_t m = 1; m <= p.m; m++) check(0, m, 0, p.n);
    for (std::size_t col = 0; col < p.n; col += 16) {
      check(0, p.m, col, std::min<std::size_t>(16, p.n - col));
      check(0, p.m, col, p.n - col);
    }
  }
}
TEST(LinearInt8, ARowIsTheSameAloneInAnyBatchAndInAnyRangeOfColumns) {
  expect_parts_equal_the_whole(ProductInt8(70, 150, 192), &KernelTable::linear_int8);
}
TEST(LinearBf16, ARowIsTheSameAloneInAnyBatchAndInAnyRangeOfColumns) {
  expect_parts_equal_the_whole(ProductBf16(70, 150, 160), &KernelTable::linear_bf16);
}

TEST(LinearInt8, NoRowsOrNoColumns) {
  const ProductInt8 p(1, 1, 64);
  for (const KernelTable& t : tables_to_test()) {
    t.begin_products();
    LinearInt8 g = p.args({});
    g.m = 0;
    t.linear_int8(g);
    g.m = 1;
    g.n = 0;
    t.linear_int8(g);
    t.end_products();
  }
}

}  // namespace
}  // namespace narthex
