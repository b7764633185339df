// Cast, CastLike and BitCast, between all element types but the complex ones and those of 6 bits.
//
//   cast_ops()   the rows of the family
//
// Elements go through one of three wide types: double from floating types, int64 and uint64 from the others, so that
// nothing is rounded twice on the way to float32 and no integer loses bits. Covered by tests/ops/cast_test.cc,
// tests/base/float8_test.cc and tests/conformance.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "base/float8.h"
#include "ops/number.h"
#include "ops/util.h"

namespace narthex {
namespace {

struct CastOptions {
  bool saturate = true;
  E8M0Rounding rounding = E8M0Rounding::kUp;
};

constexpr std::size_t kChunk = 256;
enum class Wide { kDouble, kSigned, kUnsigned };
struct Chunk {
  Wide kind = Wide::kDouble;
  double d[kChunk];
  std::int64_t i[kChunk];
  std::uint64_t u[kChunk];
};

const SmallFloat* small_float_format(DType dtype) {
  switch (dtype) {
    case DType::kFloat8E4M3FN:
      return &kFloat8E4M3FN;
    case DType::kFloat8E4M3FNUZ:
      return &kFloat8E4M3FNUZ;
    case DType::kFloat8E5M2:
      return &kFloat8E5M2;
    case DType::kFloat8E5M2FNUZ:
      return &kFloat8E5M2FNUZ;
    case DType::kFloat4E2M1:
      return &kFloat4E2M1;
    default:
      return nullptr;
  }
}

// Bits of the integer types that a Tensor keeps one a byte; 0 for all others.
int packed_integer_bits(DType dtype) {
  switch (dtype) {
    case DType::kInt4:
    case DType::kUint4:
      return 4;
    case DType::kInt2:
    case DType::kUint2:
      return 2;
    default:
      return 0;
  }
}
bool is_packed_signed(DType dtype) {
  return dtype == DType::kInt4 || dtype == DType::kInt2;
}

template <class T, class W>
T narrow(W value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value != W{0};  // true for a NaN
  } else if constexpr (std::is_integral_v<T>) {
    if constexpr (std::is_same_v<W, double>) return truncate<T>(value);
    return static_cast<T>(value);
  } else {
    return static_cast<T>(static_cast<Compute<T>>(value));
  }
}

std::byte narrow_packed(double value, DType dtype) {
  const int bits = packed_integer_bits(dtype);
  const double low = is_packed_signed(dtype) ? -std::ldexp(1.0, bits - 1) : 0;
  const double high = std::ldexp(1.0, is_packed_signed(dtype) ? bits - 1 : bits) - 1;
  const double whole = std::trunc(value);
  // ONNX leaves the rest undefined; its own tests expect 0.
  return whole >= low && whole <= high ? static_cast<std::byte>(static_cast<int>(whole)) : std::byte{0};
}
std::byte narrow_packed(std::uint64_t value, DType dtype) {
  const int bits = packed_integer_bits(dtype);
  auto low = static_cast<int>(value & ((1U << bits) - 1));
  if (is_packed_signed(dtype) && low >= 1 << (bits - 1)) low -= 1 << bits;
  return static_cast<std::byte>(low);
}
std::byte narrow_packed(std::int64_t value, DType dtype) {
  return narrow_packed(static_cast<std::uint64_t>(value), dtype);
}

template <class F>
Result<void> dispatch_native(DType dtype, F&& f) {
  return dispatch<bool, float, double, Half, BFloat16, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t,
                  std::int32_t, std::uint32_t, std::int64_t, std::uint64_t>(dtype, std::forward<F>(f));
}

Result<void> load(const Tensor& x, std::size_t begin, std::size_t n, Chunk& out) {
  const DType dtype = x.dtype();
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(x.data()[begin + i]); };
  if (const SmallFloat* format = small_float_format(dtype)) {
    out.kind = Wide::kDouble;
    for (std::size_t i = 0; i < n; ++i) out.d[i] = static_cast<double>(small_float_value(byte(i), *format));
    return {};
  }
  if (dtype == DType::kFloat8E8M0) {
    out.kind = Wide::kDouble;
    for (std::size_t i = 0; i < n; ++i) out.d[i] = static_cast<double>(e8m0_value(byte(i)));
    return {};
  }
  if (packed_integer_bits(dtype) > 0) {  // already extended to a byte
    out.kind = Wide::kSigned;
    for (std::size_t i = 0; i < n; ++i) out.i[i] = static_cast<std::int8_t>(byte(i));
    return {};
  }
  return dispatch_native(dtype, [&]<class T>() -> Result<void> {
    const std::span<const T> from = x.as<T>().subspan(begin, n);
    if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
      out.kind = Wide::kSigned;
      std::ranges::copy(from, out.i);
    } else if constexpr (std::is_integral_v<T>) {
      out.kind = Wide::kUnsigned;
      std::ranges::copy(from, out.u);
    } else {
      out.kind = Wide::kDouble;
      for (std::size_t i = 0; i < n; ++i) out.d[i] = static_cast<double>(static_cast<Compute<T>>(from[i]));
    }
    return {};
  });
}

