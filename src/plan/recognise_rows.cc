// Embeddings, linears, norms, and what is done element by element to rows of features.
#include <algorithm>
#include <cmath>

#include "ops/evaluate.h"
#include "ops/util.h"
#include "plan/recognise_run.h"

namespace narthex::recognition {
namespace {

constexpr std::uint64_t kMaxCodeBytes = std::uint64_t{1} << 26;

bool is_float_type(std::int64_t to) {
  return to == static_cast<std::int64_t>(DType::kFloat32) || to == static_cast<std::int64_t>(DType::kFloat16) ||
         to == static_cast<std::int64_t>(DType::kBFloat16) || to == static_cast<std::int64_t>(DType::kFloat64);
}

Result<Activation> activation_of(std::string_view name) {
  if (name.empty()) return Activation::kNone;
  if (name == "relu") return Activation::kRelu;
  if (name == "tanh") return Activation::kTanh;
  if (name == "gelu") return Activation::kGeluErf;
  if (name == "gelu_tanh") return Activation::kGeluTanh;
  return fail(ErrorCode::kUnsupported, "activation '{}' is not one of a plan", name);
}

Result<Tensor> transposed(const Tensor& matrix) {
  const std::int64_t rows = matrix.dims()[0];
  const std::int64_t columns = matrix.dims()[1];
  NX_TRY(Tensor out, Tensor::allocate(DType::kFloat32, {columns, rows}));
  const float* in = matrix.as<float>().data();
  float* to = out.as_mutable<float>().data();
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) to[j * rows + i] = in[i * columns + j];
  }
  return out;
}

// [1, 1, k, n] as [k, n].
Result<Tensor> as_matrix(const Tensor& tensor) {
  const Dims& dims = tensor.dims();
  if (dims.size() < 2 || !std::all_of(dims.begin(), dims.end() - 2, [](std::int64_t d) { return d == 1; })) {
    return fail(ErrorCode::kUnsupported, "the weights have shape {}, expected one matrix", dims_string(dims));
  }
  return tensor.reshaped({dims[dims.size() - 2], dims.back()});
}

}  // namespace

// A table of constants by token, or a selection from what is already rows.
Result<void> Run::see_gather(const Node& node) {
  if (known(node.inputs[1])) return see_move(node);
  if (!known(node.inputs[0]) || lengths_.depends(node.inputs[0]) != Depends::kConstant) {
    return fail(ErrorCode::kUnsupported, "only a constant table can be looked up by tokens");
  }
  const Seen& indices = seen(node.inputs[1]);
  if (indices.kind != Seen::Kind::kCodes) return fail(ErrorCode::kUnsupported, "the indices are not token ids");
  NX_TRY(const EntityId id, entity_of(indices.lanes[0]));
  const Entity input = entity(id);
  NX_TRY(const Tensor table, lengths_.at(node.inputs[0], length_));
  NX_TRY(const std::int64_t axis, node.int_attr("axis", 0));
  NX_TRY(const Tensor in_order, dense_codes(id, indices.lanes[0].dims()));
  if (input.kind != EntityKind::kInput || axis != 0 || table.rank() != 2 ||
      !std::ranges::equal(in_order.as<std::int64_t>(), indices.lanes[0].as<std::int64_t>()) ||
      static_cast<std::size_t>(in_order.count()) != length_) {
    return fail(ErrorCode::kUnsupported, "expected a table [entries, width] looked up by the ids of all tokens");
  }
  const auto width = static_cast<std::size_t>(table.dims()[1]);
  const auto index = input.index == 0 ? step::Index::kTokenIds : step::Index::kTokenTypes;
  Dims dims = indices.lanes[0].dims();
  dims.push_back(table.dims()[1]);
  EntityId out = 0;
  if (table.dtype() == DType::kUint8 || table.dtype() == DType::kInt8) {
    if (width >= kMaxColumns) return fail(ErrorCode::kUnsupported, "rows of {} columns", width);
    tables_.push_back({index, table, graph_.value(node.outputs[0]).name});
    out = add_entity({EntityKind::kQuantisedRows, tables_.size() - 1, width, false, 0});
  } else {
    NX_TRY(out, add_rows(width, false, graph_.value(node.outputs[0]).name));
    NX_TRY(Tensor floats, as_float(table));
    emit(step::Embed{0, index, std::move(floats)}, out);
  }
  NX_TRY(Tensor codes, dense_codes(out, std::move(dims)));
  set(node, std::move(codes));
  return {};
}

