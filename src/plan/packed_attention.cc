// Attention over packed sequences: per sequence and head, keys and values are packed as the right operands of two
// products with a softmax between them, in the precision of the step.
//
// Queries go in blocks of kQueryBlock rows counted from the sequence's start, so that what a query's row meets does not
// depend on the batch. With a window a block packs only the keys that it can see.
#include <algorithm>

#include "plan/packed_run.h"

namespace narthex {
namespace {

// Scores of a block against 512 keys are 64 KB: they stay in L2 between the two products.
constexpr std::size_t kQueryBlock = 32;

constexpr std::size_t round_up(std::size_t n, std::size_t step) {
  return (n + step - 1) / step * step;
}

thread_local Scratch scratch;

// Hands out 64-byte aligned pieces of one buffer; the first pass only counts.
class Carver {
 public:
  explicit Carver(std::byte* base) : base_(base) {}
  template <class T>
  T* take(std::size_t n) {
    std::byte* at = base_ == nullptr ? nullptr : base_ + used_;
    used_ += round_up(n * sizeof(T), 64);
    return reinterpret_cast<T*>(at);
  }
  std::size_t used() const { return used_; }

 private:
  std::byte* base_;
  std::size_t used_ = 0;
};

// Memory for one head of sequences of up to `keys` tokens.
struct Buffers {
  std::byte *k_panels, *v_panels;
  float *k_scale, *v_scale;
  std::int32_t *k_colsum, *v_colsum;
  std::byte* q;  // encoded queries
  float* q_scale;
  std::int32_t* q_zero;
  float* scores;  // [kQueryBlock, round_up(keys, 16)]
  std::byte* probabilities;
  float* p_scale;

  Buffers(Carver& carver, const packed::Attention& s, std::size_t keys) {
    const RowFormat format = format_of(s.precision);
    k_panels = carver.take<std::byte>(packed_bytes(format, s.d, keys));
    v_panels = carver.take<std::byte>(packed_bytes(format, keys, s.d_value));
    k_scale = carver.take<float>(round_up(keys, 16));
    k_colsum = carver.take<std::int32_t>(round_up(keys, 16));
    v_scale = carver.take<float>(round_up(s.d_value, 16));
    v_colsum = carver.take<std::int32_t>(round_up(s.d_value, 16));
    q = carver.take<std::byte>(kQueryBlock * padded_depth(format, s.d) * element_bytes(format));
    q_scale = carver.take<float>(kQueryBlock);
    q_zero = carver.take<std::int32_t>(kQueryBlock);
    scores = carver.take<float>(kQueryBlock * round_up(keys, 16));
    probabilities = carver.take<std::byte>(kQueryBlock * padded_depth(format, keys) * element_bytes(format));
    p_scale = carver.take<float>(kQueryBlock);
  }
};

class Head {
 public:
  Head(const GroupRun& run, const packed::Attention& s, std::size_t sequence, std::size_t head, const Buffers& buffers)
      : run_(run),
        kernels_(run.kernels),
        s_(s),
        b_(buffers),
        sequence_(sequence),
        head_(head),
        first_(run.batch.starts[sequence]),
        n_(run.batch.starts[sequence + 1] - first_) {}

  void compute() {
    const std::size_t queries = s_.first_query_only ? 1 : n_;
    if (s_.window == 0) pack(0, n_);
    for (std::size_t i = 0; i < queries; i += kQueryBlock) {
      const std::size_t rows = std::min(kQueryBlock, queries - i);
      std::size_t from = 0, to = n_;
      if (s_.window > 0) {
        from = i - std::min<std::size_t>(i, s_.window);
        to = std::min(n_, i + kQueryBlock + s_.window);
        pack(from, to);
      }
      block(i, rows, from, to - from);
    }
  }

 private:
  // Where a row's columns of a head lie.
  const void* at(const View& view, std::size_t row, std::size_t column) const {
    const std::size_t bytes = element_bytes(run_.plan.slots[view.slot].format);
    return static_cast<const std::byte*>(run_.elements(view)) +
           ((first_ + row) * run_.stride(view.slot) + column) * bytes;
  }
  std::size_t kv_head() const { return head_ / (s_.heads / s_.kv_heads); }

  // Keys as [d, keys], values as [keys, d_value].
  void pack(std::size_t from, std::size_t to) {
    pack_one(s_.k, from, kv_head() * s_.d, s_.d, to - from, true, b_.k_panels, b_.k_scale, b_.k_colsum);
    pack_one(s_.v, from, kv_head() * s_.d_value, to - from, s_.d_value, false, b_.v_panels, b_.v_scale, b_.v_colsum);
  }
  void pack_one(const View& view, std::size_t row, std::size_t column, std::size_t k, std::size_t n, bool transposed,
                std::byte* panels, float* scale, std::int32_t* colsum) {
    const void* x = at(view, row, column);
    const std::size_t ld = run_.stride(view.slot);
    switch (s_.precision) {
      case Precision::kFp32:
        kernels_.pack_b_f32(k, n, static_cast<const float*>(x), ld, transposed, reinterpret_cast<float*>(panels));
        break;
      case Precision::kBf16:
        kernels_.pack_b_bf16(
            {k, n, x, ld, run_.is_bf16(view.slot), transposed, reinterpret_cast<std::uint16_t*>(panels)});
        break;
      case Precision::kInt8:
        kernels_.pack_b_int8({k, n, static_cast<const float*>(x), ld, transposed,
                              reinterpret_cast<std::int8_t*>(panels), scale, colsum});
        break;
    }
  }

