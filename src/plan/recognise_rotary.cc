// Rotary positions: x · cos + rotated(x) · sin, however the halves are cut and joined.
#include <algorithm>
#include <set>

#include "ops/util.h"
#include "plan/recognise_run.h"

namespace narthex::recognition {

// The table [max_positions, rotary] of a known value whose rows hold all `rotary` angles or the first half of them.
Result<Tensor> Run::angles(ValueId v, std::size_t rotary) {
  const auto key = std::pair(v, rotary);
  if (const auto found = angles_.find(key); found != angles_.end()) return found->second;
  NX_TRY(const KnownTable* table, table_of(v));
  if (!table->by_token || (table->width != rotary && 2 * table->width != rotary)) {
    return fail(ErrorCode::kUnsupported, "'{}' is not one row of {} angles for each position", graph_.value(v).name,
                rotary);
  }
  NX_TRY(Tensor out, Tensor::allocate(DType::kFloat32,
                                      {static_cast<std::int64_t>(max_positions_), static_cast<std::int64_t>(rotary)}));
  float* to = out.as_mutable<float>().data();
  for (std::size_t p = 0; p < max_positions_; ++p) {
    for (std::size_t j = 0; j < rotary; ++j) {
      *to++ = static_cast<float>(table->elements[p * table->width + j % table->width]);
    }
  }
  angles_.emplace(key, out);
  return out;
}

// Which heads and how many of their columns turn, from the codes of x and of its rotated counterpart.
Result<Run::Turn> Run::turn_of(const Tensor& x, const Tensor& partner) const {
  NX_TRY(const EntityId id, entity_of(x));
  if (entity(id).kind != EntityKind::kRows || entity(id).per_sequence) {
    return fail(ErrorCode::kUnsupported, "only features of tokens are turned by their position");
  }
  std::set<std::size_t> sorted;
  Turn turn;
  turn.entity = id;
  turn.first = kMaxColumns;
  for (std::size_t i = 0; i < static_cast<std::size_t>(x.count()); ++i) {
    const Code code = decode(x.as<std::int64_t>()[i]);
    const Code other = decode(partner.as<std::int64_t>()[i]);
    sorted.insert(code.column);
    if (code.column >= turn.first) continue;
    turn.first = code.column;
    turn.rotary = other.column > code.column ? 2 * (other.column - code.column) : 0;
  }
  const std::vector<std::size_t> columns(sorted.begin(), sorted.end());
  const std::string_view expected = "a rotation pairs other features than the halves of a head";
  if (turn.rotary == 0 || columns.size() % turn.rotary != 0 ||
      columns.size() * length_ != static_cast<std::size_t>(x.count())) {
    return fail(ErrorCode::kUnsupported, "{}", expected);
  }
  turn.heads = columns.size() / turn.rotary;
  turn.d = turn.heads == 1 ? turn.rotary : columns[turn.rotary] - turn.first;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i] != turn.first + i / turn.rotary * turn.d + i % turn.rotary) {
      return fail(ErrorCode::kUnsupported, "{}", expected);
    }
  }
  if (turn.first + turn.heads * turn.d > entity(id).width) return fail(ErrorCode::kUnsupported, "{}", expected);
  return turn;
}

Result<EntityId> Run::add_rotation(const Turn& turn, Tensor cos, Tensor sin, const std::string& name) {
  const std::size_t width = turn.heads * turn.d;
  NX_TRY(const EntityId out, add_rows(width, false, name));
  emit(step::Rotate{0,
                    {entity(turn.entity).index, turn.first, width},
                    turn.heads,
                    turn.d,
                    turn.rotary,
                    std::move(cos),
                    std::move(sin)},
       out);
  return out;
}

Result<Tensor> Run::rotated(const Seen& value, const std::string& name) {
  const auto negative = [](const Tensor& codes) {
    return std::ranges::any_of(codes.as<std::int64_t>(), [](std::int64_t word) { return word < 0; });
  };
  const std::size_t x = negative(value.lanes[0]) ? 2 : 0;  // the term of the cosine
  const Tensor& codes = value.lanes[x];
  const Tensor& partner = value.lanes[2 - x];
  NX_TRY(const Turn turn, turn_of(codes, partner));
  NX_TRY(const Tensor cos, angles(value.known[x / 2], turn.rotary));
  NX_TRY(const Tensor sin, angles(value.known[1 - x / 2], turn.rotary));
  const std::size_t half = turn.rotary / 2;
  const std::size_t widths[2] = {table_width(value.known[x / 2]), table_width(value.known[1 - x / 2])};
  for (std::size_t i = 0; i < static_cast<std::size_t>(codes.count()); ++i) {
    const Code code = decode(codes.as<std::int64_t>()[i]);
    const Code other = decode(partner.as<std::int64_t>()[i]);
    const std::size_t j = (code.column - turn.first) % turn.d;
    const std::size_t with = j < half ? code.column + half : code.column - half;
    if (other.entity != code.entity || other.token != code.token || other.column != with ||
        other.negative != (j < half)) {
      return fail(ErrorCode::kUnsupported, "a rotation pairs other features than the halves of a head");
    }
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      const auto at = static_cast<std::size_t>(value.lanes[side == 0 ? x + 1 : 3 - x].as<std::int64_t>()[i]);
      if (at / widths[side] != code.token || at % widths[side] != j % widths[side]) {
        return fail(ErrorCode::kUnsupported, "the angles of a rotation are not laid out by position and feature");
      }
    }
  }
  NX_TRY(const EntityId out, add_rotation(turn, cos, sin, name));
  return moved(codes, out, turn.first);
}

