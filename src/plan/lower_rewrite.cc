#include "plan/lower_rewrite.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>

#include "base/check.h"

namespace narthex {
namespace {

// Calls f(Columns&) for each operand of the step. Works on const and mutable steps.
template <class S, class F>
void for_operands(S& step, F f) {
  std::visit(
      [&](auto& s) {
        if constexpr (requires { s.q; }) {
          f(s.q);
          f(s.k);
          f(s.v);
        } else if constexpr (requires { s.a; }) {
          f(s.a);
          f(s.b);
        } else if constexpr (requires { s.in; }) {
          f(s.in);
        }
      },
      step);
}

RowsId& rows_written_ref(Step& step) {
  return std::visit([](auto& s) -> RowsId& { return s.out; }, step);
}

// Follows values back from the output, making per-sequence twins of row-wise steps. What some attention reads for every
// token is computed for every token anyway: there the first row is taken instead.
class FirstTokens {
 public:
  explicit FirstTokens(Encoder& encoder)
      : encoder_(encoder), producer_(encoder.rows.size(), nullptr), for_every_token_(encoder.rows.size(), false) {
    original_ = encoder.steps;
    for (const Step& step : original_) producer_[rows_written(step)] = &step;
  }

  RowsId output_of(RowsId output) {
    find_full(output);
    return first_of(output);
  }

 private:
  // Row i of the result depends on row i of the operands alone.
  static bool row_wise(const Step& step) {
    return !std::holds_alternative<step::Embed>(step) && !std::holds_alternative<step::Rotate>(step) &&
           !std::holds_alternative<step::Attention>(step);
  }

  void find_full(RowsId output) {
    std::vector<bool> needed(encoder_.rows.size(), false);
    needed[output] = true;
    for (std::size_t i = original_.size(); i-- > 0;) {
      const RowsId written = rows_written(original_[i]);
      if (!needed[written]) continue;
      for (const Columns& columns : columns_read(original_[i])) {
        needed[columns.rows] = true;
        if (for_every_token_[written] || !row_wise(original_[i])) for_every_token_[columns.rows] = true;
      }
    }
  }

  RowsId first_of(RowsId rows) {
    if (encoder_.rows[rows].per_sequence) return rows;
    if (const auto known = twins_.find(rows); known != twins_.end()) return known->second;
    const Step* producer = producer_[rows];
    NX_CHECK(producer != nullptr, "a value that no step writes");
    const bool attention = std::holds_alternative<step::Attention>(*producer);
    Step twin = *producer;
    if (for_every_token_[rows] || (!attention && !row_wise(*producer))) {
      twin = step::Pool{0, {rows, 0, encoder_.rows[rows].width}, step::PoolKind::kFirst};
    } else if (!attention) {
      for_operands(twin, [&](Columns& columns) { columns.rows = first_of(columns.rows); });
    }
    Rows info = encoder_.rows[rows];
    info.per_sequence = true;
    encoder_.rows.push_back(std::move(info));
    const RowsId made = encoder_.rows.size() - 1;
    rows_written_ref(twin) = made;
    encoder_.steps.push_back(std::move(twin));
    twins_.emplace(rows, made);
    return made;
  }

