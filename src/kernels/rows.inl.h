// Rows on their way into a product: encoding, normalising with a residual, gating, rotating. Included by isa/*.cc only.
//
//   Encoder        writes one row in its RowFormat, vector by vector, zeros up to whole 64 bytes
//   RowRange       least, greatest and "is there a NaN" of a row, from which the scale of a kU8 row follows
//
// A row of floats is put together in a buffer on the stack where its parts fit (kRowBuffer), so that each value is
// computed once; longer rows are computed again for the second look that kU8 needs: the same bits. Sums are those of
// sum_of, the order in rowwise.inl.h. Covered by tests/kernels/rows_test.cc.
#pragma once

inline constexpr size_t kRowBuffer = 4096;  // floats: 16 KB, a third of L1

// All lanes of value(i, lanes) beyond `lanes` are 0.
template <class F>
NX_INLINE void encode_f32(size_t n, float* y, F value) {
  for_vectors(n, [&](size_t i, size_t lanes) NX_LAMBDA { store_up_to(y + i, lanes, value(i, lanes)); });
}
template <class F>
NX_INLINE void encode_bf16(size_t n, uint16_t* y, F value) {
  size_t i = 0;
  for (; i + 16 <= n; i += 16) store_bf16(y + i, value(i, size_t{16}));
  const size_t padded = (n + 31) / 32 * 32;
  if (i < n) {
    store_bf16(y + i, value(i, n - i));
    i += 16;
  }
  if (i < padded) store_bf16(y + i, splat(0.0F));
}

struct RowRange {
  Vec16f low, high;
  Vec16f poison;  // 0, or NaN where a NaN or an infinity was seen
};
NX_INLINE RowRange no_range() {  // 0 belongs to every range
  return {splat(0.0F), splat(0.0F), splat(0.0F)};
}
NX_INLINE void widen(RowRange& r, Vec16f v) {
  r.low = min16(v, r.low);
  r.high = max16(v, r.high);
  r.poison = mul_add(v, splat(0.0F), r.poison);
}
NX_INLINE RowRange join(const RowRange& a, const RowRange& b) {
  return {min16(a.low, b.low), max16(a.high, b.high), a.poison + b.poison};
}
// Values outside [0, n) count as 0. Four ranges: one would be a chain of n / 16 dependent steps.
template <class F>
NX_INLINE RowRange range_of(size_t n, F value) {
  RowRange r[4] = {no_range(), no_range(), no_range(), no_range()};
  size_t i = 0;
  for (; i + 64 <= n; i += 64) {
#pragma GCC unroll 4
    for (size_t j = 0; j < 4; j++) widen(r[j], value(i + 16 * j, size_t{16}));
  }
  for (; i + 16 <= n; i += 16) widen(r[0], value(i, size_t{16}));
  if (i < n) widen(r[1], value(i, n - i));
  return join(join(r[0], r[1]), join(r[2], r[3]));
}

