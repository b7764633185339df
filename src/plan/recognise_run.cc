#include "plan/recognise_run.h"

#include <algorithm>

#include "ops/evaluate.h"
#include "ops/util.h"

namespace narthex::recognition {
namespace {

constexpr unsigned kColumnBits = 24;
constexpr unsigned kTokenBits = 8;
constexpr EntityId kMaxEntities = EntityId{1} << 30;

}  // namespace

std::int64_t encode(Code code) {
  const auto word = static_cast<std::int64_t>(
      ((static_cast<std::uint64_t>(code.entity) << kTokenBits | code.token) << kColumnBits | code.column) + 1);
  return code.negative ? -word : word;
}

Code decode(std::int64_t word) {
  const bool negative = word < 0;
  const auto bits = static_cast<std::uint64_t>(negative ? -word : word) - 1;
  return {static_cast<EntityId>(bits >> (kColumnBits + kTokenBits)),
          static_cast<std::uint32_t>(bits >> kColumnBits) & ((1U << kTokenBits) - 1),
          static_cast<std::uint32_t>(bits) & (kMaxColumns - 1), negative};
}

Tensor broadcast(const Tensor& tensor, const Dims& dims) {
  if (tensor.dims() == dims) return tensor;
  auto out = Tensor::allocate(DType::kInt64, dims);
  NX_CHECK(out, "broadcasting codes to dims that were not checked");
  StridedWalk<1> walk(dims, {broadcast_strides(tensor.dims(), dims)});
  const std::span<const std::int64_t> in = tensor.as<std::int64_t>();
  for (std::int64_t& word : out->as_mutable<std::int64_t>()) {
    word = in[static_cast<std::size_t>(walk.offset(0))];
    walk.next();
  }
  return *std::move(out);
}

Result<Tensor> counting(const Dims& dims) {
  NX_TRY(Tensor tensor, Tensor::allocate(DType::kInt64, dims, std::uint64_t{1} << 28));
  std::int64_t next = 0;
  for (std::int64_t& word : tensor.as_mutable<std::int64_t>()) word = next++;
  return tensor;
}

Tensor float_vector(const std::vector<double>& values) {
  return Tensor::vector(std::vector<float>(values.begin(), values.end()));
}

Run::Run(const Graph& graph, Lengths& lengths, std::size_t length, std::size_t max_positions)
    : graph_(graph),
      lengths_(lengths),
      length_(length),
      max_positions_(max_positions),
      limit_(max_positions),
      values_(graph.values.size()) {
  encoder_.max_positions = max_positions;
}

Run::Handler Run::handler(const Node& node) const {
  struct Row {
    const char* op;
    Handler handler;
  };
  static constexpr Row kRows[] = {
      {"Add", &Run::see_arithmetic},
      {"Attention", &Run::see_attention},
      {"Cast", &Run::see_cast},
      {"Clip", &Run::see_clip},
      {"Concat", &Run::see_move},
      {"DequantizeLinear", &Run::see_dequantize},
      {"Div", &Run::see_arithmetic},
      {"DynamicQuantizeLinear", &Run::see_dynamic_quantize},
      {"Expand", &Run::see_move},
      {"Flatten", &Run::see_move},
      {"Gather", &Run::see_gather},
      {"GatherElements", &Run::see_move},
      {"GatherND", &Run::see_move},
      {"Gelu", &Run::see_activation},
      {"Gemm", &Run::see_linear},
      {"Identity", &Run::see_move},
      {"IsNaN", &Run::see_is_nan},
      {"LayerNormalization", &Run::see_layer_norm},
      {"LpNormalization", &Run::see_lp_norm},
      {"MatMul", &Run::see_matmul},
      {"MatMulInteger", &Run::see_matmul_integer},
      {"Max", &Run::see_clip},
      {"Mul", &Run::see_arithmetic},
      {"Neg", &Run::see_neg},
      {"Pow", &Run::see_pow},
      {"RMSNormalization", &Run::see_rms_norm},
      {"ReduceL2", &Run::see_reduce},
      {"ReduceMax", &Run::see_reduce},
      {"ReduceMean", &Run::see_reduce},
      {"ReduceSum", &Run::see_reduce},
      {"ReduceSumSquare", &Run::see_reduce},
      {"Relu", &Run::see_activation},
      {"Reshape", &Run::see_move},
      {"RotaryEmbedding", &Run::see_rotary},
      {"Sigmoid", &Run::see_activation},
      {"Slice", &Run::see_move},
      {"Softmax", &Run::see_softmax},
      {"Split", &Run::see_move},
      {"Sqrt", &Run::see_sqrt},
      {"Squeeze", &Run::see_move},
      {"Sub", &Run::see_arithmetic},
      {"Tanh", &Run::see_activation},
      {"Tile", &Run::see_move},
      {"Transpose", &Run::see_move},
      {"Unsqueeze", &Run::see_move},
      {"Where", &Run::see_where},
  };
  if (node.domain == kNarthex && node.op == "Linear") return &Run::see_linear;
  if (!node.domain.empty()) return nullptr;
  const auto* row = std::ranges::find(kRows, node.op, &Row::op);
  return row == std::end(kRows) ? nullptr : row->handler;
}

void Run::execute() {
  for (const ValueId v : graph_.inputs) {
    const Role role = lengths_.role(v);
    if (role != Role::kTokenIds && role != Role::kTokenTypes) continue;
    const EntityId id =
        add_entity({EntityKind::kInput, static_cast<std::size_t>(role == Role::kTokenTypes), 1, false, 0});
    auto codes = dense_codes(id, {1, static_cast<std::int64_t>(length_)});
    NX_CHECK(codes, "codes of a graph input");
    seen(v).kind = Seen::Kind::kCodes;
    seen(v).lanes = {*std::move(codes)};
  }
  for (const Node& node : graph_.nodes) {
    const bool all_known = std::ranges::all_of(node.outputs, [&](ValueId v) { return v == kNoValue || known(v); });
    if (all_known) continue;
    std::shared_ptr<const std::string> reason;
    for (const ValueId v : node.inputs) {
      if (v != kNoValue && !known(v) && seen(v).kind == Seen::Kind::kNothing && reason == nullptr) {
        reason = seen(v).reason;
      }
    }
    if (reason == nullptr) {
      auto done = visit(node);
      if (done) continue;
      reason = std::make_shared<std::string>(node_error(graph_, node, std::move(done).error()).message);
    }
    for (const ValueId v : node.outputs) {
      if (v == kNoValue) continue;
      seen(v) = Seen();
      seen(v).reason = reason;
    }
  }
  finish_outputs();
}

Result<void> Run::visit(const Node& node) {
  const Handler handle = handler(node);
  if (handle == nullptr) {
    return fail(ErrorCode::kUnsupported, "operator {} on what depends on the tokens has no place in an encoder plan",
                node.op);
  }
  return (this->*handle)(node);
}

Result<RowsId> Run::output_rows(ValueId value) {
  if (known(value)) return fail(ErrorCode::kUnsupported, "it does not depend on the tokens");
  if (seen(value).kind == Seen::Kind::kNothing) {
    const bool has_reason = seen(value).reason != nullptr;
    return fail(ErrorCode::kUnsupported, "{}", has_reason ? *seen(value).reason : "it was not understood");
  }
  const std::string& name = graph_.value(value).name;
  NX_TRY(const Tensor codes, rows_of(seen(value), name));
  NX_TRY(const Layout layout, matrix_of(codes));
  const Entity& rows = entity(layout.entity);
  Dims expected = {1, static_cast<std::int64_t>(layout.width)};
  if (!rows.per_sequence) expected.insert(expected.begin() + 1, static_cast<std::int64_t>(length_));
  if (codes.dims() != expected) {
    return fail(ErrorCode::kUnsupported, "its shape is {} for a sequence of {} tokens, expected {}",
                dims_string(codes.dims()), length_, dims_string(expected));
  }
  if (layout.first == 0 && layout.width == rows.width) return rows.index;
  NX_TRY(const EntityId copy, add_rows(layout.width, rows.per_sequence, name));
  emit(step::Activate{0, columns_of(layout), Activation::kNone}, copy);
  return entity(copy).index;
}

void Run::finish_outputs() {
  for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
    const auto rows = output_rows(graph_.outputs[i]);
    refusals_.push_back(rows ? "" : rows.error().message);
    if (rows) encoder_.outputs.push_back({i, *rows});
  }
}

