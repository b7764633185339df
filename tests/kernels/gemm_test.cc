// The matrix products against naive sums: every shape that meets another path of the tiles, every table, every split.
#include "kernels/gemm.h"

#include <algorithm>

#include "kernels/testing.h"

namespace narthex {
namespace {

constexpr float kUntouched = 12345.0F;

std::vector<std::size_t> sampled_sizes() {
  return {1, 2, 3, 4, 5, 6, 7, 11, 13, 14, 15, 16, 17, 28, 31, 33, 48, 64, 65, 70};
}

struct Product {
  std::size_t m, n, k;
  std::vector<float> a, b, bias;  // a [m, k + 3], b [k, n + 2]

  Product(std::size_t m_, std::size_t n_, std::size_t k_)
      : m(m_),
        n(n_),
        k(k_),
        a(random_floats(m * (k + 3), 1)),
        b(random_floats(k * (n + 2), 2)),
        bias(random_floats(n, 3)) {}

  std::vector<float> packed(const KernelTable& t) const {
    std::vector<float> out(packed_size_f32(k, n), kUntouched);
    t.pack_b_f32(k, n, b.data(), n + 2, false, out.data());
    return out;
  }
  std::vector<float> run(const KernelTable& t, Activation activation = Activation::kNone, bool with_bias = true) const {
    const std::vector<float> panels = packed(t);
    std::vector<float> c(m * (n + 5), kUntouched);
    t.gemm_f32(
        {m, n, k, a.data(), k + 3, panels.data(), with_bias ? bias.data() : nullptr, c.data(), n + 5, activation});
    return c;
  }
  // The definition: one chain of fused multiply-adds, then the bias.
  float expected(std::size_t i, std::size_t j, bool with_bias = true) const {
    float sum = 0.0F;
    for (std::size_t p = 0; p < k; p++) sum = std::fma(a[i * (k + 3) + p], b[p * (n + 2) + j], sum);
    return with_bias ? sum + bias[j] : sum;
  }
};

void expect_definition(const Product& p, const std::vector<float>& c, std::string_view table) {
  for (std::size_t i = 0; i < p.m; i++) {
    for (std::size_t j = 0; j < p.n + 5; j++) {
      const float want = j < p.n ? p.expected(i, j) : kUntouched;
      ASSERT_TRUE(same_bits(c[i * (p.n + 5) + j], want))
          << table << " m " << p.m << " n " << p.n << " k " << p.k << " at " << i << ", " << j << ": "
          << c[i * (p.n + 5) + j] << ", expected " << want;
    }
  }
}

TEST(GemmF32, IsTheChainOfItsDefinitionOnEveryShapeAndTable) {
  for (const std::size_t m : sampled_sizes())
    for (const std::size_t n : sampled_sizes())
      for (const std::size_t k : {1U, 2U, 17U, 70U}) {
        const Product p(m, n, k);
        for (const KernelTable& t : supported_tables()) {
          if (t.isa == Isa::kScalar && m * n * k > 20000) continue;  // a library call per multiply-add
          expect_definition(p, p.run(t), t.name);
        }
      }
}

// Rows do not depend on how many there are, so the sums of twenty are the reference of every m.
TEST(GemmF32, EverySmallShapeHasTheBitsOfTheSameChains) {
  for (std::size_t n = 1; n <= 40; n++)
    for (std::size_t k = 1; k <= 40; k++) {
      const Product all(20, n, k);
      std::vector<float> want(20 * n);
      for (std::size_t i = 0; i < 20; i++)
        for (std::size_t j = 0; j < n; j++) want[i * n + j] = all.expected(i, j, k % 3 != 0);
      for (const KernelTable& t : supported_tables()) {
        if (t.isa == Isa::kScalar && (n + k) % 3 != 0) continue;  // a library call per multiply-add
        Product p = all;
        for (p.m = 1; p.m <= 20; p.m++) {
          const std::vector<float> c = p.run(t, Activation::kNone, k % 3 != 0);
          for (std::size_t i = 0; i < p.m; i++)
            for (std::size_t j = 0; j < n + 5; j++)
              ASSERT_TRUE(same_bits(c[i * (n + 5) + j], j < n ? want[i * n + j] : kUntouched))
                  << t.name << " m " << p.m << " n " << n << " k " << k << " at " << i << ", " << j;
        }
      }
    }
}

TEST(GemmF32, LargeDepthsAreCutIntoBlocksWithoutATrace) {
  for (const std::size_t k : {511U, 512U, 513U, 1024U, 1536U}) {
    const Product p(15, 35, k);
    for (const KernelTable& t : supported_tables()) expect_definition(p, p.run(t), t.name);
  }
}

TEST(GemmF32, EmptyProducts) {
  for (const KernelTable& t : supported_tables()) {
    const Product p(3, 5, 0);
    const std::vector<float> c = p.run(t);
    for (std::size_t i = 0; i < 3; i++)
      for (std::size_t j = 0; j < 5; j++) EXPECT_EQ(c[i * 10 + j], p.bias[j]);
    EXPECT_TRUE(Product(0, 5, 4).run(t).empty());
    const std::vector<float> no_columns = Product(2, 0, 4).run(t);
    EXPECT_EQ(std::ranges::count(no_columns, kUntouched), 10);
  }
}

TEST(GemmF32, ARowIsTheSameAloneAndInAnyBatch) {
  const Product p(70, 50, 40);
  for (const KernelTable& t : supported_tables()) {
    const std::vector<float> all = p.run(t);
    for (std::size_t i = 0; i < p.m; i++) {
      Product one(1, 50, 40);
      one.a.assign(p.a.begin() + static_cast<std::ptrdiff_t>(i * 43),
                   p.a.begin() + static_cast<std::ptrdiff_t>(i * 43 + 43));
      const std::vector<float> alone = one.run(t);
      for (std::size_t j = 0; j < p.n; j++) ASSERT_EQ(alone[j], all[i * 55 + j]) << t.name << " row " << i;
    }
  }
}

TEST(GemmF32, ActivationsAreTheElementwiseKernels) {
  const Product p(17, 37, 20);
  for (const KernelTable& t : supported_tables()) {
    const std::pair<Activation, UnaryFn*> kinds[] = {
        {Activation::kRelu, t.relu}, {Activation::kGeluErf, t.gelu_erf}, {Activation::kGeluTanh, t.gelu_tanh},
        {Activation::kTanh, t.tanh}, {Activation::kSigmoid, t.sigmoid},  {Activation::kSilu, t.silu}};
    for (const auto& [kind, fn] : kinds) {
      std::vector<float> plain = p.run(t);
      for (std::size_t i = 0; i < p.m; i++) fn(p.n, plain.data() + i * (p.n + 5), plain.data() + i * (p.n + 5));
      EXPECT_TRUE(same_bits(plain, p.run(t, kind))) << t.name << " activation " << static_cast<int>(kind);
    }
  }
}

TEST(GemmF32, WeightsMayBePackedFromEitherLayout) {
  for (const std::size_t k : {1U, 3U, 4U, 17U, 64U, 70U})
    for (const std::size_t n : {1U, 5U, 16U, 31U, 70U}) {
      const std::vector<float> b = random_floats(k * n, 5);
      std::vector<float> transposed(n * (k + 1));
      for (std::size_t i = 0; i < k; i++)
        for (std::size_t j = 0; j < n; j++) transposed[j * (k + 1) + i] = b[i * n + j];
      for (const KernelTable& t : supported_tables()) {
        std::vector<float> one(packed_size_f32(k, n), kUntouched), other = one;
        t.pack_b_f32(k, n, b.data(), n, false, one.data());
        t.pack_b_f32(k, n, transposed.data(), k + 1, true, other.data());
        ASSERT_TRUE(same_bits(one, other)) << t.name << " k " << k << " n " << n;
        for (std::size_t j = n; j < round_up_to_panel(n); j++) ASSERT_EQ(one[j / 16 * k * 16 + j % 16], 0.0F);
      }
    }
}

TEST(GemmF32, TheTeamDoesNotChangeABit) {
  for (const auto& [m, n, k] : {std::tuple<std::size_t, std::size_t, std::size_t>{1, 1536, 384},
                                {16, 384, 384},
                                {128, 384, 384},
                                {300, 100, 64},
                                {57, 33, 1}}) {
    const std::vector<float> a = random_floats(m * k, 1), b = random_floats(k * n, 2), bias = random_floats(n, 3);
    const PackedF32 packed = pack_weights_f32(k, n, b.data(), n, false);
    std::vector<float> first;
    for (const int threads : {1, 2, 3, 8}) {
      Team team(threads);
      std::vector<float> c(m * n, kUntouched);
      gemm_f32_parallel(team, packed, {m, a.data(), k, bias.data(), c.data(), n, Activation::kGeluErf});
      if (first.empty()) first = c;
      EXPECT_TRUE(same_bits(first, c)) << threads << " threads";
    }
  }
}

TEST(GemmF32, BatchedProductsWithBroadcastAndTeam) {
  const std::size_t batch = 3, heads = 4, s = 21, d = 8;
  const std::vector<float> q = random_floats(batch * heads * s * d, 1), keys = random_floats(heads * s * d, 2);
  std::vector<std::size_t> a_offsets, b_offsets, c_offsets;
  for (std::size_t i = 0; i < batch * heads; i++) {
    a_offsets.push_back(i * s * d);
    b_offsets.push_back(i % heads * s * d);  // the same keys for every batch entry
    c_offsets.push_back(i * s * s);
  }
  for (const int threads : {1, 2, 16}) {
    Team team(threads);
    std::vector<float> c(batch * heads * s * s, kUntouched);
    gemm_f32_batched(team, {s, s, d, q.data(), d, a_offsets, keys.data(), d, true, b_offsets, c.data(), s, c_offsets});
    for (std::size_t i = 0; i < batch * heads; i++)
      for (std::size_t r = 0; r < s; r++)
        for (std::size_t j = 0; j < s; j++) {
          float sum = 0.0F;
          for (std::size_t x = 0; x < d; x++)
            sum = std::fma(q[a_offsets[i] + r * d + x], keys[b_offsets[i] + j * d + x], sum);
          ASSERT_TRUE(same_bits(c[c_offsets[i] + r * s + j], sum)) << i << " " << r << " " << j;
        }
  }
}

struct IntegerProduct {
  std::size_t m, n, k;
  bool a_signed, b_signed;
  std::int32_t a_zero;
  std::vector<std::int32_t> b_zeros;
  std::vector<std::uint8_t> a, b;  // a [m, k + 1]

