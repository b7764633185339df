// Row kernels against float64, on every table with equal bits, for every length and with padding.
#include <algorithm>
#include <limits>

#include "kernels/testing.h"

namespace narthex {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kLowest = std::numeric_limits<float>::lowest();
const float kNan = std::numeric_limits<float>::quiet_NaN();

constexpr std::size_t kRows = 3;

std::vector<float> softmax_of(const KernelTable& t, std::size_t cols, const std::vector<float>& x, float scale,
                              const float* mask, std::size_t ld_mask) {
  std::vector<float> y(x.size() / cols * cols);
  t.softmax({x.size() / cols, cols, x.data(), cols, scale, mask, ld_mask, y.data(), cols});
  return y;
}

TEST(Softmax, EveryLengthScaleAndMask) {
  for (const std::size_t n : lengths()) {
    const std::vector<float> x = random_floats(kRows * n, 1, -20, 20), mask = random_floats(kRows * n, 2, -3, 3);
    for (const std::size_t ld_mask : {std::size_t{0}, n}) {
      const auto y =
          same_on_all_tables([&](const KernelTable& t) { return softmax_of(t, n, x, 0.125F, mask.data(), ld_mask); });
      for (std::size_t r = 0; r < kRows; r++) {
        double sum = 0, top = -1e300;
        const auto score = [&](std::size_t i) { return 0.125 * x[r * n + i] + mask[r * ld_mask + i]; };
        for (std::size_t i = 0; i < n; i++) top = std::max(top, score(i));
        for (std::size_t i = 0; i < n; i++) sum += std::exp(score(i) - top);
        for (std::size_t i = 0; i < n; i++) ASSERT_NEAR(y[r * n + i], std::exp(score(i) - top) / sum, 1e-6) << n;
      }
    }
  }
}

TEST(Softmax, MaskedPlacesAreExactlyZeroAndChangeNothing) {
  for (const std::size_t n : lengths()) {
    const std::size_t padded = n + 13;
    const std::vector<float> x = random_floats(n, 1, -5, 5), tail = random_floats(13, 3, -5, 5);
    std::vector<float> with_padding = x;
    with_padding.insert(with_padding.end(), tail.begin(), tail.end());
    for (const float low : {-kInf, kLowest, -10000.0F}) {
      std::vector<float> mask(padded, 0.0F);
      std::fill(mask.begin() + static_cast<std::ptrdiff_t>(n), mask.end(), low);
      for (const KernelTable& t : supported_tables()) {
        const auto alone = softmax_of(t, n, x, 1.0F, nullptr, 0);
        auto both = softmax_of(t, padded, with_padding, 1.0F, mask.data(), 0);
        for (std::size_t i = n; i < padded; i++) ASSERT_EQ(both[i], 0.0F);
        both.resize(n);
        ASSERT_TRUE(same_bits(alone, both)) << t.name << " " << n << " with " << low;
      }
    }
  }
}

TEST(Softmax, ARowWithNothingLeftIsNanAndARowOfFinfoMinIsEven) {
  for (const KernelTable& t : supported_tables()) {
    for (const float y : softmax_of(t, 20, std::vector<float>(20, -kInf), 1.0F, nullptr, 0)) EXPECT_TRUE(std::isnan(y));
    for (const float y : softmax_of(t, 20, std::vector<float>(20, kLowest), 1.0F, nullptr, 0)) EXPECT_EQ(y, 0.05F);
    std::vector<float> one_nan(20, 1.0F);
    one_nan[3] = kNan;
    for (const float y : softmax_of(t, 20, one_nan, 1.0F, nullptr, 0)) EXPECT_TRUE(std::isnan(y));
  }
}

TEST(Softmax, InPlaceWithRowsApart) {
  for (const KernelTable& t : supported_tables()) {
    std::vector<float> x = random_floats(3 * 25, 1), apart(3 * 25, 7.0F);
    t.softmax({3, 21, x.data(), 25, 1.0F, nullptr, 0, apart.data(), 25});
    t.softmax({3, 21, x.data(), 25, 1.0F, nullptr, 0, x.data(), 25});
    for (std::size_t r = 0; r < 3; r++) {
      for (std::size_t i = 0; i < 21; i++) ASSERT_EQ(x[r * 25 + i], apart[r * 25 + i]);
      for (std::size_t i = 21; i < 25; i++) ASSERT_EQ(apart[r * 25 + i], 7.0F);
    }
  }
}

using NormKernel = void (*KernelTable::*)(const Norm&);

double expected_norm(std::string_view kind, const float* x, std::size_t n, std::size_t i, double epsilon) {
  double mean = 0, squares = 0;
  for (std::size_t j = 0; j < n; j++) mean += x[j] / static_cast<double>(n);
  if (kind == "layer_norm") {
    for (std::size_t j = 0; j < n; j++) squares += (x[j] - mean) * (x[j] - mean);
    return (x[i] - mean) / std::sqrt(squares / static_cast<double>(n) + epsilon);
  }
  for (std::size_t j = 0; j < n; j++) squares += static_cast<double>(x[j]) * x[j];
  if (kind == "rms_norm") return x[i] / std::sqrt(squares / static_cast<double>(n) + epsilon);
  return x[i] / std::max(std::sqrt(squares), epsilon);
}

TEST(Norms, EveryLengthWithAndWithoutGammaAndBeta) {
  constexpr std::pair<std::string_view, NormKernel> kKinds[] = {{"layer_norm", &KernelTable::layer_norm},
                                                                {"rms_norm", &KernelTable::rms_norm},
                                                                {"l2_normalize", &KernelTable::l2_normalize}};
  for (const auto& [kind, kernel] : kKinds)
    for (const std::size_t n : lengths())
      for (const int with : {0, 1, 2, 3}) {
        if (kind == "l2_normalize" && with != 0) continue;
        const std::vector<float> x = random_floats(kRows * n, 1, -2, 5), gamma = random_floats(n, 2),
                                 beta = random_floats(n, 3);
        const float epsilon = 1e-5F;
        const auto y = same_on_all_tables([&, kernel = kernel](const KernelTable& t) {
          std::vector<float> out(kRows * n);
          (t.*kernel)({kRows, n, x.data(), n, (with & 1) != 0 ? gamma.data() : nullptr,
                       (with & 2) != 0 ? beta.data() : nullptr, epsilon, out.data(), n});
          return out;
        });
        for (std::size_t r = 0; r < kRows; r++)
          for (std::size_t i = 0; i < n; i++) {
            double want = expected_norm(kind, x.data() + r * n, n, i, epsilon);
            if ((with & 1) != 0) want *= gamma[i];
            if ((with & 2) != 0) want += beta[i];
            // Two values close to each other lose digits to their mean.
            ASSERT_NEAR(y[r * n + i], want, n == 2 ? 1e-3 : 4e-6) << kind << " length " << n << " with " << with;
          }
      }
}

TEST(Norms, ZeroRowsStayZero) {
  const std::vector<float> x(37, 0.0F);
  for (const KernelTable& t : supported_tables()) {
    std::vector<float> y(37, 7.0F);
    t.l2_normalize({1, 37, x.data(), 37, nullptr, nullptr, 1e-12F, y.data(), 37});
    EXPECT_EQ(y, x) << t.name;
  }
}

TEST(Reduce, EveryLength) {
  for (const std::size_t n : lengths()) {
    const std::vector<float> x = random_floats(kRows * (n + 2), 1, -3, 3);
    const auto run = [&](RowReduceFn* KernelTable::* kernel) {
      return same_on_all_tables([&](const KernelTable& t) {
        std::vector<float> y(kRows);
        (t.*kernel)({kRows, n, x.data(), n + 2, y.data()});
        return y;
      });
    };
    const auto sum = run(&KernelTable::reduce_sum), mean = run(&KernelTable::reduce_mean),
               top = run(&KernelTable::reduce_max), low = run(&KernelTable::reduce_min);
    for (std::size_t r = 0; r < kRows; r++) {
      const float *begin = x.data() + r * (n + 2), *end = begin + n;
      double want = 0;
      for (const float* p = begin; p < end; p++) want += *p;
      ASSERT_NEAR(sum[r], want, 1e-5 * std::sqrt(static_cast<double>(n)) + 1e-6);
      ASSERT_NEAR(mean[r], want / static_cast<double>(n), 1e-6);
      ASSERT_EQ(top[r], *std::max_element(begin, end));
      ASSERT_EQ(low[r], *std::min_element(begin, end));
    }
  }
}

TEST(Reduce, NanInfinityAndNothing) {
  for (const KernelTable& t : supported_tables()) {
    for (const std::size_t at : {0U, 5U, 16U, 39U}) {
      std::vector<float> x = random_floats(40, 1);
      float y = 0;
      x[at] = kInf;
      t.reduce_max({1, 40, x.data(), 40, &y});
      EXPECT_EQ(y, kInf);
      x[at] = -kInf;
      t.reduce_min({1, 40, x.data(), 40, &y});
      EXPECT_EQ(y, -kInf);
      x[at] = kNan;
      t.reduce_max({1, 40, x.data(), 40, &y});
      EXPECT_TRUE(std::isnan(y));
      t.reduce_min({1, 40, x.data(), 40, &y});
      EXPECT_TRUE(std::isnan(y));
      float low_high[2];
      t.min_max(40, x.data(), low_high);
      EXPECT_TRUE(std::isnan(low_high[0]) && std::isnan(low_high[1]));
    }
    float y = 7;
    t.reduce_sum({1, 0, nullptr, 0, &y});
    EXPECT_EQ(y, 0.0F);
    t.reduce_max({1, 0, nullptr, 0, &y});
    EXPECT_EQ(y, -kInf);
    t.reduce_min({1, 0, nullptr, 0, &y});
    EXPECT_EQ(y, kInf);
  }
}

TEST(Dot, EveryLength) {
  for (const std::size_t n : lengths()) {
    const auto a = random_floats(n, 1), b = random_floats(n, 2);
    const auto y =
        same_on_all_tables([&](const KernelTable& t) { return std::vector<float>{t.dot(n, a.data(), b.data())}; });
    double want = 0;
    for (std::size_t i = 0; i < n; i++) want += static_cast<double>(a[i]) * b[i];
    ASSERT_NEAR(y[0], want, 1e-5);
  }
}

}  // namespace
}  // namespace narthex
