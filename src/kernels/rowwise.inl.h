// Reductions along rows: sums, extremes, softmax, normalisation. Included by isa/*.cc only.
//
// Every sum runs over two accumulators of 16 lanes that take vectors in turn, then acc0 + acc1, then the tree of
// sum_lanes; a partial last vector is filled with the neutral value. This order is the definition: it does not depend
// on the instruction set.
#pragma once

template <class F>
NX_INLINE float sum_of(size_t n, F value_at) {  // value_at(i, lanes) gives lanes i..i+lanes, 0 beyond
  Vec16f even = splat(0.0F), odd = splat(0.0F);
  size_t i = 0;
  for (; i + 32 <= n; i += 32) {
    even = even + value_at(i, size_t{16});
    odd = odd + value_at(i + 16, size_t{16});
  }
  if (i + 16 <= n) {
    even = even + value_at(i, size_t{16});
    i += 16;
    if (i < n) odd = odd + value_at(i, n - i);
  } else if (i < n) {
    even = even + value_at(i, n - i);
  }
  return sum_lanes(even + odd);
}
NX_INLINE Vec16f load_up_to(const float* p, size_t lanes, float fill) {
  return lanes == 16 ? load(p) : load_first(p, lanes, fill);
}
NX_INLINE void store_up_to(float* p, size_t lanes, Vec16f v) {
  if (lanes == 16) {
    store(p, v);
  } else {
    store_first(p, lanes, v);
  }
}
template <class F>
NX_INLINE void for_vectors(size_t n, F f) {
  size_t i = 0;
  for (; i + 16 <= n; i += 16) f(i, size_t{16});
  if (i < n) f(i, n - i);
}

NX_INLINE float sum_row(size_t n, const float* x) {
  return sum_of(n, [&](size_t i, size_t lanes) NX_LAMBDA { return load_up_to(x + i, lanes, 0.0F); });
}
// The largest value of Sign · x times Sign, or a NaN if there is one: Sign −1 gives the least. NaNs are gathered apart,
// to keep their test off the chain of maxima.
template <int Sign>
NX_INLINE float extreme_of_row(size_t n, const float* x) {
  const float lowest = -__builtin_inff();
  Vec16f top = splat(lowest), nan = splat(0.0F);
  for_vectors(n, [&](size_t i, size_t lanes) NX_LAMBDA {
    Vec16f v = load_up_to(x + i, lanes, Sign > 0 ? lowest : -lowest);
    if constexpr (Sign < 0) v = neg16(v);
    top = max16(v, top);
    nan = select(is_nan(v), v, nan);
  });
  float all[16];
  store(all, nan);
  for (const float lane : all)
    if (lane != lane) return lane;
  return Sign > 0 ? max_lanes(top) : -max_lanes(top);
}
NX_INLINE float max_row(size_t n, const float* x) {
  return extreme_of_row<1>(n, x);
}
NX_INLINE float min_row(size_t n, const float* x) {
  return extreme_of_row<-1>(n, x);
}
template <class F>
NX_INLINE void reduce_rows(const RowReduce& g, F f) {
  for (size_t row = 0; row < g.rows; row++) g.y[row] = f(g.cols, g.x + row * g.ldx);
}

NX_INLINE float dot_row(size_t n, const float* a, const float* b) {
  Vec16f even = splat(0.0F), odd = splat(0.0F);
  size_t i = 0;
  for (; i + 32 <= n; i += 32) {
    even = mul_add(load(a + i), load(b + i), even);
    odd = mul_add(load(a + i + 16), load(b + i + 16), odd);
  }
  if (i + 16 <= n) {
    even = mul_add(load(a + i), load(b + i), even);
    i += 16;
    if (i < n) odd = mul_add(load_first(a + i, n - i, 0.0F), load_first(b + i, n - i, 0.0F), odd);
  } else if (i < n) {
    even = mul_add(load_first(a + i, n - i, 0.0F), load_first(b + i, n - i, 0.0F), even);
  }
  return sum_lanes(even + odd);
}

NX_INLINE void softmax_row(size_t n, const float* x, float scale, const float* mask, float* y) {
  const float lowest = -__builtin_inff();
  const Vec16f factor = splat(scale);
  const auto score = [&](size_t i, size_t lanes) NX_LAMBDA {
    const Vec16f scaled = load_up_to(x + i, lanes, lowest) * factor;
    return mask == nullptr ? scaled : scaled + load_up_to(mask + i, lanes, 0.0F);
  };
  Vec16f top = splat(lowest);
  for_vectors(n, [&](size_t i, size_t lanes) NX_LAMBDA {
    const Vec16f s = score(i, lanes);
    store_up_to(y + i, lanes, s);
    top = max16(top, lanes == 16 ? s : keep_first(s, lanes, lowest));
  });
  const Vec16f shift = splat(max_lanes(top));
  const float sum = sum_of(n, [&](size_t i, size_t lanes) NX_LAMBDA {
    const Vec16f e = exp16(load_up_to(y + i, lanes, lowest) - shift);
    store_up_to(y + i, lanes, e);
    return lanes == 16 ? e : keep_first(e, lanes, 0.0F);
  });
  const Vec16f factor_out = splat(1.0F / sum);
  for_vectors(n, [&](size_t i, size_t lanes)
                     NX_LAMBDA { store_up_to(y + i, lanes, load_up_to(y + i, lanes, 0.0F) * factor_out); });
}

// y = (x − shift) · factor · gamma + beta
NX_INLINE void scale_row(const Norm& g, const float* x, float shift, float factor, float* y) {
  const Vec16f s = splat(shift), f = splat(factor);
  for_vectors(g.cols, [&](size_t i, size_t lanes) NX_LAMBDA {
    Vec16f v = (load_up_to(x + i, lanes, 0.0F) - s) * f;
    const bool gamma = g.gamma != nullptr, beta = g.beta != nullptr;
    if (gamma && beta) {
      v = mul_add(v, load_up_to(g.gamma + i, lanes, 0.0F), load_up_to(g.beta + i, lanes, 0.0F));
    } else if (gamma) {
      v = v * load_up_to(g.gamma + i, lanes, 0.0F);
    } else if (beta) {
      v = v + load_up_to(g.beta + i, lanes, 0.0F);
    }
    store_up_to(y + i, lanes, v);
  });
}
NX_INLINE void layer_norm_row(const Norm& g, const float* x, float* y) {
  const float count = static_cast<float>(g.cols);
  const float mean = sum_row(g.cols, x) / count;
  const Vec16f m = splat(mean);
  const float squares = sum_of(g.cols, [&](size_t i, size_t lanes) NX_LAMBDA {
    const Vec16f d = load_up_to(x + i, lanes, mean) - m;
    return d * d;
  });
  scale_row(g, x, mean, 1.0F / sqrt1(squares / count + g.epsilon), y);
}
NX_INLINE void rms_norm_row(const Norm& g, const float* x, float* y) {
  const float mean = dot_row(g.cols, x, x) / static_cast<float>(g.cols);
  scale_row(g, x, 0.0F, 1.0F / sqrt1(mean + g.epsilon), y);
}
NX_INLINE void l2_normalize_row(const Norm& g, const float* x, float* y) {
  const float length = sqrt1(dot_row(g.cols, x, x));
  const Vec16f divisor = splat(length > g.epsilon || length != length ? length : g.epsilon);
  for_vectors(g.cols, [&](size_t i, size_t lanes)
                          NX_LAMBDA { store_up_to(y + i, lanes, load_up_to(x + i, lanes, 0.0F) / divisor); });
}