Result<EntityId> Run::linear(const Tensor& codes, step::Linear step, const std::string& name) {
  NX_TRY(const Layout layout, matrix_of(codes));
  const Dims& dims = step.weight.dims();
  if (static_cast<std::size_t>(dims[0]) != layout.width) {
    return fail(ErrorCode::kUnsupported, "weights {} for rows of {} features", dims_string(dims), layout.width);
  }
  if (step.bias && (step.bias->count() != dims[1] || (step.bias->rank() > 0 && step.bias->dims().back() != dims[1]))) {
    return fail(ErrorCode::kUnsupported, "a bias {} for {} features", dims_string(step.bias->dims()), dims[1]);
  }
  if (step.bias) step.bias = step.bias->reshaped({dims[1]});
  step.in = columns_of(layout);
  NX_TRY(const EntityId out, add_rows(static_cast<std::size_t>(dims[1]), entity(layout.entity).per_sequence, name));
  emit(std::move(step), out);
  return out;
}

Result<void> Run::see_linear(const Node& node) {
  if (known(node.inputs[0])) return fail(ErrorCode::kUnsupported, "only the left operand may depend on the tokens");
  const bool gemm = node.op == "Gemm";
  NX_TRY(const float alpha, node.float_attr("alpha", 1));
  NX_TRY(const float beta, node.float_attr("beta", 1));
  NX_TRY(const std::int64_t trans_a, node.int_attr("transA", 0));
  if (alpha != 1 || (node.has_input(2) && beta != 1) || trans_a != 0) {
    return fail(ErrorCode::kUnsupported, "expected alpha 1, beta 1 and transA 0");
  }
  const std::string& name = graph_.value(node.outputs[0]).name;
  NX_TRY(const Tensor codes, rows_of(seen(node.inputs[0]), name));
  step::Linear step;
  NX_TRY(Tensor weight, constant_float(node.inputs[1]));
  NX_TRY(step.weight, as_matrix(weight));
  NX_TRY(const std::int64_t transposed_attribute, node.int_attr(gemm ? "transB" : "transposed", 0));
  if (transposed_attribute != 0) {
    NX_TRY(step.weight, transposed(step.weight));
  }
  if (node.has_input(2)) {
    NX_TRY(step.bias, constant_float(node.inputs[2]));
  }
  NX_TRY(const std::string activation, node.string_attr("activation", ""));
  NX_TRY(step.activation, activation_of(activation));
  Dims dims = codes.dims();
  if (dims.empty()) return fail(ErrorCode::kUnsupported, "the operand has no dimensions");
  dims.back() = step.weight.dims()[1];
  // Weights [1, 1, k, n] add dimensions to the result.
  if (!gemm && weight.rank() > codes.rank())
    dims.insert(dims.begin(), static_cast<std::size_t>(weight.rank() - codes.rank()), 1);
  NX_TRY(const EntityId out, linear(codes, std::move(step), name));
  NX_TRY(Tensor result, dense_codes(out, std::move(dims)));
  set(node, std::move(result));
  return {};
}

Result<void> Run::see_matmul(const Node& node) {
  if (!known(node.inputs[0]) && known(node.inputs[1])) return see_linear(node);
  if (known(node.inputs[0])) {
    return fail(ErrorCode::kUnsupported, "a constant on the left of what depends on the tokens");
  }
  const std::string& name = graph_.value(node.outputs[0]).name;
  const Seen& a = seen(node.inputs[0]);
  if (a.kind == Seen::Kind::kCodes) {
    NX_TRY(const EntityId id, entity_of(a.lanes[0]));
    NX_TRY(const Tensor b, rows_of(seen(node.inputs[1]), name));
    if (entity(id).kind == EntityKind::kProbabilities) return context(node, a.lanes[0], b);
  }
  NX_TRY(const Tensor q, rows_of(a, name));
  NX_TRY(const Tensor k, rows_of(seen(node.inputs[1]), name));
  return scores(node, q, k);
}

