// An Encoder run as encoder.h says it, one sequence at a time, in double: the truth for the recogniser and the plan.
//
//   run_reference(encoder, ids, types)   one matrix for each output: [tokens or 1][width]
//
// Obvious rather than fast; it shares no code with what it checks.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "plan/encoder.h"

namespace narthex {

using Matrix = std::vector<std::vector<double>>;

class ReferenceRun {
 public:
  ReferenceRun(const Encoder& encoder, std::span<const std::int64_t> ids, std::span<const std::int64_t> types)
      : encoder_(encoder), ids_(ids), types_(types), values_(encoder.rows.size()) {
    if (ids.empty() || ids.size() > encoder.max_positions) throw std::out_of_range("length of the sequence");
  }

  std::vector<Matrix> run() {
    for (const Step& step : encoder_.steps) {
      std::visit([&](const auto& s) { keep(s.out, compute(s)); }, step);
    }
    std::vector<Matrix> outputs;
    for (const EncoderOutput& output : encoder_.outputs) outputs.push_back(values_.at(output.rows));
    return outputs;
  }

 private:
  // What a step wrote must be what the encoder declares of it.
  void keep(RowsId out, Matrix value) {
    const Rows& rows = encoder_.rows.at(out);
    if (value.size() != (rows.per_sequence ? 1 : ids_.size())) throw std::logic_error("number of rows");
    for (const auto& row : value) {
      if (row.size() != rows.width) throw std::logic_error("width of rows");
    }
    values_[out] = std::move(value);
  }

  Matrix read(const Columns& columns) const {
    Matrix result;
    for (const auto& row : values_.at(columns.rows)) {
      if (columns.first + columns.width > row.size()) throw std::logic_error("columns beyond the row");
      const auto begin = row.begin() + static_cast<std::ptrdiff_t>(columns.first);
      result.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(columns.width));
    }
    if (result.empty()) throw std::logic_error("rows are read before they are written");
    return result;
  }

  static double element(const Tensor& tensor, std::size_t i) {
    if (i >= tensor.as<float>().size()) throw std::logic_error("element beyond the tensor");
    return static_cast<double>(tensor.as<float>()[i]);
  }

  static double activated(Activation activation, double x) {
    switch (activation) {
      case Activation::kNone:
        return x;
      case Activation::kRelu:
        return x > 0 ? x : 0;
      case Activation::kGeluErf:
        return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
      case Activation::kGeluTanh:
        return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
      case Activation::kTanh:
        return std::tanh(x);
      case Activation::kSigmoid:
        return 1 / (1 + std::exp(-x));
      case Activation::kSilu:
        return x / (1 + std::exp(-x));
    }
    throw std::logic_error("activation");
  }

  static void softmax(std::vector<double>& row) {
    const double largest = *std::ranges::max_element(row);
    double sum = 0;
    for (double& x : row) sum += x = std::exp(x - largest);
    for (double& x : row) x /= sum;
  }

  Matrix compute(const step::Embed& s) const {
    const auto width = static_cast<std::size_t>(s.table.dims()[1]);
    Matrix result(ids_.size());
    for (std::size_t t = 0; t < ids_.size(); ++t) {
      std::int64_t index = static_cast<std::int64_t>(t);
      if (s.index == step::Index::kTokenIds) index = ids_[t];
      if (s.index == step::Index::kTokenTypes) index = types_[t];
      if (index < 0 || index >= s.table.dims()[0]) throw std::logic_error("row beyond the table");
      for (std::size_t j = 0; j < width; ++j) {
        result[t].push_back(element(s.table, static_cast<std::size_t>(index) * width + j));
      }
    }
    return result;
  }

  Matrix compute(const step::Linear& s) const {
    const auto n = static_cast<std::size_t>(s.weight.dims()[1]);
    if (static_cast<std::size_t>(s.weight.dims()[0]) != s.in.width) throw std::logic_error("weights");
    const std::span<const float> weight = s.weight.as<float>();
    Matrix result;
    for (const auto& row : read(s.in)) {
      std::vector<double> out(n, 0);
      for (std::size_t i = 0; i < row.size(); ++i) {
        for (std::size_t j = 0; j < n; ++j) out[j] += row[i] * static_cast<double>(weight[i * n + j]);
      }
      for (std::size_t j = 0; j < n; ++j) {
        out[j] = activated(s.activation, out[j] + (s.bias ? element(*s.bias, j) : 0));
      }
      result.push_back(std::move(out));
    }
    return result;
  }

  Matrix compute(const step::Binary& s) const {
    Matrix result = read(s.a);
    const Matrix other = read(s.b);
    for (std::size_t t = 0; t < result.size(); ++t) {
      for (std::size_t j = 0; j < result[t].size(); ++j) {
        const double y = other.at(t).at(j);
        result[t][j] = s.kind == step::BinaryKind::kAdd ? result[t][j] + y : result[t][j] * y;
      }
    }
    return result;
  }

