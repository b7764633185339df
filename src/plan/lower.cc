#include "plan/lower.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <new>

#include "base/check.h"
#include "base/half.h"
#include "kernels/kernels.h"
#include "plan/lower_rewrite.h"
#include "plan/lower_weights.h"
#include "plan/packed_slots.h"

namespace narthex {
namespace {

// What consumers want of a value.
struct Demand {
  bool f32 = false;                  // somebody reads floats
  bool bf16_only = true;             // every reader takes bfloat16 columns as they lie in a slot
  std::optional<Precision> encoded;  // a product reads it whole in this form (the first one's)
  std::size_t readers = 0;
};

class Lowerer {
 public:
  Lowerer(const Encoder& encoder, const LowerOptions& options) : encoder_(encoder), options_(options) {
    plan_.max_positions = encoder.max_positions;
    for (const std::int64_t id : encoder.excluded_ids) plan_.excluded_ids.push_back(static_cast<std::int32_t>(id));
    values_.resize(encoder.rows.size());
    demands_.resize(encoder.rows.size());
    find_demands();
  }

  PackedPlan lower() {
    for (const Step& step : encoder_.steps) std::visit([&](const auto& s) { emit(s); }, step);
    plan_.output = floats({encoder_.outputs[0].rows, 0, encoder_.rows[encoder_.outputs[0].rows].width});
    assign_regions(plan_);
    return std::move(plan_);
  }

 private:
  // What is not computed yet, because a later step may take it in.
  struct PendingTables {
    std::vector<packed::Table> tables;
  };
  struct PendingSum {
    Columns a, b;
  };
  struct PendingActivation {
    Columns in;
    Activation activation;
  };
  struct Value {
    std::variant<std::monostate, PendingTables, PendingSum, PendingActivation> pending;
    std::optional<View> view;         // its columns in a slot of floats, or of bfloat16
    std::optional<Columns> alias_of;  // whose columns these are, for a copy that was never made
    std::map<Precision, SlotId> encoded;
    std::vector<float> smoothing;  // what columns are multiplied by in the int8 form; empty: nothing
  };

  Precision linear_precision(std::size_t index) const {
    return index < options_.linear_precision.size() ? options_.linear_precision[index].value_or(options_.precision)
                                                    : options_.precision;
  }
  Precision attention_precision(std::size_t index) const {
    return index < options_.attention_precision.size()
               ? options_.attention_precision[index].value_or(options_.precision)
               : options_.precision;
  }

  void find_demands() {
    std::size_t linear = 0, attention = 0;
    for (const Step& step : encoder_.steps) {
      const auto* product = std::get_if<step::Linear>(&step);
      const auto* heads = std::get_if<step::Attention>(&step);
      const Precision precision = product != nullptr ? linear_precision(linear++)
                                  : heads != nullptr ? attention_precision(attention++)
                                                     : Precision::kFp32;
      for (const Columns& columns : columns_read(step)) {
        Demand& demand = demands_[columns.rows];
        ++demand.readers;
        const bool whole = columns.first == 0 && columns.width == encoder_.rows[columns.rows].width;
        const bool half = precision == Precision::kBf16;
        if (product != nullptr && whole && precision != Precision::kFp32) {
          if (!demand.encoded) demand.encoded = precision;
          demand.f32 |= demand.encoded != precision;
          demand.bf16_only &= half && columns.width % 32 == 0;
        } else if (heads != nullptr && half && heads->d % 32 == 0) {
          demand.f32 = true;  // in doubt; bf16_only decides first
        } else {
          demand.f32 = true;
          demand.bf16_only = false;
        }
      }
    }
    Demand& output = demands_[encoder_.outputs[0].rows];
    output.f32 = true;
    output.bf16_only = false;
    ++output.readers;
  }

  SlotId add_slot(RowFormat format, std::size_t width, bool per_sequence) {
    plan_.slots.push_back({format, static_cast<std::uint32_t>(width), per_sequence, 0});
    return static_cast<SlotId>(plan_.slots.size() - 1);
  }
  View new_view(RowFormat format, RowsId rows) {
    const Rows& info = encoder_.rows[rows];
    return {add_slot(format, info.width, info.per_sequence), 0, static_cast<std::uint32_t>(info.width)};
  }
  View new_floats(RowsId rows) {
    const View view = new_view(RowFormat::kF32, rows);
    values_[rows].view = view;
    return view;
  }
  // A slot for what a product, an attention or a gate writes: bfloat16 where nobody reads anything else.
  View new_result(RowsId rows) {
    if (!demands_[rows].bf16_only || demands_[rows].readers == 0) return new_floats(rows);
    const View view = new_view(RowFormat::kBf16, rows);
    values_[rows].view = view;
    values_[rows].encoded[Precision::kBf16] = view.slot;
    return view;
  }