Result<void> Run::see_layer_norm(const Node& node) {
  const std::string& name = graph_.value(node.outputs[0]).name;
  NX_TRY(const Tensor codes, rows_of(seen(node.inputs[0]), name));
  NX_TRY(const Layout layout, matrix_of(codes));
  NX_TRY(const std::int64_t axis, node.int_attr("axis", -1));
  if (axis != -1 && axis + 1 != codes.rank()) return fail(ErrorCode::kUnsupported, "a norm over several dimensions");
  step::Norm step;
  step.in = columns_of(layout);
  step.kind = node.op == "RMSNormalization" ? NormKind::kRms : NormKind::kLayer;
  NX_TRY(step.epsilon, node.float_attr("epsilon", 1e-5F));
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    if (!node.has_input(i)) continue;
    NX_TRY(const Tensor vector, constant_float(node.inputs[i]));
    if (static_cast<std::size_t>(vector.count()) != layout.width) {
      return fail(ErrorCode::kUnsupported, "input {} has {} elements, expected {}", i, vector.count(), layout.width);
    }
    (i == 1 ? step.gamma : step.beta) = vector.reshaped({vector.count()});
  }
  NX_TRY(const EntityId out, add_rows(layout.width, entity(layout.entity).per_sequence, name));
  emit(std::move(step), out);
  set(node, moved(codes, out, layout.first));
  return {};
}

Result<void> Run::see_rms_norm(const Node& node) {
  return see_layer_norm(node);
}

Result<void> Run::see_activation(const Node& node) {
  const std::string& name = graph_.value(node.outputs[0]).name;
  NX_TRY(const Tensor codes, rows_of(seen(node.inputs[0]), name));
  NX_TRY(const Layout layout, layout_of(codes));
  Activation activation = Activation::kRelu;
  if (node.op == "Tanh") activation = Activation::kTanh;
  if (node.op == "Sigmoid") activation = Activation::kSigmoid;
  if (node.op == "Gelu") {
    NX_TRY(const std::string approximate, node.string_attr("approximate", "none"));
    activation = approximate == "tanh" ? Activation::kGeluTanh : Activation::kGeluErf;
  }
  NX_TRY(const EntityId out, add_rows(layout.width, entity(layout.entity).per_sequence, name));
  emit(step::Activate{0, columns_of(layout), activation}, out);
  set(node, moved(codes, out, layout.first));
  return {};
}

Result<EntityId> Run::position_rows(Tensor table, const std::string& name) {
  NX_TRY(const EntityId out, add_rows(static_cast<std::size_t>(table.dims()[1]), false, name));
  emit(step::Embed{0, step::Index::kPosition, std::move(table)}, out);
  return out;
}

Result<Tensor> Run::affine(const Tensor& codes, const Layout& layout, std::optional<std::vector<double>> factor,
                           std::optional<std::vector<double>> shift, const std::string& name) {
  NX_TRY(const EntityId out, add_rows(layout.width, entity(layout.entity).per_sequence, name));
  step::Affine step;
  step.in = columns_of(layout);
  if (factor) step.factor = float_vector(*factor);
  if (shift) step.shift = float_vector(*shift);
  emit(std::move(step), out);
  return moved(codes, out, layout.first);
}

Result<void> Run::see_arithmetic(const Node& node) {
  const bool first = !known(node.inputs[0]);
  const bool second = !known(node.inputs[1]);
  if (first && second) return of_two(node);
  return with_known(node, seen(node.inputs[first ? 0 : 1]), node.inputs[first ? 1 : 0], first);
}

