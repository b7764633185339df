#include "models/load.h"

#include <algorithm>

#include "base/home.h"
#include "base/log.h"
#include "models/catalog.h"
#include "models/compile_encoder.h"
#include "models/hashing_embedder.h"
#include "models/model_artifact.h"

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

Result<void> check_precision(const LoadOptions& options) {
  if (options.onnx_exact && options.precision != "auto" && options.precision != "fp32") {
    return fail(ErrorCode::kUsage,
                "--onnx-exact runs the graph in its own arithmetic; it cannot be asked for --precision {}",
                options.precision);
  }
  for (const std::string_view known : {"auto", "fp32", "bf16", "int8"})
    if (options.precision == known) return {};
  return fail(ErrorCode::kUsage, "precision '{}' is not known; auto, fp32, bf16 and int8 are", options.precision);
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

namespace {

// Which files a model has and what is to be done with them.
struct OpenedModel {
  std::string id;
  ModelCard card;
};
Result<OpenedModel> open_model(const LoadOptions& options) {
  NX_TRY_VOID(check_precision(options));
  NX_TRY(ResolvedModel resolved, resolve_model(options.model));
  NX_TRY(ModelCard card, read_card(resolved, options));
  return OpenedModel{std::move(resolved.id), std::move(card)};
}

EncoderCompileOptions compile_options(const OpenedModel& opened, const LoadOptions& options) {
  return {options.compile, options.precision, opened.card.max_length.value.value_or(kDefaultMaxLength)};
}

std::shared_ptr<LazyInterpreter> interpreter_of(const OpenedModel& opened, const Tokenizer& tokenizer,
                                                const LoadOptions& options) {
  const std::int32_t pad_id = tokenizer.pad_id().value_or(0);
  return std::make_shared<LazyInterpreter>([card = opened.card, pad_id, compile = options.compile] {
    return InterpretedEncoder::load(card, pad_id, compile);
  });
}

Result<InspectedModel> make_model(OpenedModel opened, Tokenizer tokenizer, CompiledEncoder compiled,
                                  std::string precision, std::shared_ptr<LazyInterpreter> interpreter) {
  NX_TRY(auto embedder,
         OnnxEmbedder::create({std::move(opened.id), std::move(opened.card), std::move(tokenizer), compiled.output,
                               std::move(precision), compiled.plan, std::move(interpreter)}));
  return InspectedModel{std::move(compiled), std::move(embedder), {}};
}

// The graph's own arithmetic, operator by operator: no plan.
Result<InspectedModel> exact_model(OpenedModel opened, const LoadOptions& options) {
  NX_TRY(Tokenizer tokenizer, Tokenizer::from_file(opened.card.tokenizer_file));
  auto interpreter = interpreter_of(opened, tokenizer, options);
  NX_TRY(const auto loaded, interpreter->get());
  const Graph& graph = loaded->program().graph();
  CompiledEncoder compiled;
  NX_TRY(compiled.output, choose_output(graph, opened.card));
  compiled.refusal = "the graph's own semantics were asked for";
  const bool quantised = std::ranges::any_of(graph.nodes, [](const Node& node) { return node.op == "MatMulInteger"; });
  return make_model(std::move(opened), std::move(tokenizer), std::move(compiled), quantised ? "int8-onnx" : "fp32",
                    std::move(interpreter));
}

Result<InspectedModel> planned_model(OpenedModel opened, StoredModel stored, const LoadOptions& options) {
  auto interpreter = interpreter_of(opened, stored.tokenizer, options);
  std::string precision(stored.compiled.plan ? precision_name(stored.compiled.precision.precision) : "fp32");
  return make_model(std::move(opened), std::move(stored.tokenizer), std::move(stored.compiled), std::move(precision),
                    std::move(interpreter));
}

Result<StoredModel> compile_opened(const OpenedModel& opened, const LoadOptions& options) {
  NX_TRY(Tokenizer tokenizer, Tokenizer::from_file(opened.card.tokenizer_file));
  NX_TRY(CompiledEncoder compiled, compile_encoder(opened.card, tokenizer, compile_options(opened, options)));
  return StoredModel{std::move(compiled), std::move(tokenizer)};
}

// From the cache, else compiled and put there. What goes wrong with the cache costs time and nothing else.
Result<StoredModel> cached_or_compiled(const OpenedModel& opened, const LoadOptions& options) {
  if (!options.use_artifacts) return compile_opened(opened, options);
  const auto place = artifact_place(opened.id, opened.card, compile_options(opened, options));
  if (!place) return compile_opened(opened, options);  // says itself what is wrong with the files
  auto kept = load_model_artifact(*place);
  if (kept) return kept;
  log_debug("compiling '{}': {}", opened.id, kept.error().message);
  NX_TRY(StoredModel compiled, compile_opened(opened, options));
  if (const auto stored = store_model_artifact(*place, compiled.compiled, compiled.tokenizer); !stored) {
    log_warn("model '{}' will be compiled again at the next start: {}", opened.id, stored.error().message);
  }
  return compiled;
}

}  // namespace

Result<InspectedModel> inspect_model(const LoadOptions& options) {
  NX_TRY(OpenedModel opened, open_model(options));
  if (options.onnx_exact) return exact_model(std::move(opened), options);
  NX_TRY(StoredModel compiled, compile_opened(opened, options));
  return planned_model(std::move(opened), std::move(compiled), options);
}

Result<InspectedModel> compile_model(const LoadOptions& options) {
  if (options.onnx_exact) {
    return fail(ErrorCode::kUsage, "--onnx-exact runs the graph as it is: there is nothing to compile");
  }
  NX_TRY(OpenedModel opened, open_model(options));
  NX_TRY(StoredModel compiled, compile_opened(opened, options));
  NX_TRY(const ArtifactPlace place, artifact_place(opened.id, opened.card, compile_options(opened, options)));
  NX_TRY_VOID(store_model_artifact(place, compiled.compiled, compiled.tokenizer));
  NX_TRY(InspectedModel model, planned_model(std::move(opened), std::move(compiled), options));
  model.artifact = place.path;
  return model;
}

Result<std::unique_ptr<Embedder>> load_embedder(const LoadOptions& options) {
  if (options.model == kHashingEmbedderId) return std::make_unique<HashingEmbedder>();
  NX_TRY(OpenedModel opened, open_model(options));
  if (options.onnx_exact) {
    NX_TRY(InspectedModel exact, exact_model(std::move(opened), options));
    return std::move(exact.embedder);
  }
  NX_TRY(StoredModel stored, cached_or_compiled(opened, options));
  // Said aloud: what runs then is slower, and in float32.
  if (!stored.compiled.plan) {
    log_warn("model '{}' runs in the interpreter, in fp32: {}", opened.id, stored.compiled.refusal);
  }
  NX_TRY(InspectedModel model, planned_model(std::move(opened), std::move(stored), options));
  return std::move(model.embedder);
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
