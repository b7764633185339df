// Every small shape through the whole way of a product: rows encoded, weights packed by the kernels, multiplied,
// written. The numbers are chosen so that nothing is rounded before the activation (whole numbers that fill the range
// of their format exactly), hence one plain sum is the reference for every table, those that multiply bf16 included.
#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "base/half.h"
#include "kernels/formats.h"
#include "kernels/linear_testing.h"

namespace narthex {
namespace {

constexpr std::size_t kMostM = 20, kMostN = 40, kMostK = 40;
constexpr float kUntouched = 12288.0F;  // a bfloat16

// Whole numbers. A row of a spans exactly 255, so its u8 scale is 1; a column of b reaches 127, so its scale is 1.
struct WholeNumbers {
  std::size_t n, k;
  RowFormat format;
  std::vector<float> a, b, bias;  // a [kMostM, k], b [k, n]

  WholeNumbers(std::size_t n_, std::size_t k_, RowFormat format_)
      : n(n_), k(k_), format(format_), a(kMostM * k), b(k * n), bias(random_whole(n, -9, 9, 7)) {
    const bool bytes = format == RowFormat::kU8;
    b = bytes ? random_whole(k * n, -127, 127, 3) : random_whole(k * n, -9, 9, 3);
    for (std::size_t i = 0; i < kMostM; i++) {
      const int low = bytes ? -static_cast<int>(i * 13 % 256) : -9, high = bytes ? low + 255 : 9;
      const std::vector<float> row = random_whole(k, low, high, static_cast<std::uint32_t>(20 + i));
      std::ranges::copy(row, a.begin() + static_cast<std::ptrdiff_t>(i * k));
      if (!bytes) continue;
      a[i * k + i % k] = k == 1 && i % 2 == 0 ? 255.0F : static_cast<float>(k == 1 ? -255 : low);
      if (k > 1) a[i * k + (i + 1) % k] = static_cast<float>(high);
    }
    if (bytes)
      for (std::size_t j = 0; j < n; j++) b[j % k * n + j] = j % 2 == 0 ? 127.0F : -127.0F;
  }
  static std::vector<float> random_whole(std::size_t n, int low, int high, std::uint32_t seed) {
    std::mt19937 random(seed);
    std::uniform_int_distribution<int> value(low, high);
    std::vector<float> out(n);
    for (float& x : out) x = static_cast<float>(value(random));
    return out;
  }
  // Sums of kMostM rows without bias: exact in float32.
  std::vector<float> sums() const {
    std::vector<float> out(kMostM * n);
    for (std::size_t i = 0; i < kMostM; i++)
      for (std::size_t j = 0; j < n; j++)
        for (std::size_t p = 0; p < k; p++) out[i * n + j] += a[i * k + p] * b[p * n + j];
    return out;
  }
};

// a and b of one table's making. What lies behind the last row is garbage on purpose.
struct Encoded {
  std::size_t depth, lda;
  std::vector<std::uint8_t> a, b;
  std::vector<float> a_scale, b_scale;
  std::vector<std::int32_t> a_zero, b_colsum;