  static View columns_of(View view, const Columns& columns) {
    return {view.slot, static_cast<std::uint32_t>(view.first + columns.first),
            static_cast<std::uint32_t>(columns.width)};
  }
  // The columns in a slot, computed now if they were pending. Floats unless the value lives in bfloat16 alone.
  View floats(const Columns& columns) {
    Value& value = values_[columns.rows];
    if (!value.view) materialise(columns.rows);
    return columns_of(*value.view, columns);
  }

  void materialise(RowsId rows) {
    const auto pending = std::move(values_[rows].pending);
    values_[rows].pending = {};
    if (const auto* tables = std::get_if<PendingTables>(&pending)) {
      plan_.steps.push_back(packed::Gather{tables->tables, new_floats(rows)});
    } else if (const auto* sum = std::get_if<PendingSum>(&pending)) {
      packed::Norm norm;
      norm.x = floats(sum->a);
      norm.residual = floats(sum->b);
      norm.kind = NormKind::kNone;
      norm.y = new_floats(rows);
      add_encoding(rows, norm.encoded, norm.factor);
      plan_.steps.push_back(norm);
    } else if (const auto* act = std::get_if<PendingActivation>(&pending)) {
      const View in = floats(act->in);
      if (act->activation == Activation::kNone) {
        values_[rows].view = in;
        values_[rows].alias_of = act->in;
      } else {
        const View out = new_floats(rows);
        plan_.steps.push_back(packed::Activate{in, out, act->activation});
      }
    } else {
      NX_CHECK(false, "a value that is neither computed nor pending");
    }
  }

  // The encoded form that the first product reading `rows` wants, to be made by the step that makes the floats.
  void add_encoding(RowsId rows, SlotId& encoded, Constant& factor) {
    const auto precision = demands_[rows].encoded;
    if (!precision || values_[rows].encoded.contains(*precision)) return;
    const Rows& info = encoder_.rows[rows];
    encoded = add_slot(format_of(*precision), info.width, info.per_sequence);
    values_[rows].encoded[*precision] = encoded;
    if (*precision == Precision::kInt8) factor = smoothing_factor(rows);
  }

  // For int8: columns are multiplied by 1 / s and the weights' rows by s, s = √(max|x| / max|w|) per column
  // (SmoothQuant, α = 0.5), over all int8 products that read the value whole.
  Constant smoothing_factor(RowsId rows) {
    const std::size_t k = encoder_.rows[rows].width;
    std::vector<float> of_inputs(k, 0.0F), of_weights(k, 0.0F);
    std::size_t index = 0;
    for (const Step& step : encoder_.steps) {
      const auto* linear = std::get_if<step::Linear>(&step);
      if (linear == nullptr) continue;
      const std::size_t at = index++;
      if (linear->in.rows != rows || linear->in.width != k || linear_precision(at) != Precision::kInt8) continue;
      if (at >= options_.column_maxima.size() || options_.column_maxima[at].size() != k) return {};
      const auto weights = linear->weight.as<float>();
      for (std::size_t i = 0; i < k; ++i) {
        of_inputs[i] = std::max(of_inputs[i], options_.column_maxima[at][i]);
        of_weights[i] = std::max(of_weights[i], largest_in_row(weights, k, i));
      }
    }
    std::vector<float> factor(k, 1.0F), smoothing(k, 1.0F);
    for (std::size_t i = 0; i < k; ++i) {
      if (!(of_inputs[i] > 0) || !(of_weights[i] > 0)) continue;
      smoothing[i] = std::clamp(std::sqrt(of_inputs[i] / of_weights[i]), 1e-4F, 1e4F);
      factor[i] = 1.0F / smoothing[i];
    }
    values_[rows].smoothing = std::move(smoothing);
    return constant_of(plan_, factor);
  }

