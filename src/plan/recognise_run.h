// One walk over a canonical graph with a sequence of a given, small length, in which each value that depends on tokens
// is a tensor of codes: which element of which thing stands where.
//
// A thing is the ids, rows of an Encoder, scores, probabilities and so on. Reshape, Transpose, Slice, Concat and the
// like need no rules of their own: the reference evaluates them on the codes. Only what computes looks at codes, and
// takes them in any arrangement that it can name. The driver (recognise.cc) walks twice, with two lengths, and accepts
// what comes out alike. Covered by tests/plan/recognise_test.cc.
#pragma once

#include <memory>
#include <span>

#include "plan/recognise.h"
#include "plan/recognise_bias.h"
#include "plan/recognise_lengths.h"

namespace narthex::recognition {

using EntityId = std::uint32_t;

// An element: column `column` of token `token` of a thing, perhaps with its sign turned.
struct Code {
  EntityId entity = 0;
  std::uint32_t token = 0;
  std::uint32_t column = 0;
  bool negative = false;
};
inline constexpr std::uint32_t kMaxColumns = 1U << 24;
std::int64_t encode(Code code);
Code decode(std::int64_t word);

enum class EntityKind : std::uint8_t {
  kInput,          // ids or token types: index says which
  kRows,           // Encoder::rows[index]
  kScores,         // scores_[index]: token is the query, column head · length + key
  kProbabilities,  // of scores_[index]
  kSquareSum,      // of the columns sources_[index], one element a row
  kNorm,           // its square root, at least floor
  kIntegers,       // integer products of quantised rows: integers_[index]
  kQuantisedRows,  // rows of a table of integers: tables_[index]
};
struct Entity {
  EntityKind kind = EntityKind::kRows;
  std::size_t index = 0;
  std::size_t width = 0;
  bool per_sequence = false;
  float floor = 0;  // kNorm
};

// What a value of the graph was found to be.
struct Seen {
  enum class Kind : std::uint8_t {
    kNothing,     // `reason`
    kCodes,       // lanes: codes
    kProduct,     // codes · known: lanes: codes, index into the elements of known[0]
    kRotation,    // a · known[0] + b · known[1]: lanes: a, index into known[0], b, index into known[1]
    kNanTest,     // IsNaN of codes
    kQuantised,   // DynamicQuantizeLinear of codes, made by node `node`
    kQuantScale,  // its scale, perhaps times `factor`
    kQuantZero,   // its zero point
  };
  Kind kind = Kind::kNothing;
  std::vector<Tensor> lanes;
  ValueId known[2] = {kNoValue, kNoValue};
  const Node* node = nullptr;
  std::optional<Tensor> factor;
  std::shared_ptr<const std::string> reason;
};

// What a known operand is for the columns of some rows.
struct Operand {
  std::vector<double> columns;  // one a column, when it is the same for every token
  std::optional<Tensor> table;  // [max_positions, width] otherwise
  bool is_all(double x) const;
};

// A known value made independent of the length: [max_positions, width] or, when it has no tokens, [width].
struct KnownTable {
  bool by_token = false;
  std::size_t width = 0;
  std::vector<double> elements;
};

class Run {
 public:
  Run(const Graph& graph, Lengths& lengths, std::size_t length, std::size_t max_positions);
  void execute();

  Encoder& encoder() { return encoder_; }
  const std::vector<std::string>& refusals() const { return refusals_; }
  // Fewer than max_positions when a table of positions ended before; the walk is then to be repeated.
  std::size_t limit() const { return limit_; }
  std::map<std::string, std::size_t>& counts() { return counts_; }

 private:
  using Handler = Result<void> (Run::*)(const Node&);
  struct Scores {
    Columns q, k;
    std::size_t heads = 0, kv_heads = 0, d = 0;
    double scale = 1;
    std::vector<BiasTerm> terms;
  };
  struct Integers {
    Columns in;
    Tensor weight;  // float32 [k, n], the zero point subtracted
    const Node* quantised = nullptr;
  };
  struct Table {
    step::Index index = step::Index::kTokenIds;
    Tensor table;
    std::string name;
  };
  // Where a set of codes lies: every token (or the sequence) has each of the columns once.
  struct Layout {
    EntityId entity = 0;
    std::size_t first = 0, width = 0;
  };