Result<void> Run::with_known(const Node& node, const Seen& value, ValueId other, bool value_first) {
  const std::string& name = graph_.value(node.outputs[0]).name;
  if (value.kind == Seen::Kind::kQuantScale) {
    if (node.op != "Mul") return fail(ErrorCode::kUnsupported, "the scale of a quantised value may only be multiplied");
    Seen scaled = value;
    NX_TRY(Tensor factor, constant_float(other));
    if (scaled.factor) return fail(ErrorCode::kUnsupported, "the scale of a quantised value is multiplied twice");
    scaled.factor = std::move(factor);
    seen(node.outputs[0]) = std::move(scaled);
    return {};
  }
  const bool codes_only = value.kind == Seen::Kind::kCodes;
  const std::size_t turned = codes_only ? n_turned(value.lanes[0]) : 0;
  if (turned > 0 && turned < static_cast<std::size_t>(value.lanes[0].count())) {
    return half_rotation(node, value.lanes[0], other);
  }
  if (codes_only && turned == 0) {
    NX_TRY(const EntityId id, entity_of(value.lanes[0]));
    const EntityKind kind = entity(id).kind;
    if (kind == EntityKind::kScores) return scores_with_known(node, value.lanes[0], other, value_first);
    if (kind != EntityKind::kRows) {
      NX_TRY(const std::optional<double> number, uniform(other));
      const bool product = node.op == "Mul" || (node.op == "Div" && value_first);
      const bool sum = node.op == "Add" || (node.op == "Sub" && value_first);
      NX_TRY(const Tensor beside, lengths_.at(other, length_));
      NX_TRY(const Dims dims, broadcast_dims(value.lanes[0].dims(), beside.dims()));
      if (number && dims == value.lanes[0].dims() && ((product && *number == 1) || (sum && *number == 0))) {
        set(node, value.lanes[0]);
        return {};
      }
      return fail(ErrorCode::kUnsupported, "'{}' has no place here", graph_.value(other).name);
    }
  }
  NX_TRY(const Tensor codes, rows_of(value, name));
  return rows_with_known(node, codes, other, value_first);
}

// Features of which some have their sign turned, times a known value: rotated() looks at it once its other half is
// added, and nothing else takes it.
Result<void> Run::half_rotation(const Node& node, const Tensor& codes, ValueId other) {
  if (node.op != "Mul") return fail(ErrorCode::kUnsupported, "elements have their sign turned");
  NX_TRY(const Tensor beside, lengths_.at(other, length_));
  NX_TRY(const Dims dims, broadcast_dims(codes.dims(), beside.dims()));
  NX_TRY(const std::int64_t count, checked_count(dims));
  if (count != codes.count()) return fail(ErrorCode::kUnsupported, "'{}' repeats rows", graph_.value(other).name);
  NX_TRY(const Tensor elements, counting(beside.dims()));
  Seen& out = seen(node.outputs[0]);
  out = Seen();
  out.kind = Seen::Kind::kProduct;
  out.lanes = {broadcast(codes, dims), broadcast(elements, dims)};
  out.known[0] = other;
  return {};
}

Result<void> Run::rows_with_known(const Node& node, const Tensor& codes, ValueId other, bool value_first) {
  const std::string& name = graph_.value(node.outputs[0]).name;
  NX_TRY(const Tensor beside, lengths_.at(other, length_));
  NX_TRY(const Dims dims, broadcast_dims(codes.dims(), beside.dims()));
  NX_TRY(const std::int64_t count, checked_count(dims));
  if (count != codes.count()) return fail(ErrorCode::kUnsupported, "'{}' repeats rows", graph_.value(other).name);
  const Tensor here = broadcast(codes, dims);
  NX_TRY(const Layout layout, layout_of(here));
  if ((node.op == "Div" && value_first && is_length(other, false)) || (node.op == "Mul" && is_length(other, true))) {
    const auto* sum = made_by<step::Pool>(entity(layout.entity).index);
    if (sum != nullptr && sum->kind == step::PoolKind::kSum && layout.width == entity(layout.entity).width) {
      const Columns in = sum->in;
      NX_TRY(const EntityId mean, pooled(in, step::PoolKind::kMean, name));
      set(node, moved(here, mean, 0));
      return {};
    }
  }
  NX_TRY(const Tensor elements, counting(beside.dims()));
  const Tensor index = broadcast(elements, dims);
  NX_TRY(Operand operand, operand_of(other, index, here, layout));
  if (node.op == "Mul" || node.op == "Div") {
    const bool by_zero = std::ranges::find(operand.columns, 0.0) != operand.columns.end();
    if (node.op == "Div" && (!value_first || operand.table || by_zero)) {
      return fail(ErrorCode::kUnsupported, "division by '{}' has no place here", graph_.value(other).name);
    }
    if (node.op == "Div")
      std::ranges::transform(operand.columns, operand.columns.begin(), [](double x) { return 1 / x; });
    return scaled_rows(node, here, layout, operand, other, index);
  }
  const bool minus = node.op == "Sub";
  if (operand.is_all(0) && (!minus || value_first)) {
    set(node, here);
    return {};
  }
  std::optional<std::vector<double>> factor;
  if (minus && !value_first) factor = std::vector<double>(layout.width, -1);
  if (minus && value_first) std::ranges::transform(operand.columns, operand.columns.begin(), std::negate<>());
  if (!operand.table) {
    NX_TRY(Tensor result, affine(here, layout, std::move(factor), std::move(operand.columns), name));
    set(node, std::move(result));
    return {};
  }
  if (minus) return fail(ErrorCode::kUnsupported, "positions are subtracted");
  NX_TRY(const EntityId positions, position_rows(*std::move(operand.table), graph_.value(other).name));
  NX_TRY(const EntityId out, add_rows(layout.width, false, name));
  emit(step::Binary{0, columns_of(layout), {entity(positions).index, 0, layout.width}, step::BinaryKind::kAdd}, out);
  set(node, moved(here, out, layout.first));
  return {};
}

