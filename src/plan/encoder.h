// What an encoder computes for each token, free of precision, layout and batch: the recogniser's result.
//
// A value is rows of floats, one row a token or one a sequence. Steps are in order; each writes one value. A sequence
// is computed as if it stood alone without padding: a mask of ones, positions 0, 1, 2 …; only attention, position
// tables and pooling know where a sequence begins and ends. lower.h makes this fast; encoder_reference.h runs it as it
// stands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "graph/tensor.h"
#include "kernels/args.h"

namespace narthex {

using RowsId = std::size_t;  // index into Encoder::rows

struct Rows {
  std::size_t width = 0;
  bool per_sequence = false;
  std::string name;  // of the graph's value, for reports
};

// A range of columns of a value.
struct Columns {
  RowsId rows = 0;
  std::size_t first = 0;
  std::size_t width = 0;
};

// All tensors are float32 and constant.
namespace step {

enum class Index : std::uint8_t { kTokenIds, kTokenTypes, kPosition };
// out[t] = table[index of t]; table [entries, width]. kPosition: entries is at least Encoder::max_positions.
struct Embed {
  RowsId out = 0;
  Index index = Index::kTokenIds;
  Tensor table;
};
// out = activation(in · weight + bias); weight [in.width, out width], bias [out width] or of type undefined (absent).
struct Linear {
  RowsId out = 0;
  Columns in;
  Tensor weight;
  std::optional<Tensor> bias;
  Activation activation = Activation::kNone;
};
enum class BinaryKind : std::uint8_t { kAdd, kMultiply };
struct Binary {
  RowsId out = 0;
  Columns a, b;
  BinaryKind kind = BinaryKind::kAdd;
};
// out = in · factor + shift, each [width] or absent.
struct Affine {
  RowsId out = 0;
  Columns in;
  std::optional<Tensor> factor, shift;
};
struct Norm {
  RowsId out = 0;
  Columns in;
  NormKind kind = NormKind::kLayer;
  std::optional<Tensor> gamma, beta;  // [width]
  float epsilon = 0;
};
// kNone copies the columns.
struct Activate {
  RowsId out = 0;
  Columns in;
  Activation activation = Activation::kNone;
};
// Rotary positions on heads of d columns: the first `rotary` columns of each are x · cos + rotated(x) · sin with
// rotated(x) = (−second half, first half). cos, sin: [at least max_positions, rotary].
struct Rotate {
  RowsId out = 0;
  Columns in;  // width heads · d
  std::size_t heads = 0, d = 0, rotary = 0;
  Tensor cos, sin;
};
// Per head h: softmax(scale · q_h k_hᵀ + bias) v_h over the tokens of the sequence. Head h of keys and values is
// h / (heads / kv_heads). bias, when there: [1 or heads, 2 P − 1] with P >= max_positions; key j as query i sees it has
// bias[·, j − i + P − 1]; −inf where it may not look (windows, causal masks).
struct Attention {
  RowsId out = 0;  // width heads · d_value
  Columns q, k, v;
  std::size_t heads = 0, kv_heads = 0, d = 0, d_value = 0;
  float scale = 1;
  std::optional<Tensor> bias;
  std::size_t window = 0;  // when > 0: bias is −inf for every |i − j| > window, so those keys need not be read
};
enum class PoolKind : std::uint8_t { kFirst, kLast, kMean, kSum, kMax };
// Tokens → sequences.
struct Pool {
  RowsId out = 0;
  Columns in;
  PoolKind kind = PoolKind::kFirst;
};
// out = in / max(‖in‖₂, epsilon)
struct L2Normalize {
  RowsId out = 0;
  Columns in;
  float epsilon = 0;
};
// out = softmax(in) over the columns.
struct RowSoftmax {
  RowsId out = 0;
  Columns in;
};

}  // namespace step

using Step = std::variant<step::Embed, step::Linear, step::Binary, step::Affine, step::Norm, step::Activate,
                          step::Rotate, step::Attention, step::Pool, step::L2Normalize, step::RowSoftmax>;

struct EncoderOutput {
  std::size_t graph_output = 0;  // index into Graph::outputs
  RowsId rows = 0;
};

struct Encoder {
  std::vector<Rows> rows;
  std::vector<Step> steps;
  std::vector<EncoderOutput> outputs;      // those of the graph that were recognised
  std::size_t max_positions = 0;           // longest sequence; > 0
  std::vector<std::int64_t> excluded_ids;  // the recognition assumed that these (padding) do not occur in a sequence
  bool reads_token_types = false;
};

}  // namespace narthex