  struct Heads {
    RowsId rows = 0;
    std::size_t d = 0;
    std::vector<std::size_t> first;  // column of each head
  };

  // recognise_run.cc: the walk, codes and rows.
  Handler handler(const Node& node) const;
  Result<void> visit(const Node& node);
  void finish_outputs();
  Result<RowsId> output_rows(ValueId value);
  bool known(ValueId v) const { return v != kNoValue && lengths_.is_known(v); }
  Seen& seen(ValueId v) { return values_[static_cast<std::size_t>(v)]; }
  void set(const Node& node, Tensor codes, std::size_t output = 0);
  const Entity& entity(EntityId id) const { return entities_[id]; }
  EntityId add_entity(Entity entity);
  Result<EntityId> add_rows(std::size_t width, bool per_sequence, const std::string& name);
  template <class S>
  EntityId emit(S step, EntityId out) {
    step.out = entities_[out].index;
    producer_[step.out] = encoder_.steps.size();
    encoder_.steps.emplace_back(std::move(step));
    return out;
  }
  template <class S>
  const S* made_by(RowsId rows) const {
    return std::get_if<S>(&encoder_.steps[producer_[rows]]);
  }
  Result<Tensor> dense_codes(EntityId id, Dims dims) const;
  Tensor moved(const Tensor& codes, EntityId to, std::size_t first) const;
  // The one thing that all codes are of; an error where they are mixed or negative.
  Result<EntityId> entity_of(const Tensor& codes) const;
  // Codes of rows, of a settled kind: products and rotations computed, a lone first or last token pooled.
  Result<Tensor> rows_of(const Seen& value, const std::string& name);
  Result<Tensor> settle(Tensor codes, const std::string& name);
  Result<Tensor> positive(Tensor codes, const std::string& name);
  Result<EntityId> pooled(Columns in, step::PoolKind kind, const std::string& name);
  Result<Layout> layout_of(const Tensor& codes) const;
  Columns columns_of(const Layout& layout) const {
    return {entities_[layout.entity].index, layout.first, layout.width};
  }
  // As a matrix: row r is token r, columns in order. The error says what was found.
  Result<Layout> matrix_of(const Tensor& codes) const;

  // recognise_known.cc: known operands.
  Result<const KnownTable*> table_of(ValueId v);
  Result<KnownTable> make_table(ValueId v);
  void lower_limit(ValueId v, std::size_t width);
  Result<Operand> operand_of(ValueId v, const Tensor& index, const Tensor& codes, const Layout& layout);
  Result<std::optional<double>> uniform(ValueId v);
  // Whether every element is the length itself, or one through it.
  bool is_length(ValueId v, bool inverse);
  Result<Tensor> constant_float(ValueId v);

  // recognise_rows.cc: embeddings, linears, norms and what is done element by element.
  Result<void> see_gather(const Node& node);
  Result<void> see_linear(const Node& node);
  Result<void> see_matmul(const Node& node);
  Result<void> see_layer_norm(const Node& node);
  Result<void> see_rms_norm(const Node& node);
  Result<void> see_activation(const Node& node);
  Result<void> see_arithmetic(const Node& node);
  Result<void> see_clip(const Node& node);
  Result<void> see_move(const Node& node);
  Result<void> see_neg(const Node& node);
  Result<void> see_cast(const Node& node);
  Result<void> see_pow(const Node& node);
  Result<EntityId> linear(const Tensor& codes, step::Linear step, const std::string& name);
  Result<void> with_known(const Node& node, const Seen& value, ValueId other, bool value_first);
  Result<void> rows_with_known(const Node& node, const Tensor& codes, ValueId other, bool value_first);
  Result<void> half_rotation(const Node& node, const Tensor& codes, ValueId other);
  Result<void> of_two(const Node& node);
  Result<void> of_rows(const Node& node, Tensor left, Tensor right);
  Result<Tensor> turned(const Tensor& codes) const;
  static std::size_t n_turned(const Tensor& codes);
  Result<void> scaled_rows(const Node& node, const Tensor& codes, const Layout& layout, const Operand& operand,
                           ValueId other, const Tensor& index);
  Result<Tensor> affine(const Tensor& codes, const Layout& layout, std::optional<std::vector<double>> factor,
                        std::optional<std::vector<double>> shift, const std::string& name);
  Result<EntityId> position_rows(Tensor table, const std::string& name);

