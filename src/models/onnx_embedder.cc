#include "models/onnx_embedder.h"

#include <algorithm>

#include "base/cpu.h"
#include "base/team.h"
#include "base/utf8.h"
#include "text/python_text.h"

namespace narthex {
namespace {

// Token rows of a part: 25 MB of bge-small's.
constexpr std::size_t kMaxTokenRows = 16384;

bool is_float(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat16 || dtype == DType::kFloat64;
}

std::size_t last_dim(const Value& value) {
  return value.shape && !value.shape->empty() ? static_cast<std::size_t>(value.shape->back().constant().value_or(0))
                                              : 0;
}

// The graph's outputs that may hold vectors, in the order in which they are preferred.
std::vector<std::size_t> candidates(const Graph& graph, std::size_t rank) {
  std::vector<std::size_t> found;
  for (const std::string_view wanted : {"sentence_embedding", "last_hidden_state", "token_embeddings", ""}) {
    for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
      const Value& value = graph.value(graph.outputs[i]);
      if (!is_float(value.dtype) || !value.shape || value.shape->size() != rank) continue;
      if (wanted.empty() || value.name == wanted) found.push_back(i);
    }
  }
  return found;
}

std::optional<std::size_t> output_by_name(const Graph& graph, const std::string& name) {
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    if (graph.value(graph.outputs[i]).name == name) return i;
  }
  return std::nullopt;
}

}  // namespace

Result<OutputChoice> choose_output(const Graph& graph, const ModelCard& card) {
  OutputChoice choice;
  const std::vector<std::size_t> token_outputs = candidates(graph, 3);
  const std::vector<std::size_t> pooled_outputs = candidates(graph, 2);
  // Another source's file of the same model may lack the output that the catalog names.
  const auto named = card.output.value ? output_by_name(graph, *card.output.value) : std::nullopt;
  if (named) {
    choice.index = *named;
    choice.reason = card.output.reason;
  } else if (!token_outputs.empty() && (card.pooling.value || pooled_outputs.empty())) {
    choice.index = token_outputs.front();
    choice.reason = "the first output of shape [batch, sequence, hidden]";
  } else if (!pooled_outputs.empty()) {
    choice.index = pooled_outputs.front();
    choice.reason = "the first output of shape [batch, dim]";
  } else {
    return fail(ErrorCode::kUnsupported, "{}: no output has shape [batch, sequence, hidden] or [batch, dim] of floats",
                graph.source);
  }
  const Value& value = graph.value(graph.outputs[choice.index]);
  choice.name = value.name;
  choice.width = last_dim(value);
  const bool pooled = value.shape && value.shape->size() == 2;
  if (pooled) {
    choice.pooling = Pooling{Pooling::Kind::kInGraph, {}};
    choice.pooling_reason = "the output has one vector a text";
  } else if (card.pooling.value) {
    choice.pooling = *card.pooling.value;
    choice.pooling_reason = card.pooling.reason;
  } else {
    return fail(ErrorCode::kUsage,
                "{}: nothing says how its token vectors become one vector (no 1_Pooling/config.json, no "
                "catalog entry); pass --pooling cls, mean, max, last or none",
                graph.source);
  }
  return choice;
}

struct OnnxEmbedder::Piece {
  std::size_t text = 0;
  Encoding encoding;
  Embedding embedding;
};

Result<std::unique_ptr<OnnxEmbedder>> OnnxEmbedder::create(EmbedderParts parts) {
  if (!parts.card.max_length.value) parts.card.max_length = {kDefaultMaxLength, "nothing says; 512 as BERT has"};
  if (!parts.plan) {
    NX_TRY(const auto interpreter, parts.interpreter->get());
    const std::size_t fixed = interpreter->fixed_length();
    if (fixed > 0 && fixed < *parts.card.max_length.value)
      parts.card.max_length = {fixed, "the graph's sequence dimension is fixed"};
  }
  if (!parts.card.normalize.value) {
    const bool in_graph = parts.output.pooling.kind == Pooling::Kind::kInGraph;
    parts.card.normalize = {!in_graph, in_graph ? "nothing says, and the graph pools by itself"
                                                : "nothing says; cosine similarity is the usual use"};
  }
  return std::unique_ptr<OnnxEmbedder>(new OnnxEmbedder(std::move(parts)));
}

