// What is left to do when a walk is over: steps that only one other step reads are joined with it, steps that nobody
// reads are dropped, rows are numbered anew; and two walks are compared.
#include <algorithm>
#include <cstring>

#include "plan/encoder_steps.h"
#include "plan/recognise_run.h"

namespace narthex::recognition {
namespace {

Tensor combined(const Tensor& a, const Tensor& b, auto f) {
  std::vector<float> out(static_cast<std::size_t>(a.count()));
  const std::span<const float> x = a.as<float>();
  const std::span<const float> y = b.as<float>();
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = f(x[i], y[i % y.size()]);
  return Tensor::make<float>(a.dims(), out);
}

class Joiner {
 public:
  explicit Joiner(Encoder& encoder) : encoder_(encoder) {}

  void run() {
    drop_unread();
    for (bool changed = true; changed;) {
      changed = false;
      count();
      for (std::size_t i = 0; i < encoder_.steps.size(); ++i) changed = join(i) || changed;
      drop_unread();
    }
    renumber();
  }

 private:
  void count() {
    maker_.assign(encoder_.rows.size(), encoder_.steps.size());
    reads_.assign(encoder_.rows.size(), 0);
    for (std::size_t i = 0; i < encoder_.steps.size(); ++i) {
      maker_[out_of(encoder_.steps[i])] = i;
      for (const Columns* in : columns_of(encoder_.steps[i])) ++reads_[in->rows];
    }
    for (const EncoderOutput& output : encoder_.outputs) reads_[output.rows] += 2;
  }

  // The step that makes exactly these columns, when it is a T.
  template <class T>
  const T* maker(const Columns& in) const {
    if (in.first != 0 || in.width != encoder_.rows[in.rows].width) return nullptr;
    return std::get_if<T>(&encoder_.steps[maker_[in.rows]]);
  }
  // The same, and nobody else reads them.
  template <class T>
  const T* own(const Columns& in) const {
    return reads_[in.rows] == 1 ? maker<T>(in) : nullptr;
  }

  bool join(std::size_t i) {
    Step& step = encoder_.steps[i];
    if (const auto* affine = std::get_if<step::Affine>(&step)) return join_affine(i, *affine);
    if (const auto* activate = std::get_if<step::Activate>(&step)) return join_activation(i, *activate);
    if (const auto* binary = std::get_if<step::Binary>(&step)) return join_binary(i, *binary);
    return false;
  }

  // Replaces step i; the counts are only right for steps that this one does not touch, so reads of its inputs move on.
  template <class T>
  bool replace(std::size_t i, T step) {
    for (const Columns* in : columns_of(encoder_.steps[i])) --reads_[in->rows];
    encoder_.steps[i] = std::move(step);
    for (const Columns* in : columns_of(encoder_.steps[i])) ++reads_[in->rows];
    return true;
  }

  bool join_affine(std::size_t i, const step::Affine& affine) {
    const auto* linear = own<step::Linear>(affine.in);
    if (linear != nullptr && !affine.factor && affine.shift && linear->activation == Activation::kNone) {
      step::Linear joined = *linear;
      joined.out = affine.out;
      joined.bias = joined.bias ? combined(*joined.bias, *affine.shift, std::plus<>()) : *affine.shift;
      return replace(i, std::move(joined));
    }
    const auto* before = own<step::Affine>(affine.in);
    if (before == nullptr) return false;
    step::Affine joined = affine;
    joined.in = before->in;
    joined.factor = before->factor;
    if (affine.factor)
      joined.factor = before->factor ? combined(*before->factor, *affine.factor, std::multiplies<>()) : affine.factor;
    joined.shift = before->shift;
    if (joined.shift && affine.factor) joined.shift = combined(*joined.shift, *affine.factor, std::multiplies<>());
    if (affine.shift)
      joined.shift = joined.shift ? combined(*joined.shift, *affine.shift, std::plus<>()) : affine.shift;
    return replace(i, std::move(joined));
  }

  bool join_activation(std::size_t i, const step::Activate& activate) {
    const auto* linear = own<step::Linear>(activate.in);
    if (linear == nullptr || linear->activation != Activation::kNone || activate.activation == Activation::kNone) {
      return false;
    }
    step::Linear joined = *linear;
    joined.out = activate.out;
    joined.activation = activate.activation;
    return replace(i, std::move(joined));
  }

  bool join_binary(std::size_t i, const step::Binary& binary) {
    for (const bool swapped : {false, true}) {
      const Columns& one = swapped ? binary.b : binary.a;
      const Columns& other = swapped ? binary.a : binary.b;
      if (binary.kind == step::BinaryKind::kMultiply) {
        const auto* sigmoid = own<step::Activate>(one);
        if (sigmoid == nullptr || sigmoid->activation != Activation::kSigmoid || sigmoid->in.rows != other.rows ||
            sigmoid->in.first != other.first || sigmoid->in.width != other.width) {
          continue;
        }
        return replace(i, step::Activate{binary.out, other, Activation::kSilu});
      }
      if (join_position(i, binary, one, other)) return true;
    }
    return false;
  }

  // A constant added to rows that get their positions next belongs to the table of positions.
  bool join_position(std::size_t i, const step::Binary& binary, const Columns& positions, const Columns& other) {
    const auto* embed = own<step::Embed>(positions);
    const auto* affine = own<step::Affine>(other);
    if (embed == nullptr || embed->index != step::Index::kPosition || affine == nullptr || affine->factor) return false;
    const Columns in = affine->in;
    std::get<step::Embed>(encoder_.steps[maker_[positions.rows]]).table =
        combined(embed->table, *affine->shift, std::plus<>());
    return replace(i, step::Binary{binary.out, in, Columns(positions), step::BinaryKind::kAdd});
  }

