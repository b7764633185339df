// Attention-23 and later: scaled dot products with masks, caches, grouped heads and soft caps, step by step.
//
//   attention_ops()   the table of the family; RotaryEmbedding is in attention_rotary.cc
//
//   scores = softcap((q·√scale)(k·√scale)ᵀ) + bias;  y = softmax(scores) v
//
// Every step is rounded to the element type, as the function body of the operator would; sums are float64. `bias` adds
// the mask (bool: 0 or −inf; padded with −inf to the length of the keys), causality, the window and nonpad_kv_seqlen. A
// row whose bias is −inf throughout attends to nothing and gives zeros. Covered by tests/ops/attention_test.cc.
#include "ops/attention.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace narthex {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

struct AttentionSpec {
  std::int64_t batch = 0;
  std::int64_t q_heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t q_len = 0;
  std::int64_t new_len = 0;   // of K and V themselves
  std::int64_t past_len = 0;  // of the cache
  std::int64_t kv_len = 0;    // both
  std::int64_t head_size = 0;
  std::int64_t v_head_size = 0;
  bool is_3d = false;
  bool is_causal = false;
  std::int64_t left_window = -1;
  std::int64_t right_window = -1;
  std::int64_t qk_mode = 0;
  float softcap = 0;
  double scale = 0;
  DType softmax_dtype = DType::kUndefined;
};

// Where element (batch, head, position, 0) of Q, K or V lies, whether the tensor is [B,H,S,D] or [B,S,H·D].
struct HeadLayout {
  std::int64_t batch = 0;
  std::int64_t head = 0;
  std::int64_t position = 0;
  std::int64_t at(std::int64_t b, std::int64_t h, std::int64_t s) const { return b * batch + h * head + s * position; }
};

HeadLayout head_layout(bool is_3d, std::int64_t heads, std::int64_t length, std::int64_t size) {
  if (is_3d) return {length * heads * size, size, heads * size};
  return {heads * length * size, length * size, size};
}

Result<void> read_attributes(const Node& node, AttentionSpec& s) {
  NX_TRY(const std::int64_t causal, node.int_attr("is_causal", 0));
  NX_TRY(s.left_window, node.int_attr("left_window_size", -1));
  NX_TRY(s.right_window, node.int_attr("right_window_size", -1));
  NX_TRY(s.qk_mode, node.int_attr("qk_matmul_output_mode", 0));
  NX_TRY(s.softcap, node.float_attr("softcap", 0));
  NX_TRY(const std::int64_t precision, node.int_attr("softmax_precision", 0));
  s.is_causal = causal != 0;
  if (s.left_window < -1 || s.right_window < -1) {
    return fail(ErrorCode::kBadModel, "a window size must be -1 or more, but they are {} and {}", s.left_window,
                s.right_window);
  }
  if (s.qk_mode < 0 || s.qk_mode > 3) {
    return fail(ErrorCode::kBadModel, "qk_matmul_output_mode must be 0 to 3, but is {}", s.qk_mode);
  }
  s.softmax_dtype = static_cast<DType>(precision);
  for (const DType allowed : {DType::kUndefined, DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16}) {
    if (static_cast<std::int64_t>(allowed) == precision) return {};
  }
  return fail(ErrorCode::kBadModel, "softmax_precision {} is not a floating-point type", precision);
}