OnnxEmbedder::OnnxEmbedder(EmbedderParts parts) : parts_(std::move(parts)) {
  info_.id = parts_.id;
  info_.semantic = true;
  info_.token_vectors = parts_.output.pooling.kind == Pooling::Kind::kNone;
  info_.dim = parts_.output.width * std::max<std::size_t>(1, parts_.output.pooling.modes.size());
  if (parts_.card.truncate_dim && info_.dim > 0) info_.dim = std::min(info_.dim, *parts_.card.truncate_dim);
  info_.precision = parts_.precision;
  info_.isa = isa_name(active_isa());
  info_.max_length = *parts_.card.max_length.value;
  info_.prompts = parts_.card.prompts;
  info_.default_prompt = parts_.card.default_prompt.value_or("");
}

namespace {

// Byte offset in `text` where a window of at most `limit` tokens from `first` should end: before a word, if there is
// one.
std::size_t window_end(const Encoding& encoding, std::size_t first, std::size_t limit) {
  const std::size_t last = std::min(first + limit, encoding.ids.size());
  if (last == encoding.ids.size()) return last;
  for (std::size_t end = last; end > first + limit / 2; --end) {
    if (encoding.byte_offsets[end].begin > encoding.byte_offsets[end - 1].end)
      return end;  // something lies between: a space
  }
  return last;
}

}  // namespace

Result<void> OnnxEmbedder::cut(std::size_t text, std::string_view prepared, const EmbedOptions& options,
                               std::vector<Piece>& pieces) const {
  EncodeOptions encode;
  encode.allow_special = options.allow_special;
  encode.max_length = options.max_length > 0 ? std::min(options.max_length, info_.max_length) : info_.max_length;
  NX_TRY(Encoding encoding, parts_.tokenizer.encode(prepared, encode));
  if (encoding.ids.empty()) {
    return fail(ErrorCode::kBadInput, "text {} has no tokens at all, and this model's tokenizer adds none", text);
  }
  if (!encoding.truncated || options.long_texts == LongTexts::kTruncate) {
    const bool truncated = encoding.truncated;
    const std::size_t tokens = encoding.ids.size();
    pieces.push_back({text, std::move(encoding), {{}, 1, tokens, truncated}});
    return {};
  }
  if (options.long_texts == LongTexts::kError) {
    return fail(ErrorCode::kLimit,
                "text {} has more than {} tokens, the limit of model '{}'; shorten it, or choose --on-long "
                "truncate or window",
                text, encode.max_length, info_.id);
  }
  const EncodeOptions bare{.add_special_tokens = false, .allow_special = options.allow_special, .offsets = true};
  NX_TRY(const Encoding whole, parts_.tokenizer.encode(prepared, bare));
  const std::size_t limit = encode.max_length - std::min(encode.max_length - 1, parts_.tokenizer.n_added_tokens(false));
  for (std::size_t first = 0; first < whole.ids.size();) {
    const std::size_t end = window_end(whole, first, limit);
    const std::size_t begin_byte = whole.byte_offsets[first].begin;
    const std::string_view window = prepared.substr(begin_byte, whole.byte_offsets[end - 1].end - begin_byte);
    NX_TRY(Encoding part, parts_.tokenizer.encode(window, encode));
    const std::size_t tokens = part.ids.size();
    pieces.push_back({text, std::move(part), {{}, 1, tokens, false}});
    first = end;
  }
  return {};
}

// The rows of one text become its embedding: pooled already (one row), or to be pooled here.
void OnnxEmbedder::take_rows(Piece& piece, std::span<const float> rows, std::size_t width, bool pooled) const {
  Embedding& embedding = piece.embedding;
  if (!pooled && parts_.output.pooling.kind == Pooling::Kind::kModes) {
    embedding.values = pool(rows, width, parts_.output.pooling.modes);
    return;
  }
  embedding.values.assign(rows.begin(), rows.end());
  if (!pooled) embedding.n_vectors = piece.encoding.ids.size();
}

// All texts end to end; in parts where every token has a row, which would take memory.
Result<void> OnnxEmbedder::run_plan(std::span<Piece* const> pieces) const {
  const PackedPlan& plan = *parts_.plan;
  const bool pooled = plan.output_per_sequence();
  for (std::size_t first = 0; first < pieces.size();) {
    std::vector<std::int32_t> ids, types;
    std::vector<std::size_t> starts = {0};
    std::size_t last = first;
    for (; last < pieces.size() && (last == first || pooled || ids.size() < kMaxTokenRows); ++last) {
      const Encoding& encoding = pieces[last]->encoding;
      ids.insert(ids.end(), encoding.ids.begin(), encoding.ids.end());
      types.insert(types.end(), encoding.type_ids.begin(), encoding.type_ids.end());
      starts.push_back(ids.size());
    }
    const TokenBatch batch{ids, types, starts};
    NX_TRY_VOID(plan.check(batch));
    const std::size_t width = plan.width();
    std::vector<float> rows((pooled ? last - first : ids.size()) * width);
    plan.run(Team::process(), batch, rows.data());
    for (std::size_t i = first; i < last; ++i) {
      const std::size_t row = pooled ? i - first : starts[i - first], end = pooled ? row + 1 : starts[i - first + 1];
      take_rows(*pieces[i], std::span(rows).subspan(row * width, (end - row) * width), width, pooled);
    }
    first = last;
  }
  return {};
}