struct RowScale {
  float inverse;  // what values are multiplied by
  int32_t zero;
};
// A row whose values are all below 1e-30 is one of zeros: 255 / range would be infinite.
NX_INLINE RowScale scale_of(const RowRange& r, size_t row, const EncodedRows& out) {
  const float low = -max_lanes(neg16(r.low)), range = max_lanes(r.high) - low, poison = sum_lanes(r.poison);
  const bool usable = range > 1e-30F;
  const float inverse = usable ? 255.0F / range : 1.0F;
  const float zero_at = usable && poison == 0.0F ? -low * inverse : 0.0F;  // in [0, 255]
  const int32_t zero = static_cast<int32_t>(__builtin_rintf(zero_at));
  out.scale[row] = (usable ? range / 255.0F : 1.0F) + poison;
  out.zero[row] = zero;
  return {inverse + poison, zero};
}
NX_INLINE Vec16i quantized(Vec16f v, const RowScale& s) {  // saturated when narrowed
  return to_int(v * splat(s.inverse)) + splat_int(s.zero);
}
template <class F>
NX_INLINE void encode_u8(size_t n, uint8_t* y, const RowScale& s, F value) {
  size_t i = 0;
  for (; i + 64 <= n; i += 64) {
    store_bits(y + i, narrow_u8(quantized(value(i, size_t{16}), s), quantized(value(i + 16, size_t{16}), s),
                                quantized(value(i + 32, size_t{16}), s), quantized(value(i + 48, size_t{16}), s)));
  }
  if (i == n) return;
  Vec16i part[4];
  for (size_t j = 0; j < 4; j++) {
    const size_t at = i + 16 * j, lanes = at >= n ? 0 : n - at < 16 ? n - at : 16;
    part[j] = lanes == 0 ? splat_int(0) : quantized(value(at, lanes), s);
    if (lanes > 0 && lanes < 16) part[j] = bits(keep_first(from_bits(part[j]), lanes, 0.0F));
  }
  store_bits(y + i, narrow_u8(part[0], part[1], part[2], part[3]));
}
// Any format from a value that is cheap to compute twice.
template <class F>
NX_INLINE void encode_row(size_t n, size_t row, const EncodedRows& out, F value) {
  switch (out.format) {
    case RowFormat::kF32:
      return encode_f32(n, static_cast<float*>(out.y) + row * out.ldy, value);
    case RowFormat::kBf16:
      return encode_bf16(n, static_cast<uint16_t*>(out.y) + row * out.ldy, value);
    case RowFormat::kU8:
      return encode_u8(n, static_cast<uint8_t*>(out.y) + row * out.ldy, scale_of(range_of(n, value), row, out), value);
  }
}
template <class F>
NX_INLINE void encode_scaled(size_t n, size_t row, const EncodedRows& out, F value) {
  if (out.factor == nullptr) return encode_row(n, row, out, value);
  encode_row(n, row, out, [&](size_t i, size_t lanes) NX_LAMBDA {
    return value(i, lanes) * load_up_to(out.factor + i, lanes, 0.0F);
  });
}
NX_INLINE void encode_floats(size_t n, size_t row, const EncodedRows& out, const float* x) {
  encode_scaled(n, row, out, [&](size_t i, size_t lanes) NX_LAMBDA { return load_up_to(x + i, lanes, 0.0F); });
}

NX_INLINE void encode_rows_all(const EncodeRows& g) {
  for (size_t row = 0; row < g.rows; row++) {
    if (!g.x_bf16) {
      encode_floats(g.cols, row, g.out, static_cast<const float*>(g.x) + row * g.ldx);
    } else {
      const uint16_t* x = static_cast<const uint16_t*>(g.x) + row * g.ldx;
      encode_scaled(g.cols, row, g.out, [&](size_t i, size_t lanes) NX_LAMBDA {
        return lanes == 16 ? load_bf16(x + i) : load_bf16_first(x + i, lanes);
      });
    }
  }
}

// A row that is a, or a + b.
struct Addends {
  const float* a;
  const float* b;  // or null
};
NX_INLINE Vec16f load_sum(const Addends& s, size_t i, size_t lanes, float fill) {
  Vec16f v = load_up_to(s.a + i, lanes, fill);
  if (s.b != nullptr) v = v + load_up_to(s.b + i, lanes, 0.0F);
  return v;
}