Result<void> Run::scaled_rows(const Node& node, const Tensor& codes, const Layout& layout, const Operand& operand,
                              ValueId other, const Tensor& index) {
  if (operand.is_all(1)) {
    set(node, codes);
    return {};
  }
  if (!operand.table) {
    NX_TRY(Tensor result, affine(codes, layout, operand.columns, std::nullopt, graph_.value(node.outputs[0]).name));
    set(node, std::move(result));
    return {};
  }
  Seen& out = seen(node.outputs[0]);
  out = Seen();
  out.kind = Seen::Kind::kProduct;
  out.lanes = {codes, index};
  out.known[0] = other;
  return {};
}

Result<void> Run::of_two(const Node& node) {
  const Seen& a = seen(node.inputs[0]);
  const Seen& b = seen(node.inputs[1]);
  const std::string& name = graph_.value(node.outputs[0]).name;
  if (a.kind == Seen::Kind::kQuantScale || b.kind == Seen::Kind::kQuantScale) {
    const Seen& scale = a.kind == Seen::Kind::kQuantScale ? a : b;
    const Seen& product = a.kind == Seen::Kind::kQuantScale ? b : a;
    return scaled_integers(node, product, scale);
  }
  if (a.kind == Seen::Kind::kProduct && b.kind == Seen::Kind::kProduct && (node.op == "Add" || node.op == "Sub") &&
      a.lanes[0].dims() == b.lanes[0].dims()) {
    Seen both;
    both.kind = Seen::Kind::kRotation;
    both.lanes = {a.lanes[0], a.lanes[1], b.lanes[0], b.lanes[1]};
    if (node.op == "Sub") {
      NX_TRY(both.lanes[2], turned(both.lanes[2]));
    }
    both.known[0] = a.known[0];
    both.known[1] = b.known[0];
    seen(node.outputs[0]) = std::move(both);
    return {};
  }
  if (b.kind == Seen::Kind::kCodes && node.op == "Div") {
    NX_TRY(const EntityId id, entity_of(b.lanes[0]));
    if (entity(id).kind == EntityKind::kNorm) {
      NX_TRY(const Tensor rows, rows_of(a, name));
      return divided_by_norm(node, rows, b.lanes[0]);
    }
  }
  if (node.op == "Div") return fail(ErrorCode::kUnsupported, "one value of the tokens is divided by another");
  NX_TRY(Tensor left, rows_of(a, name));
  NX_TRY(Tensor right, rows_of(b, name));
  return of_rows(node, std::move(left), std::move(right));
}

Result<void> Run::of_rows(const Node& node, Tensor left, Tensor right) {
  const std::string& name = graph_.value(node.outputs[0]).name;
  NX_TRY(const Dims dims, broadcast_dims(left.dims(), right.dims()));
  NX_TRY(const std::int64_t count, checked_count(dims));
  if (count != left.count() || count != right.count()) {
    return fail(ErrorCode::kUnsupported, "rows of {} and {} are not combined one by one", dims_string(left.dims()),
                dims_string(right.dims()));
  }
  left = broadcast(left, dims);
  right = broadcast(right, dims);
  NX_TRY(const Layout a, layout_of(left));
  NX_TRY(Layout b, layout_of(right));
  if (node.op == "Sub") {
    NX_TRY(right, affine(right, b, std::vector<double>(b.width, -1), std::nullopt, name));
    NX_TRY(b, layout_of(right));
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    const Code x = decode(left.as<std::int64_t>()[i]);
    const Code y = decode(right.as<std::int64_t>()[i]);
    if (x.token != y.token || x.column - a.first != y.column - b.first) {
      return fail(ErrorCode::kUnsupported, "the features of two values are not combined in the same order");
    }
  }
  if (entity(a.entity).per_sequence != entity(b.entity).per_sequence) {
    return fail(ErrorCode::kUnsupported, "rows of tokens and of the sequence are combined");
  }
  NX_TRY(const EntityId out, add_rows(a.width, entity(a.entity).per_sequence, name));
  const auto kind = node.op == "Mul" ? step::BinaryKind::kMultiply : step::BinaryKind::kAdd;
  emit(step::Binary{0, columns_of(a), columns_of(b), kind}, out);
  set(node, moved(left, out, a.first));
  return {};
}