// A dimension of hidden units into heads; also what a 4-D tensor says directly.
Result<void> read_heads(const Node& node, const EvalContext& c, AttentionSpec& s) {
  const Dims& q = c.input(0).dims();
  const Dims& k = c.input(1).dims();
  const Dims& v = c.input(2).dims();
  if (q.size() != k.size() || q.size() != v.size() || (q.size() != 3 && q.size() != 4)) {
    return fail(ErrorCode::kBadModel, "Q, K and V must all be 3-D or all 4-D, but have shapes {}, {} and {}",
                dims_string(q), dims_string(k), dims_string(v));
  }
  s.is_3d = q.size() == 3;
  s.batch = q[0];
  if (s.is_3d) {
    NX_TRY(s.q_heads, node.int_attr("q_num_heads", 0));
    NX_TRY(s.kv_heads, node.int_attr("kv_num_heads", 0));
    if (s.q_heads < 1 || s.kv_heads < 1)
      return fail(ErrorCode::kBadModel, "3-D inputs need q_num_heads and kv_num_heads");
    if (q[2] % s.q_heads != 0 || k[2] % s.kv_heads != 0 || v[2] % s.kv_heads != 0) {
      return fail(ErrorCode::kBadModel, "hidden sizes {}, {} and {} do not divide into {} and {} heads", q[2], k[2],
                  v[2], s.q_heads, s.kv_heads);
    }
    s.q_len = q[1];
    s.new_len = k[1];
    s.head_size = q[2] / s.q_heads;
    s.v_head_size = v[2] / s.kv_heads;
  } else {
    s.q_heads = q[1];
    s.kv_heads = k[1];
    s.q_len = q[2];
    s.new_len = k[2];
    s.head_size = q[3];
    s.v_head_size = v[3];
  }
  const Dims k_want =
      s.is_3d ? Dims{s.batch, s.new_len, s.kv_heads * s.head_size} : Dims{s.batch, s.kv_heads, s.new_len, s.head_size};
  const Dims v_want = s.is_3d ? Dims{s.batch, s.new_len, s.kv_heads * s.v_head_size}
                              : Dims{s.batch, s.kv_heads, s.new_len, s.v_head_size};
  if (k != k_want || v != v_want || s.kv_heads < 1 || s.q_heads % s.kv_heads != 0) {
    return fail(ErrorCode::kBadModel, "Q {}, K {} and V {} do not fit together with {} and {} heads", dims_string(q),
                dims_string(k), dims_string(v), s.q_heads, s.kv_heads);
  }
  return {};
}

Result<void> read_cache(const EvalContext& c, AttentionSpec& s) {
  s.kv_len = s.new_len;
  if (c.has(4) != c.has(5)) return fail(ErrorCode::kBadModel, "past_key and past_value must be given together");
  if (!c.has(4)) return {};
  if (c.has(6)) return fail(ErrorCode::kBadModel, "nonpad_kv_seqlen cannot be combined with past_key");
  if (c.input(4).rank() != 4) return fail(ErrorCode::kBadModel, "past_key must be 4-D");
  s.past_len = c.input(4).dims()[2];
  s.kv_len += s.past_len;
  if (c.input(4).dims() != Dims{s.batch, s.kv_heads, s.past_len, s.head_size} ||
      c.input(5).dims() != Dims{s.batch, s.kv_heads, s.past_len, s.v_head_size}) {
    return fail(ErrorCode::kBadModel, "past_key {} and past_value {} do not fit K and V",
                dims_string(c.input(4).dims()), dims_string(c.input(5).dims()));
  }
  if (c.input(4).dtype() != c.input(1).dtype() || c.input(5).dtype() != c.input(2).dtype()) {
    return fail(ErrorCode::kBadModel, "past_key and past_value must have the types of K and V");
  }
  return {};
}

Result<AttentionSpec> attention_spec(const Node& node, const EvalContext& c) {
  AttentionSpec s;
  NX_TRY_VOID(read_attributes(node, s));
  NX_TRY_VOID(read_heads(node, c, s));
  NX_TRY_VOID(read_cache(c, s));
  for (std::size_t i : {1, 2}) {
    if (c.input(i).dtype() != c.input(0).dtype()) return fail(ErrorCode::kUnsupported, "Q, K and V must have one type");
  }
  NX_TRY(const float scale, node.float_attr("scale", 0));
  s.scale = node.find("scale") != nullptr
                ? static_cast<double>(scale)
                : 1.0 / std::sqrt(static_cast<double>(std::max<std::int64_t>(s.head_size, 1)));
  if (!(s.scale >= 0)) return fail(ErrorCode::kBadModel, "scale must not be negative, but is {}", s.scale);
  return s;
}

// [B, H, past + new, D] from a cache and K or V; also the present outputs.
Result<Tensor> with_cache(const AttentionSpec& s, const EvalContext& c, std::size_t input, std::size_t past,
                          std::int64_t size) {
  const Tensor& fresh = c.input(input);
  NX_TRY(Tensor out, Tensor::allocate(fresh.dtype(), {s.batch, s.kv_heads, s.kv_len, size}, c.max_bytes()));
  if (out.count() == 0) return out;
  const auto bytes = static_cast<std::int64_t>(dtype_size(fresh.dtype()));
  const HeadLayout from = head_layout(s.is_3d, s.kv_heads, s.new_len, size);
  for (std::int64_t b = 0; b < s.batch; ++b) {
    for (std::int64_t h = 0; h < s.kv_heads; ++h) {
      std::byte* to = out.mutable_data() + (b * s.kv_heads + h) * s.kv_len * size * bytes;
      if (s.past_len > 0) {
        const std::byte* cached = c.input(past).data() + (b * s.kv_heads + h) * s.past_len * size * bytes;
        std::memcpy(to, cached, static_cast<std::size_t>(s.past_len * size * bytes));
        to += s.past_len * size * bytes;
      }
      for (std::int64_t i = 0; i < s.new_len; ++i) {
        std::memcpy(to + i * size * bytes, fresh.data() + from.at(b, h, i) * bytes,
                    static_cast<std::size_t>(size * bytes));
      }
    }
  }
  return out;
}

