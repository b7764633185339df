// An embedder that runs an encoder from an .onnx file: tokenize → run → pool → normalise.
//
//   OnnxEmbedder::create(parts)   checks that graph, tokenizer and card fit together
//
// Texts of equal token count run together; nothing is padded, so a text's vector is the same bytes alone and in any
// batch. Graphs whose arithmetic mixes the texts of a batch (dynamic quantisation per tensor) run one text at a time.
// Covered by tests/models/onnx_embedder_test.cc and, against ONNX Runtime, tests/models/parity_test.cc.
#pragma once

#include <memory>

#include "models/embedder.h"
#include "models/encoder_inputs.h"
#include "models/model_card.h"
#include "plan/interpreter.h"
#include "text/tokenizer.h"

namespace narthex {

struct EmbedderParts {
  std::string id;
  ModelCard card;
  Tokenizer tokenizer;
  std::shared_ptr<const Program> program;
};

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

// Whether results of one text depend on its batch mates, so that texts must run alone.
bool mixes_batch(const Graph& graph);

class OnnxEmbedder final : public Embedder {
 public:
  static Result<std::unique_ptr<OnnxEmbedder>> create(EmbedderParts parts);

  const EmbedderInfo& info() const override { return info_; }
  Result<std::vector<Embedding>> embed(std::span<const std::string_view> texts,
                                       const EmbedOptions& options) const override;

  const ModelCard& card() const { return parts_.card; }
  const OutputChoice& output() const { return output_; }
  const Program& program() const { return *parts_.program; }
  const Tokenizer& tokenizer() const { return parts_.tokenizer; }

 private:
  struct Piece;  // a text, or one window of it

  OnnxEmbedder(EmbedderParts parts, OutputChoice output, EncoderInputs inputs);
  Result<void> cut(std::size_t text, std::string_view prepared, const EmbedOptions& options,
                   std::vector<Piece>& pieces) const;
  Result<void> run(std::span<Piece* const> batch) const;
  Result<void> run_all(std::vector<Piece>& pieces) const;
  void finish(Embedding& embedding) const;

  EmbedderParts parts_;
  OutputChoice output_;
  EncoderInputs inputs_;
  bool one_at_a_time_;
  EmbedderInfo info_;
};

}  // namespace narthex
