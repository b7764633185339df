// Small encoders of every shape that the plan knows, from random numbers: for tests and fuzzing of lower() and run().
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "plan/encoder.h"

namespace narthex {

struct EncoderShape {
  std::size_t layers = 2, heads = 4, kv_heads = 4, d = 16, d_value = 16, inner = 96, vocabulary = 211,
              max_positions = 96;
  std::size_t outputs = 0;  // > 0: a head with so many classes on the first token
  bool pre_norm = false;    // norm before attention and feed-forward; else after each sum
  NormKind norm = NormKind::kLayer;
  bool gated = false;  // activation(a) · b instead of one activation
  Activation activation = Activation::kGeluErf;
  std::size_t rotary = 0;      // columns of each head that are rotated
  bool distance_bias = false;  // one per head, as in ALiBi
  std::size_t window = 0;
  bool types = true;  // token type and position tables
  bool biases = true;
  std::size_t hidden() const { return heads * d; }
};

inline EncoderShape random_shape(const std::function<std::size_t(std::size_t)>& below) {
  EncoderShape shape;
  shape.layers = 1 + below(3);
  shape.kv_heads = 1 + below(3);
  shape.heads = shape.kv_heads * (1 + below(3));
  shape.d = 2 * (1 + below(36));
  shape.d_value = below(4) == 0 ? 1 + below(40) : shape.d;
  shape.inner = 1 + below(200);
  shape.max_positions = 64 + below(64);
  shape.outputs = below(3) == 0 ? 1 + below(4) : 0;
  shape.pre_norm = below(2) == 0;
  shape.norm = below(3) == 0 ? NormKind::kRms : NormKind::kLayer;
  shape.gated = below(2) == 0;
  constexpr Activation kActivations[] = {Activation::kRelu, Activation::kGeluErf, Activation::kGeluTanh,
                                         Activation::kSilu};
  shape.activation = kActivations[below(4)];
  shape.rotary = below(3) == 0 ? 2 * (1 + below(shape.d / 2)) : 0;
  shape.distance_bias = below(4) == 0;
  shape.window = below(4) == 0 ? 1 + below(40) : 0;
  shape.types = below(2) == 0;
  shape.biases = below(3) != 0;
  return shape;
}

class EncoderMaker {
 public:
  EncoderMaker(const EncoderShape& shape, std::uint64_t seed) : shape_(shape), random_(seed) {}

  Encoder make() {
    encoder_.max_positions = shape_.max_positions;
    encoder_.reads_token_types = shape_.types;
    RowsId x = embed();
    for (std::size_t layer = 0; layer < shape_.layers; ++layer) {
      x = residual(x, [&](RowsId in) { return attend(in); });
      x = residual(x, [&](RowsId in) { return feed_forward(in); });
    }
    if (shape_.pre_norm) x = norm(x);
    if (shape_.outputs > 0) x = classify(x);
    encoder_.outputs = {{0, x}};
    return std::move(encoder_);
  }

 private:
  Tensor tensor(Dims dims, double size, double centre = 0) {
    std::normal_distribution<double> normal(centre, size);
    std::size_t n = 1;
    for (const std::int64_t dim : dims) n *= static_cast<std::size_t>(dim);
    std::vector<float> values(n);
    for (float& value : values) value = static_cast<float>(normal(random_));
    return Tensor::make<float>(std::move(dims), values);
  }
  static std::int64_t i64(std::size_t n) { return static_cast<std::int64_t>(n); }
  RowsId rows(std::size_t width, bool per_sequence = false) {
    encoder_.rows.push_back({width, per_sequence, "v" + std::to_string(encoder_.rows.size())});
    return encoder_.rows.size() - 1;
  }
  Columns whole(RowsId id) const { return {id, 0, encoder_.rows[id].width}; }
  template <class S>
  RowsId add(S step, std::size_t width, bool per_sequence = false) {
    step.out = rows(width, per_sequence);
    encoder_.steps.push_back(std::move(step));
    return encoder_.rows.size() - 1;
  }
  RowsId sum(RowsId a, RowsId b) {
    return add(step::Binary{0, whole(a), whole(b), step::BinaryKind::kAdd}, encoder_.rows[a].width,
               encoder_.rows[a].per_sequence);
  }

