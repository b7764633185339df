// Quantised files: integer products become linears with float32 weights, tables of integers become tables of floats.
//
// What the file quantises while it runs is left to the plan, which quantises in its own way or not at all; the exact
// arithmetic of the file stays with the interpreter. counts() says "quantised linear" for each.
#include <algorithm>

#include "ops/evaluate.h"
#include "ops/util.h"
#include "plan/recognise_run.h"

namespace narthex::recognition {

Result<void> Run::see_dynamic_quantize(const Node& node) {
  NX_TRY(const Tensor codes, rows_of(seen(node.inputs[0]), node.name));
  NX_TRY_VOID(layout_of(codes));
  const Seen::Kind kinds[] = {Seen::Kind::kQuantised, Seen::Kind::kQuantScale, Seen::Kind::kQuantZero};
  for (std::size_t i = 0; i < 3; ++i) {
    if (!node.has_output(i)) continue;
    Seen out;
    out.kind = kinds[i];
    out.node = &node;
    if (i == 0) out.lanes = {codes};
    seen(node.outputs[i]) = std::move(out);
  }
  return {};
}

Result<void> Run::see_matmul_integer(const Node& node) {
  const Seen& a = seen(node.inputs[0]);
  const bool same_zero = node.has_input(2) && !known(node.inputs[2]) &&
                         seen(node.inputs[2]).kind == Seen::Kind::kQuantZero && seen(node.inputs[2]).node == a.node;
  if (a.kind != Seen::Kind::kQuantised || !same_zero) {
    return fail(ErrorCode::kUnsupported, "expected rows quantised by DynamicQuantizeLinear, and their zero point");
  }
  const Tensor codes = a.lanes[0];
  NX_TRY(const Layout layout, matrix_of(codes));
  NX_TRY(Tensor stored, constant_float(node.inputs[1]));
  if (stored.rank() != 2 || static_cast<std::size_t>(stored.dims()[0]) != layout.width) {
    return fail(ErrorCode::kUnsupported, "weights {} for rows of {} features", dims_string(stored.dims()),
                layout.width);
  }
  const std::int64_t n = stored.dims()[1];
  NX_TRY(Tensor weight, Tensor::allocate(DType::kFloat32, stored.dims()));
  std::vector<float> zero(static_cast<std::size_t>(n), 0);
  if (node.has_input(3)) {
    NX_TRY(const Tensor zeros, constant_float(node.inputs[3]));
    if (zeros.count() != 1 && zeros.count() != n) return fail(ErrorCode::kUnsupported, "{} zero points", zeros.count());
    for (std::size_t j = 0; j < zero.size(); ++j) zero[j] = zeros.as<float>()[zeros.count() == 1 ? 0 : j];
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(stored.count()); ++i) {
    weight.as_mutable<float>()[i] = stored.as<float>()[i] - zero[i % zero.size()];
  }
  integers_.push_back({columns_of(layout), std::move(weight), a.node});
  if (static_cast<std::size_t>(n) >= kMaxColumns) return fail(ErrorCode::kUnsupported, "rows of {} columns", n);
  const EntityId id = add_entity({EntityKind::kIntegers, integers_.size() - 1, static_cast<std::size_t>(n),
                                  entity(layout.entity).per_sequence, 0});
  Dims dims = codes.dims();
  dims.back() = n;
  NX_TRY(Tensor result, dense_codes(id, std::move(dims)));
  set(node, std::move(result));
  return {};
}

// Integers · (scale of the rows · scale of the weights): a linear.
Result<void> Run::scaled_integers(const Node& node, const Seen& product, const Seen& scale) {
  if (node.op != "Mul" || product.kind != Seen::Kind::kCodes) {
    return fail(ErrorCode::kUnsupported, "a scale belongs to an integer product");
  }
  NX_TRY(const EntityId id, entity_of(product.lanes[0]));
  if (entity(id).kind != EntityKind::kIntegers || integers_[entity(id).index].quantised != scale.node) {
    return fail(ErrorCode::kUnsupported, "a scale belongs to an integer product");
  }
  const std::size_t width = entity(id).width;
  NX_TRY(const Tensor in_order, dense_codes(id, product.lanes[0].dims()));
  if (!std::ranges::equal(in_order.as<std::int64_t>(), product.lanes[0].as<std::int64_t>()) ||
      static_cast<std::size_t>(product.lanes[0].dims().back()) != width) {
    return fail(ErrorCode::kUnsupported, "an integer product is rearranged before it is scaled");
  }
  const Integers& integers = integers_[entity(id).index];
  step::Linear step;
  step.in = integers.in;
  step.weight = integers.weight;
  if (scale.factor) {
    const auto n = static_cast<std::size_t>(scale.factor->count());
    const bool repeats = scale.factor->rank() > product.lanes[0].rank();
    if (repeats || (n != 1 && (n != width || scale.factor->dims().back() != static_cast<std::int64_t>(n)))) {
      return fail(ErrorCode::kUnsupported, "{} scales for {} features", n, width);
    }
    NX_TRY(step.weight, Tensor::allocate(DType::kFloat32, integers.weight.dims()));
    const std::span<const float> factor = scale.factor->as<float>();
    for (std::size_t i = 0; i < static_cast<std::size_t>(step.weight.count()); ++i) {
      step.weight.as_mutable<float>()[i] = integers.weight.as<float>()[i] * factor[n == 1 ? 0 : i % width];
    }
  }
  ++counts_["quantised linear"];
  NX_TRY(const EntityId out, add_rows(width, entity(id).per_sequence, graph_.value(node.outputs[0]).name));
  emit(std::move(step), out);
  set(node, moved(product.lanes[0], out, 0));
  return {};
}

// Rows of a table of integers, by one scale and zero point: rows of the table dequantised.
Result<void> Run::see_dequantize(const Node& node) {
  const Seen& value = seen(node.inputs[0]);
  if (value.kind != Seen::Kind::kCodes) return fail(ErrorCode::kUnsupported, "expected rows of a table of integers");
  NX_TRY(const EntityId id, entity_of(value.lanes[0]));
  if (entity(id).kind != EntityKind::kQuantisedRows) {
    return fail(ErrorCode::kUnsupported, "expected rows of a table of integers");
  }
  const Table table = tables_[entity(id).index];
  Tensor inputs[3] = {table.table, {}, {}};
  std::vector<const Tensor*> arguments = {&inputs[0]};
  for (std::size_t i = 1; i < node.inputs.size() && i < 3; ++i) {
    if (!node.has_input(i)) continue;
    if (!known(node.inputs[i]) || lengths_.depends(node.inputs[i]) != Depends::kConstant) {
      return fail(ErrorCode::kUnsupported, "the scale of a table is not constant");
    }
    NX_TRY(inputs[i], lengths_.at(node.inputs[i], length_));
    if (inputs[i].count() != 1) return fail(ErrorCode::kUnsupported, "a table has more than one scale");
    arguments.push_back(&inputs[i]);
  }
  NX_TRY(const std::vector<Tensor> outputs, evaluate_node(graph_, node, arguments));
  NX_TRY(Tensor floats, as_float(outputs[0]));
  const Tensor codes = value.lanes[0];
  NX_TRY(const EntityId out, add_rows(entity(id).width, false, table.name));
  emit(step::Embed{0, table.index, std::move(floats)}, out);
  ++counts_["quantised table"];
  set(node, moved(codes, out, 0));
  return {};
}

}  // namespace narthex::recognition