  // The columns as a product of that precision reads them.
  View encoded(const Columns& columns, Precision precision) {
    Value& value = values_[columns.rows];
    const bool whole = columns.first == 0 && columns.width == encoder_.rows[columns.rows].width;
    if (precision == Precision::kFp32) return floats(columns);
    const auto width = static_cast<std::uint32_t>(columns.width);
    if (!value.view && value.encoded.empty()) materialise(columns.rows);
    if (whole && value.encoded.contains(precision)) return {value.encoded[precision], 0, width};
    if (value.view && plan_.slots[value.view->slot].format == RowFormat::kBf16 && precision == Precision::kBf16 &&
        columns.width % 32 == 0)
      return columns_of(*value.view, columns);
    packed::Encode encode;
    encode.in = floats(columns);
    encode.out = add_slot(format_of(precision), columns.width, encoder_.rows[columns.rows].per_sequence);
    if (whole) {
      if (precision == Precision::kInt8) encode.factor = smoothing_factor(columns.rows);
      values_[columns.rows].encoded[precision] = encode.out;
    }
    plan_.steps.push_back(encode);
    return {encode.out, 0, width};
  }

  void emit(const step::Embed& s) {
    packed::Table table;
    table.index = s.index;
    table.entries = static_cast<std::uint32_t>(s.table.dims()[0]);
    table.bf16 = options_.precision != Precision::kFp32 && s.index == step::Index::kTokenIds;
    table.rows = table.bf16 ? bf16_constant(plan_, s.table.as<float>()) : constant_of(plan_, s.table.as<float>());
    values_[s.out].pending = PendingTables{{table}};
  }

  void emit(const step::Binary& s) {
    auto* a = std::get_if<PendingTables>(&values_[s.a.rows].pending);
    auto* b = std::get_if<PendingTables>(&values_[s.b.rows].pending);
    const bool whole = s.a.width == encoder_.rows[s.a.rows].width && s.b.width == encoder_.rows[s.b.rows].width;
    if (s.kind == step::BinaryKind::kAdd && whole && a != nullptr && b != nullptr) {
      PendingTables both{a->tables};
      both.tables.insert(both.tables.end(), b->tables.begin(), b->tables.end());
      values_[s.out].pending = std::move(both);
    } else if (s.kind == step::BinaryKind::kAdd) {
      values_[s.out].pending = PendingSum{s.a, s.b};
    } else {
      emit_product(s);
    }
  }

  // An activated value times another: the gate of a gated linear unit.
  void emit_product(const step::Binary& s) {
    packed::Gated gated;
    Columns a = s.a, b = s.b;
    if (std::holds_alternative<PendingActivation>(values_[b.rows].pending)) std::swap(a, b);
    const auto* act = std::get_if<PendingActivation>(&values_[a.rows].pending);
    if (act != nullptr) {
      gated.activation = act->activation;
      const std::size_t first = act->in.first + a.first;
      a = {act->in.rows, first, a.width};
    }
    gated.a = floats(a);
    gated.b = floats(b);
    const Demand& demand = demands_[s.out];
    if (demand.encoded && !demand.f32) {
      add_encoding(s.out, gated.out, gated.factor);
    } else {
      gated.out = new_floats(s.out).slot;
    }
    plan_.steps.push_back(gated);
  }

  void emit(const step::Activate& s) { values_[s.out].pending = PendingActivation{s.in, s.activation}; }

  void emit(const step::Norm& s) {
    packed::Norm norm;
    const bool whole = s.in.width == encoder_.rows[s.in.rows].width;
    const auto* sum = std::get_if<PendingSum>(&values_[s.in.rows].pending);
    if (sum != nullptr && whole) {
      const PendingSum terms = *sum;
      values_[s.in.rows].pending = {};
      norm.x = floats(terms.a);
      norm.residual = floats(terms.b);
      if (demands_[s.in.rows].readers > 1) norm.sum = new_floats(s.in.rows);
    } else {
      norm.x = floats(s.in);
    }
    norm.kind = s.kind;
    norm.epsilon = s.epsilon;
    if (s.gamma) norm.gamma = constant_of(plan_, s.gamma->as<float>());
    if (s.beta) norm.beta = constant_of(plan_, s.beta->as<float>());
    if (demands_[s.out].f32 || !demands_[s.out].encoded) norm.y = new_floats(s.out);
    add_encoding(s.out, norm.encoded, norm.factor);
    plan_.steps.push_back(norm);
  }

  void emit(const step::Linear& s) {
    packed::Linear linear;
    linear.precision = linear_precision(n_linears_++);
    linear.in = encoded(s.in, linear.precision);
    linear.k = static_cast<std::uint32_t>(s.in.width);
    linear.n = static_cast<std::uint32_t>(encoder_.rows[s.out].width);
    linear.activation = s.activation;
    const bool whole = s.in.first == 0 && s.in.width == encoder_.rows[s.in.rows].width;
    const auto& smoothing = values_[s.in.rows].smoothing;
    pack_linear(
        plan_, linear, s.weight.as<float>(),
        whole && linear.precision == Precision::kInt8 ? std::span<const float>(smoothing) : std::span<const float>());
    if (s.bias) linear.bias = constant_of(plan_, s.bias->as<float>());
    // Products in fp32 write floats only.
    linear.out = linear.precision == Precision::kFp32 ? new_floats(s.out) : new_result(s.out);
    plan_.steps.push_back(linear);
  }