void Run::set(const Node& node, Tensor codes, std::size_t output) {
  if (!node.has_output(output)) return;
  Seen& out = seen(node.outputs[output]);
  out = Seen();
  out.kind = Seen::Kind::kCodes;
  out.lanes = {std::move(codes)};
}

EntityId Run::add_entity(Entity entity) {
  NX_CHECK(entities_.size() < kMaxEntities, "more things than a code can name");
  entities_.push_back(entity);
  return static_cast<EntityId>(entities_.size() - 1);
}

Result<EntityId> Run::add_rows(std::size_t width, bool per_sequence, const std::string& name) {
  if (width == 0 || width >= kMaxColumns) return fail(ErrorCode::kUnsupported, "rows of {} columns", width);
  encoder_.rows.push_back({width, per_sequence, name});
  producer_.push_back(0);
  return add_entity({EntityKind::kRows, encoder_.rows.size() - 1, width, per_sequence, 0});
}

Result<Tensor> Run::dense_codes(EntityId id, Dims dims) const {
  const std::size_t width = entity(id).width;
  NX_TRY(Tensor codes, Tensor::allocate(DType::kInt64, std::move(dims), std::uint64_t{1} << 28));
  std::size_t at = 0;
  for (std::int64_t& word : codes.as_mutable<std::int64_t>()) {
    word = encode({id, static_cast<std::uint32_t>(at / width), static_cast<std::uint32_t>(at % width), false});
    ++at;
  }
  return codes;
}

