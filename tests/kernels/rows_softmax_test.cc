// The rows of attention against float64, in every format on every table with equal bits; masks in all their strides.
#include "kernels/rows_testing.h"

namespace narthex {
namespace {

constexpr std::size_t kRows = 4;

// A mask of kRows rows that lie `step` apart, the first one at `first`, in values with some places left out.
struct Mask {
  std::vector<float> values;
  std::ptrdiff_t first = 0, step = 0;
  const float* row(std::size_t r) const { return values.data() + first + static_cast<std::ptrdiff_t>(r) * step; }
};
Mask mask_of(std::size_t n, int kind) {
  Mask m;
  if (kind == 0) return m;
  m.values = random_floats(kRows * n, 2, -1, 1);
  for (std::size_t i = 0; i < m.values.size(); i += 3) m.values[i] = -kInf;
  const auto width = static_cast<std::ptrdiff_t>(n);
  if (kind == 2) m.step = width;
  if (kind == 3) m.step = -width, m.first = width * static_cast<std::ptrdiff_t>(kRows - 1);
  return m;
}

void check_row(RowFormat format, const RowBuffer& y, std::size_t r, const std::vector<double>& score) {
  double top = -kInf, sum = 0;
  for (const double s : score) top = std::max(top, s);
  for (const double s : score) sum += std::exp(s - top);
  double levels = 0;
  for (std::size_t i = 0; i < score.size(); i++) {
    const double e = top == -kInf ? 0.0 : std::exp(score[i] - top), p = top == -kInf ? 0.0 : e / sum;
    if (format == RowFormat::kU8) {
      const double u = y.get<std::uint8_t>(r, i);
      levels += u;
      ASSERT_NEAR(u, 255 * e, 0.502) << "row " << r << " at " << i;
    } else {
      ASSERT_NEAR(y.value(r, i), p, format == RowFormat::kF32 ? 1e-6 : p * 0x1p-8 + 1e-38)
          << "row " << r << " at " << i;
    }
    if (e == 0) {
      ASSERT_EQ(format == RowFormat::kU8 ? y.get<std::uint8_t>(r, i) : y.value(r, i), 0.0F)
          << "row " << r << " at " << i;
    }
  }
  if (format == RowFormat::kU8) {
    ASSERT_EQ(y.scale(r), levels == 0 ? 0.0F : 1.0F / static_cast<float>(levels)) << "row " << r;
  }
}

TEST(SoftmaxRows, EveryLengthFormatAndMask) {
  for (const std::size_t n : row_lengths())
    for (const int kind : {0, 1, 2, 3}) {
      const std::vector<float> x = random_floats(kRows * n, 1, -40, 40);
      const Mask mask = mask_of(n, kind);
      for (const RowFormat format : kFormats) {
        std::vector<std::uint32_t> first;
        for (const KernelTable& t : supported_tables()) {
          RowBuffer y(format, kRows, n);
          t.softmax_rows({kRows, n, x.data(), n, 0.125F, kind == 0 ? nullptr : mask.row(0), mask.step, y.args()});
          if (first.empty()) {
            first = y.words();
            for (std::size_t r = 0; r < kRows; r++) {
              std::vector<double> score(n);
              for (std::size_t i = 0; i < n; i++)
                score[i] = x[r * n + i] * 0.125F + (kind == 0 ? 0.0F : mask.row(r)[i]);
              ASSERT_NO_FATAL_FAILURE(check_row(format, y, r, score)) << "length " << n << " mask " << kind;
            }
            for (std::size_t i = n; i < padded_depth(format, n); i++)
              ASSERT_EQ(y.get<std::uint8_t>(0, i * element_bytes(format)), 0) << "padding at " << i;
          }
          ASSERT_EQ(first, y.words()) << t.name << " length " << n << " mask " << kind << " format "
                                      << static_cast<int>(format);
        }
      }
    }
}

TEST(SoftmaxRows, NothingLeftIsZerosAndNanIsNan) {
  for (const std::size_t n : {1U, 20U, 64U, 100U, 5000U})
    for (const float other : {-kInf, 1.0F})
      for (const RowFormat format : kFormats)
        for (const KernelTable& t : supported_tables()) {
          std::vector<float> x(n, -kInf);
          RowBuffer y(format, 1, n);
          t.softmax_rows({1, n, x.data(), n, 1.0F, nullptr, 0, y.args()});
          for (std::size_t i = 0; i < n; i++) ASSERT_EQ(y.value(0, i), 0.0F) << t.name << " length " << n;
          std::ranges::fill(x, other);
          x[n / 2] = kNan;
          t.softmax_rows({1, n, x.data(), n, 1.0F, nullptr, 0, y.args()});
          for (std::size_t i = 0; i < n; i++) {
            const float value = format == RowFormat::kU8 ? y.scale(0) : y.value(0, i);
            ASSERT_TRUE(std::isnan(value)) << t.name << " length " << n << " beside " << other;
          }
          for (std::size_t i = n; i < padded_depth(format, n); i++)
            ASSERT_EQ(y.get<std::uint8_t>(0, i * element_bytes(format)), 0) << t.name << " padding at " << i;
        }
}

TEST(SoftmaxRows, ARowDoesNotDependOnItsNeighbours) {
  constexpr std::size_t n = 150;
  std::vector<float> x = random_floats(kRows * n, 1, -4, 4);
  std::fill_n(x.begin() + n, n, -kInf);
  x[2 * n + 3] = kNan;
  for (const RowFormat format : kFormats)
    for (const KernelTable& t : supported_tables()) {
      RowBuffer all(format, kRows, n);
      t.softmax_rows({kRows, n, x.data(), n, 1.0F, nullptr, 0, all.args()});
      for (std::size_t r = 0; r < kRows; r++) {
        RowBuffer one(format, 1, n);
        t.softmax_rows({1, n, x.data() + r * n, n, 1.0F, nullptr, 0, one.args()});
        ASSERT_EQ(all.words(r, 1), one.words()) << t.name << " row " << r;
      }
    }
}

}  // namespace
}  // namespace narthex