Result<void> OnnxEmbedder::run_interpreter(std::span<Piece* const> pieces) const {
  NX_TRY(const auto interpreter, parts_.interpreter->get());
  std::vector<const Encoding*> texts;
  texts.reserve(pieces.size());
  for (const Piece* piece : pieces) texts.push_back(&piece->encoding);
  const bool pooled = parts_.output.pooling.kind == Pooling::Kind::kInGraph;
  return interpreter->run(texts, parts_.output.index, pooled,
                          [&](std::size_t i, std::span<const float> rows, std::size_t width) {
                            take_rows(*pieces[i], rows, width, pooled);
                          });
}

Result<void> OnnxEmbedder::run_all(std::vector<Piece>& pieces) const {
  std::vector<Piece*> planned, others;
  for (Piece& piece : pieces)
    (parts_.plan && parts_.plan->covers(piece.encoding.ids) ? planned : others).push_back(&piece);
  if (!planned.empty()) NX_TRY_VOID(run_plan(planned));
  if (!others.empty()) NX_TRY_VOID(run_interpreter(others));
  return {};
}

void OnnxEmbedder::finish(Embedding& embedding) const {
  const std::size_t width = embedding.values.size() / std::max<std::size_t>(1, embedding.n_vectors);
  if (*parts_.card.normalize.value) {
    for (std::size_t v = 0; v < embedding.n_vectors; ++v)
      l2_normalize(std::span(embedding.values).subspan(v * width, width));
  }
  // sentence-transformers cuts after everything else, so a cut vector is not of unit length.
  if (parts_.card.truncate_dim && embedding.n_vectors == 1 && *parts_.card.truncate_dim < width) {
    embedding.values.resize(*parts_.card.truncate_dim);
  }
}

Result<std::vector<Embedding>> OnnxEmbedder::embed(std::span<const std::string_view> texts,
                                                   const EmbedOptions& options) const {
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (const std::size_t bad = find_invalid_utf8(texts[i]); bad != std::string_view::npos) {
      return fail(ErrorCode::kBadInput, "text {} is not valid UTF-8 at byte {}", i, bad);
    }
    std::string prepared = options.prompt + std::string(texts[i]);
    if (parts_.card.lower_case) prepared = python_lower(prepared);
    NX_TRY_VOID(cut(i, prepared, options, pieces));
  }
  NX_TRY_VOID(run_all(pieces));
  std::vector<Embedding> embeddings(texts.size());
  for (std::size_t first = 0; first < pieces.size();) {
    std::size_t last = first + 1;
    while (last < pieces.size() && pieces[last].text == pieces[first].text) ++last;
    Embedding& embedding = embeddings[pieces[first].text];
    embedding = std::move(pieces[first].embedding);
    if (last - first > 1 && parts_.output.pooling.kind != Pooling::Kind::kNone) {
      std::vector<double> sum(embedding.values.size(), 0.0);
      std::size_t tokens = 0;
      for (std::size_t w = first; w < last; ++w) {
        const std::vector<float>& values = w == first ? embedding.values : pieces[w].embedding.values;
        const std::size_t weight = pieces[w].encoding.ids.size();
        for (std::size_t i = 0; i < sum.size(); ++i)
          sum[i] += static_cast<double>(weight) * static_cast<double>(values[i]);
        tokens += weight;
      }
      for (std::size_t i = 0; i < sum.size(); ++i)
        embedding.values[i] = static_cast<float>(sum[i] / static_cast<double>(tokens));
      embedding.tokens = tokens;
    } else {
      for (std::size_t w = first + 1; w < last; ++w) {
        const Embedding& next = pieces[w].embedding;
        embedding.values.insert(embedding.values.end(), next.values.begin(), next.values.end());
        embedding.n_vectors += next.n_vectors;
        embedding.tokens += next.tokens;
      }
    }
    finish(embedding);
    first = last;
  }
  return embeddings;
}

}  // namespace narthex
