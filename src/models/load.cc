#include "models/load.h"

#include "base/home.h"
#include "graph/build.h"
#include "models/catalog.h"
#include "models/hashing_embedder.h"
#include "onnx/read.h"
#include "ops/normalise.h"

namespace narthex {
namespace {

namespace fs = std::filesystem;

Result<CardDefaults> catalog_defaults(const CatalogModel& model) {
  CardDefaults defaults;
  defaults.name = model.name;
  NX_TRY(defaults.pooling, parse_pooling(model.pooling));
  defaults.normalize = model.normalize;
  defaults.max_length = static_cast<std::size_t>(model.max_length);
  if (!model.pooled_output.empty()) defaults.output = model.pooled_output;
  for (const CatalogPrompt& prompt : model.prompts) defaults.prompts[prompt.name] = prompt.text;
  return defaults;
}

// A path is what exists as one, or what cannot be a name.
bool is_path(const std::string& name) {
  std::error_code code;
  return name.ends_with(".onnx") || name.starts_with('.') || name.starts_with('/') || fs::is_directory(name, code);
}

std::string path_id(const fs::path& path) {
  const fs::path clean = fs::absolute(path).lexically_normal();
  const fs::path last = clean.filename().empty() ? clean.parent_path().filename() : clean.filename();
  return last.extension() == ".onnx" ? last.stem().string() : last.string();
}

Result<void> check_precision(const std::string& precision) {
  if (precision == "auto" || precision == "fp32") return {};
  return fail(ErrorCode::kUnsupported, "--precision {} is not available in this version; auto and fp32 are", precision);
}

Result<ModelCard> read_card(const ResolvedModel& resolved, const LoadOptions& options) {
  NX_TRY(ModelCard card, read_model_card(resolved.path, resolved.defaults));
  if (options.pooling) card.pooling = {options.pooling, "--pooling"};
  if (options.normalize) card.normalize = {options.normalize, *options.normalize ? "asked for" : "--no-normalize"};
  if (options.max_length) card.max_length = {options.max_length, "asked for"};
  return card;
}

}  // namespace

Result<ResolvedModel> resolve_model(const std::string& name) {
  if (is_path(name)) {
    std::error_code code;
    if (!fs::exists(name, code)) return fail(ErrorCode::kNotFound, "{}: does not exist", name);
    return ResolvedModel{path_id(name), name, {}};
  }
  NX_TRY(const PullSpec spec, pull_spec(name));
  NX_TRY(const Home home, narthex_home());
  const auto local = local_model(spec, home.models);
  if (!local) {
    return fail(ErrorCode::kNotFound, "model '{}' is not here yet; get it with `narthex pull {}`", name, name);
  }
  CardDefaults defaults;
  if (const auto known = find_model(name)) {
    NX_TRY(defaults, catalog_defaults(**known));
  }
  return ResolvedModel{spec.name, local->directory, std::move(defaults)};
}

Result<PullSpec> pull_spec(const std::string& name) {
  auto known = find_model(name);
  if (known) return (*known)->source;
  const std::size_t slash = name.find('/');
  if (slash == std::string::npos) return std::unexpected(std::move(known).error());
  const std::size_t at = name.find('@', slash);
  return repository_spec(name.substr(0, at), at == std::string::npos ? "main" : name.substr(at + 1));
}

Result<std::shared_ptr<const Program>> compile_file(const fs::path& path, const CompileOptions& options) {
  NX_TRY(const std::shared_ptr<const onnx::Model> model, onnx::read_model(path));
  NX_TRY(Graph graph, build_graph(*model));
  NX_TRY_VOID(normalise(graph));
  return compile(std::move(graph), options);
}

Result<std::unique_ptr<OnnxEmbedder>> load_onnx_embedder(const LoadOptions& options) {
  NX_TRY_VOID(check_precision(options.precision));
  NX_TRY(const ResolvedModel resolved, resolve_model(options.model));
  NX_TRY(ModelCard card, read_card(resolved, options));
  NX_TRY(Tokenizer tokenizer, Tokenizer::from_file(card.tokenizer_file));
  NX_TRY(std::shared_ptr<const Program> program, compile_file(card.onnx_file, options.compile));
  return OnnxEmbedder::create({resolved.id, std::move(card), std::move(tokenizer), std::move(program)});
}

Result<std::unique_ptr<Embedder>> load_embedder(const LoadOptions& options) {
  if (options.model == kHashingEmbedderId) return std::make_unique<HashingEmbedder>();
  return load_onnx_embedder(options);
}

Result<Tokenizer> load_tokenizer(const std::string& model) {
  if (model == kHashingEmbedderId) {
    return fail(ErrorCode::kUsage, "'{}' has no tokenizer: it reads windows of two and three characters", model);
  }
  if (model.ends_with(".json")) return Tokenizer::from_file(model);
  NX_TRY(const ResolvedModel resolved, resolve_model(model));
  NX_TRY(const ModelCard card, read_model_card(resolved.path, resolved.defaults));
  return Tokenizer::from_file(card.tokenizer_file);
}

}  // namespace narthex
