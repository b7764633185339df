// narthex_model_*: loading, freeing and describing a model.
#include <algorithm>

#include "api/call.h"
#include "api/handle.h"
#include "base/cpu.h"
#include "base/team.h"
#include "models/load.h"
#include "models/onnx_embedder.h"

namespace narthex::api {
namespace {

Result<void> read_prompts(const narthex_load_options& given, narthex_model& model) {
  model.prompts = model.embedder->info().prompts;
  model.default_prompt = model.embedder->info().default_prompt;
  if (given.n_prompts > 0 && given.prompts == nullptr) {
    return fail(ErrorCode::kUsage, "options.prompts is NULL, but n_prompts is {}", given.n_prompts);
  }
  for (std::size_t i = 0; i < given.n_prompts; ++i) {
    NX_TRY(std::string name, read_name(given.prompts[i].name, fmt::format("the name of options.prompts[{}]", i)));
    if (name.empty()) return fail(ErrorCode::kUsage, "options.prompts[{}] has no name", i);
    NX_TRY(const std::string_view text,
           read_text(given.prompts[i].text, fmt::format("the text of options.prompts[{}]", i)));
    model.prompts[std::move(name)] = std::string(text);
  }
  NX_TRY(std::string name, read_name(given.default_prompt, "options.default_prompt"));
  if (!name.empty()) model.default_prompt = std::move(name);
  if (!model.default_prompt.empty() && !model.prompts.contains(model.default_prompt)) {
    return fail(ErrorCode::kUsage, "options.default_prompt: model '{}' has no prompt '{}'", model.embedder->info().id,
                model.default_prompt);
  }
  return {};
}

Result<LoadOptions> load_options(const narthex_load_options& given) {
  LoadOptions options;
  NX_TRY(std::string model, read_name(given.model, "options.model"));
  NX_TRY(std::string precision, read_name(given.precision, "options.precision"));
  NX_TRY(const std::string pooling, read_name(given.pooling, "options.pooling"));
  if (!model.empty()) options.model = std::move(model);
  if (!precision.empty()) options.precision = std::move(precision);
  if (!pooling.empty()) {
    NX_TRY(options.pooling, parse_pooling(pooling));
  }
  if (given.normalize < NARTHEX_MODEL_DECIDES || given.normalize > NARTHEX_NO) {
    return fail(ErrorCode::kUsage, "options.normalize is {}, expected a narthex_choice", given.normalize);
  }
  if (given.normalize != NARTHEX_MODEL_DECIDES) options.normalize = given.normalize == NARTHEX_YES;
  if (given.max_length > 0) options.max_length = given.max_length;
  options.onnx_exact = given.onnx_exact != 0;
  options.use_artifacts = given.no_cache == 0;
  return options;
}

// The width of a graph that does not state it.
Result<std::size_t> measured_dim(const Embedder& embedder) {
  const std::string_view text = "a";
  NX_TRY(const std::vector<Embedding> embeddings, embedder.embed({&text, 1}, {}));
  const std::size_t dim = embeddings.front().values.size() / std::max<std::size_t>(1, embeddings.front().n_vectors);
  if (dim == 0) return fail(ErrorCode::kBadModel, "model '{}' gives vectors without elements", embedder.info().id);
  return dim;
}

Result<std::unique_ptr<narthex_model>> load(const narthex_load_options& given) {
  NX_TRY(const LoadOptions options, load_options(given));
  if (given.threads != 0) {
    if (given.threads < 0) return fail(ErrorCode::kUsage, "options.threads is {}", given.threads);
    narthex_error error;
    if (narthex_set_threads(given.threads, &error) != NARTHEX_OK) {
      return fail(ErrorCode::kUsage, "options.threads: {}", error.message);
    }
  }
  // A mistyped NARTHEX_ISA or NARTHEX_THREADS is a sentence, not a silent default.
  NX_TRY([[maybe_unused]] const Isa isa, requested_isa());
  NX_TRY([[maybe_unused]] const int threads, requested_threads());
  auto model = std::make_unique<narthex_model>();
  NX_TRY(model->embedder, load_embedder(options));
  if (const auto* onnx = dynamic_cast<const OnnxEmbedder*>(model->embedder.get())) {
    model->tokenizer = &onnx->tokenizer();
    model->lower_case = onnx->card().lower_case;
  }
  NX_TRY_VOID(read_prompts(given, *model));
  model->dim = model->embedder->info().dim;
  if (model->dim == 0) {
    NX_TRY(model->dim, measured_dim(*model->embedder));
  }
  return model;
}

narthex_text text_of(const std::string& text) {
  return {text.c_str(), text.size()};
}

}  // namespace

Result<EmbedOptions> embed_options(const narthex_model& model, const narthex_embed_options* given_or_null) {
  NX_TRY(const narthex_embed_options given, read_struct(given_or_null, "narthex_embed_options"));
  EmbedOptions options;
  NX_TRY(std::string name, read_name(given.prompt, "options.prompt"));
  NX_TRY(const std::string_view text, read_text(given.prompt_text, "options.prompt_text"));
  if (given.prompt_text.data != nullptr) {
    if (!name.empty()) {
      return fail(ErrorCode::kUsage, "options.prompt is '{}', and options.prompt_text is set too: choose one", name);
    }
    options.prompt = text;
  } else {
    if (name.empty()) name = model.default_prompt;
    const auto found = model.prompts.find(name);
    if (!name.empty() && found == model.prompts.end()) {
      std::string known;
      for (const auto& [other, unused] : model.prompts) known += (known.empty() ? "" : ", ") + other;
      return fail(ErrorCode::kUsage, "options.prompt: model '{}' has no prompt '{}'; it has: {}",
                  model.embedder->info().id, name, known.empty() ? "none" : known);
    }
    if (found != model.prompts.end()) options.prompt = found->second;
  }
  if (given.long_texts < NARTHEX_TRUNCATE || given.long_texts > NARTHEX_WINDOW) {
    return fail(ErrorCode::kUsage, "options.long_texts is {}, expected a narthex_long_texts", given.long_texts);
  }
  options.max_length = given.max_length;
  options.long_texts = given.long_texts == NARTHEX_REFUSE   ? LongTexts::kError
                       : given.long_texts == NARTHEX_WINDOW ? LongTexts::kWindow
                                                            : LongTexts::kTruncate;
  options.allow_special = given.allow_special != 0;
  return options;
}

}  // namespace narthex::api

