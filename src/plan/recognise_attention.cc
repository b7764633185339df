// Scores, their scale and mask, probabilities and context: what makes an attention.
#include <algorithm>
#include <cmath>

#include "ops/util.h"
#include "plan/recognise_run.h"

namespace narthex::recognition {
namespace {

Dims lead_of(const Dims& dims) {
  return dims.size() < 2 ? Dims{} : Dims(dims.begin(), dims.end() - 2);
}

Dims with_matrix(Dims lead, std::size_t rows, std::size_t columns) {
  lead.push_back(static_cast<std::int64_t>(rows));
  lead.push_back(static_cast<std::int64_t>(columns));
  return lead;
}

}  // namespace

// codes [.., heads, tokens, d], or [.., heads, d, tokens] when transposed: the first column of each head.
Result<Run::Heads> Run::heads_of(const Tensor& codes, bool transposed) const {
  NX_TRY(const EntityId id, entity_of(codes));
  if (entity(id).kind != EntityKind::kRows || entity(id).per_sequence || codes.rank() < 2) {
    return fail(ErrorCode::kUnsupported, "expected features of tokens by heads");
  }
  const auto rows = static_cast<std::size_t>(codes.dims()[codes.dims().size() - 2]);
  const auto columns = static_cast<std::size_t>(codes.dims().back());
  const std::size_t tokens = transposed ? columns : rows;
  Heads heads;
  heads.rows = entity(id).index;
  heads.d = transposed ? rows : columns;
  if (tokens != length_ || heads.d == 0) return fail(ErrorCode::kUnsupported, "not every token has its heads");
  const std::span<const std::int64_t> words = codes.as<std::int64_t>();
  for (std::size_t at = 0; at < words.size(); ++at) {
    const std::size_t in_head = at % (tokens * heads.d);
    const std::size_t token = transposed ? in_head % tokens : in_head / heads.d;
    const std::size_t j = transposed ? in_head / tokens : in_head % heads.d;
    const Code code = decode(words[at]);
    if (in_head == 0) heads.first.push_back(code.column);
    if (code.token != token || code.column != heads.first.back() + j) {
      return fail(ErrorCode::kUnsupported, "the features of a head do not stand in order");
    }
  }
  return heads;
}

// The heads as adjacent columns, each repeated `group` times.
Result<Columns> Run::adjacent(const Heads& heads, std::size_t group) const {
  for (std::size_t h = 0; h < heads.first.size(); ++h) {
    if (heads.first[h] != heads.first[0] + h / group * heads.d) {
      return fail(ErrorCode::kUnsupported, "the heads are not adjacent columns");
    }
  }
  return Columns{heads.rows, heads.first[0], heads.first.size() / group * heads.d};
}

std::size_t Run::group_of(const Heads& heads) {
  std::size_t group = 1;
  while (group < heads.first.size() && heads.first[group] == heads.first[0]) ++group;
  return heads.first.size() % group == 0 ? group : 1;
}

// A new thing that differs from the one in `codes` by what is said of its scores.
void Run::set_scores(const Node& node, const Tensor& codes, Scores scores, EntityKind kind) {
  const std::size_t width = scores.heads * length_;
  scores_.push_back(std::move(scores));
  const EntityId id = add_entity({kind, scores_.size() - 1, width, false, 0});
  set(node, moved(codes, id, 0));
}

Result<void> Run::scores(const Node& node, const Tensor& q, const Tensor& k) {
  if (q.rank() < 2 || k.rank() < 2) return fail(ErrorCode::kUnsupported, "one vector of tokens times another");
  NX_TRY(const Dims lead, broadcast_dims(lead_of(q.dims()), lead_of(k.dims())));
  const auto spread = [&](const Tensor& codes) {
    Dims dims = lead;
    dims.insert(dims.end(), codes.dims().end() - 2, codes.dims().end());
    return broadcast(codes, dims);
  };
  NX_TRY(const Heads query, heads_of(spread(q), false));
  NX_TRY(const Heads key, heads_of(spread(k), true));
  if (query.d != key.d) return fail(ErrorCode::kUnsupported, "queries of {} features, keys of {}", query.d, key.d);
  Scores scores;
  scores.heads = query.first.size();
  scores.d = query.d;
  NX_TRY(scores.q, adjacent(query, 1));
  const std::size_t group = group_of(key);
  NX_TRY(scores.k, adjacent(key, group));
  scores.kv_heads = scores.heads / group;
  look_through_scale(scores.q, scores.scale);
  look_through_scale(scores.k, scores.scale);
  if (scores.heads * length_ >= kMaxColumns) return fail(ErrorCode::kUnsupported, "{} heads", scores.heads);
  NX_TRY(Tensor codes, Tensor::allocate(DType::kInt64, with_matrix(lead, length_, length_)));
  std::size_t at = 0;
  for (std::int64_t& word : codes.as_mutable<std::int64_t>()) {
    const std::size_t pair = at % (length_ * length_);
    const std::size_t head = at++ / (length_ * length_);
    word = encode({0, static_cast<std::uint32_t>(pair / length_),
                   static_cast<std::uint32_t>(head * length_ + pair % length_), false});
  }
  set_scores(node, codes, std::move(scores), EntityKind::kScores);
  return {};
}

// Queries or keys times one number: the number goes to the scores.
void Run::look_through_scale(Columns& columns, double& scale) const {
  for (const auto* affine = made_by<step::Affine>(columns.rows); affine != nullptr;
       affine = made_by<step::Affine>(columns.rows)) {
    if (affine->shift || !affine->factor) return;
    const std::span<const float> factor = affine->factor->as<float>();
    if (std::ranges::any_of(factor, [&](float f) { return f != factor[0]; })) return;
    scale *= factor[0];
    columns = {affine->in.rows, affine->in.first + columns.first, columns.width};
  }
}

// Scores or probabilities as [.., heads, query, key].
Result<void> Run::in_order(const Tensor& codes) const {
  NX_TRY(const EntityId id, entity_of(codes));
  const std::size_t pairs = length_ * length_;
  std::size_t at = 0;
  for (const std::int64_t word : codes.as<std::int64_t>()) {
    const Code code = decode(word);
    if (code.token != at % pairs / length_ || code.column != at / pairs * length_ + at % length_) {
      return fail(ErrorCode::kUnsupported, "the scores do not stand as [heads, queries, keys]");
    }
    ++at;
  }
  const Dims& dims = codes.dims();
  if (at != entity(id).width * length_ || dims.size() < 2 || static_cast<std::size_t>(dims.back()) != length_ ||
      static_cast<std::size_t>(dims[dims.size() - 2]) != length_) {
    return fail(ErrorCode::kUnsupported, "the scores do not stand as [heads, queries, keys]");
  }
  return {};
}

Result<void> Run::scores_with_known(const Node& node, const Tensor& codes, ValueId other, bool value_first) {
  NX_TRY(const EntityId id, entity_of(codes));
  Scores scores = scores_[entity(id).index];
  NX_TRY(const Tensor beside, lengths_.at(other, length_));
  NX_TRY(const Dims dims, broadcast_dims(codes.dims(), beside.dims()));
  if (dims != codes.dims() || (!value_first && (node.op == "Sub" || node.op == "Div"))) {
    return fail(ErrorCode::kUnsupported, "scores are combined with '{}'", graph_.value(other).name);
  }
  NX_TRY(const std::optional<double> number, uniform(other));
  if (node.op == "Mul" || node.op == "Div") {
    if (!number || *number == 0 || !std::isfinite(*number)) {
      return fail(ErrorCode::kUnsupported, "scores are multiplied by '{}', expected one number",
                  graph_.value(other).name);
    }
    const double factor = node.op == "Mul" ? *number : 1 / *number;
    scores.scale *= factor;
    for (BiasTerm& term : scores.terms) {
      term.multiplier *= factor;
      term.fill *= factor;
    }
  } else {
    NX_TRY_VOID(in_order(codes));
    scores.terms.push_back({other, lead_of(codes.dims()), node.op == "Add" ? 1.0 : -1.0, false, false, 0});
  }
  set_scores(node, codes, std::move(scores), EntityKind::kScores);
  return {};
}

Result<void> Run::see_softmax(const Node& node) {
  const std::string& name = graph_.value(node.outputs[0]).name;
  NX_TRY(const std::int64_t axis, node.int_attr("axis", -1));
  const Seen& value = seen(node.inputs[0]);
  if (value.kind == Seen::Kind::kCodes) {
    NX_TRY(const EntityId id, entity_of(value.lanes[0]));
    const bool last = axis == -1 || axis + 1 == value.lanes[0].rank();
    if (!last) return fail(ErrorCode::kUnsupported, "axis {} is not the last", axis);
    if (entity(id).kind == EntityKind::kScores) {
      NX_TRY_VOID(in_order(value.lanes[0]));
      set_scores(node, value.lanes[0], scores_[entity(id).index], EntityKind::kProbabilities);
      return {};
    }
  }
  NX_TRY(const Tensor codes, rows_of(value, name));
  NX_TRY(const Layout layout, matrix_of(codes));
  if (axis != -1 && axis + 1 != codes.rank()) return fail(ErrorCode::kUnsupported, "axis {} is not the last", axis);
  NX_TRY(const EntityId out, add_rows(layout.width, entity(layout.entity).per_sequence, name));
  emit(step::RowSoftmax{0, columns_of(layout)}, out);
  set(node, moved(codes, out, layout.first));
  return {};
}

Result<void> Run::see_is_nan(const Node& node) {
  Seen out = seen(node.inputs[0]);
  if (out.kind == Seen::Kind::kCodes) {
    NX_TRY(const EntityId id, entity_of(out.lanes[0]));
    if (entity(id).kind == EntityKind::kProbabilities) {
      out.kind = Seen::Kind::kNanTest;
      seen(node.outputs[0]) = std::move(out);
      return {};
    }
  }
  return fail(ErrorCode::kUnsupported, "only probabilities are tested for NaN in a plan");
}

// Where over scores hides keys; a guard against NaN (of a row without keys, which there is not) is dropped; a condition
// that always holds, or never, chooses.
Result<void> Run::see_where(const Node& node) {
  const ValueId condition = node.inputs[0];
  const ValueId chosen[2] = {node.inputs[2], node.inputs[1]};
  if (!known(condition)) {
    const Seen& test = seen(condition);
    if (test.kind != Seen::Kind::kNanTest || !known(chosen[1]) || known(chosen[0])) {
      return fail(ErrorCode::kUnsupported, "the tokens choose between values");
    }
    NX_TRY(const std::optional<double> zero, uniform(chosen[1]));
    const Seen& kept = seen(chosen[0]);
    if (zero != std::optional(0.0) || kept.kind != Seen::Kind::kCodes || kept.lanes[0].dims() != test.lanes[0].dims() ||
        !std::ranges::equal(kept.lanes[0].as<std::int64_t>(), test.lanes[0].as<std::int64_t>())) {
      return fail(ErrorCode::kUnsupported, "expected Where(IsNaN(p), 0, p)");
    }
    set(node, kept.lanes[0]);
    return {};
  }
  NX_TRY(const std::optional<double> always, uniform(condition));
  NX_TRY(const Tensor where, lengths_.at(condition, length_));
  if (always && !known(chosen[*always != 0 ? 1 : 0])) {
    const Seen& value = seen(chosen[*always != 0 ? 1 : 0]);
    if (value.lanes.empty()) return fail(ErrorCode::kUnsupported, "the scale of a quantised value is chosen");
    NX_TRY(const Dims dims, broadcast_dims(value.lanes[0].dims(), where.dims()));
    if (dims == value.lanes[0].dims()) {
      seen(node.outputs[0]) = Seen(value);
      return {};
    }
  }
  const bool value_when = !known(chosen[1]);
  const ValueId value_id = chosen[value_when ? 1 : 0];
  const ValueId fill_id = chosen[value_when ? 0 : 1];
  const Seen& value = seen(value_id);
  if (!known(fill_id) || known(value_id) || value.kind != Seen::Kind::kCodes) {
    return fail(ErrorCode::kUnsupported, "expected scores and a constant");
  }
  const Tensor codes = value.lanes[0];
  NX_TRY(const EntityId id, entity_of(codes));
  NX_TRY(const std::optional<double> fill, uniform(fill_id));
  NX_TRY(const Dims dims, broadcast_dims(codes.dims(), where.dims()));
  if (entity(id).kind != EntityKind::kScores || !fill || dims != codes.dims()) {
    return fail(ErrorCode::kUnsupported, "expected scores and a constant");
  }
  NX_TRY_VOID(in_order(codes));
  Scores scores = scores_[entity(id).index];
  scores.terms.push_back({condition, lead_of(dims), 1, true, !value_when, *fill});
  set_scores(node, codes, std::move(scores), EntityKind::kScores);
  return {};
}

Result<EntityId> Run::attend(const Scores& scores, Columns v, std::size_t d_value, const std::string& name) {
  std::string key = fmt::format("{}:", scores.heads);
  for (const BiasTerm& t : scores.terms) {
    key += fmt::format("{} {} {} {} {} {};", t.known, dims_string(t.lead), t.multiplier, t.fills, t.fill_when, t.fill);
  }
  auto found = biases_.find(key);
  if (found == biases_.end()) {
    NX_TRY(RelativeBias bias, relative_bias(graph_, lengths_, scores.terms, scores.heads, max_positions_));
    limit_ = std::min(limit_, bias.max_positions);
    if (std::ranges::any_of(scores.terms, [&](const BiasTerm& t) { return lengths_.reads_mask(t.known); })) {
      ++counts_["mask: key padding"];
    }
    if (bias.window > 0) ++counts_[fmt::format("mask: window {}", bias.window)];
    if (bias.bias && bias.window == 0) ++counts_["bias: relative"];
    found = biases_.emplace(std::move(key), std::move(bias)).first;
  }
  step::Attention step;
  step.q = scores.q;
  step.k = scores.k;
  step.v = v;
  step.heads = scores.heads;
  step.kv_heads = scores.kv_heads;
  step.d = scores.d;
  step.d_value = d_value;
  step.scale = static_cast<float>(scores.scale);
  step.bias = found->second.bias;
  step.window = found->second.window;
  NX_TRY(const EntityId out, add_rows(scores.heads * d_value, false, name));
  emit(std::move(step), out);
  return out;
}

Result<void> Run::context(const Node& node, const Tensor& p, const Tensor& v) {
  NX_TRY_VOID(in_order(p));
  NX_TRY(const EntityId id, entity_of(p));
  const Scores scores = scores_[entity(id).index];
  const Dims lead = lead_of(p.dims());
  if (v.rank() < 2) return fail(ErrorCode::kUnsupported, "probabilities times one vector");
  NX_TRY(const Dims both, broadcast_dims(lead, lead_of(v.dims())));
  NX_TRY(const std::int64_t n_heads, checked_count(both));
  if (static_cast<std::size_t>(n_heads) != scores.heads) {
    return fail(ErrorCode::kUnsupported, "probabilities of {} heads, values of {}", scores.heads, n_heads);
  }
  Dims spread = both;
  spread.insert(spread.end(), v.dims().end() - 2, v.dims().end());
  NX_TRY(const Heads heads, heads_of(broadcast(v, spread), false));
  const std::size_t group = scores.heads / scores.kv_heads;
  NX_TRY(const Columns values, adjacent(heads, group));
  NX_TRY(const EntityId out, attend(scores, values, heads.d, graph_.value(node.outputs[0]).name));
  set(node, context_codes(out, with_matrix(both, length_, heads.d)));
  return {};
}

// [.., heads, tokens, d] of rows of heads · d columns.
Tensor Run::context_codes(EntityId out, const Dims& dims) const {
  auto codes = Tensor::allocate(DType::kInt64, dims);
  NX_CHECK(codes, "codes as large as those of the values");
  const auto d = static_cast<std::size_t>(dims.back());
  std::size_t at = 0;
  for (std::int64_t& word : codes->as_mutable<std::int64_t>()) {
    const std::size_t head = at / (length_ * d);
    word = encode({out, static_cast<std::uint32_t>(at % (length_ * d) / d),
                   static_cast<std::uint32_t>(head * d + at % d), false});
    ++at;
  }
  return *std::move(codes);
}

// [1, tokens, heads · d] as [1, heads, tokens, d].
Result<Tensor> Run::by_heads(const Tensor& codes, std::int64_t heads) const {
  if (codes.rank() == 4) return codes;
  const auto n = static_cast<std::int64_t>(length_);
  if (codes.rank() != 3 || heads < 1 || codes.dims()[0] != 1 || codes.dims()[1] != n || codes.dims()[2] % heads != 0) {
    return fail(ErrorCode::kUnsupported, "an operand of shape {} with {} heads", dims_string(codes.dims()), heads);
  }
  const std::int64_t d = codes.dims()[2] / heads;
  NX_TRY(Tensor out, Tensor::allocate(DType::kInt64, {1, heads, n, d}));
  const std::span<const std::int64_t> in = codes.as<std::int64_t>();
  std::int64_t at = 0;
  for (std::int64_t& word : out.as_mutable<std::int64_t>()) {
    const std::int64_t head = at / (n * d);
    const std::int64_t token = at % (n * d) / d;
    word = in[static_cast<std::size_t>(token * heads * d + head * d + at % d)];
    ++at;
  }
  return out;
}

// The fourth input of Attention-23: added to the scores, or false where a token may not look.
Result<void> Run::add_mask(const Node& node, Scores& scores) {
  if (!node.has_input(3)) return {};
  if (!known(node.inputs[3])) return fail(ErrorCode::kUnsupported, "the mask depends on the tokens");
  const Dims lead = {1, static_cast<std::int64_t>(scores.heads)};
  NX_TRY(const Tensor mask, lengths_.at(node.inputs[3], length_));
  const Dims pairs = with_matrix(lead, length_, length_);
  NX_TRY(const Dims dims, broadcast_dims(mask.dims(), pairs));
  if (dims != pairs || mask.dims().empty() || static_cast<std::size_t>(mask.dims().back()) != length_) {
    return fail(ErrorCode::kUnsupported, "a mask of shape {}", dims_string(mask.dims()));
  }
  const bool fills = mask.dtype() == DType::kBool;
  scores.terms.push_back({node.inputs[3], lead, 1, fills, false, fills ? -INFINITY : 0});
  return {};
}

// Attention-23, with nothing kept from before.
Result<void> Run::see_attention(const Node& node) {
  NX_TRY(const std::int64_t causal, node.int_attr("is_causal", 0));
  NX_TRY(const std::int64_t left, node.int_attr("left_window_size", -1));
  NX_TRY(const std::int64_t right, node.int_attr("right_window_size", -1));
  NX_TRY(const float softcap, node.float_attr("softcap", 0));
  NX_TRY(const float given_scale, node.float_attr("scale", 0));
  NX_TRY(const std::int64_t q_heads, node.int_attr("q_num_heads", 0));
  NX_TRY(const std::int64_t kv_heads, node.int_attr("kv_num_heads", 0));
  const auto extra = [&](std::size_t from) {
    for (std::size_t i = from; i < node.inputs.size(); ++i) {
      if (node.has_input(i)) return true;
    }
    return node.has_output(1) || node.has_output(2) || node.has_output(3);
  };
  if (causal != 0 || left != -1 || right != -1 || softcap != 0 || extra(4)) {
    return fail(ErrorCode::kUnsupported, "expected attention of a whole sequence, without softcap and key cache");
  }
  const std::string& name = graph_.value(node.outputs[0]).name;
  Tensor operands[3];
  for (std::size_t i = 0; i < 3; ++i) {
    if (known(node.inputs[i])) return fail(ErrorCode::kUnsupported, "operand {} does not depend on the tokens", i);
    NX_TRY(operands[i], rows_of(seen(node.inputs[i]), name));
  }
  const bool is_3d = operands[0].rank() == 3;
  for (std::size_t i = 0; i < 3; ++i) {
    NX_TRY(operands[i], by_heads(operands[i], i == 0 ? q_heads : kv_heads));
  }
  NX_TRY(const Heads q, heads_of(operands[0], false));
  NX_TRY(const Heads k, heads_of(operands[1], false));
  NX_TRY(const Heads v, heads_of(operands[2], false));
  Scores scores;
  scores.heads = q.first.size();
  scores.kv_heads = k.first.size();
  scores.d = q.d;
  if (scores.kv_heads == 0 || scores.heads % scores.kv_heads != 0 || v.first.size() != scores.kv_heads || k.d != q.d) {
    return fail(ErrorCode::kUnsupported, "{} heads of queries, {} of keys", scores.heads, scores.kv_heads);
  }
  NX_TRY(scores.q, adjacent(q, 1));
  NX_TRY(scores.k, adjacent(k, 1));
  NX_TRY(const Columns values, adjacent(v, 1));
  scores.scale = given_scale != 0 ? static_cast<double>(given_scale) : 1 / std::sqrt(static_cast<double>(q.d));
  look_through_scale(scores.q, scores.scale);
  look_through_scale(scores.k, scores.scale);
  NX_TRY_VOID(add_mask(node, scores));
  NX_TRY(const EntityId out, attend(scores, values, v.d, name));
  const Dims lead = {1, static_cast<std::int64_t>(scores.heads)};
  const Tensor codes = context_codes(out, with_matrix(lead, length_, v.d));
  if (!is_3d) {
    set(node, codes);
    return {};
  }
  NX_TRY(Tensor rows,
         dense_codes(out, {1, static_cast<std::int64_t>(length_), static_cast<std::int64_t>(scores.heads * v.d)}));
  set(node, std::move(rows));
  return {};
}

}  // namespace narthex::recognition