  void emit(const step::Attention& s) {
    packed::Attention attention;
    attention.precision = attention_precision(n_attentions_++);
    attention.q = floats(s.q);
    attention.k = floats(s.k);
    attention.v = floats(s.v);
    attention.heads = static_cast<std::uint32_t>(s.heads);
    attention.kv_heads = static_cast<std::uint32_t>(s.kv_heads);
    attention.d = static_cast<std::uint32_t>(s.d);
    attention.d_value = static_cast<std::uint32_t>(s.d_value);
    attention.scale = s.scale;
    attention.window = static_cast<std::uint32_t>(s.window);
    attention.first_query_only = encoder_.rows[s.out].per_sequence;
    if (s.bias) {
      attention.bias = constant_of(plan_, s.bias->as<float>());
      attention.bias_rows = static_cast<std::uint32_t>(s.bias->dims()[0]);
      attention.bias_positions = static_cast<std::uint32_t>((s.bias->dims()[1] + 1) / 2);
    }
    attention.out = attention.precision == Precision::kBf16 ? new_result(s.out) : new_floats(s.out);
    plan_.steps.push_back(attention);
  }

  void emit(const step::Rotate& s) {
    packed::Rotate rotate;
    // In place when nobody else reads these columns; a merged product's other columns do not matter.
    const View in = floats(s.in);
    if (sole_reader(s.in)) {
      values_[s.out].view = in;
    } else {
      plan_.steps.push_back(packed::Activate{in, new_floats(s.out), Activation::kNone});
    }
    rotate.x = *values_[s.out].view;
    rotate.heads = static_cast<std::uint32_t>(s.heads);
    rotate.d = static_cast<std::uint32_t>(s.d);
    rotate.rotary = static_cast<std::uint32_t>(s.rotary);
    rotate.cos = constant_of(plan_, s.cos.as<float>());
    rotate.sin = constant_of(plan_, s.sin.as<float>());
    plan_.steps.push_back(rotate);
  }

  // Whether no other step reads any of these columns, whatever name it has for them.
  bool sole_reader(const Columns& columns) const {
    std::size_t readers = 0;
    for (const Step& step : encoder_.steps) {
      for (const Columns& read : columns_read(step)) {
        if (read.rows == columns.rows && read.first < columns.first + columns.width &&
            columns.first < read.first + read.width)
          ++readers;
      }
    }
    const auto& alias = values_[columns.rows].alias_of;
    return readers == 1 && (!alias || sole_reader({alias->rows, alias->first + columns.first, columns.width}));
  }

  void emit(const step::Affine& s) {
    packed::Affine affine;
    affine.in = floats(s.in);
    if (s.factor) affine.factor = constant_of(plan_, s.factor->as<float>());
    if (s.shift) affine.shift = constant_of(plan_, s.shift->as<float>());
    affine.out = new_floats(s.out);
    plan_.steps.push_back(affine);
  }
  void emit(const step::Pool& s) {
    const View in = floats(s.in);
    plan_.steps.push_back(packed::Pool{in, new_floats(s.out), s.kind});
  }
  void emit(const step::L2Normalize& s) {
    const View in = floats(s.in);
    plan_.steps.push_back(packed::L2Normalize{in, new_floats(s.out), s.epsilon});
  }
  void emit(const step::RowSoftmax& s) {
    const View in = floats(s.in);
    plan_.steps.push_back(packed::RowSoftmax{in, new_floats(s.out)});
  }

  const Encoder& encoder_;
  const LowerOptions& options_;
  PackedPlan plan_;
  std::vector<Value> values_;
  std::vector<Demand> demands_;
  std::size_t n_linears_ = 0, n_attentions_ = 0;
};

}  // namespace

PackedPlan lower(const Encoder& encoder, const LowerOptions& options) {
  Encoder kept = keep_output(encoder, options.output);
  if (options.pool && !kept.rows[kept.outputs[0].rows].per_sequence) kept = pool_output(std::move(kept), *options.pool);
  kept = merge_linears(std::move(kept));
  return Lowerer(kept, options).lower();
}

}  // namespace narthex