  Encoder& encoder_;
  std::vector<Step> original_;
  std::vector<const Step*> producer_;
  std::vector<bool> for_every_token_;
  std::map<RowsId, RowsId> twins_;
};

// Weights [k, n_i] side by side.
Tensor beside(const std::vector<const step::Linear*>& linears, std::size_t k, std::size_t n) {
  Tensor joined =
      Tensor::allocate(DType::kFloat32, {static_cast<std::int64_t>(k), static_cast<std::int64_t>(n)}).value();
  float* out = joined.as_mutable<float>().data();
  std::size_t first = 0;
  for (const step::Linear* linear : linears) {
    const auto weight = linear->weight.as<float>();
    const std::size_t width = weight.size() / k;
    for (std::size_t row = 0; row < k; ++row)
      std::memcpy(out + row * n + first, weight.data() + row * width, width * sizeof(float));
    first += width;
  }
  return joined;
}

std::optional<Tensor> biases_beside(const std::vector<const step::Linear*>& linears, std::size_t k) {
  if (std::ranges::none_of(linears, [](const step::Linear* linear) { return linear->bias.has_value(); })) return {};
  std::vector<float> joined;
  for (const step::Linear* linear : linears) {
    const std::size_t width = static_cast<std::size_t>(linear->weight.count()) / k;
    if (linear->bias) {
      const auto bias = linear->bias->as<float>();
      joined.insert(joined.end(), bias.begin(), bias.end());
    } else {
      joined.insert(joined.end(), width, 0.0F);
    }
  }
  return Tensor::vector(joined);
}

}  // namespace

std::vector<Columns> columns_read(const Step& step) {
  std::vector<Columns> read;
  for_operands(step, [&](const Columns& columns) { read.push_back(columns); });
  return read;
}

RowsId rows_written(const Step& step) {
  return std::visit([](const auto& s) { return s.out; }, step);
}

Encoder keep_output(Encoder encoder, std::size_t output) {
  encoder.outputs = {encoder.outputs.at(output)};
  std::vector<bool> needed(encoder.rows.size(), false);
  needed[encoder.outputs[0].rows] = true;
  std::vector<Step> kept;
  for (std::size_t i = encoder.steps.size(); i-- > 0;) {
    if (!needed[rows_written(encoder.steps[i])]) continue;
    for (const Columns& columns : columns_read(encoder.steps[i])) needed[columns.rows] = true;
    kept.push_back(std::move(encoder.steps[i]));
  }
  std::ranges::reverse(kept);
  encoder.steps = std::move(kept);
  return encoder;
}

Encoder pool_output(Encoder encoder, step::PoolKind kind) {
  RowsId& output = encoder.outputs[0].rows;
  if (kind == step::PoolKind::kFirst) {
    output = FirstTokens(encoder).output_of(output);
    return keep_output(std::move(encoder), 0);
  }
  Rows info = encoder.rows[output];
  info.per_sequence = true;
  const Columns all{output, 0, info.width};
  encoder.rows.push_back(std::move(info));
  output = encoder.rows.size() - 1;
  encoder.steps.emplace_back(step::Pool{output, all, kind});
  return encoder;
}

Encoder merge_linears(Encoder encoder) {
  std::vector<bool> read_by_linear(encoder.rows.size(), false);
  for (const Step& step : encoder.steps) {
    if (const auto* linear = std::get_if<step::Linear>(&step)) read_by_linear[linear->in.rows] = true;
  }
  for (const EncoderOutput& output : encoder.outputs) read_by_linear[output.rows] = true;
  using Key = std::tuple<RowsId, std::size_t, std::size_t, Activation>;
  std::map<Key, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < encoder.steps.size(); ++i) {
    const auto* linear = std::get_if<step::Linear>(&encoder.steps[i]);
    if (linear == nullptr || read_by_linear[linear->out]) continue;
    groups[{linear->in.rows, linear->in.first, linear->in.width, linear->activation}].push_back(i);
  }
  std::map<RowsId, Columns> moved;  // old value → where it is now
  std::vector<bool> dropped(encoder.steps.size(), false);
  for (const auto& [key, members] : groups) {
    if (members.size() < 2) continue;
    std::vector<const step::Linear*> linears;
    Rows info = encoder.rows[std::get<step::Linear>(encoder.steps[members[0]]).out];
    info.width = 0;
    const RowsId merged = encoder.rows.size();
    for (const std::size_t member : members) {
      linears.push_back(&std::get<step::Linear>(encoder.steps[member]));
      const std::size_t width = encoder.rows[linears.back()->out].width;
      moved[linears.back()->out] = {merged, info.width, width};
      info.width += width;
      dropped[member] = member != members[0];
    }
    step::Linear joined = *linears[0];
    joined.out = merged;
    joined.weight = beside(linears, joined.in.width, info.width);
    joined.bias = biases_beside(linears, joined.in.width);
    encoder.rows.push_back(std::move(info));
    encoder.steps[members[0]] = std::move(joined);
  }
  std::vector<Step> steps;
  for (std::size_t i = 0; i < encoder.steps.size(); ++i) {
    if (dropped[i]) continue;
    for_operands(encoder.steps[i], [&](Columns& columns) {
      if (const auto now = moved.find(columns.rows); now != moved.end())
        columns = {now->second.rows, now->second.first + columns.first, columns.width};
    });
    steps.push_back(std::move(encoder.steps[i]));
  }
  encoder.steps = std::move(steps);
  return encoder;
}

}  // namespace narthex