// Max and Clip: only as the floor of a norm, or below anything that scores can be.
Result<void> Run::see_clip(const Node& node) {
  const bool is_max = node.op == "Max";
  const std::size_t at = known(node.inputs[0]) ? 1 : 0;
  const ValueId bound = is_max ? (node.inputs.size() == 2 ? node.inputs[1 - at] : kNoValue)
                               : (node.has_input(1) ? node.inputs[1] : kNoValue);
  if (known(node.inputs[at]) || bound == kNoValue || !known(bound) || (!is_max && node.has_input(2))) {
    return fail(ErrorCode::kUnsupported, "expected one lower bound");
  }
  const Seen& value = seen(node.inputs[at]);
  if (value.kind != Seen::Kind::kCodes) return fail(ErrorCode::kUnsupported, "the operand is not clipped in a plan");
  NX_TRY(const EntityId id, entity_of(value.lanes[0]));
  NX_TRY(const std::optional<double> floor, uniform(bound));
  NX_TRY(const Tensor beside, lengths_.at(bound, length_));
  NX_TRY(const Dims dims, broadcast_dims(value.lanes[0].dims(), beside.dims()));
  if (!floor || dims != value.lanes[0].dims()) {
    return fail(ErrorCode::kUnsupported, "the lower bound is not one number");
  }
  if (entity(id).kind == EntityKind::kNorm) return norm_with_floor(node, value.lanes[0], *floor);
  if (entity(id).kind == EntityKind::kScores && *floor < -1e30) {
    set(node, value.lanes[0]);
    return {};
  }
  if (entity(id).kind == EntityKind::kRows && *floor == 0) {
    NX_TRY(const Tensor codes, rows_of(value, node.name));
    NX_TRY(const Layout layout, layout_of(codes));
    NX_TRY(const EntityId out,
           add_rows(layout.width, entity(layout.entity).per_sequence, graph_.value(node.outputs[0]).name));
    emit(step::Activate{0, columns_of(layout), Activation::kRelu}, out);
    set(node, moved(codes, out, layout.first));
    return {};
  }
  return fail(ErrorCode::kUnsupported, "a lower bound of {} is not one of a plan", *floor);
}

std::size_t Run::n_turned(const Tensor& codes) {
  return static_cast<std::size_t>(
      std::ranges::count_if(codes.as<std::int64_t>(), [](std::int64_t word) { return word < 0; }));
}

Result<Tensor> Run::turned(const Tensor& codes) const {
  NX_TRY(Tensor out, Tensor::allocate(DType::kInt64, codes.dims()));
  std::ranges::transform(codes.as<std::int64_t>(), out.as_mutable<std::int64_t>().begin(), std::negate<>());
  return out;
}

Result<void> Run::see_neg(const Node& node) {
  Seen out = seen(node.inputs[0]);
  if (out.kind != Seen::Kind::kCodes && out.kind != Seen::Kind::kProduct && out.kind != Seen::Kind::kRotation) {
    return fail(ErrorCode::kUnsupported, "the sign of the operand is turned");
  }
  NX_TRY(out.lanes[0], turned(out.lanes[0]));
  if (out.kind == Seen::Kind::kRotation) {
    NX_TRY(out.lanes[2], turned(out.lanes[2]));
  }
  seen(node.outputs[0]) = std::move(out);
  return {};
}