std::size_t Run::table_width(ValueId v) {
  const auto table = table_of(v);
  return table ? std::max<std::size_t>((*table)->width, 1) : 1;
}

// After a partial rotation its own rows also hold what did not turn.
void Run::join_rotated(Tensor& codes) const {
  const step::Rotate* rotate = nullptr;
  EntityId id = 0;
  for (const std::int64_t word : codes.as<std::int64_t>()) {
    const Code code = decode(word);
    const Entity& thing = entity(code.entity);
    if (code.negative || thing.kind != EntityKind::kRows) return;
    const auto* made = made_by<step::Rotate>(thing.index);
    if (made == nullptr || made->rotary == made->d) continue;
    if (rotate != nullptr && code.entity != id) return;
    rotate = made;
    id = code.entity;
  }
  if (rotate == nullptr) return;
  auto joined = Tensor::allocate(DType::kInt64, codes.dims());
  NX_CHECK(joined, "codes as large as others");
  std::ranges::transform(codes.as<std::int64_t>(), joined->as_mutable<std::int64_t>().begin(), [&](std::int64_t word) {
    Code code = decode(word);
    const Columns& in = rotate->in;
    if (entity(code.entity).index != in.rows || code.column < in.first || code.column >= in.first + in.width) {
      return word;
    }
    code.column -= static_cast<std::uint32_t>(in.first);
    if (code.column % rotate->d < rotate->rotary) return word;
    code.entity = id;
    return encode(code);
  });
  codes = *std::move(joined);
}

// Rows of a constant cache, chosen by known positions.
Result<Tensor> Run::cached_angles(ValueId cache, ValueId positions, std::size_t rotary) {
  NX_TRY(const KnownTable* rows, table_of(cache));
  NX_TRY(const KnownTable* at, table_of(positions));
  const std::size_t half = rotary / 2;
  if (rows->by_token || !at->by_token || at->width != 1 || half == 0 || rows->elements.size() % half != 0) {
    return fail(ErrorCode::kUnsupported, "expected a constant cache and one position a token");
  }
  NX_TRY(Tensor out, Tensor::allocate(DType::kFloat32,
                                      {static_cast<std::int64_t>(max_positions_), static_cast<std::int64_t>(rotary)}));
  float* to = out.as_mutable<float>().data();
  const std::size_t entries = rows->elements.size() / half;
  for (const double position : at->elements) {
    if (position < 0 || position >= static_cast<double>(entries)) {
      return fail(ErrorCode::kUnsupported, "position {} is not in the cache", position);
    }
    for (std::size_t j = 0; j < rotary; ++j) {
      *to++ = static_cast<float>(rows->elements[static_cast<std::size_t>(position) * half + j % half]);
    }
  }
  return out;
}

// RotaryEmbedding-23.
Result<void> Run::see_rotary(const Node& node) {
  const std::string& name = graph_.value(node.outputs[0]).name;
  NX_TRY(const std::int64_t interleaved, node.int_attr("interleaved", 0));
  NX_TRY(const std::int64_t n_heads, node.int_attr("num_heads", 0));
  NX_TRY(const std::int64_t dim, node.int_attr("rotary_embedding_dim", 0));
  if (interleaved != 0) return fail(ErrorCode::kUnsupported, "rotary positions of neighbours, not of halves");
  if (known(node.inputs[0]) || !known(node.inputs[1]) || !known(node.inputs[2])) {
    return fail(ErrorCode::kUnsupported, "expected rows and two known tables");
  }
  NX_TRY(const Tensor codes, rows_of(seen(node.inputs[0]), name));
  NX_TRY(const Tensor split, by_heads(codes, n_heads));
  NX_TRY(const Heads heads, heads_of(split, false));
  NX_TRY(const Columns in, adjacent(heads, 1));
  NX_TRY(const EntityId id, entity_of(codes));
  Turn turn{id, in.first, heads.first.size(), heads.d, dim == 0 ? heads.d : static_cast<std::size_t>(dim)};
  if (dim < 0 || turn.rotary > heads.d || turn.rotary % 2 != 0) {
    return fail(ErrorCode::kUnsupported, "cannot turn {} of {} features", dim, heads.d);
  }
  Tensor tables[2];
  for (std::size_t i = 0; i < 2; ++i) {
    if (node.has_input(3)) {
      if (!known(node.inputs[3])) return fail(ErrorCode::kUnsupported, "positions depend on the tokens");
      NX_TRY(tables[i], cached_angles(node.inputs[i + 1], node.inputs[3], turn.rotary));
    } else {
      NX_TRY(tables[i], angles(node.inputs[i + 1], turn.rotary));
    }
  }
  NX_TRY(const EntityId out, add_rotation(turn, tables[0], tables[1], name));
  set(node, moved(codes, out, turn.first));
  return {};
}

}  // namespace narthex::recognition