template <class W>
Result<void> store(const W* values, std::size_t begin, std::size_t n, const CastOptions& options, Tensor& y) {
  const DType dtype = y.dtype();
  std::byte* bytes = y.mutable_data() + begin * dtype_size(dtype);
  if (const SmallFloat* format = small_float_format(dtype)) {
    for (std::size_t i = 0; i < n; ++i) {
      bytes[i] = static_cast<std::byte>(small_float_bits(static_cast<float>(values[i]), *format, options.saturate));
    }
    return {};
  }
  if (dtype == DType::kFloat8E8M0) {
    for (std::size_t i = 0; i < n; ++i) {
      bytes[i] = static_cast<std::byte>(e8m0_bits(static_cast<float>(values[i]), options.rounding, options.saturate));
    }
    return {};
  }
  if (packed_integer_bits(dtype) > 0) {
    for (std::size_t i = 0; i < n; ++i) bytes[i] = narrow_packed(values[i], dtype);
    return {};
  }
  return dispatch_native(dtype, [&]<class T>() -> Result<void> {
    const std::span<T> to = y.as_mutable<T>().subspan(begin, n);
    for (std::size_t i = 0; i < n; ++i) to[i] = narrow<T>(values[i]);
    return {};
  });
}

// The chunk's own wide values, given to f.
template <class F>
Result<void> visit(const Chunk& chunk, F&& f) {
  switch (chunk.kind) {
    case Wide::kSigned:
      return f(chunk.i);
    case Wide::kUnsigned:
      return f(chunk.u);
    case Wide::kDouble:
      break;
  }
  return f(chunk.d);
}

std::string number_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "INF" : "-INF";
  return fmt::format("{:.8g}", value);  // as ONNX Runtime writes them, doubles included
}
std::string number_text(std::int64_t value) {
  return fmt::to_string(value);
}
std::string number_text(std::uint64_t value) {
  return fmt::to_string(value);
}

Result<double> parse_number(std::string_view text) {
  std::string lower;
  for (const char c : text) {
    if (c != ' ') lower += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  if (lower.starts_with('+')) lower.erase(0, 1);
  double value = 0;
  const auto [end, error] = std::from_chars(lower.data(), lower.data() + lower.size(), value);
  if (lower.empty() || end != lower.data() + lower.size() ||
      (error != std::errc() && error != std::errc::result_out_of_range)) {
    return fail(ErrorCode::kBadInput, "'{}' is not a number", text.substr(0, 40));
  }
  return value;
}

Result<void> cast_from_strings(const Tensor& x, const CastOptions& options, Tensor& y) {
  for (std::size_t i = 0; i < x.strings().size(); ++i) {
    const std::string& text = x.strings()[i];
    std::int64_t whole = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), whole);
    if (error == std::errc() && end == text.data() + text.size()) {
      NX_TRY_VOID(store(&whole, i, 1, options, y));
      continue;
    }
    NX_TRY(const double value, parse_number(text));
    NX_TRY_VOID(store(&value, i, 1, options, y));
  }
  return {};
}

Result<void> cast(const Tensor& x, DType to, const CastOptions& options, EvalContext& c) {
  if (x.dtype() == to) {
    c.set(0, x);
    return {};
  }
  NX_TRY(Tensor * y, c.allocate(0, to, x.dims()));
  if (x.dtype() == DType::kString) return cast_from_strings(x, options, *y);
  const auto count = static_cast<std::size_t>(x.count());
  Chunk chunk;
  for (std::size_t begin = 0; begin < count; begin += kChunk) {
    const std::size_t n = std::min(kChunk, count - begin);
    NX_TRY_VOID(load(x, begin, n, chunk));
    NX_TRY_VOID(visit(chunk, [&](const auto* values) -> Result<void> {
      if (to != DType::kString) return store(values, begin, n, options, *y);
      for (std::size_t i = 0; i < n; ++i) y->mutable_strings()[begin + i] = number_text(values[i]);
      return {};
    }));
  }
  return {};
}

