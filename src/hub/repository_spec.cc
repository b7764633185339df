// What to fetch from a repository that the catalog does not know. Declared in pull.h, covered by
// tests/hub/pull_test.cc.
#include "hub/hub_cache.h"
#include "hub/pull.h"

namespace narthex {

Result<PullSpec> repository_spec(std::string_view repository, std::string_view revision) {
  NX_TRY_VOID(check_repository(repository));
  NX_TRY_VOID(check_revision(revision));
  std::string name;
  for (const char c : repository) name += c == '/' ? std::string("--") : std::string(1, c);
  // The order in which exporters are most likely to have put an fp32 model; quantised ones only when there is nothing
  // else.
  SourceFile model{.from = "onnx/model.onnx", .name = "model.onnx"};
  model.alternatives = {"model.onnx", "model_optimized.onnx", "onnx/model_quantized.onnx"};
  // External data is looked for beside the model, under the name that exporters give it.
  SourceFile data{.from = "onnx/model.onnx_data", .name = "model.onnx_data", .optional = true};
  data.alternatives = {"model.onnx_data"};
  HubSpec hub{std::string(repository),
              std::string(revision),
              {model, data, {.from = "tokenizer.json", .name = "tokenizer.json"}}};
  for (const char* file : {"config.json", "tokenizer_config.json", "special_tokens_map.json", "modules.json",
                           "sentence_bert_config.json", "config_sentence_transformers.json", "1_Pooling/config.json"}) {
    hub.files.push_back({.from = file, .name = file, .optional = true});
  }
  return PullSpec{.name = std::move(name), .hub = std::move(hub), .packages = {}};
}

}  // namespace narthex