struct NormFactors {
  Vec16f shift, factor;
  const float* gamma;
  const float* beta;
};
NX_INLINE Vec16f normalised(const NormFactors& f, size_t i, size_t lanes, Vec16f s) {  // as scale_row has it
  Vec16f v = (s - f.shift) * f.factor;
  if (f.gamma != nullptr && f.beta != nullptr) {
    v = mul_add(v, load_up_to(f.gamma + i, lanes, 0.0F), load_up_to(f.beta + i, lanes, 0.0F));
  } else if (f.gamma != nullptr) {
    v = v * load_up_to(f.gamma + i, lanes, 0.0F);
  } else if (f.beta != nullptr) {
    v = v + load_up_to(f.beta + i, lanes, 0.0F);
  }
  return v;
}
// The sum of squares in the order of dot_row.
template <class F>
NX_INLINE float square_sum_of(size_t n, F value) {
  Vec16f even = splat(0.0F), odd = splat(0.0F);
  const auto step = [&](size_t i, size_t lanes, Vec16f& acc) NX_LAMBDA {
    const Vec16f v = value(i, lanes);
    acc = mul_add(v, v, acc);
  };
  size_t i = 0;
  for (; i + 32 <= n; i += 32) {
    step(i, 16, even);
    step(i + 16, 16, odd);
  }
  if (i < n) step(i, n - i < 16 ? n - i : 16, even);
  if (i + 16 < n) step(i + 16, n - i - 16, odd);
  return sum_lanes(even + odd);
}
// Adds up a row and keeps it at `kept`, unless that is null. Afterwards `s` is where the row can be read.
NX_INLINE NormFactors norm_factors(const NormRows& g, float* kept, Addends& s) {
  const auto value = [&](size_t i, size_t lanes) NX_LAMBDA {
    const Vec16f v = load_sum(s, i, lanes, 0.0F);
    if (kept != nullptr) store_up_to(kept + i, lanes, v);
    return v;
  };
  const float count = static_cast<float>(g.cols);
  float mean = 0.0F, squares = 0.0F;
  if (g.kind == NormKind::kLayer) {  // the arithmetic of layer_norm_row
    mean = sum_of(g.cols, value) / count;
    if (kept != nullptr) s = {kept, nullptr};
    const Vec16f m = splat(mean);
    squares = sum_of(g.cols, [&](size_t i, size_t lanes) NX_LAMBDA {
      const Vec16f d = load_sum(s, i, lanes, mean) - m;
      return d * d;
    });
  } else {  // of rms_norm_row
    squares = square_sum_of(g.cols, value);
    if (kept != nullptr) s = {kept, nullptr};
  }
  return {splat(mean), splat(1.0F / sqrt1(squares / count + g.epsilon)), g.gamma, g.beta};
}

// The second half of norm_row: value(i, lanes) is the row's result.
template <class F>
NX_INLINE void put_row(size_t n, size_t row, float* y, float* buffer, const EncodedRows& out, F value) {
  float* floats = y != nullptr ? y : n <= kRowBuffer ? buffer : nullptr;
  if (floats != nullptr) {
    encode_f32(n, floats, value);
    if (out.y != nullptr) encode_floats(n, row, out, floats);
  } else if (out.y != nullptr) {
    // Beyond the row a norm gives what it makes of 0.
    encode_scaled(n, row, out, [&](size_t i, size_t lanes) NX_LAMBDA {
      const Vec16f v = value(i, lanes);
      return lanes == 16 ? v : keep_first(v, lanes, 0.0F);
    });
  }
}
NX_INLINE void norm_row(const NormRows& g, size_t row, float* buffer) {
  float* y = g.y == nullptr ? nullptr : g.y + row * g.ldy;
  Addends s = {g.x + row * g.ldx, g.residual == nullptr ? nullptr : g.residual + row * g.ld_residual};
  float* kept = nullptr;
  if (g.sum != nullptr) {
    kept = g.sum + row * g.ld_sum;
  } else if (s.b != nullptr && g.kind != NormKind::kNone) {
    kept = y != nullptr ? y : g.cols <= kRowBuffer ? buffer : nullptr;
  }
  if (g.kind != NormKind::kNone) {
    const NormFactors f = norm_factors(g, kept, s);
    put_row(g.cols, row, y, buffer, g.out,
            [&](size_t i, size_t lanes) NX_LAMBDA { return normalised(f, i, lanes, load_sum(s, i, lanes, 0.0F)); });
    return;
  }
  if (kept != nullptr) {
    encode_f32(g.cols, kept, [&](size_t i, size_t lanes) NX_LAMBDA { return load_sum(s, i, lanes, 0.0F); });
    s = {kept, nullptr};
  }
  put_row(g.cols, row, y, buffer, g.out, [&](size_t i, size_t lanes) NX_LAMBDA { return load_sum(s, i, lanes, 0.0F); });
}
NX_INLINE void norm_rows_all(const NormRows& g) {
  float buffer[kRowBuffer];
  for (size_t row = 0; row < g.rows; row++) norm_row(g, row, buffer);
}