  RowsId embed() {
    const std::size_t width = shape_.hidden();
    RowsId x = add(step::Embed{0, step::Index::kTokenIds, tensor({i64(shape_.vocabulary), i64(width)}, 1)}, width);
    if (shape_.types) {
      const RowsId types = add(step::Embed{0, step::Index::kTokenTypes, tensor({2, i64(width)}, 0.3)}, width);
      const RowsId positions =
          add(step::Embed{0, step::Index::kPosition, tensor({i64(shape_.max_positions), i64(width)}, 0.3)}, width);
      x = sum(sum(x, types), positions);
    }
    return norm(x);
  }
  RowsId norm(RowsId x) {
    const std::size_t width = encoder_.rows[x].width;
    step::Norm step{0, whole(x), shape_.norm, tensor({i64(width)}, 0.1, 1), std::nullopt, 1e-5F};
    if (shape_.biases) step.beta = tensor({i64(width)}, 0.1);
    return add(std::move(step), width);
  }
  RowsId linear(Columns in, std::size_t width, Activation activation = Activation::kNone, bool per_sequence = false) {
    step::Linear step{0, in, tensor({i64(in.width), i64(width)}, 1 / std::sqrt(static_cast<double>(in.width))),
                      std::nullopt, activation};
    if (shape_.biases) step.bias = tensor({i64(width)}, 0.1);
    return add(std::move(step), width, per_sequence);
  }
  template <class F>
  RowsId residual(RowsId x, F&& branch) {
    if (shape_.pre_norm) return sum(x, branch(norm(x)));
    return norm(sum(branch(x), x));
  }
  RowsId rotate(RowsId x, std::size_t heads) {
    if (shape_.rotary == 0) return x;
    const std::size_t positions = shape_.max_positions, half = shape_.rotary / 2;
    std::vector<float> cos(positions * shape_.rotary), sin(cos.size());
    for (std::size_t p = 0; p < positions; ++p)
      for (std::size_t i = 0; i < shape_.rotary; ++i) {
        const double angle =
            static_cast<double>(p) * std::pow(100.0, -static_cast<double>(i % half) / static_cast<double>(half));
        cos[p * shape_.rotary + i] = static_cast<float>(std::cos(angle));
        sin[p * shape_.rotary + i] = static_cast<float>(std::sin(angle));
      }
    const Dims dims = {i64(positions), i64(shape_.rotary)};
    return add(step::Rotate{0, whole(x), heads, shape_.d, shape_.rotary, Tensor::make<float>(dims, cos),
                            Tensor::make<float>(dims, sin)},
               encoder_.rows[x].width);
  }
  RowsId attend(RowsId x) {
    const RowsId q = rotate(linear(whole(x), shape_.heads * shape_.d), shape_.heads);
    const RowsId k = rotate(linear(whole(x), shape_.kv_heads * shape_.d), shape_.kv_heads);
    const RowsId v = linear(whole(x), shape_.kv_heads * shape_.d_value);
    step::Attention step;
    step.q = whole(q);
    step.k = whole(k);
    step.v = whole(v);
    step.heads = shape_.heads;
    step.kv_heads = shape_.kv_heads;
    step.d = shape_.d;
    step.d_value = shape_.d_value;
    step.scale = static_cast<float>(1 / std::sqrt(static_cast<double>(shape_.d)));
    if (shape_.distance_bias || shape_.window > 0) step.bias = distance_bias();
    step.window = shape_.window;
    return linear(whole(add(std::move(step), shape_.heads * shape_.d_value)), shape_.hidden());
  }
  Tensor distance_bias() {
    const std::size_t heads = shape_.distance_bias ? shape_.heads : 1, positions = shape_.max_positions;
    std::vector<float> bias(heads * (2 * positions - 1));
    for (std::size_t h = 0; h < heads; ++h)
      for (std::size_t i = 0; i < 2 * positions - 1; ++i) {
        const double distance = std::abs(static_cast<double>(i) - static_cast<double>(positions - 1));
        double value = shape_.distance_bias ? -distance * std::pow(0.5, static_cast<double>(h + 1)) : 0;
        if (shape_.window > 0 && distance > static_cast<double>(shape_.window)) value = -INFINITY;
        bias[h * (2 * positions - 1) + i] = static_cast<float>(value);
      }
    return Tensor::make<float>({i64(heads), i64(2 * positions - 1)}, bias);
  }
  RowsId feed_forward(RowsId x) {
    if (!shape_.gated) return linear(whole(linear(whole(x), shape_.inner, shape_.activation)), shape_.hidden());
    const RowsId both = linear(whole(x), 2 * shape_.inner);
    const RowsId gate = add(step::Activate{0, {both, 0, shape_.inner}, shape_.activation}, shape_.inner);
    const RowsId product = add(
        step::Binary{0, whole(gate), {both, shape_.inner, shape_.inner}, step::BinaryKind::kMultiply}, shape_.inner);
    return linear(whole(product), shape_.hidden());
  }
  RowsId classify(RowsId x) {
    const RowsId first = add(step::Pool{0, whole(x), step::PoolKind::kFirst}, encoder_.rows[x].width, true);
    const RowsId dense = linear(whole(first), shape_.hidden(), Activation::kTanh, true);
    return linear(whole(dense), shape_.outputs, Activation::kNone, true);
  }

  EncoderShape shape_;
  std::mt19937_64 random_;
  Encoder encoder_;
};

}  // namespace narthex