Result<CastOptions> cast_options(const Node& node) {
  CastOptions options;
  NX_TRY(const std::int64_t saturate, node.int_attr("saturate", 1));
  NX_TRY(const std::string rounding, node.string_attr("round_mode", "up"));
  options.saturate = saturate != 0;
  if (rounding == "down") {
    options.rounding = E8M0Rounding::kDown;
  } else if (rounding == "nearest") {
    options.rounding = E8M0Rounding::kNearest;
  } else if (rounding != "up") {
    return fail(ErrorCode::kBadModel, "attribute 'round_mode' must be 'up', 'down' or 'nearest', but is '{}'",
                rounding);
  }
  return options;
}

Result<DType> target(const Node& node) {
  NX_TRY(const std::int64_t to, node.int_attr("to", 0));
  if (to <= 0 || to > static_cast<std::int64_t>(DType::kInt2)) {
    return fail(ErrorCode::kBadModel, "attribute 'to' is {}, which names no supported type", to);
  }
  return static_cast<DType>(to);
}

Result<void> eval_cast(const Node& node, EvalContext& c) {
  NX_TRY(const CastOptions options, cast_options(node));
  NX_TRY(const DType to, target(node));
  return cast(c.input(0), to, options, c);
}

Result<void> eval_cast_like(const Node& node, EvalContext& c) {
  NX_TRY(const CastOptions options, cast_options(node));
  return cast(c.input(0), c.input(1).dtype(), options, c);
}

Result<void> eval_bit_cast(const Node& node, EvalContext& c) {
  NX_TRY(const DType to, target(node));
  const Tensor& x = c.input(0);
  const unsigned bits = onnx::dtype_bits(x.dtype());
  if (bits < 8 || onnx::dtype_bits(to) != bits) {
    return fail(ErrorCode::kUnsupported, "cannot reinterpret {} as {}", dtype_name(x.dtype()), dtype_name(to));
  }
  NX_TRY(Tensor * y, c.allocate(0, to, x.dims()));
  if (x.bytes() > 0) std::memcpy(y->mutable_data(), x.data(), x.bytes());
  if (to == DType::kBool) {  // any other byte would not be a bool
    for (std::size_t i = 0; i < y->bytes(); ++i) y->mutable_data()[i] &= std::byte{1};
  }
  return {};
}

// Contents as they are after the cast; nullopt where that is not decided.
std::optional<std::vector<Dim>> cast_content(std::vector<Dim> content, DType from, DType to) {
  for (Dim& element : content) {
    const auto value = element.constant();
    if (to == DType::kBool && from != DType::kBool) {
      if (value) {
        element = Dim(static_cast<std::int64_t>(*value != 0));
      } else if (Dim::always_at_least(element, Dim(1)) == true) {
        element = Dim(1);
      } else {
        return std::nullopt;
      }
    } else if (to == DType::kInt32 && value) {
      element = Dim(std::int64_t{static_cast<std::int32_t>(*value)});
    }
  }
  return content;
}

bool has_content(DType dtype) {
  return dtype == DType::kInt64 || dtype == DType::kInt32 || dtype == DType::kBool;
}

Result<void> infer_cast_to(InferContext& c, DType to) {
  const Shape* shape = c.shape(0);
  c.set(0, to, shape != nullptr ? std::optional(*shape) : std::nullopt);
  const DType from = c.dtype(0);
  if (!has_content(from) || !has_content(to)) return {};
  auto content = c.content(0);
  if (!content) return {};
  if (auto after = cast_content(*std::move(content), from, to)) c.set_content(0, *std::move(after));
  return {};
}

Result<void> infer_cast(InferContext& c) {
  NX_TRY(const DType to, target(c.node()));
  return infer_cast_to(c, to);
}
Result<void> infer_cast_like(InferContext& c) {
  return infer_cast_to(c, c.dtype(1));
}
Result<void> infer_bit_cast(InferContext& c) {
  NX_TRY(const DType to, target(c.node()));
  const Shape* shape = c.shape(0);
  c.set(0, to, shape != nullptr ? std::optional(*shape) : std::nullopt);
  return {};
}

}  // namespace

std::span<const OpDef> cast_ops() {
  static constexpr OpDef kOps[] = {
      // name domain since in  out  normalise infer  eval
      {"Cast", kOnnx, 6, 1, 1, 1, 1, nullptr, infer_cast, eval_cast},
      {"CastLike", kOnnx, 15, 2, 2, 1, 1, nullptr, infer_cast_like, eval_cast_like},
      {"BitCast", kOnnx, 26, 1, 1, 1, 1, nullptr, infer_bit_cast, eval_bit_cast},
  };
  return kOps;
}

}  // namespace narthex
