// An encoder's graph run by the interpreter: for graphs without a packed plan, and for texts that a plan does not
// cover.
//
//   InterpretedEncoder::load(card, pad_id, options)   reads and compiles the file
//   encoder->run(encodings, output, rows)             any number of threads at once
//
// Texts of equal token count run together; nothing is padded, so a text's rows are the same bytes alone and in any
// batch. Graphs whose arithmetic mixes the texts of a batch (dynamic quantisation per tensor) run one text at a time.
// Covered by tests/models/onnx_embedder_test.cc.
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "models/encoder_inputs.h"
#include "models/model_card.h"
#include "plan/interpreter.h"

namespace narthex {

// Reads, builds, normalises and compiles an .onnx file.
Result<std::shared_ptr<const Program>> compile_file(const std::filesystem::path& path, const CompileOptions& options);

// Whether results of one text depend on its batch mates, so that texts must run alone.
bool mixes_batch(const Graph& graph);

class InterpretedEncoder {
 public:
  static Result<std::shared_ptr<const InterpretedEncoder>> load(const ModelCard& card, std::int32_t pad_id,
                                                                const CompileOptions& options);
  static Result<std::shared_ptr<const InterpretedEncoder>> create(std::shared_ptr<const Program> program,
                                                                  const ModelCard& card, std::int32_t pad_id);

  const Program& program() const { return *program_; }
  // 0 where the graph leaves the length open.
  std::size_t fixed_length() const { return inputs_.fixed_length(); }

  // Calls rows(i, values, width) for each text: [n_tokens, width], or [1, width] where the output has rank 2
  // (`pooled`).
  using RowsFn = std::function<void(std::size_t text, std::span<const float> values, std::size_t width)>;
  Result<void> run(std::span<const Encoding* const> texts, std::size_t output, bool pooled, const RowsFn& rows) const;

 private:
  InterpretedEncoder(std::shared_ptr<const Program> program, EncoderInputs inputs);
  Result<void> run_equal(std::span<const Encoding* const> texts, std::span<const std::size_t> batch, std::size_t output,
                         bool pooled, const RowsFn& rows) const;

  std::shared_ptr<const Program> program_;
  EncoderInputs inputs_;
  bool one_at_a_time_;
};

// The same, loaded when it is first needed.
class LazyInterpreter {
 public:
  using Load = std::function<Result<std::shared_ptr<const InterpretedEncoder>>()>;
  explicit LazyInterpreter(Load load) : load_(std::move(load)) {}
  Result<std::shared_ptr<const InterpretedEncoder>> get();

 private:
  std::mutex mutex_;
  Load load_;
  std::shared_ptr<const InterpretedEncoder> loaded_;
};

}  // namespace narthex