// The mask as floats, with its strides in [batch, head, query, key] and the number of keys that it covers.
struct MaskView {
  std::vector<float> values;
  std::vector<std::int64_t> strides;
  std::int64_t n_keys = 0;
};

Result<std::optional<MaskView>> mask_view(const AttentionSpec& s, const EvalContext& c) {
  if (!c.has(3)) return std::nullopt;
  const Tensor& mask = c.input(3);
  if (mask.rank() < 1 || mask.rank() > 4) {
    return fail(ErrorCode::kBadModel, "attn_mask must have 1 to 4 dimensions, but has shape {}",
                dims_string(mask.dims()));
  }
  MaskView view;
  view.n_keys = mask.dims().back();
  const Dims covered = {s.batch, s.q_heads, s.q_len, view.n_keys};
  const auto broadcast = broadcast_dims(mask.dims(), covered);
  if (view.n_keys > s.kv_len || !broadcast || *broadcast != covered) {
    return fail(ErrorCode::kBadModel, "attn_mask of shape {} does not broadcast to {}", dims_string(mask.dims()),
                dims_string({s.batch, s.q_heads, s.q_len, s.kv_len}));
  }
  view.strides = broadcast_strides(mask.dims(), covered);
  if (mask.dtype() == DType::kBool) {
    for (const bool attends : mask.as<bool>()) view.values.push_back(attends ? 0.0f : kMinusInfinity);
    return view;
  }
  NX_TRY_VOID(dispatch_numeric(mask.dtype(), [&]<class T>() -> Result<void> {
    for (const T value : mask.as<T>()) view.values.push_back(static_cast<float>(static_cast<Compute<T>>(value)));
    return {};
  }));
  return view;
}

class Bias {
 public:
  static Result<Bias> make(const AttentionSpec& s, const EvalContext& c) {
    Bias bias(s);
    NX_TRY(bias.mask_, mask_view(s, c));
    bias.lengths_.assign(static_cast<std::size_t>(s.batch), s.kv_len);
    bias.offsets_.assign(static_cast<std::size_t>(s.batch), s.past_len);
    if (!c.has(6)) return bias;
    NX_TRY(bias.lengths_, ints_of(c.input(6), "nonpad_kv_seqlen"));
    if (c.input(6).rank() != 1 || c.input(6).count() != s.batch) {
      return fail(ErrorCode::kBadModel, "nonpad_kv_seqlen has shape {}, expected [{}]", dims_string(c.input(6).dims()),
                  s.batch);
    }
    for (std::size_t b = 0; b < bias.lengths_.size(); ++b) {
      // Clamped first: a hostile length must not overflow, and beyond these bounds nothing changes.
      bias.lengths_[b] = std::clamp<std::int64_t>(bias.lengths_[b], -1, s.kv_len);
      bias.offsets_[b] = bias.lengths_[b] - s.q_len;
    }
    return bias;
  }

  float at(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    const std::int64_t position = i + offsets_[static_cast<std::size_t>(b)];
    if (j >= lengths_[static_cast<std::size_t>(b)] || (spec_.is_causal && j > position) ||
        (spec_.left_window >= 0 && position - j > spec_.left_window) ||
        (spec_.right_window >= 0 && j - position > spec_.right_window)) {
      return kMinusInfinity;
    }
    if (!mask_) return 0;
    if (j >= mask_->n_keys) return kMinusInfinity;
    const auto& t = mask_->strides;
    return mask_->values[static_cast<std::size_t>(b * t[0] + h * t[1] + i * t[2] + j * t[3])];
  }

 private:
  explicit Bias(const AttentionSpec& s) : spec_(s) {}
  const AttentionSpec& spec_;
  std::optional<MaskView> mask_;
  std::vector<std::int64_t> lengths_;  // keys of each sequence that are not padding
  std::vector<std::int64_t> offsets_;  // position of each sequence's first query among the keys
};

// x rounded to T.
template <class T>
double rounded(double x) {
  return static_cast<double>(static_cast<Compute<T>>(static_cast<T>(static_cast<Compute<T>>(x))));
}

