// An embedder that runs an encoder from an .onnx file: tokenize → run → pool → normalise.
//
//   OnnxEmbedder::create(parts)   load_embedder() in load.h makes the parts
//
// Texts run packed, end to end, on the plan where there is one; what it does not cover runs in the interpreter. Either
// way nothing is padded and a text's vector is the same bytes alone and in any batch. Covered by
// tests/models/onnx_embedder_test.cc and, against ONNX Runtime, tests/models/parity_test.cc.
#pragma once

#include <memory>

#include "models/embedder.h"
#include "models/interpreted_encoder.h"
#include "models/model_card.h"
#include "plan/packed.h"
#include "text/tokenizer.h"

namespace narthex {

// The output that holds the vectors, and what is to be done with it.
struct OutputChoice {
  std::size_t index = 0;
  std::string name;
  std::string reason;
  Pooling pooling;
  std::string pooling_reason;
  std::size_t width = 0;  // elements of the last dimension; 0 when the graph does not say
};
Result<OutputChoice> choose_output(const Graph& graph, const ModelCard& card);

struct EmbedderParts {
  std::string id;
  ModelCard card;
  Tokenizer tokenizer;
  OutputChoice output;
  std::string precision;                   // for people: "bf16", "int8-onnx"
  std::shared_ptr<const PackedPlan> plan;  // null: the interpreter runs everything
  std::shared_ptr<LazyInterpreter> interpreter;
};

class OnnxEmbedder final : public Embedder {
 public:
  static Result<std::unique_ptr<OnnxEmbedder>> create(EmbedderParts parts);

  const EmbedderInfo& info() const override { return info_; }
  Result<std::vector<Embedding>> embed(std::span<const std::string_view> texts,
                                       const EmbedOptions& options) const override;

  const ModelCard& card() const { return parts_.card; }
  const OutputChoice& output() const { return parts_.output; }
  const Tokenizer& tokenizer() const { return parts_.tokenizer; }
  const PackedPlan* plan() const { return parts_.plan.get(); }
  // Read and compiled at the first call when a plan runs the texts.
  Result<std::shared_ptr<const InterpretedEncoder>> interpreter() const { return parts_.interpreter->get(); }

 private:
  struct Piece;  // a text, or one window of it

  explicit OnnxEmbedder(EmbedderParts parts);
  Result<void> cut(std::size_t text, std::string_view prepared, const EmbedOptions& options,
                   std::vector<Piece>& pieces) const;
  void take_rows(Piece& piece, std::span<const float> rows, std::size_t width, bool pooled) const;
  Result<void> run_plan(std::span<Piece* const> pieces) const;
  Result<void> run_interpreter(std::span<Piece* const> pieces) const;
  Result<void> run_all(std::vector<Piece>& pieces) const;
  void finish(Embedding& embedding) const;

  EmbedderParts parts_;
  EmbedderInfo info_;
};

}  // namespace narthex