// y = activation(a) · b for columns [0, n), in a loop of its own per activation.
template <Activation Kind>
void gate(size_t n, const float* a, const float* b, float* y) {
  encode_f32(n, y, [&](size_t i, size_t lanes) NX_LAMBDA {
    return activate(Kind, load_up_to(a + i, lanes, 0.0F)) * load_up_to(b + i, lanes, 0.0F);
  });
}
using Gate = void (*)(size_t n, const float* a, const float* b, float* y);
constexpr Gate kGate[] = {gate<Activation::kNone>,     gate<Activation::kRelu>, gate<Activation::kGeluErf>,
                          gate<Activation::kGeluTanh>, gate<Activation::kTanh>, gate<Activation::kSigmoid>,
                          gate<Activation::kSilu>};
NX_INLINE void gated_rows_all(const GatedRows& g) {
  float buffer[kRowBuffer];
  const Gate run = kGate[static_cast<size_t>(g.activation)];
  for (size_t row = 0; row < g.rows; row++) {
    const float* a = g.a + row * g.lda;
    const float* b = g.b + row * g.ldb;
    if (g.cols <= kRowBuffer) {
      run(g.cols, a, b, buffer);
      encode_floats(g.cols, row, g.out, buffer);
      continue;
    }
    size_t filled = g.cols;  // the buffer holds columns [filled, filled + kRowBuffer) of this row; none yet
    encode_scaled(g.cols, row, g.out, [&](size_t i, size_t lanes) NX_LAMBDA {
      if (i < filled || i >= filled + kRowBuffer) {
        filled = i / kRowBuffer * kRowBuffer;
        run(g.cols - filled < kRowBuffer ? g.cols - filled : kRowBuffer, a + filled, b + filled, buffer);
      }
      return load_up_to(buffer + (i - filled), lanes, 0.0F);
    });
  }
}

// One head: y1 = x1 cos1 − x2 sin1, y2 = x2 cos2 + x1 sin2.
NX_INLINE void rotate_head(size_t half, float* x, const float* cos, const float* sin) {
  for_vectors(half, [&](size_t i, size_t lanes) NX_LAMBDA {
    const Vec16f x1 = load_up_to(x + i, lanes, 0.0F), x2 = load_up_to(x + half + i, lanes, 0.0F);
    const Vec16f c1 = load_up_to(cos + i, lanes, 0.0F), c2 = load_up_to(cos + half + i, lanes, 0.0F);
    const Vec16f s1 = load_up_to(sin + i, lanes, 0.0F), s2 = load_up_to(sin + half + i, lanes, 0.0F);
    store_up_to(x + i, lanes, mul_add(neg16(x2), s1, x1 * c1));
    store_up_to(x + half + i, lanes, mul_add(x1, s2, x2 * c2));
  });
}
NX_INLINE void rotate_rows_all(const RotateRows& g) {
  for (size_t row = 0; row < g.rows; row++) {
    const size_t position = (g.first + row) * g.rotary;
    for (size_t head = 0; head < g.heads; head++)
      rotate_head(g.rotary / 2, g.x + row * g.ldx + head * g.d, g.cos + position, g.sin + position);
  }
}
