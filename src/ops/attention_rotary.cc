// RotaryEmbedding-23: pairs of channels turned by an angle that depends on the position.
//
//   eval_rotary_embedding   the function of the row in attention.cc
//
//   y₁ = x₁·cos − x₂·sin,  y₂ = x₁·sin + x₂·cos
//
// over the first rotary_embedding_dim channels of every head, paired as halves, or as neighbours when interleaved; the
// others are copied. Covered by tests/ops/attention_test.cc.
#include "ops/attention.h"

namespace narthex {
namespace {

struct RotarySpec {
  std::int64_t batch = 0;
  std::int64_t length = 0;
  std::int64_t heads = 0;
  std::int64_t head_size = 0;
  std::int64_t half = 0;  // half of the channels that turn
  bool is_3d = false;
  bool interleaved = false;
  std::vector<std::int64_t> rows;  // row of the caches for each [batch, position]

  std::int64_t at(std::int64_t b, std::int64_t s, std::int64_t h) const {
    return is_3d ? ((b * length + s) * heads + h) * head_size : ((b * heads + h) * length + s) * head_size;
  }
};

Result<void> read_shape(const Node& node, const Tensor& x, RotarySpec& s) {
  NX_TRY(const std::int64_t interleaved, node.int_attr("interleaved", 0));
  NX_TRY(const std::int64_t heads, node.int_attr("num_heads", 0));
  NX_TRY(std::int64_t rotary, node.int_attr("rotary_embedding_dim", 0));
  const Dims& dims = x.dims();
  s.interleaved = interleaved != 0;
  s.is_3d = dims.size() == 3;
  if (s.is_3d) {
    if (heads < 1) return fail(ErrorCode::kBadModel, "a 3-D input needs num_heads");
    if (dims[2] % heads != 0) {
      return fail(ErrorCode::kBadModel, "hidden size {} does not divide into {} heads", dims[2], heads);
    }
    s.batch = dims[0];
    s.length = dims[1];
    s.heads = heads;
    s.head_size = dims[2] / heads;
  } else if (dims.size() == 4) {
    s.batch = dims[0];
    s.heads = dims[1];
    s.length = dims[2];
    s.head_size = dims[3];
  } else {
    return fail(ErrorCode::kBadModel, "the input must be 3-D or 4-D, but has shape {}", dims_string(dims));
  }
  if (rotary == 0) rotary = s.head_size;
  if (rotary < 0 || rotary > s.head_size || rotary % 2 != 0) {
    return fail(ErrorCode::kBadModel, "cannot rotate {} of {} channels", rotary, s.head_size);
  }
  s.half = rotary / 2;
  return {};
}

// Caches are [max length, half] with position_ids, else [batch, length, half].
Result<void> read_positions(const EvalContext& c, RotarySpec& s) {
  const Dims& cache = c.input(1).dims();
  if (c.input(2).dims() != cache) return fail(ErrorCode::kBadModel, "cos_cache and sin_cache have different shapes");
  const std::int64_t n_positions = s.batch * s.length;
  if (!c.has(3)) {
    if (cache != Dims{s.batch, s.length, s.half}) {
      return fail(ErrorCode::kBadModel, "cos_cache has shape {}, expected {}", dims_string(cache),
                  dims_string({s.batch, s.length, s.half}));
    }
    for (std::int64_t i = 0; i < n_positions; ++i) s.rows.push_back(i);
    return {};
  }
  if (cache.size() != 2 || cache[1] != s.half) {
    return fail(ErrorCode::kBadModel, "cos_cache has shape {}, expected [length, {}]", dims_string(cache), s.half);
  }
  NX_TRY(s.rows, ints_of(c.input(3), "position_ids"));
  if (c.input(3).dims() != Dims{s.batch, s.length}) {
    return fail(ErrorCode::kBadModel, "position_ids has shape {}, expected {}", dims_string(c.input(3).dims()),
                dims_string({s.batch, s.length}));
  }
  for (std::int64_t& row : s.rows) {
    if (row < -cache[0] || row >= cache[0]) {
      return fail(ErrorCode::kBadModel, "position {} is out of range for a cache of {}", row, cache[0]);
    }
    if (row < 0) row += cache[0];
  }
  return {};
}

template <class T>
void rotate(const RotarySpec& s, const T* x, const T* cosines, const T* sines, T* y) {
  const auto load = [](T value) { return static_cast<double>(static_cast<Compute<T>>(value)); };
  const auto store = [](double value) { return static_cast<T>(static_cast<Compute<T>>(value)); };
  for (std::int64_t b = 0; b < s.batch; ++b) {
    for (std::int64_t p = 0; p < s.length; ++p) {
      const std::int64_t row = s.rows[static_cast<std::size_t>(b * s.length + p)] * s.half;
      for (std::int64_t h = 0; h < s.heads; ++h) {
        const T* in = x + s.at(b, p, h);
        T* out = y + s.at(b, p, h);
        for (std::int64_t i = 0; i < s.half; ++i) {
          const std::int64_t first = s.interleaved ? 2 * i : i;
          const std::int64_t second = s.interleaved ? 2 * i + 1 : i + s.half;
          const double cosine = load(cosines[row + i]);
          const double sine = load(sines[row + i]);
          out[first] = store(load(in[first]) * cosine - load(in[second]) * sine);
          out[second] = store(load(in[first]) * sine + load(in[second]) * cosine);
        }
        for (std::int64_t i = 2 * s.half; i < s.head_size; ++i) out[i] = in[i];
      }
    }
  }
}

}  // namespace

Result<void> eval_rotary_embedding(const Node& node, EvalContext& c) {
  const Tensor& x = c.input(0);
  RotarySpec s;
  NX_TRY_VOID(read_shape(node, x, s));
  NX_TRY(Tensor * y, c.allocate(0, x.dtype(), x.dims()));
  if (y->count() == 0) return {};
  NX_TRY_VOID(read_positions(c, s));
  if (c.input(1).dtype() != x.dtype() || c.input(2).dtype() != x.dtype()) {
    return fail(ErrorCode::kBadModel, "the caches must have the type of the input");
  }
  return dispatch_float(x.dtype(), [&]<class T>() -> Result<void> {
    rotate<T>(s, x.as<T>().data(), c.input(1).as<T>().data(), c.input(2).as<T>().data(), y->as_mutable<T>().data());
    return {};
  });
}

}  // namespace narthex