Tensor Run::moved(const Tensor& codes, EntityId to, std::size_t first) const {
  auto out = Tensor::allocate(DType::kInt64, codes.dims());
  NX_CHECK(out, "codes as large as others");
  std::ranges::transform(codes.as<std::int64_t>(), out->as_mutable<std::int64_t>().begin(), [&](std::int64_t word) {
    Code code = decode(word);
    code.entity = to;
    code.column -= static_cast<std::uint32_t>(first);
    return encode(code);
  });
  return *std::move(out);
}

Result<EntityId> Run::entity_of(const Tensor& codes) const {
  if (codes.count() == 0) return fail(ErrorCode::kUnsupported, "there are no elements");
  const EntityId id = decode(codes.as<std::int64_t>()[0]).entity;
  for (const std::int64_t word : codes.as<std::int64_t>()) {
    const Code code = decode(word);
    if (code.entity != id) return fail(ErrorCode::kUnsupported, "elements of several values are mixed");
    if (code.negative) return fail(ErrorCode::kUnsupported, "elements have their sign turned");
  }
  return id;
}

Result<Run::Layout> Run::layout_of(const Tensor& codes) const {
  NX_TRY(const EntityId id, entity_of(codes));
  const Entity& thing = entity(id);
  if (thing.kind != EntityKind::kRows) return fail(ErrorCode::kUnsupported, "the operand is not rows of features");
  const std::size_t n_rows = thing.per_sequence ? 1 : length_;
  const auto count = static_cast<std::size_t>(codes.count());
  std::size_t first = kMaxColumns;
  for (const std::int64_t word : codes.as<std::int64_t>()) first = std::min<std::size_t>(first, decode(word).column);
  const std::size_t width = count / n_rows;
  std::vector<bool> present(count, false);
  for (const std::int64_t word : codes.as<std::int64_t>()) {
    const Code code = decode(word);
    const std::size_t column = code.column - first;
    const std::size_t at = code.token * width + column;
    if (width * n_rows != count || column >= width || at >= count || present[at]) {
      return fail(ErrorCode::kUnsupported, "the operand is not a range of features of every token");
    }
    present[at] = true;
  }
  return Layout{id, first, width};
}

