// What compile_encoder() found, kept beside the model's tokenizer tables in an artifact, so that the next start maps a
// file instead of reading and compiling an .onnx.
//
//   NX_TRY(place, artifact_place(id, card, options))      which file, under which key
//   load_model_artifact(place)                            any Error: compile anew
//   store_model_artifact(place, compiled, tokenizer)
//
// The key covers the bytes of the graph and the tokenizer and every option that decides what is compiled, so a changed
// model or another precision never finds a stale plan. Covered by tests/models/model_artifact_test.cc.
#pragma once

#include "artifact/identity.h"
#include "models/compile_encoder.h"

namespace narthex {

struct ArtifactPlace {
  std::filesystem::path path;
  std::string key;
};
Result<ArtifactPlace> artifact_place(const std::string& model_id, const ModelCard& card,
                                     const EncoderCompileOptions& options);

struct StoredModel {
  CompiledEncoder compiled;
  Tokenizer tokenizer;
};
Result<StoredModel> load_model_artifact(const ArtifactPlace& place);
Result<void> store_model_artifact(const ArtifactPlace& place, const CompiledEncoder& compiled,
                                  const Tokenizer& tokenizer);

}  // namespace narthex