// Softmax of one row, every step in the precision P; −inf in, 0 out.
template <class P>
void softmax_row(std::vector<double>& row) {
  double max = -std::numeric_limits<double>::infinity();
  for (double& value : row) {
    value = rounded<P>(value);
    if (value > max) max = value;
  }
  if (std::isinf(max) && max < 0) max = 0;
  double sum = 0;
  for (double& value : row) {
    value = rounded<P>(std::exp(rounded<P>(value - max)));
    sum += value;
  }
  sum = rounded<P>(sum);
  for (double& value : row) value = rounded<P>(value / (sum == 0 ? 1 : sum));
}

template <class T>
struct AttentionRun {
  const AttentionSpec& s;
  const Bias& bias;
  const T* q;
  const T* k;  // [B, H, kv_len, D]
  const T* v;
  T* y;
  T* qk;  // nullptr when not asked for

  void run() {
    const double factor = rounded<T>(std::sqrt(s.scale));
    const HeadLayout q_layout = head_layout(s.is_3d, s.q_heads, s.q_len, s.head_size);
    const HeadLayout y_layout = head_layout(s.is_3d, s.q_heads, s.q_len, s.v_head_size);
    for (std::int64_t b = 0; b < s.batch; ++b) {
      for (std::int64_t h = 0; h < s.q_heads; ++h) {
        const std::int64_t kv = (b * s.kv_heads + h / (s.q_heads / s.kv_heads)) * s.kv_len;
        for (std::int64_t i = 0; i < s.q_len; ++i) {
          std::vector<double> row = scores(q + q_layout.at(b, h, i), k + kv * s.head_size, factor);
          attend(row, b, h, i);
          weigh(row, v + kv * s.v_head_size, y + y_layout.at(b, h, i));
        }
      }
    }
  }

  static double load(T value) { return static_cast<double>(static_cast<Compute<T>>(value)); }
  static T store(double value) { return static_cast<T>(static_cast<Compute<T>>(value)); }

  std::vector<double> scores(const T* q_row, const T* keys, double factor) const {
    std::vector<double> row(static_cast<std::size_t>(s.kv_len));
    for (std::size_t j = 0; j < row.size(); ++j) {
      const T* key = keys + static_cast<std::int64_t>(j) * s.head_size;
      double sum = 0;
      for (std::int64_t d = 0; d < s.head_size; ++d) {
        sum += rounded<T>(load(q_row[d]) * factor) * rounded<T>(load(key[d]) * factor);
      }
      row[j] = rounded<T>(sum);
    }
    return row;
  }

  // Scores into probabilities; the row of qk_matmul_output on the way.
  void attend(std::vector<double>& row, std::int64_t b, std::int64_t h, std::int64_t i) {
    const std::int64_t at = ((b * s.q_heads + h) * s.q_len + i) * s.kv_len;
    expose(0, row, at);
    if (s.softcap > 0) {
      const double cap = rounded<T>(static_cast<double>(s.softcap));
      for (double& score : row) score = rounded<T>(rounded<T>(std::tanh(rounded<T>(score / cap))) * cap);
    }
    expose(1, row, at);
    bool all_masked = true;
    for (std::size_t j = 0; j < row.size(); ++j) {
      const double addend = rounded<T>(static_cast<double>(bias.at(b, h, i, static_cast<std::int64_t>(j))));
      all_masked = all_masked && std::isinf(addend) && addend < 0;
      row[j] = rounded<T>(row[j] + addend);
    }
    expose(2, row, at);
    switch (s.softmax_dtype) {
      case DType::kFloat64:
        softmax_row<double>(row);
        break;
      case DType::kFloat32:
        softmax_row<float>(row);
        break;
      case DType::kFloat16:
        softmax_row<Half>(row);
        break;
      case DType::kBFloat16:
        softmax_row<BFloat16>(row);
        break;
      default:
        softmax_row<T>(row);
    }
    for (double& p : row) p = all_masked ? 0 : rounded<T>(p);
    expose(3, row, at);
  }

  void expose(std::int64_t mode, const std::vector<double>& row, std::int64_t at) {
    if (qk == nullptr || mode != s.qk_mode) return;
    for (std::size_t j = 0; j < row.size(); ++j) qk[at + static_cast<std::int64_t>(j)] = store(row[j]);
  }