  void drop_unread() {
    std::vector<bool> read(encoder_.rows.size(), false);
    for (const EncoderOutput& output : encoder_.outputs) read[output.rows] = true;
    std::vector<bool> keep(encoder_.steps.size(), false);
    for (std::size_t i = encoder_.steps.size(); i-- > 0;) {
      keep[i] = read[out_of(encoder_.steps[i])];
      if (!keep[i]) continue;
      for (const Columns* in : columns_of(encoder_.steps[i])) read[in->rows] = true;
    }
    std::size_t to = 0;
    for (std::size_t i = 0; i < keep.size(); ++i) {
      if (!keep[i]) continue;
      if (to != i) encoder_.steps[to] = std::move(encoder_.steps[i]);
      ++to;
    }
    encoder_.steps.resize(to);
  }

  void renumber() {
    std::vector<RowsId> number(encoder_.rows.size(), 0);
    std::vector<Rows> rows;
    for (Step& step : encoder_.steps) {
      for (Columns* in : columns_of(step)) in->rows = number[in->rows];
      RowsId& out = out_of(step);
      number[out] = rows.size();
      rows.push_back(encoder_.rows[out]);
      out = number[out];
    }
    for (EncoderOutput& output : encoder_.outputs) output.rows = number[output.rows];
    encoder_.rows = std::move(rows);
  }

  Encoder& encoder_;
  std::vector<std::size_t> maker_;
  std::vector<std::size_t> reads_;
};

bool same(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.dims() == b.dims() &&
         (a.data() == b.data() || std::memcmp(a.data(), b.data(), a.bytes()) == 0);
}
bool same(const std::optional<Tensor>& a, const std::optional<Tensor>& b) {
  return a.has_value() == b.has_value() && (!a || same(*a, *b));
}
bool same(const Columns& a, const Columns& b) {
  return a.rows == b.rows && a.first == b.first && a.width == b.width;
}
bool same(const step::Embed& a, const step::Embed& b) {
  return a.out == b.out && a.index == b.index && same(a.table, b.table);
}
bool same(const step::Linear& a, const step::Linear& b) {
  return a.out == b.out && same(a.in, b.in) && same(a.weight, b.weight) && same(a.bias, b.bias) &&
         a.activation == b.activation;
}
bool same(const step::Binary& a, const step::Binary& b) {
  return a.out == b.out && same(a.a, b.a) && same(a.b, b.b) && a.kind == b.kind;
}
bool same(const step::Affine& a, const step::Affine& b) {
  return a.out == b.out && same(a.in, b.in) && same(a.factor, b.factor) && same(a.shift, b.shift);
}
bool same(const step::Norm& a, const step::Norm& b) {
  return a.out == b.out && same(a.in, b.in) && a.kind == b.kind && same(a.gamma, b.gamma) && same(a.beta, b.beta) &&
         a.epsilon == b.epsilon;
}
bool same(const step::Activate& a, const step::Activate& b) {
  return a.out == b.out && same(a.in, b.in) && a.activation == b.activation;
}
bool same(const step::Rotate& a, const step::Rotate& b) {
  return a.out == b.out && same(a.in, b.in) && a.heads == b.heads && a.d == b.d && a.rotary == b.rotary &&
         same(a.cos, b.cos) && same(a.sin, b.sin);
}
bool same(const step::Attention& a, const step::Attention& b) {
  return a.out == b.out && same(a.q, b.q) && same(a.k, b.k) && same(a.v, b.v) && a.heads == b.heads &&
         a.kv_heads == b.kv_heads && a.d == b.d && a.d_value == b.d_value && a.scale == b.scale &&
         same(a.bias, b.bias) && a.window == b.window;
}
bool same(const step::Pool& a, const step::Pool& b) {
  return a.out == b.out && same(a.in, b.in) && a.kind == b.kind;
}
bool same(const step::L2Normalize& a, const step::L2Normalize& b) {
  return a.out == b.out && same(a.in, b.in) && a.epsilon == b.epsilon;
}
bool same(const step::RowSoftmax& a, const step::RowSoftmax& b) {
  return a.out == b.out && same(a.in, b.in);
}

bool same_step(const Step& a, const Step& b) {
  return std::visit(
      [&]<class T>(const T& x) {
        const T* y = std::get_if<T>(&b);
        return y != nullptr && same(x, *y);
      },
      a);
}

}  // namespace

void finish(Encoder& encoder) {
  Joiner(encoder).run();
  encoder.reads_token_types = std::ranges::any_of(encoder.steps, [](const Step& step) {
    const auto* embed = std::get_if<step::Embed>(&step);
    return embed != nullptr && embed->index == step::Index::kTokenTypes;
  });
}

bool same_encoder(const Encoder& a, const Encoder& b) {
  const auto same_rows = [](const Rows& x, const Rows& y) {
    return x.width == y.width && x.per_sequence == y.per_sequence;
  };
  const auto same_output = [](const EncoderOutput& x, const EncoderOutput& y) {
    return x.graph_output == y.graph_output && x.rows == y.rows;
  };
  return a.max_positions == b.max_positions && std::ranges::equal(a.rows, b.rows, same_rows) &&
         std::ranges::equal(a.outputs, b.outputs, same_output) && std::ranges::equal(a.steps, b.steps, same_step);
}

}  // namespace narthex::recognition