  // Queries [i, i + rows) against the packed keys, which begin at key `from`.
  void block(std::size_t i, std::size_t rows, std::size_t from, std::size_t keys) {
    const RowFormat format = format_of(s_.precision);
    const std::size_t ld_scores = round_up(keys, 16), depth = padded_depth(format, keys);
    multiply_keys(i, rows, keys, ld_scores);
    SoftmaxRows softmax{};
    softmax.rows = rows;
    softmax.cols = keys;
    softmax.x = b_.scores;
    softmax.ldx = ld_scores;
    softmax.scale = s_.scale;
    if (s_.bias) {
      const std::size_t width = 2 * std::size_t{s_.bias_positions} - 1;
      softmax.mask = s_.bias.as<float>() + (s_.bias_rows == 1 ? 0 : head_) * width + from + s_.bias_positions - 1 - i;
      softmax.ld_mask = -1;
    }
    softmax.out.format = format;
    softmax.out.y = b_.probabilities;
    softmax.out.ldy = depth;
    softmax.out.scale = b_.p_scale;
    kernels_.softmax_rows(softmax);
    multiply_values(i, rows, keys, depth);
  }

  void multiply_keys(std::size_t i, std::size_t rows, std::size_t keys, std::size_t ldc) {
    const std::size_t column = head_ * s_.d, ldq = run_.stride(s_.q.slot);
    const void* q = at(s_.q, i, column);
    const bool q_bf16 = run_.is_bf16(s_.q.slot);
    const std::size_t depth = padded_depth(format_of(s_.precision), s_.d);
    EncodedRows encoded{format_of(s_.precision), b_.q, depth, b_.q_scale, b_.q_zero};
    switch (s_.precision) {
      case Precision::kFp32:
        kernels_.gemm_f32({rows, keys, s_.d, static_cast<const float*>(q), ldq,
                           reinterpret_cast<const float*>(b_.k_panels), nullptr, b_.scores, ldc, Activation::kNone});
        break;
      case Precision::kBf16: {
        const bool direct = q_bf16 && s_.d % 32 == 0;
        if (!direct) kernels_.encode_rows({rows, s_.d, q, ldq, q_bf16, encoded});
        kernels_.linear_bf16({rows, keys, depth, static_cast<const std::uint16_t*>(direct ? q : b_.q),
                              direct ? ldq : depth, reinterpret_cast<const std::uint16_t*>(b_.k_panels), nullptr,
                              b_.scores, ldc, false, Activation::kNone});
        break;
      }
      case Precision::kInt8:
        kernels_.encode_rows({rows, s_.d, q, ldq, q_bf16, encoded});
        kernels_.linear_int8({rows, keys, depth, reinterpret_cast<const std::uint8_t*>(b_.q), depth, b_.q_scale,
                              b_.q_zero, reinterpret_cast<const std::int8_t*>(b_.k_panels), b_.k_scale, b_.k_colsum,
                              nullptr, b_.scores, ldc, false, Activation::kNone});
        break;
    }
  }

  void multiply_values(std::size_t i, std::size_t rows, std::size_t keys, std::size_t depth) {
    const bool c_bf16 = run_.is_bf16(s_.out.slot);
    const std::size_t row = s_.first_query_only ? sequence_ : first_ + i, ldc = run_.stride(s_.out.slot);
    void* c = static_cast<std::byte*>(run_.elements(s_.out)) + (row * ldc + head_ * s_.d_value) * (c_bf16 ? 2 : 4);
    switch (s_.precision) {
      case Precision::kFp32:
        kernels_.gemm_f32({rows, s_.d_value, keys, reinterpret_cast<const float*>(b_.probabilities), depth,
                           reinterpret_cast<const float*>(b_.v_panels), nullptr, static_cast<float*>(c), ldc,
                           Activation::kNone});
        break;
      case Precision::kBf16:
        kernels_.linear_bf16({rows, s_.d_value, depth, reinterpret_cast<const std::uint16_t*>(b_.probabilities), depth,
                              reinterpret_cast<const std::uint16_t*>(b_.v_panels), nullptr, c, ldc, c_bf16,
                              Activation::kNone});
        break;
      case Precision::kInt8:
        kernels_.linear_int8({rows, s_.d_value, depth, reinterpret_cast<const std::uint8_t*>(b_.probabilities), depth,
                              b_.p_scale, nullptr, reinterpret_cast<const std::int8_t*>(b_.v_panels), b_.v_scale,
                              b_.v_colsum, nullptr, c, ldc, c_bf16, Activation::kNone});
        break;
    }
  }

  const GroupRun& run_;
  const KernelTable& kernels_;
  const packed::Attention& s_;
  const Buffers& b_;
  std::size_t sequence_, head_, first_, n_;
};

}  // namespace

void GroupRun::run(const packed::Attention& s) {
  std::size_t longest = 0;
  for (std::size_t i = 0; i < batch.n_sequences(); ++i)
    longest = std::max(longest, batch.starts[i + 1] - batch.starts[i]);
  Carver counter(nullptr);
  const Buffers sizes(counter, s, longest);
  // A head of a short sequence takes less than waking another core.
  const std::size_t grain = team == nullptr ? 1 : std::max<std::size_t>(1, 2048 / (longest * longest));
  split(batch.n_sequences() * s.heads, grain, [&](std::size_t begin, std::size_t end) {
    Carver carver(scratch.at_least(counter.used()));
    const Buffers buffers(carver, s, longest);
    if (team != nullptr) kernels.begin_products();
    for (std::size_t i = begin; i < end; ++i) Head(*this, s, i / s.heads, i % s.heads, buffers).compute();
    if (team != nullptr) kernels.end_products();
    scratch.trim();
  });
}

}  // namespace narthex
