// narthex_embed and narthex_tokenize: texts in, numbers in the caller's buffers out.
#include <algorithm>
#include <vector>

#include "api/call.h"
#include "api/handle.h"
#include "base/utf8.h"
#include "text/python_text.h"

namespace narthex::api {
namespace {

Result<std::vector<std::string_view>> read_texts(const narthex_text* texts, std::size_t n_texts) {
  if (n_texts > 0 && texts == nullptr) return fail(ErrorCode::kUsage, "`texts` is NULL, but n_texts is {}", n_texts);
  if (n_texts > static_cast<std::size_t>(PTRDIFF_MAX) / sizeof(narthex_text)) {
    return fail(ErrorCode::kUsage, "n_texts is {}, more than memory can hold", n_texts);
  }
  std::vector<std::string_view> views(n_texts);
  for (std::size_t i = 0; i < n_texts; ++i) {
    if (texts[i].data == nullptr || texts[i].size > static_cast<std::size_t>(PTRDIFF_MAX)) {
      NX_TRY(views[i], read_text(texts[i], fmt::format("text {}", i)));
    } else {
      views[i] = {texts[i].data, texts[i].size};
    }
  }
  return views;
}

Failure too_small(std::string_view buffer, std::size_t capacity, std::size_t needed) {
  return {NARTHEX_BUFFER_TOO_SMALL, fmt::format("`{}` has room for {}, {} are needed", buffer, capacity, needed)};
}

Outcome write(const std::vector<Embedding>& embeddings, std::size_t dim, narthex_embed_output& out) {
  std::size_t needed = 0;
  for (std::size_t i = 0; i < embeddings.size(); ++i) {
    const Embedding& embedding = embeddings[i];
    if (embedding.values.size() != embedding.n_vectors * dim) {
      return std::unexpected(
          Failure(NARTHEX_BAD_MODEL, fmt::format("text {}: the model gave {} numbers, expected {} "
                                                 "vectors of {}",
                                                 i, embedding.values.size(), embedding.n_vectors, dim)));
    }
    needed += embedding.values.size();
  }
  out.n_floats = needed;
  if (needed > out.capacity) return std::unexpected(too_small("vectors", out.capacity, needed));
  float* next = out.vectors;
  for (std::size_t i = 0; i < embeddings.size(); ++i) {
    const Embedding& embedding = embeddings[i];
    next = std::ranges::copy(embedding.values, next).out;
    if (out.n_tokens != nullptr) out.n_tokens[i] = embedding.tokens;
    if (out.truncated != nullptr) out.truncated[i] = embedding.truncated ? 1 : 0;
    if (out.n_vectors != nullptr) out.n_vectors[i] = embedding.n_vectors;
  }
  return {};
}

Outcome embed(const narthex_model& model, const narthex_text* texts, std::size_t n_texts,
              const narthex_embed_options* given, narthex_embed_output& out) {
  out.n_floats = 0;
  NX_TRY(const EmbedOptions options, embed_options(model, given));
  NX_TRY(const std::vector<std::string_view> views, read_texts(texts, n_texts));
  if (out.vectors == nullptr && out.capacity > 0) {
    return std::unexpected(Failure(NARTHEX_USAGE, "out.vectors is NULL, but its capacity is not 0"));
  }
  if (!model.embedder->info().token_vectors) {
    std::size_t needed = 0;
    if (__builtin_mul_overflow(n_texts, model.dim, &needed)) {
      return std::unexpected(Failure(NARTHEX_LIMIT, fmt::format("{} vectors are more than memory can hold", n_texts)));
    }
    out.n_floats = needed;
    if (needed > out.capacity) return std::unexpected(too_small("vectors", out.capacity, needed));
  }
  if (n_texts == 0) return {};
  NX_TRY(const std::vector<Embedding> embeddings, model.embedder->embed(views, options));
  return write(embeddings, model.dim, out);
}

Outcome tokenize(const narthex_model& model, narthex_text text, const narthex_embed_options* given, std::int32_t* ids,
                 std::size_t capacity, std::size_t& n_ids) {
  n_ids = 0;
  NX_TRY(const EmbedOptions options, embed_options(model, given));
  NX_TRY(const std::string_view view, read_text(text, "`text`"));
  if (ids == nullptr && capacity > 0) {
    return std::unexpected(Failure(NARTHEX_USAGE, "`ids` is NULL, but its capacity is not 0"));
  }
  if (model.tokenizer == nullptr) {
    return std::unexpected(Failure(NARTHEX_UNSUPPORTED, fmt::format("model '{}' has no tokenizer: it reads windows of "
                                                                    "two and three characters",
                                                                    model.embedder->info().id)));
  }
  if (const std::size_t bad = find_invalid_utf8(view); bad != std::string_view::npos) {
    return std::unexpected(Failure(NARTHEX_BAD_INPUT, fmt::format("the text is not valid UTF-8 at byte {}", bad)));
  }
  std::string prepared = options.prompt + std::string(view);
  if (model.lower_case) prepared = python_lower(prepared);
  NX_TRY(const Encoding encoding, model.tokenizer->encode(prepared, {.allow_special = options.allow_special}));
  n_ids = encoding.ids.size();
  if (ids == nullptr) return {};
  if (n_ids > capacity) return std::unexpected(too_small("ids", capacity, n_ids));
  std::ranges::copy(encoding.ids, ids);
  return {};
}

}  // namespace
}  // namespace narthex::api

extern "C" {

narthex_status narthex_embed(const narthex_model* model, const narthex_text* texts, std::size_t n_texts,
                             const narthex_embed_options* options, narthex_embed_output* out, narthex_error* error) {
  using namespace narthex;
  using namespace narthex::api;
  if (model == nullptr) return report(error, NARTHEX_USAGE, "narthex_embed: `model` is NULL");
  if (out == nullptr) return report(error, NARTHEX_USAGE, "narthex_embed: `out` is NULL");
  return guarded(error, [&]() -> Outcome {
    NX_TRY_VOID(
        check_struct(out, out->struct_size, {kFirstSize<narthex_embed_output>, sizeof(*out)}, "narthex_embed_output"));
    return embed(*model, texts, n_texts, options, *out);
  });
}

narthex_status narthex_tokenize(const narthex_model* model, narthex_text text, const narthex_embed_options* options,
                                std::int32_t* ids, std::size_t capacity, std::size_t* n_ids, narthex_error* error) {
  using namespace narthex;
  using namespace narthex::api;
  if (model == nullptr) return report(error, NARTHEX_USAGE, "narthex_tokenize: `model` is NULL");
  if (n_ids == nullptr) return report(error, NARTHEX_USAGE, "narthex_tokenize: `n_ids` is NULL");
  return guarded(error, [&] { return tokenize(*model, text, options, ids, capacity, *n_ids); });
}

}  // extern "C"
