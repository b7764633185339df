#include "models/load.h"

#include <algorithm>

#include "base/home.h"
#include "base/log.h"
#include "models/catalog.h"
#include "models/compile_encoder.h"
#include "models/hashing_embedder.h"

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

// A model's files, read as far as people's choices need.
struct OpenedModel {
  std::string id;
  ModelCard card;
  Tokenizer tokenizer;
};
Result<OpenedModel> open_model(const LoadOptions& options) {
  NX_TRY_VOID(check_precision(options));
  NX_TRY(ResolvedModel resolved, resolve_model(options.model));
  NX_TRY(ModelCard card, read_card(resolved, options));
  NX_TRY(Tokenizer tokenizer, Tokenizer::from_file(card.tokenizer_file));
  return OpenedModel{std::move(resolved.id), std::move(card), std::move(tokenizer)};
}

Result<CompiledEncoder> compile_opened(const OpenedModel& opened, const LoadOptions& options) {
  return compile_encoder(
      opened.card, opened.tokenizer,
      {options.compile, options.precision, opened.card.max_length.value.value_or(kDefaultMaxLength)});
}

// The graph's own arithmetic, operator by operator: no plan.
Result<CompiledEncoder> exact_encoder(const ModelCard& card, LazyInterpreter& interpreter) {
  NX_TRY(const auto loaded, interpreter.get());
  CompiledEncoder compiled;
  NX_TRY(compiled.output, choose_output(loaded->program().graph(), card));
  compiled.refusal = "the graph's own semantics were asked for";
  return compiled;
}

std::string precision_of(const CompiledEncoder& compiled, const LoadOptions& options, LazyInterpreter& interpreter) {
  if (compiled.plan) return std::string(precision_name(compiled.precision.precision));
  const auto loaded = interpreter.get();
  const bool quantised = options.onnx_exact && loaded &&
                         std::ranges::any_of((*loaded)->program().graph().nodes,
                                             [](const Node& node) { return node.op == "MatMulInteger"; });
  return quantised ? "int8-onnx" : "fp32";
}

Result<std::unique_ptr<OnnxEmbedder>> make_embedder(OpenedModel opened, const CompiledEncoder& compiled,
                                                    const LoadOptions& options,
                                                    std::shared_ptr<LazyInterpreter> interpreter) {
  std::string precision = precision_of(compiled, options, *interpreter);
  return OnnxEmbedder::create({std::move(opened.id), std::move(opened.card), std::move(opened.tokenizer),
                               compiled.output, std::move(precision), compiled.plan, std::move(interpreter)});
}

std::shared_ptr<LazyInterpreter> interpreter_of(const OpenedModel& opened, const LoadOptions& options) {
  const std::int32_t pad_id = opened.tokenizer.pad_id().value_or(0);
  return std::make_shared<LazyInterpreter>([card = opened.card, pad_id, compile = options.compile] {
    return InterpretedEncoder::load(card, pad_id, compile);
  });
}

}  // namespace

Result<InspectedModel> inspect_model(const LoadOptions& options) {
  NX_TRY(OpenedModel opened, open_model(options));
  auto interpreter = interpreter_of(opened, options);
  Result<CompiledEncoder> compiled =
      options.onnx_exact ? exact_encoder(opened.card, *interpreter) : compile_opened(opened, options);
  if (!compiled) return std::unexpected(std::move(compiled).error());
  NX_TRY(auto embedder, make_embedder(std::move(opened), *compiled, options, std::move(interpreter)));
  return InspectedModel{*std::move(compiled), std::move(embedder)};
}

Result<std::unique_ptr<Embedder>> load_embedder(const LoadOptions& options) {
  if (options.model == kHashingEmbedderId) return std::make_unique<HashingEmbedder>();
  NX_TRY(InspectedModel model, inspect_model(options));
  // Said aloud: what runs then is slower, and in float32.
  if (!model.compiled.plan && !options.onnx_exact) {
    log_warn("model '{}' runs in the interpreter, in fp32: {}", model.embedder->info().id, model.compiled.refusal);
  }
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
