// From a model's files to a packed plan that has proved itself, or to the reason why there is none.
//
//   compile_encoder(card, tokenizer, options)
//
// The graph is recognised, lowered to float32 and compared with the interpreter on real texts before it is trusted;
// then lowered at the wanted precision, whose loss is measured. What fails stays with the interpreter, with a sentence.
// Takes tenths of a second, with int8 seconds: its result is kept as an artifact (load.cc). Covered by
// tests/models/compile_encoder_test.cc.
#pragma once

#include <optional>
#include <string>

#include "models/model_card.h"
#include "models/onnx_embedder.h"
#include "plan/interpreter.h"
#include "plan/precision.h"
#include "plan/recognise.h"
#include "text/tokenizer.h"

namespace narthex {

// "auto" → bf16 where the machine has instructions for it, int8 for graphs that are quantised already, else fp32.
struct CompiledEncoder {
  OutputChoice output;
  std::shared_ptr<const PackedPlan> plan;  // null: `refusal` says why
  std::string refusal;
  std::map<std::string, std::size_t> recognised;  // by kind, for reports
  PrecisionReport precision;
  // Largest |plan − interpreter| of the float32 check, relative to the largest element.
  double check_difference = 0;
};

struct EncoderCompileOptions {
  CompileOptions graph;
  std::string precision = "auto";  // auto, fp32, bf16, int8
  std::size_t max_positions = 512;
};

Result<CompiledEncoder> compile_encoder(const ModelCard& card, const Tokenizer& tokenizer,
                                        const EncoderCompileOptions& options);

// What "auto" means for a graph in float32: bf16 where its products are fast instructions, else fp32.
Precision native_precision();

// What the plan can pool itself.
std::optional<step::PoolKind> plan_pool(const Pooling& pooling);

}  // namespace narthex
