// Packed right operands: on every table the bytes of their definition, from plain and transposed matrices of every
// small shape, padding included.
#include "kernels/rows_testing.h"

namespace narthex {
namespace {

std::size_t round_up(std::size_t n, std::size_t step) {
  return (n + step - 1) / step * step;
}

struct Shape {
  std::size_t k, n;
};
std::vector<Shape> shapes() {
  std::vector<Shape> out;
  for (std::size_t k = 1; k <= 70; k++)
    for (const std::size_t n : {1U, 3U, 15U, 16U, 17U, 33U}) out.push_back({k, n});
  for (const Shape& s : {Shape{384, 50}, Shape{129, 100}, Shape{1000, 20}, Shape{200, 7}}) out.push_back(s);
  return out;
}

// A matrix [k, n] whose columns are of all kinds, kept plain or transposed with 3 more values per row.
struct Matrix {
  std::size_t k, n, ld;
  bool transposed;
  std::vector<float> b;

  Matrix(const Shape& s, bool turned) : k(s.k), n(s.n), ld((turned ? k : n) + 3), transposed(turned) {
    const std::vector<float> columns = varied_rows(n, k, 1);
    b.assign((turned ? n : k) * ld, kNan);
    for (std::size_t j = 0; j < n; j++)
      for (std::size_t i = 0; i < k; i++) b[at(i, j)] = columns[j * k + i];
  }
  std::size_t at(std::size_t i, std::size_t j) const { return transposed ? j * ld + i : i * ld + j; }
  float get(std::size_t i, std::size_t j) const { return i < k && j < n ? b[at(i, j)] : 0.0F; }
};

TEST(PackBf16, HasTheBytesOfItsDefinition) {
  for (const Shape& s : shapes())
    for (const bool transposed : {false, true}) {
      const Matrix m(s, transposed);
      std::vector<std::uint16_t> b16(m.b.size());
      std::ranges::transform(m.b, b16.begin(), to_bf16);
      const std::size_t depth = padded_depth(RowFormat::kBf16, s.k), columns = round_up(s.n, 16);
      std::vector<std::uint16_t> want(columns * depth);
      for (std::size_t j = 0; j < columns; j++)
        for (std::size_t i = 0; i < depth; i++)
          want[(j / 16 * (depth / 2) + i / 2) * 32 + j % 16 * 2 + i % 2] = to_bf16(m.get(i, j));
      for (const KernelTable& t : supported_tables())
        for (const bool bf16 : {false, true}) {
          std::vector<std::uint16_t> packed(want.size(), 0xA5A5);
          const void* b = bf16 ? static_cast<const void*>(b16.data()) : m.b.data();
          t.pack_b_bf16({s.k, s.n, b, m.ld, bf16, transposed, packed.data()});
          ASSERT_EQ(want, packed) << t.name << " k " << s.k << " n " << s.n << " transposed " << transposed << " bf16 "
                                  << bf16;
        }
    }
}

struct Packed {
  std::vector<std::int8_t> bytes;
  std::vector<std::uint32_t> scale;
  std::vector<std::int32_t> colsum;
  bool operator==(const Packed&) const = default;
};
// A column that holds a NaN or an infinity has a scale of NaN; its bytes are not promised beyond being the same
// everywhere, so its products are NaN.
Packed expected_int8(const Matrix& m) {
  const std::size_t depth = padded_depth(RowFormat::kU8, m.k), columns = round_up(m.n, 16);
  Packed p{std::vector<std::int8_t>(columns * depth), std::vector<std::uint32_t>(columns),
           std::vector<std::int32_t>(columns)};
  for (std::size_t j = 0; j < m.n; j++) {
    float top = 0.0F;
    bool finite = true;
    for (std::size_t i = 0; i < m.k; i++) {
      finite = finite && std::isfinite(m.get(i, j));
      top = std::max(top, std::abs(m.get(i, j)));
    }
    const bool zeros = !(top > 1e-30F);
    p.scale[j] = word_of(!finite ? kNan : zeros ? 0.0F : top / 127.0F);
    for (std::size_t i = 0; i < m.k; i++) {
      const float q = !finite ? -127.0F : zeros ? 0.0F : m.get(i, j) * (127.0F / top);
      const auto byte = static_cast<std::int8_t>(std::lrint(q));
      p.bytes[(j / 16 * (depth / 4) + i / 4) * 64 + j % 16 * 4 + i % 4] = byte;
      p.colsum[j] += byte;
    }
  }
  return p;
}
TEST(PackInt8, HasTheBytesOfItsDefinition) {
  for (const Shape& s : shapes())
    for (const bool transposed : {false, true}) {
      const Matrix m(s, transposed);
      const Packed want = expected_int8(m);
      for (const KernelTable& t : supported_tables()) {
        std::vector<float> scale(want.scale.size(), 77.0F);
        Packed got{std::vector<std::int8_t>(want.bytes.size(), 99), {}, std::vector<std::int32_t>(scale.size(), 99)};
        t.pack_b_int8({s.k, s.n, m.b.data(), m.ld, transposed, got.bytes.data(), scale.data(), got.colsum.data()});
        for (const float x : scale) got.scale.push_back(word_of(x));
        const auto name = [&] {
          return testing::Message() << t.name << " k " << s.k << " n " << s.n << " transposed " << transposed;
        };
        ASSERT_EQ(want.scale, got.scale) << name();
        ASSERT_EQ(want.colsum, got.colsum) << name();
        ASSERT_EQ(want.bytes, got.bytes) << name();
      }
    }
}

}  // namespace
}  // namespace narthex