Result<void> Run::see_pow(const Node& node) {
  const bool squared = !known(node.inputs[0]) && known(node.inputs[1]);
  NX_TRY(const std::optional<double> exponent, squared ? uniform(node.inputs[1]) : std::optional<double>());
  if (exponent != std::optional(2.0)) return fail(ErrorCode::kUnsupported, "only squares are powers of a plan");
  NX_TRY(const Tensor codes, rows_of(seen(node.inputs[0]), node.name));
  NX_TRY(const Layout layout, layout_of(codes));
  NX_TRY(const EntityId out,
         add_rows(layout.width, entity(layout.entity).per_sequence, graph_.value(node.outputs[0]).name));
  emit(step::Binary{0, columns_of(layout), columns_of(layout), step::BinaryKind::kMultiply}, out);
  set(node, moved(codes, out, layout.first));
  return {};
}

// Between float types rows stay what they are (float16 files round; a plan has its own precision), and so do ids
// between integer types.
Result<void> Run::see_cast(const Node& node) {
  NX_TRY(const std::int64_t to, node.int_attr("to", 0));
  const Seen& value = seen(node.inputs[0]);
  const bool to_float = is_float_type(to);
  const bool to_int = to == static_cast<std::int64_t>(DType::kInt64) || to == static_cast<std::int64_t>(DType::kInt32);
  bool same = to_float && (value.kind == Seen::Kind::kProduct || value.kind == Seen::Kind::kRotation ||
                           value.kind == Seen::Kind::kQuantScale);
  if (value.kind == Seen::Kind::kCodes && value.lanes[0].count() > 0) {
    const EntityKind kind = entity(decode(value.lanes[0].as<std::int64_t>()[0]).entity).kind;
    same = kind == EntityKind::kInput ? to_int : kind != EntityKind::kQuantisedRows && to_float;
  }
  if (!same) return fail(ErrorCode::kUnsupported, "a cast to type {} of what depends on the tokens", to);
  seen(node.outputs[0]) = Seen(value);
  return {};
}

// The reference moves the codes as it would move the elements.
Result<void> Run::see_move(const Node& node) {
  std::vector<Seen> values(node.inputs.size());
  const std::string& name = graph_.value(node.outputs[0]).name;
  const bool concat = node.op == "Concat";
  if (!concat && known(node.inputs[0])) return fail(ErrorCode::kUnsupported, "tokens choose from what is known");
  bool alike = true;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId v = node.inputs[i];
    if (v == kNoValue) continue;
    if (known(v) && concat) return fail(ErrorCode::kUnsupported, "constants are joined to rows");
    if (known(v)) continue;
    if (i > 0 && !concat) return fail(ErrorCode::kUnsupported, "tokens say how to move the operand");
    values[i] = seen(v);
    if (values[i].lanes.empty() && node.inputs.size() > 1 && concat) {
      return fail(ErrorCode::kUnsupported, "scales of quantised values are joined");
    }
    alike = alike && values[i].kind == values[0].kind && values[i].node == values[0].node &&
            values[i].known[0] == values[0].known[0] && values[i].known[1] == values[0].known[1];
  }
  if (!alike) {
    for (Seen& value : values) {
      NX_TRY(Tensor codes, rows_of(value, name));
      value = Seen();
      value.kind = Seen::Kind::kCodes;
      value.lanes = {std::move(codes)};
    }
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (!node.has_output(i)) continue;
    seen(node.outputs[i]) = Seen(values[0]);
  }
  for (std::size_t lane = 0; lane < values[0].lanes.size(); ++lane) {
    std::vector<Tensor> held(node.inputs.size());
    std::vector<const Tensor*> inputs;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.has_input(i) && known(node.inputs[i])) {
        NX_TRY(held[i], lengths_.at(node.inputs[i], length_));
      } else if (node.has_input(i)) {
        held[i] = values[i].lanes[lane];
      }
      inputs.push_back(node.has_input(i) ? &held[i] : nullptr);
    }
    NX_TRY(std::vector<Tensor> outputs, evaluate_node(graph_, node, inputs, {kMaxCodeBytes}));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (node.has_output(i)) seen(node.outputs[i]).lanes[lane] = std::move(outputs[i]);
    }
  }
  if (concat && values[0].kind == Seen::Kind::kCodes) join_rotated(seen(node.outputs[0]).lanes[0]);
  return {};
}

}  // namespace narthex::recognition
