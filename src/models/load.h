// From a model's name to something that runs.
//
//   resolve_model("bge-small-en-v1.5")   where its files are: a catalog name, a directory, an .onnx file, or owner/name
//   of
//                                        the hub
//   pull_spec("owner/name")              what `narthex pull` fetches for a name
//   load_embedder(options)               the whole way; "hashing-ngram-256" always works
//
// Nothing is downloaded here: a catalog model that is not here gives an Error that says `narthex pull`. Covered by
// tests/models/load_test.cc.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "hub/pull.h"
#include "models/compile_encoder.h"
#include "models/embedder.h"
#include "models/model_card.h"
#include "models/onnx_embedder.h"

namespace narthex {

inline constexpr std::string_view kDefaultModel = "bge-small-en-v1.5";

struct LoadOptions {
  std::string model = std::string(kDefaultModel);
  std::optional<Pooling> pooling;  // these three override what the model's files say
  std::optional<bool> normalize;
  std::optional<std::size_t> max_length;
  std::string precision = "auto";  // auto, fp32, bf16, int8
  // Runs the graph operator by operator with ONNX's own semantics, quantisation included; precision must be auto or
  // fp32.
  bool onnx_exact = false;
  bool use_artifacts = true;  // false: compile anew, keep nothing
  CompileOptions compile;
};

struct ResolvedModel {
  std::string id;              // catalog name, or name of the directory or file
  std::filesystem::path path;  // directory or .onnx file
  CardDefaults defaults;
};
Result<ResolvedModel> resolve_model(const std::string& name);
// A catalog name or alias, else OWNER/NAME[@REVISION] of the hub.
Result<PullSpec> pull_spec(const std::string& name);

Result<std::unique_ptr<Embedder>> load_embedder(const LoadOptions& options);
// The same for a model that is known to be an .onnx file, compiled anew with everything that was found out: for
// `inspect`.
struct InspectedModel {
  CompiledEncoder compiled;
  std::unique_ptr<OnnxEmbedder> embedder;
  std::filesystem::path artifact;  // where compile_model() put it; else empty
};
Result<InspectedModel> inspect_model(const LoadOptions& options);
// Likewise, and kept as the artifact that load_embedder() will find: for `compile`.
Result<InspectedModel> compile_model(const LoadOptions& options);
// The tokenizer alone, in milliseconds.
Result<Tokenizer> load_tokenizer(const std::string& model);

}  // namespace narthex