Result<Run::Layout> Run::matrix_of(const Tensor& codes) const {
  NX_TRY(const Layout layout, layout_of(codes));
  std::size_t at = 0;
  for (const std::int64_t word : codes.as<std::int64_t>()) {
    const Code code = decode(word);
    if (code.token != at / layout.width || code.column != layout.first + at % layout.width) {
      return fail(ErrorCode::kUnsupported, "the features of the tokens do not stand in order");
    }
    ++at;
  }
  if (codes.rank() < 1 || static_cast<std::size_t>(codes.dims().back()) != layout.width) {
    return fail(ErrorCode::kUnsupported, "the last dimension is not the features of a token");
  }
  return layout;
}

Result<EntityId> Run::pooled(Columns in, step::PoolKind kind, const std::string& name) {
  const auto key = std::tuple(in.rows, in.first, in.width, kind);
  if (const auto found = pools_.find(key); found != pools_.end()) return found->second;
  NX_TRY(const EntityId out, add_rows(in.width, true, name));
  emit(step::Pool{0, in, kind}, out);
  pools_.emplace(key, out);
  return out;
}

// Codes that are all of the first or all of the last token become rows of the sequence.
Result<Tensor> Run::settle(Tensor codes, const std::string& name) {
  NX_TRY(const EntityId id, entity_of(codes));
  const Entity thing = entity(id);
  if (thing.kind != EntityKind::kRows || thing.per_sequence) return codes;
  const std::uint32_t token = decode(codes.as<std::int64_t>()[0]).token;
  const auto same = [&](std::int64_t word) { return decode(word).token == token; };
  if ((token != 0 && token + 1 != length_) || !std::ranges::all_of(codes.as<std::int64_t>(), same)) return codes;
  const Columns all = {thing.index, 0, thing.width};
  NX_TRY(const EntityId pool, pooled(all, token == 0 ? step::PoolKind::kFirst : step::PoolKind::kLast, name));
  Tensor moved_codes = moved(codes, pool, 0);
  for (std::int64_t& word : moved_codes.as_mutable<std::int64_t>())
    word = encode({pool, 0, decode(word).column, false});
  return moved_codes;
}

Result<Tensor> Run::positive(Tensor codes, const std::string& name) {
  const std::span<const std::int64_t> words = codes.as<std::int64_t>();
  if (words.empty() || !std::ranges::all_of(words, [](std::int64_t word) { return word < 0; })) return codes;
  auto turned = Tensor::allocate(DType::kInt64, codes.dims());
  NX_CHECK(turned, "codes as large as others");
  std::ranges::transform(words, turned->as_mutable<std::int64_t>().begin(), [](std::int64_t word) { return -word; });
  NX_TRY(const Layout layout, layout_of(*turned));
  return affine(*turned, layout, std::vector<double>(layout.width, -1), std::nullopt, name);
}

Result<Tensor> Run::rows_of(const Seen& value, const std::string& name) {
  switch (value.kind) {
    case Seen::Kind::kCodes: {
      NX_TRY(Tensor codes, positive(value.lanes[0], name));
      return settle(std::move(codes), name);
    }
    case Seen::Kind::kRotation:
      return rotated(value, name);
    case Seen::Kind::kProduct: {
      NX_TRY(const Layout layout, layout_of(value.lanes[0]));
      NX_TRY(const Operand operand, operand_of(value.known[0], value.lanes[1], value.lanes[0], layout));
      // A cut may have left columns that no position changes.
      if (!operand.table) return affine(value.lanes[0], layout, operand.columns, std::nullopt, name);
      NX_TRY(const EntityId factor, position_rows(*operand.table, name));
      NX_TRY(const EntityId out, add_rows(layout.width, false, name));
      emit(step::Binary{0, columns_of(layout), {entity(factor).index, 0, layout.width}, step::BinaryKind::kMultiply},
           out);
      return moved(value.lanes[0], out, layout.first);
    }
    default:
      return fail(ErrorCode::kUnsupported, "the operand is not rows of features");
  }
}

}  // namespace narthex::recognition