extern "C" {

narthex_status narthex_model_load(const narthex_load_options* options, narthex_model** model, narthex_error* error) {
  using namespace narthex;
  using namespace narthex::api;
  if (model == nullptr) return report(error, NARTHEX_USAGE, "narthex_model_load: `model` is NULL");
  *model = nullptr;
  return guarded(error, [&]() -> Outcome {
    NX_TRY(const narthex_load_options given, read_struct(options, "narthex_load_options"));
    NX_TRY(std::unique_ptr<narthex_model> loaded, load(given));
    *model = loaded.release();
    return {};
  });
}

void narthex_model_free(narthex_model* model) {
  delete model;
}

narthex_status narthex_model_get_info(const narthex_model* model, narthex_model_info* info, narthex_error* error) {
  using namespace narthex;
  using namespace narthex::api;
  if (model == nullptr) return report(error, NARTHEX_USAGE, "narthex_model_get_info: `model` is NULL");
  if (info == nullptr) return report(error, NARTHEX_USAGE, "narthex_model_get_info: `info` is NULL");
  return guarded(error, [&]() -> Outcome {
    const std::size_t size = info->struct_size;
    NX_TRY_VOID(check_size(size, {kFirstSize<narthex_model_info>, sizeof(*info)}, "narthex_model_info"));
    const EmbedderInfo& known = model->embedder->info();
    const narthex_model_info all = {
        size,       text_of(known.id), text_of(known.precision), text_of(known.isa),     text_of(model->default_prompt),
        model->dim, known.max_length,  model->prompts.size(),    known.semantic ? 1 : 0, known.token_vectors ? 1 : 0};
    std::memset(info, 0, size);  // a newer caller's fields, too
    std::memcpy(info, &all, std::min(size, sizeof(all)));
    return {};
  });
}

narthex_status narthex_model_get_prompt(const narthex_model* model, std::size_t index, narthex_prompt* prompt,
                                        narthex_error* error) {
  using namespace narthex;
  using namespace narthex::api;
  if (model == nullptr) return report(error, NARTHEX_USAGE, "narthex_model_get_prompt: `model` is NULL");
  if (prompt == nullptr) return report(error, NARTHEX_USAGE, "narthex_model_get_prompt: `prompt` is NULL");
  return guarded(error, [&]() -> Outcome {
    if (index >= model->prompts.size()) {
      return std::unexpected(Failure(NARTHEX_USAGE, fmt::format("prompt {} of model '{}', which has {}", index,
                                                                model->embedder->info().id, model->prompts.size())));
    }
    const auto& [name, text] = *std::next(model->prompts.begin(), static_cast<std::ptrdiff_t>(index));
    *prompt = {text_of(name), text_of(text)};
    return {};
  });
}

}  // extern "C"