  // recognise_rotary.cc
  struct Turn {
    EntityId entity = 0;
    std::size_t first = 0, heads = 0, d = 0, rotary = 0;
  };
  Result<Tensor> angles(ValueId v, std::size_t rotary);
  Result<Tensor> cached_angles(ValueId cache, ValueId positions, std::size_t rotary);
  std::size_t table_width(ValueId v);
  Result<Turn> turn_of(const Tensor& x, const Tensor& partner) const;
  Result<EntityId> add_rotation(const Turn& turn, Tensor cos, Tensor sin, const std::string& name);
  Result<Tensor> rotated(const Seen& value, const std::string& name);
  Result<void> see_rotary(const Node& node);
  void join_rotated(Tensor& codes) const;

  // recognise_attention.cc
  Result<Heads> heads_of(const Tensor& codes, bool transposed) const;
  Result<Columns> adjacent(const Heads& heads, std::size_t group) const;
  static std::size_t group_of(const Heads& heads);
  void set_scores(const Node& node, const Tensor& codes, Scores scores, EntityKind kind);
  void look_through_scale(Columns& columns, double& scale) const;
  Result<void> in_order(const Tensor& codes) const;
  Tensor context_codes(EntityId out, const Dims& dims) const;
  Result<Tensor> by_heads(const Tensor& codes, std::int64_t heads) const;
  Result<void> scores(const Node& node, const Tensor& q, const Tensor& k);
  Result<void> context(const Node& node, const Tensor& p, const Tensor& v);
  Result<void> scores_with_known(const Node& node, const Tensor& codes, ValueId other, bool value_first);
  Result<void> see_softmax(const Node& node);
  Result<void> see_where(const Node& node);
  Result<void> see_is_nan(const Node& node);
  Result<void> see_attention(const Node& node);
  Result<void> add_mask(const Node& node, Scores& scores);
  Result<EntityId> attend(const Scores& scores, Columns v, std::size_t d_value, const std::string& name);

  // recognise_pool.cc: reductions over tokens and the length of a row.
  Result<void> see_reduce(const Node& node);
  Result<void> see_sqrt(const Node& node);
  Result<void> see_lp_norm(const Node& node);
  Result<void> square_sum(const Node& node, const Tensor& codes, const Dims& dims);
  Result<void> divided_by_norm(const Node& node, const Tensor& a, const Tensor& b);
  Result<void> norm_with_floor(const Node& node, const Tensor& codes, double floor);

  // recognise_quantised.cc
  Result<void> see_dynamic_quantize(const Node& node);
  Result<void> see_matmul_integer(const Node& node);
  Result<void> see_dequantize(const Node& node);
  Result<void> scaled_integers(const Node& node, const Seen& product, const Seen& scale);

  const Graph& graph_;
  Lengths& lengths_;
  std::size_t length_;
  std::size_t max_positions_;
  std::size_t limit_;
  Encoder encoder_;
  std::vector<std::string> refusals_;
  std::map<std::string, std::size_t> counts_;
  std::vector<Seen> values_;
  std::vector<Entity> entities_;
  std::vector<std::size_t> producer_;  // RowsId → step
  std::vector<Scores> scores_;
  std::vector<Columns> sources_;
  std::vector<Integers> integers_;
  std::vector<Table> tables_;
  std::map<std::tuple<RowsId, std::size_t, std::size_t, step::PoolKind>, EntityId> pools_;
  std::map<ValueId, KnownTable> known_tables_;
  std::map<std::string, RelativeBias> biases_;
  std::map<std::pair<ValueId, std::size_t>, Tensor> angles_;  // shared by all layers
};

// Small tools.
Tensor broadcast(const Tensor& tensor, const Dims& dims);
// 0, 1, 2 … with these dims.
Result<Tensor> counting(const Dims& dims);
Tensor float_vector(const std::vector<double>& values);
// Merges and drops steps, renumbers rows: recognise_finish.cc.
void finish(Encoder& encoder);
bool same_encoder(const Encoder& a, const Encoder& b);

}  // namespace narthex::recognition