  Encoded(const KernelTable& t, const WholeNumbers& w, bool transposed)
      : depth(padded_depth(w.format, w.k)),
        lda(depth + (w.k % 3) * 5),
        a((kMostM + 16) * lda * element_bytes(w.format), 0xC1),
        b(packed_bytes(w.format, w.k, w.n)),
        a_scale(kMostM),
        b_scale(round_up(w.n, kPanel)),
        a_zero(kMostM),
        b_colsum(b_scale.size()) {
    std::vector<float> columns;
    if (transposed) {
      columns.resize(w.n * w.k);
      for (std::size_t j = 0; j < w.n; j++)
        for (std::size_t p = 0; p < w.k; p++) columns[j * w.k + p] = w.b[p * w.n + j];
    }
    const float* from = transposed ? columns.data() : w.b.data();
    const std::size_t ldb = transposed ? w.k : w.n;
    if (w.format == RowFormat::kU8) {
      t.pack_b_int8(
          {w.k, w.n, from, ldb, transposed, reinterpret_cast<std::int8_t*>(b.data()), b_scale.data(), b_colsum.data()});
    } else {
      t.pack_b_bf16({w.k, w.n, from, ldb, false, transposed, reinterpret_cast<std::uint16_t*>(b.data())});
    }
    t.encode_rows(
        {kMostM, w.k, w.a.data(), w.k, false, {w.format, a.data(), lda, a_scale.data(), a_zero.data(), nullptr}});
  }
};

struct Written {
  std::vector<float> c;
  std::vector<std::uint16_t> c16;
  std::size_t ldc;
};
Written multiply(const KernelTable& t, const WholeNumbers& w, const Encoded& e, std::size_t m, bool bias, bool bf16,
                 Activation activation) {
  Written out{std::vector<float>(bf16 ? 0 : m * (w.n + 3), kUntouched),
              std::vector<std::uint16_t>(bf16 ? m * (w.n + 3) : 0, BFloat16(kUntouched).bits), w.n + 3};
  void* c = bf16 ? static_cast<void*>(out.c16.data()) : static_cast<void*>(out.c.data());
  const float* shift = bias ? w.bias.data() : nullptr;
  t.begin_products();
  if (w.format == RowFormat::kU8) {
    t.linear_int8({m, w.n, e.depth, e.a.data(), e.lda, e.a_scale.data(), e.a_zero.data(),
                   reinterpret_cast<const std::int8_t*>(e.b.data()), e.b_scale.data(), e.b_colsum.data(), shift, c,
                   out.ldc, bf16, activation});
  } else {
    t.linear_bf16({m, w.n, e.depth, reinterpret_cast<const std::uint16_t*>(e.a.data()), e.lda,
                   reinterpret_cast<const std::uint16_t*>(e.b.data()), shift, c, out.ldc, bf16, activation});
  }
  t.end_products();
  return out;
}

// Of the exact sums: the bias, the activation, the output format. Rows do not depend on how many there are.
void expect_exact(const WholeNumbers& w, const std::vector<float>& sums, const Written& got, std::size_t m, bool bias,
                  Activation activation, const std::string& where) {
  for (std::size_t i = 0; i < m; i++) {
    for (std::size_t j = 0; j < got.ldc; j++) {
      float want = kUntouched;
      if (j < w.n) want = activated(activation, sums[i * w.n + j] + (bias ? w.bias[j] : 0.0F));
      if (got.c.empty()) {
        ASSERT_EQ(got.c16[i * got.ldc + j], BFloat16(want).bits) << where << " at " << i << ", " << j;
      } else {
        ASSERT_TRUE(same_bits(got.c[i * got.ldc + j], want))
            << where << " at " << i << ", " << j << ": " << got.c[i * got.ldc + j] << ", expected " << want;
      }
    }
  }
}

void every_small_shape(RowFormat format) {
  const auto tables = tables_to_test();
  for (std::size_t n = 1; n <= kMostN; n++)
    for (std::size_t k = 1; k <= kMostK; k++) {
      const WholeNumbers w(n, k, format);
      const std::vector<float> sums = w.sums();
      for (const KernelTable& t : tables) {
        // Plain C++ is slow, and each of its paths is met by a third of the shapes.
        if (t.isa == Isa::kScalar && (n + k) % 3 != 0) continue;
        const Encoded e(t, w, (n + k) % 2 == 0);
        for (std::size_t m = 1; m <= kMostM; m++) {
          const bool bias = (m + k) % 3 != 0, bf16 = (m + n) % 4 == 0;
          const Activation kind = (m + n + k) % 5 == 0 ? Activation::kRelu : Activation::kNone;
          expect_exact(w, sums, multiply(t, w, e, m, bias, bf16, kind), m, bias, kind,
                       fmt::format("{} m {} n {} k {}", t.name, m, n, k));
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
}
TEST(LinearShapes, Int8IsTheExactProductOnEverySmallShape) {
  every_small_shape(RowFormat::kU8);
}
TEST(LinearShapes, Bf16IsTheExactProductOnEverySmallShape) {
  every_small_shape(RowFormat::kBf16);
}

void every_activation(RowFormat format) {
  for (const auto& [n, k] : {std::pair<std::size_t, std::size_t>{1, 3}, {16, 40}, {37, 33}}) {
    const WholeNumbers w(n, k, format);
    std::vector<float> sums = w.sums();
    for (const KernelTable& t : tables_to_test()) {
      const Encoded e(t, w, false);
      for (const Activation kind : kActivations)
        for (const std::size_t m : {1U, 5U, 16U, 20U})
          for (const int with : {0, 1, 2, 3}) {
            const bool bias = (with & 1) != 0, bf16 = (with & 2) != 0;
            expect_exact(w, sums, multiply(t, w, e, m, bias, bf16, kind), m, bias, kind,
                         fmt::format("{} m {} n {} k {} activation {}", t.name, m, n, k, static_cast<int>(kind)));
            if (testing::Test::HasFatalFailure()) return;
          }
    }
  }
}
TEST(LinearShapes, EveryActivationOfExactSums) {
  every_activation(RowFormat::kU8);
  every_activation(RowFormat::kBf16);
}

// Tables encode and pack to the same bytes, so a plan made on one machine may run on another.
TEST(LinearShapes, EncodingAndPackingAreTheSameBytesOnEveryTable) {
  for (const RowFormat format : {RowFormat::kU8, RowFormat::kBf16})
    for (const auto& [n, k] : {std::pair<std::size_t, std::size_t>{1, 1}, {17, 70}, {70, 129}, {384, 65}}) {
      WholeNumbers w(n, k, format);
      w.a = random_floats(kMostM * k, 11, -3.0F, 5.0F);
      w.b = random_floats(k * n, 12, -0.1F, 0.1F);
      for (const bool transposed : {false, true}) {
        const Encoded want(supported_tables().front(), w, transposed);
        for (const KernelTable& t : supported_tables()) {
          const Encoded e(t, w, transposed);
          const std::string where = fmt::format("{} n {} k {} transposed {}", t.name, n, k, transposed);
          ASSERT_EQ(e.a, want.a) << where;
          ASSERT_EQ(e.b, want.b) << where;
          ASSERT_TRUE(same_bits(e.a_scale, want.a_scale)) << where;
          ASSERT_TRUE(same_bits(e.b_scale, want.b_scale)) << where;
          ASSERT_EQ(e.a_zero, want.a_zero) << where;
          ASSERT_EQ(e.b_colsum, want.b_colsum) << where;
        }
      }
    }
}

}  // namespace
}  // namespace narthex