  IntegerProduct(std::size_t m_, std::size_t n_, std::size_t k_, bool a_signed_, bool b_signed_, int zeros)
      : m(m_),
        n(n_),
        k(k_),
        a_signed(a_signed_),
        b_signed(b_signed_),
        a_zero(a_signed ? -77 : 201),
        a(random_bytes(m * (k + 1), 1)),
        b(random_bytes(k * n, 2)) {
    // The largest values first: where instructions that saturate would show.
    for (std::size_t i = 0; i < std::min<std::size_t>(k, 8); i++) a[i] = a_signed ? 0x7F : 0xFF;
    for (std::size_t i = 0; i < std::min<std::size_t>(k, 8); i++) b[i * n] = b_signed ? 0x7F : 0xFF;
    if (zeros == 1) b_zeros = {b_signed ? -3 : 130};
    if (zeros == 2)
      for (std::size_t j = 0; j < n; j++)
        b_zeros.push_back(b_signed ? static_cast<int>(j % 256) - 128 : static_cast<int>(j % 256));
  }
  std::int64_t a_at(std::size_t i, std::size_t p) const {
    const std::uint8_t byte = a[i * (k + 1) + p];
    return a_signed ? static_cast<std::int8_t>(byte) : byte;
  }
  std::int64_t b_at(std::size_t p, std::size_t j) const {
    return b_signed ? static_cast<std::int8_t>(b[p * n + j]) : b[p * n + j];
  }
  std::int64_t expected(std::size_t i, std::size_t j) const {
    const std::int64_t zero = b_zeros.empty() ? 0 : b_zeros[b_zeros.size() == 1 ? 0 : j];
    std::int64_t sum = 0;
    for (std::size_t p = 0; p < k; p++) sum += (a_at(i, p) - a_zero) * (b_at(p, j) - zero);
    return sum;
  }
};

TEST(GemmInt8, IsExactForEverySignednessZeroPointAndShape) {
  for (const bool a_signed : {false, true})
    for (const bool b_signed : {false, true})
      for (const int zeros : {0, 1, 2})
        for (const std::size_t m : {1U, 2U, 3U, 6U, 12U, 13U, 25U})
          for (const std::size_t n : {1U, 15U, 16U, 17U, 33U, 70U})
            for (const std::size_t k : {1U, 3U, 4U, 5U, 64U, 70U}) {
              const IntegerProduct p(m, n, k, a_signed, b_signed, zeros);
              const PackedInt8 b = pack_weights_int8(k, n, p.b.data(), n, b_signed, p.b_zeros);
              for (const KernelTable& t : supported_tables()) {
                std::vector<std::int32_t> c(m * (n + 1), 99);
                t.gemm_int8({m, n, k, p.a.data(), k + 1, a_signed, p.a_zero, b.panels.data(),
                             b.zeros.empty() ? nullptr : b.zeros.data(), b.colsums.data(), c.data(), n + 1});
                for (std::size_t i = 0; i < m; i++) {
                  for (std::size_t j = 0; j < n; j++) {
                    ASSERT_EQ(c[i * (n + 1) + j], p.expected(i, j))
                        << t.name << " a_signed " << a_signed << " b_signed " << b_signed << " zeros " << zeros << " m "
                        << m << " n " << n << " k " << k << " at " << i << ", " << j;
                  }
                  ASSERT_EQ(c[i * (n + 1) + n], 99);
                }
              }
            }
}

TEST(GemmInt8, LargeAndParallel) {
  const IntegerProduct p(130, 200, 1537, false, true, 2);
  const PackedInt8 b = pack_weights_int8(p.k, p.n, p.b.data(), p.n, true, p.b_zeros);
  for (const int threads : {1, 2, 5}) {
    Team team(threads);
    std::vector<std::int32_t> c(p.m * p.n);
    gemm_int8_parallel(team, b, {p.m, p.a.data(), p.k + 1, false, p.a_zero, c.data(), p.n});
    for (std::size_t i = 0; i < p.m; i += 7)
      for (std::size_t j = 0; j < p.n; j++) ASSERT_EQ(c[i * p.n + j], p.expected(i, j)) << i << " " << j;
  }
}

}  // namespace
}  // namespace narthex