  Matrix compute(const step::Affine& s) const {
    Matrix result = read(s.in);
    for (auto& row : result) {
      for (std::size_t j = 0; j < row.size(); ++j) {
        row[j] = row[j] * (s.factor ? element(*s.factor, j) : 1) + (s.shift ? element(*s.shift, j) : 0);
      }
    }
    return result;
  }

  Matrix compute(const step::Norm& s) const {
    Matrix result = read(s.in);
    for (auto& row : result) {
      const auto n = static_cast<double>(row.size());
      double mean = 0;
      for (const double x : row) mean += x / n;
      if (s.kind == NormKind::kRms) mean = 0;
      double variance = 0;
      for (const double x : row) variance += (x - mean) * (x - mean) / n;
      const double scale = 1 / std::sqrt(variance + static_cast<double>(s.epsilon));
      for (std::size_t j = 0; j < row.size(); ++j) {
        row[j] = (row[j] - mean) * scale * (s.gamma ? element(*s.gamma, j) : 1) + (s.beta ? element(*s.beta, j) : 0);
      }
    }
    return result;
  }

  Matrix compute(const step::Activate& s) const {
    Matrix result = read(s.in);
    for (auto& row : result) {
      for (double& x : row) x = activated(s.activation, x);
    }
    return result;
  }

  Matrix compute(const step::Rotate& s) const {
    const Matrix in = read(s.in);
    Matrix result = in;
    for (std::size_t t = 0; t < in.size(); ++t) {
      for (std::size_t h = 0; h < s.heads; ++h) {
        for (std::size_t j = 0; j < s.rotary; ++j) {
          const std::size_t half = s.rotary / 2;
          const std::size_t column = h * s.d + j;
          const double partner = j < half ? -in[t].at(column + half) : in[t].at(column - half);
          result[t].at(column) =
              in[t][column] * element(s.cos, t * s.rotary + j) + partner * element(s.sin, t * s.rotary + j);
        }
      }
    }
    return result;
  }

  static double bias_of(const step::Attention& s, std::size_t head, std::size_t i, std::size_t j) {
    if (!s.bias) return 0;
    const auto columns = static_cast<std::size_t>(s.bias->dims()[1]);
    const std::size_t zero = columns / 2;  // P − 1
    const std::size_t row = s.bias->dims()[0] == 1 ? 0 : head;
    return element(*s.bias, row * columns + zero + j - i);
  }

  Matrix compute(const step::Attention& s) const {
    const Matrix q = read(s.q);
    const Matrix k = read(s.k);
    const Matrix v = read(s.v);
    Matrix result(q.size());
    for (std::size_t h = 0; h < s.heads; ++h) {
      const std::size_t kv = h / (s.heads / s.kv_heads);
      for (std::size_t i = 0; i < q.size(); ++i) {
        std::vector<double> p;
        for (std::size_t j = 0; j < k.size(); ++j) {
          double dot = 0;
          for (std::size_t c = 0; c < s.d; ++c) dot += q[i].at(h * s.d + c) * k[j].at(kv * s.d + c);
          p.push_back(static_cast<double>(s.scale) * dot + bias_of(s, h, i, j));
          const bool outside = std::max(i, j) - std::min(i, j) > s.window;
          if (s.window > 0 && outside && !std::isinf(p.back())) throw std::logic_error("the window hides a key");
        }
        softmax(p);
        for (std::size_t c = 0; c < s.d_value; ++c) {
          double sum = 0;
          for (std::size_t j = 0; j < v.size(); ++j) sum += p[j] * v[j].at(kv * s.d_value + c);
          result[i].push_back(sum);
        }
      }
    }
    return result;
  }

  Matrix compute(const step::Pool& s) const {
    const Matrix in = read(s.in);
    if (s.kind == step::PoolKind::kFirst) return {in.front()};
    if (s.kind == step::PoolKind::kLast) return {in.back()};
    std::vector<double> row = in.front();
    for (std::size_t t = 1; t < in.size(); ++t) {
      for (std::size_t j = 0; j < row.size(); ++j) {
        row[j] = s.kind == step::PoolKind::kMax ? std::max(row[j], in[t][j]) : row[j] + in[t][j];
      }
    }
    for (double& x : row) x /= s.kind == step::PoolKind::kMean ? static_cast<double>(in.size()) : 1;
    return {row};
  }

  Matrix compute(const step::L2Normalize& s) const {
    Matrix result = read(s.in);
    for (auto& row : result) {
      double sum = 0;
      for (const double x : row) sum += x * x;
      const double length = std::max(std::sqrt(sum), static_cast<double>(s.epsilon));
      for (double& x : row) x /= length;
    }
    return result;
  }

  Matrix compute(const step::RowSoftmax& s) const {
    Matrix result = read(s.in);
    for (auto& row : result) softmax(row);
    return result;
  }

  const Encoder& encoder_;
  std::span<const std::int64_t> ids_;
  std::span<const std::int64_t> types_;
  std::vector<Matrix> values_;
};

inline std::vector<Matrix> run_reference(const Encoder& encoder, std::span<const std::int64_t> ids,
                                         std::span<const std::int64_t> types) {
  return ReferenceRun(encoder, ids, types).run();
}

}  // namespace narthex