  void weigh(const std::vector<double>& row, const T* values, T* out) const {
    std::vector<double> sums(static_cast<std::size_t>(s.v_head_size), 0);
    for (std::size_t j = 0; j < row.size(); ++j) {
      const T* value = values + static_cast<std::int64_t>(j) * s.v_head_size;
      for (std::size_t d = 0; d < sums.size(); ++d) sums[d] += row[j] * load(value[d]);
    }
    for (std::size_t d = 0; d < sums.size(); ++d) out[d] = store(sums[d]);
  }
};

Result<void> eval_attention(const Node& node, EvalContext& c) {
  NX_TRY(const AttentionSpec s, attention_spec(node, c));
  NX_TRY(const Bias bias, Bias::make(s, c));
  NX_TRY(const Tensor keys, with_cache(s, c, 1, 4, s.head_size));
  NX_TRY(const Tensor values, with_cache(s, c, 2, 5, s.v_head_size));
  const Dims y_dims =
      s.is_3d ? Dims{s.batch, s.q_len, s.q_heads * s.v_head_size} : Dims{s.batch, s.q_heads, s.q_len, s.v_head_size};
  NX_TRY(Tensor * y, c.allocate(0, c.input(0).dtype(), y_dims));
  Tensor* qk = nullptr;
  if (node.has_output(3)) {
    NX_TRY(qk, c.allocate(3, c.input(0).dtype(), {s.batch, s.q_heads, s.q_len, s.kv_len}));
  }
  c.set(1, keys);
  c.set(2, values);
  if (y->count() == 0 && (qk == nullptr || qk->count() == 0)) return {};
  return dispatch_float(c.input(0).dtype(), [&]<class T>() -> Result<void> {
    AttentionRun<T>{s,
                    bias,
                    c.input(0).as<T>().data(),
                    keys.as<T>().data(),
                    values.as<T>().data(),
                    y->as_mutable<T>().data(),
                    qk != nullptr ? qk->as_mutable<T>().data() : nullptr}
        .run();
    return {};
  });
}

Dim divided(const Dim& hidden, std::int64_t heads) {
  return heads < 1 ? Dim::unknown() : Dim::floor_div(hidden, Dim(heads));
}

Result<void> infer_attention(InferContext& context) {
  const Shape* q = context.shape(0);
  const Shape* k = context.shape(1);
  const Shape* v = context.shape(2);
  const DType dtype = context.dtype(0);
  if (q == nullptr || k == nullptr || v == nullptr || q->size() != k->size() || q->size() != v->size() ||
      (q->size() != 3 && q->size() != 4)) {
    for (std::size_t i = 0; i < 4; ++i)
      context.set(i, i == 1 ? context.dtype(1) : i == 2 ? context.dtype(2) : dtype, std::nullopt);
    return {};
  }
  const bool is_3d = q->size() == 3;
  NX_TRY(const std::int64_t q_heads, context.node().int_attr("q_num_heads", 0));
  NX_TRY(const std::int64_t kv_heads, context.node().int_attr("kv_num_heads", 0));
  const Dim batch = (*q)[0];
  const Dim q_len = (*q)[is_3d ? 1 : 2];
  const Dim new_len = (*k)[is_3d ? 1 : 2];
  const Dim n_q = is_3d ? Dim(q_heads) : (*q)[1];
  const Dim n_kv = is_3d ? Dim(kv_heads) : (*k)[1];
  const Dim v_size = is_3d ? divided((*v)[2], kv_heads) : (*v)[3];
  const Dim k_size = is_3d ? divided((*k)[2], kv_heads) : (*k)[3];
  Dim kv_len = new_len;
  if (context.has(4)) {
    const Shape* past = context.shape(4);
    kv_len = past != nullptr && past->size() == 4 ? (*past)[2] + new_len : Dim::unknown();
  }
  context.set(0, dtype, is_3d ? Shape{batch, q_len, n_q * v_size} : Shape{batch, n_q, q_len, v_size});
  context.set(1, context.dtype(1), Shape{batch, n_kv, kv_len, k_size});
  context.set(2, context.dtype(2), Shape{batch, n_kv, kv_len, v_size});
  context.set(3, dtype, Shape{batch, n_q, q_len, kv_len});
  return {};
}

constexpr OpDef kAttentionOps[] = {
    // name, domain, since, inputs, outputs, normalise, infer, eval
    {"Attention", kOnnx, 23, 3, 7, 1, 4, nullptr, infer_attention, eval_attention},
    {"RotaryEmbedding", kOnnx, 23, 3, 4, 1, 1, nullptr, infer_like_first, eval_rotary_embedding},
};

}  // namespace

std::span<const OpDef> attention_ops() {
  return kAttentionOps;
}

}  // namespace narthex
