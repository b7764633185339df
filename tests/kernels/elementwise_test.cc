// Elementwise kernels: accuracy against float64, special values, broadcasts, and equality of all tables.
#include <algorithm>
#include <limits>

#include "kernels/testing.h"

namespace narthex {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

double reference(std::string_view name, double x) {
  if (name == "exp") return std::exp(x);
  if (name == "log") return std::log(x);
  if (name == "erf") return std::erf(x);
  if (name == "tanh") return std::tanh(x);
  if (name == "sigmoid") return 1 / (1 + std::exp(-x));
  if (name == "gelu_erf") return x * 0.5 * std::erfc(-x / std::sqrt(2.0));
  if (name == "gelu_tanh") return x / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  if (name == "silu") return x / (1 + std::exp(-x));
  if (name == "relu") return std::max(x, 0.0);
  if (name == "sqrt") return std::sqrt(x);
  if (name == "rsqrt") return 1 / std::sqrt(x);
  if (name == "reciprocal") return 1 / x;
  if (name == "square") return x * x;
  if (name == "neg") return -x;
  if (name == "abs") return std::fabs(x);
  ADD_FAILURE() << "no reference for " << name;
  return 0;
}

struct UnaryRow {
  std::string_view name;
  UnaryFn* KernelTable::* kernel;
  double from, to, max_relative, max_absolute;
};
constexpr UnaryRow kUnary[] = {
#define NX_KERNEL(...)
#define NX_BINARY(...)
#define NX_REDUCE(...)
#define NX_UNARY(name, from, to, max_relative, max_absolute) \
  {#name, &KernelTable::name, from, to, max_relative, max_absolute},
#include "kernels/kernels.def"
#undef NX_KERNEL
#undef NX_BINARY
#undef NX_REDUCE
#undef NX_UNARY
};

// Floats of every magnitude in the range (a step through the bit patterns), and an even grid over it.
std::vector<float> sweep(double from, double to) {
  std::vector<float> out;
  for (std::uint32_t u = 0; u < 0x7F800000; u += 4001) {
    for (const float x : {std::bit_cast<float>(u), -std::bit_cast<float>(u)})
      if (x >= from && x <= to) out.push_back(x);
  }
  for (int i = 0; i <= 300000; i++) out.push_back(static_cast<float>(from + (to - from) * i / 300000));
  return out;
}

TEST(Unary, StaysWithinTheBoundsOfItsRow) {
  for (const UnaryRow& row : kUnary) {
    const std::vector<float> x = sweep(row.from, row.to);
    std::vector<float> y(x.size());
    (supported_tables().back().*row.kernel)(x.size(), x.data(), y.data());
    double worst_relative = 0, worst_absolute = 0, worst_gelu = 0;
    for (std::size_t i = 0; i < x.size(); i++) {
      const double want = reference(row.name, x[i]), error = std::fabs(y[i] - want);
      const double tiny = 1.5e-45;  // one step among subnormals
      worst_absolute = std::max(worst_absolute, error);
      if (std::fabs(want) > 1.2e-38) worst_relative = std::max(worst_relative, error / std::fabs(want));
      worst_gelu = std::max(worst_gelu, error / std::max(1.0, std::fabs(static_cast<double>(x[i]))));
      ASSERT_TRUE(error <= std::max(row.max_relative * std::fabs(want), row.max_absolute) + tiny)
          << row.name << "(" << x[i] << ") is " << y[i] << ", expected " << want;
    }
    std::printf("%-10s [%g, %g]: max relative error %.2g, max absolute error %.2g, absolute / max(1, |x|) %.2g\n",
                std::string(row.name).c_str(), row.from, row.to, worst_relative, worst_absolute, worst_gelu);
  }
}

TEST(Unary, AllTablesAgreeEverywhere) {
  std::vector<float> x;
  for (std::uint32_t u = 0; u < 0xFFFF0000U; u += 65521) x.push_back(std::bit_cast<float>(u));  // NaNs among them
  for (const float special : {0.0F, -0.0F, kInf, -kInf, kNan, 88.72F, 88.73F, -87.4F, -103.9F, -104.1F, 1e-45F})
    x.push_back(special);
  for (const UnaryRow& row : kUnary) {
    SCOPED_TRACE(row.name);
    same_on_all_tables([&](const KernelTable& t) {
      std::vector<float> y(x.size());
      (t.*row.kernel)(x.size(), x.data(), y.data());
      return y;
    });
  }
}

TEST(Unary, EveryLengthInPlaceAndNothingBeyond) {
  for (const KernelTable& t : supported_tables()) {
    for (const UnaryRow& row : kUnary) {
      for (const std::size_t n : lengths()) {
        if (n > 70) continue;
        const std::vector<float> x = random_floats(n, static_cast<std::uint32_t>(n), 0.1F, 3.0F);
        std::vector<float> in_place = x, apart(n + 1, 7.0F);
        in_place.push_back(7.0F);
        (t.*row.kernel)(n, in_place.data(), in_place.data());
        (t.*row.kernel)(n, x.data(), apart.data());
        ASSERT_TRUE(same_bits(in_place, apart)) << row.name << " " << n;
        ASSERT_EQ(apart[n], 7.0F);
        for (std::size_t i = 0; i < n; i++) {  // position does not matter
          float one = 0;
          (t.*row.kernel)(1, &x[i], &one);
          ASSERT_TRUE(same_bits(one, apart[i])) << row.name << " " << n << " " << i;
        }
      }
    }
  }
}

TEST(Unary, SpecialValues) {
  const auto& t = supported_tables().back();
  const auto at = [](UnaryFn* f, float x) {
    float y = 0;
    f(1, &x, &y);
    return y;
  };
  EXPECT_EQ(at(t.exp, -kInf), 0.0F);
  EXPECT_EQ(at(t.exp, std::numeric_limits<float>::lowest()), 0.0F);
  EXPECT_EQ(at(t.exp, -105.0F), 0.0F);
  EXPECT_EQ(at(t.exp, kInf), kInf);
  EXPECT_EQ(at(t.exp, 0.0F), 1.0F);
  EXPECT_EQ(at(t.log, 0.0F), -kInf);
  EXPECT_EQ(at(t.log, -0.0F), -kInf);
  EXPECT_EQ(at(t.log, kInf), kInf);
  EXPECT_EQ(at(t.log, 1.0F), 0.0F);
  EXPECT_TRUE(std::isnan(at(t.log, -1.0F)));
  EXPECT_EQ(at(t.erf, kInf), 1.0F);
  EXPECT_EQ(at(t.erf, -kInf), -1.0F);
  EXPECT_EQ(at(t.tanh, kInf), 1.0F);
  EXPECT_EQ(at(t.tanh, -100.0F), -1.0F);
  EXPECT_EQ(at(t.sigmoid, -kInf), 0.0F);
  EXPECT_EQ(at(t.sigmoid, kInf), 1.0F);
  EXPECT_EQ(at(t.gelu_erf, kInf), kInf);
  EXPECT_EQ(at(t.gelu_erf, 100.0F), 100.0F);
  EXPECT_EQ(std::fabs(at(t.gelu_erf, -100.0F)), 0.0F);
  EXPECT_EQ(at(t.relu, -1.0F), 0.0F);
  for (const UnaryRow& row : kUnary) EXPECT_TRUE(std::isnan(at(t.*row.kernel, kNan))) << row.name;
}

struct BinaryRow {
  std::string_view name;
  BinaryFn* KernelTable::* kernel;
};
constexpr BinaryRow kBinary[] = {
#define NX_KERNEL(...)
#define NX_UNARY(...)
#define NX_REDUCE(...)
#define NX_BINARY(name) {#name, &KernelTable::name},
#include "kernels/kernels.def"
#undef NX_KERNEL
#undef NX_UNARY
#undef NX_REDUCE
#undef NX_BINARY
};

float reference(std::string_view name, float a, float b) {
  if (name == "add") return a + b;
  if (name == "sub") return a - b;
  if (name == "mul") return a * b;
  if (name == "div") return a / b;
  if (std::isnan(a) || std::isnan(b)) return kNan;
  if (name == "min") return a < b ? a : b;
  if (name == "max") return a > b ? a : b;
  ADD_FAILURE() << "no reference for " << name;
  return 0;
}

TEST(Binary, EveryBroadcastOnEveryTable) {
  struct Steps {
    std::size_t row, col;  // row 1 stands for the row's length
  };
  constexpr Steps kShapes[] = {{1, 1}, {0, 0}, {0, 1}, {1, 0}};
  std::vector<float> a = random_floats(5 * 70, 1, -2, 2), b = random_floats(5 * 70, 2, -2, 2);
  a[3] = kNan, b[5] = kNan, a[7] = kInf, b[7] = kInf, b[9] = 0.0F, a[11] = -0.0F, b[11] = 0.0F;
  for (const KernelTable& t : supported_tables())
    for (const BinaryRow& row : kBinary)
      for (const Steps& as : kShapes)
        for (const Steps& bs : kShapes)
          for (std::size_t cols = 1; cols <= 70; cols += cols < 36 ? 1 : 5) {
            std::vector<float> y(5 * (cols + 1), 7.0F);
            (t.*row.kernel)(
                {5, cols, a.data(), as.row * cols, as.col, b.data(), bs.row * cols, bs.col, y.data(), cols + 1});
            for (std::size_t i = 0; i < 5; i++) {
              for (std::size_t j = 0; j < cols; j++) {
                const float want =
                    reference(row.name, a[i * as.row * cols + j * as.col], b[i * bs.row * cols + j * bs.col]);
                ASSERT_TRUE(same_bits(y[i * (cols + 1) + j], want))
                    << t.name << " " << row.name << " " << i << ", " << j << ": " << y[i * (cols + 1) + j] << ", "
                    << want;
              }
              ASSERT_EQ(y[i * (cols + 1) + cols], 7.0F);
            }
          }
}

TEST(Binary, NothingForEmptyArguments) {
  for (const KernelTable& t : supported_tables()) {
    t.add({3, 0, nullptr, 0, 1, nullptr, 0, 1, nullptr, 0});
    t.add({0, 3, nullptr, 0, 1, nullptr, 0, 1, nullptr, 0});
    t.exp(0, nullptr, nullptr);
  }
}

TEST(Fma, RoundsOnce) {
  for (const std::size_t n : lengths()) {
    const auto a = random_floats(n, 1), b = random_floats(n, 2), c = random_floats(n, 3);
    const std::vector<float> y = same_on_all_tables([&](const KernelTable& t) {
      std::vector<float> out(n);
      t.fma(n, a.data(), b.data(), c.data(), out.data());
      return out;
    });
    for (std::size_t i = 0; i < n; i++) ASSERT_EQ(y[i], std::fma(a[i], b[i], c[i]));
  }
}

TEST(Transpose, EveryShape) {
  for (std::size_t rows = 1; rows <= 37; rows++)
    for (const std::size_t cols : {1U, 2U, 3U, 4U, 5U, 15U, 16U, 17U, 33U}) {
      const std::vector<float> x = random_floats(rows * (cols + 1), 1);
      for (const KernelTable& t : supported_tables()) {
        std::vector<float> y(cols * rows);
        t.transpose_f32(rows, cols, x.data(), cols + 1, y.data(), rows);
        for (std::size_t i = 0; i < rows; i++)
          for (std::size_t j = 0; j < cols; j++) ASSERT_EQ(y[j * rows + i], x[i * (cols + 1) + j]) << t.name;
      }
    }
}

}  // namespace
}  // namespace narthex
