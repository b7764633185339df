// Narthex, C++ interface: texts to vectors on the CPU. C++17; examples/embed.cpp is a whole program.
//
//   auto model = narthex::Model::load("bge-small-en-v1.5");           Result<Model>
//   if (!model) return complain(model.error().message);
//   auto vectors = model->embed_all({"first text", "second text"});   Result<Embeddings>: [2, dim]
//   float similarity = narthex::cosine_similarity(vectors->row(0), vectors->row(1), vectors->dim);
//
// All of it is inline over the C interface, narthex.h: a program may be built with another compiler, another standard
// library or another -std than the library was, and a newer library can be put under an old program.
//
// Errors are values: every call that can fail returns Result<T>, and nothing here throws, except Result::value(), for
// those who prefer exceptions, and std::bad_alloc for memory that this header itself asks for. It works without
// exceptions too.
//
// Threads: any number may use one Model at the same time; it does not change after loading. A text's vector has the
// same bytes alone, in any batch, and with any number of threads.
#ifndef NARTHEX_NARTHEX_HPP_
#define NARTHEX_NARTHEX_HPP_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "narthex.h"

namespace narthex {
// Inline, so that these names never meet others of the library at link time; write narthex::Model.
inline namespace api1 {

// Later versions may add values.
enum class Status {
  usage = NARTHEX_USAGE,          // the call makes no sense: an unknown option or name
  not_found = NARTHEX_NOT_FOUND,  // no such file or model; nothing is downloaded here, `narthex pull NAME` does that
  bad_input = NARTHEX_BAD_INPUT,  // a text that is not UTF-8
  bad_model = NARTHEX_BAD_MODEL,  // a model file that is damaged or contradicts itself
  unsupported = NARTHEX_UNSUPPORTED,  // well-formed, but this version cannot do it
  limit = NARTHEX_LIMIT,              // larger than a stated limit
  io = NARTHEX_IO,                    // the file system failed
  cancelled = NARTHEX_CANCELLED,
  out_of_memory = NARTHEX_OUT_OF_MEMORY,
  buffer_too_small = NARTHEX_BUFFER_TOO_SMALL,  // never seen here: this header sizes its buffers itself
  internal = NARTHEX_INTERNAL,                  // a bug in Narthex
};

struct Error {
  Status status = Status::internal;
  std::string message;  // one sentence for the person who must act
};

// What Result::value() throws.
class Exception : public std::runtime_error {
 public:
  explicit Exception(const Error& error) : std::runtime_error(error.message), status_(error.status) {}
  Status status() const noexcept { return status_; }

 private:
  Status status_;
};

namespace detail {

[[noreturn]] inline void raise(const Error& error) {
#if defined(__cpp_exceptions)
  throw Exception(error);
#else
  std::fprintf(stderr, "narthex: %s\n", error.message.c_str());
  std::abort();
#endif
}

}  // namespace detail

// A T, or the Error why there is none.
//   if (result) use(*result); else log(result.error().message);
//   T value = std::move(result).value();      throws Exception when there is none
// `*` and `->` without a value do the same as value(); error() of a success is a usage error that says so.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool has_value() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }

  T& value() & {
    check();
    return *std::get_if<0>(&state_);
  }
  const T& value() const& {
    check();
    return *std::get_if<0>(&state_);
  }
  T&& value() && {
    check();
    return std::move(*std::get_if<0>(&state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const {
    static const Error none{Status::usage, "error() of a Result that has a value"};
    const Error* error = std::get_if<1>(&state_);
    return error != nullptr ? *error : none;
  }

 private:
  void check() const {
    if (const Error* error = std::get_if<1>(&state_)) detail::raise(*error);
  }

  std::variant<T, Error> state_;
};

// Success, or the Error why not.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  bool has_value() const noexcept { return !error_; }
  explicit operator bool() const noexcept { return has_value(); }
  void value() const {
    if (error_) detail::raise(*error_);
  }
  const Error& error() const {
    static const Error none{Status::usage, "error() of a Result that is a success"};
    return error_ ? *error_ : none;
  }

 private:
  std::optional<Error> error_;
};

// A text that is put in front of others, under a name.
struct Prompt {
  std::string name = {};  // "query"
  std::string text = {};  // "Represent this sentence for searching relevant passages: "
};

struct LoadOptions {
  // A catalog name, owner/name of the hub (both must have been pulled), a model directory, an .onnx file with
  // tokenizer.json beside it, or "hashing-ngram-256", which needs no files and always works (lexical: its
  // info().semantic is false).
  std::string model = "bge-small-en-v1.5";
  std::string precision = "auto";  // "auto", "fp32", "bf16", "int8"
  std::string pooling = {};        // "cls", "mean", "max", "last", "none" (one vector a token); empty: the model's own
  std::optional<bool> normalize = {};  // whether vectors are scaled to length 1; nothing: the model's own
  std::size_t max_length = 0;          // tokens, special ones included; 0: the model's own
  std::vector<Prompt> prompts = {};    // beside the model's; one of the same name replaces the model's
  std::string default_prompt = {};     // name of the prompt to use when none is asked for; empty: the model's own
  int threads = 0;                     // as set_threads(), before loading; 0: no call of it
  // The graph operator by operator, with ONNX's own quantised arithmetic; slow. `precision` must be "auto" or "fp32".
  bool onnx_exact = false;
  bool use_cache = true;  // false: the model is compiled anew, and nothing is written to the disk
};

struct ModelInfo {
  std::string id = {};
  std::size_t dim = 0;               // elements of one vector
  bool semantic = false;             // false: vectors compare spelling, not meaning
  bool token_vectors = false;        // pooling "none": one vector a token
  std::string precision = {};        // what is computed in: "fp32", "bf16", "int8" ...
  std::string isa = {};              // instruction set in use: "avx512" ...
  std::size_t max_length = 0;        // tokens, special ones included; 0: no limit
  std::vector<Prompt> prompts = {};  // in order of their names
  std::string default_prompt = {};   // a name; empty: none
};

// What becomes of a text that has more tokens than max_length.
enum class LongTexts {
  truncate = NARTHEX_TRUNCATE,  // only the first max_length tokens count, and `truncated` says so
  refuse = NARTHEX_REFUSE,      // Status::limit
  window = NARTHEX_WINDOW,  // windows of max_length tokens are embedded; the vector is their mean, weighted by tokens
};

struct EmbedOptions {
  std::string prompt = {};                      // name of a prompt; empty: the model's default prompt, if it has one
  std::optional<std::string> prompt_text = {};  // a prompt itself, instead of a name; "": none
  std::size_t max_length = 0;                   // tokens; can only lower the model's; 0: the model's
  LongTexts long_texts = LongTexts::truncate;
  bool allow_special = false;  // "[SEP]" in a text is the special token, not five characters
};

// One text's result.
struct Embedding {
  std::vector<float> values = {};  // [dim]; with pooling "none" [n_vectors, dim], row-major
  std::size_t n_vectors = 0;       // 1, but with pooling "none" one a token
  std::size_t tokens = 0;          // that it was computed from, special ones included
  bool truncated = false;          // the text was longer than max_length and its end was left out
};

// The results of many texts.
struct Embeddings {
  std::vector<float> values = {};  // [total vectors, dim], row-major, texts in order
  std::size_t dim = 0;
  std::vector<std::size_t> n_vectors = {};   // [n_texts]: 1, but with pooling "none" one a token
  std::vector<std::size_t> tokens = {};      // [n_texts]
  std::vector<std::uint8_t> truncated = {};  // [n_texts]: 0 or 1

  std::size_t size() const { return tokens.size(); }  // texts
  // `dim` floats: vector number `i`, which is text number `i` unless pooling is "none".
  const float* row(std::size_t i) const { return values.data() + i * dim; }
};

// Texts for one call: a list of literals, or any container of std::string, std::string_view or const char*. It looks at
// their bytes, so they have to live as long as it does; as an argument that is always so.
class Texts {
 public:
  Texts(std::initializer_list<std::string_view> texts) { add(texts); }
  template <class Container,
            class = std::enable_if_t<
                !std::is_convertible_v<const Container&, std::string_view> &&
                std::is_convertible_v<decltype(*std::begin(std::declval<const Container&>())), std::string_view>>>
  Texts(const Container& texts) {
    using Element = decltype(*std::begin(texts));
    static_assert(!std::is_same_v<Element, std::string>,
                  "the container makes its strings as it goes: store them first");
    add(texts);
  }

  const narthex_text* data() const { return texts_.data(); }
  std::size_t size() const { return texts_.size(); }

 private:
  template <class Container>
  void add(const Container& texts) {
    for (const auto& text : texts) {
      const std::string_view view(text);
      texts_.push_back({view.data(), view.size()});
    }
  }

  std::vector<narthex_text> texts_;
};

namespace detail {

inline Error error_of(const narthex_error& error) {
  return {static_cast<Status>(error.status), error.message};
}
inline narthex_text text_of(std::string_view text) {
  return {text.data(), text.size()};
}
inline std::string string_of(narthex_text text) {
  return text.data == nullptr ? std::string() : std::string(text.data, text.size);
}

inline narthex_embed_options options_of(const EmbedOptions& options) {
  narthex_embed_options c = NARTHEX_EMBED_OPTIONS_INIT;
  c.prompt = text_of(options.prompt);
  if (options.prompt_text) c.prompt_text = text_of(*options.prompt_text);
  c.max_length = options.max_length;
  c.long_texts = static_cast<std::int32_t>(options.long_texts);
  c.allow_special = options.allow_special ? 1 : 0;
  return c;
}

}  // namespace detail

// A loaded model. Movable, not copyable: share it by reference or in a std::shared_ptr<const Model>. What was moved
// from answers every call with Status::usage.
class Model {
 public:
  // Loads a model by name, directory or file. The first time it is compiled, which may take seconds, and the result is
  // kept in the cache directory; from then on it is mapped from there in hundredths of a second.
  // Errors: usage, not_found, bad_model, unsupported, limit, io, out_of_memory. Thread-safe.
  static Result<Model> load(std::string_view name) {
    LoadOptions options;
    options.model = std::string(name);
    return load(options);
  }
  static Result<Model> load(const LoadOptions& options);

  // Thread-safe; the reference is good until the Model is moved or destroyed.
  const ModelInfo& info() const { return info_; }

  // One text to one vector. Errors: usage (unknown prompt), bad_input (names the byte), limit, out_of_memory,
  // bad_model. Thread-safe.
  Result<Embedding> embed(std::string_view text, const EmbedOptions& options = {}) const;

  // Many texts, [n, dim]; no texts are no error. Faster than one by one; a few hundred a call are enough, and memory
  // grows with them. All or nothing: an error names the text. Errors and threads as embed().
  Result<Embeddings> embed_all(const Texts& texts, const EmbedOptions& options = {}) const;

  // The ids of the whole text as the model would see it with options.prompt and allow_special, special tokens included;
  // nothing is cut. Errors: usage, bad_input, limit, and unsupported for "hashing-ngram-256", which has no tokens.
  // Thread-safe.
  Result<std::vector<std::int32_t>> tokenize(std::string_view text, const EmbedOptions& options = {}) const;

  // How many those are: more than info().max_length, and embed() would cut the text.
  Result<std::size_t> count_tokens(std::string_view text, const EmbedOptions& options = {}) const;

  // For calls of the C interface; the Model keeps it.
  const narthex_model* handle() const { return handle_.get(); }

 private:
  struct Free {
    void operator()(narthex_model* model) const { narthex_model_free(model); }
  };

  Model() = default;
  Result<void> read_info();
  Result<std::size_t> first_capacity(const Texts& texts, const EmbedOptions& options) const;

  std::unique_ptr<narthex_model, Free> handle_;
  ModelInfo info_;
};

// -1 to 1, summed in double; 0 when a vector is all zeros. Both have `dim` elements. Thread-safe.
inline float cosine_similarity(const float* a, const float* b, std::size_t dim) {
  return narthex_cosine_similarity(a, b, dim);
}
// 0 too when the lengths differ.
inline float cosine_similarity(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() ? narthex_cosine_similarity(a.data(), b.data(), a.size()) : 0.0F;
}

// The number of threads that compute, in this process, for all models; the caller's counts as one. 1 to 1024. Has to
// come before the first computation: later only the number in use is accepted, any other is Status::usage. Without it:
// NARTHEX_THREADS of the environment, else the cores this process may use. Thread-safe.
inline Result<void> set_threads(int n_threads) {
  narthex_error error;
  if (narthex_set_threads(n_threads, &error) != NARTHEX_OK) return detail::error_of(error);
  return {};
}

// Of the library that is loaded: "0.1.0".
inline std::string version() {
  return narthex_version();
}

// "not found" for Status::not_found, and so on.
inline std::string status_name(Status status) {
  return narthex_status_name(static_cast<int>(status));
}

inline Result<Model> Model::load(const LoadOptions& options) {
  std::vector<narthex_prompt> prompts;
  for (const Prompt& prompt : options.prompts) {
    prompts.push_back({detail::text_of(prompt.name), detail::text_of(prompt.text)});
  }
  narthex_load_options c = NARTHEX_LOAD_OPTIONS_INIT;
  c.model = detail::text_of(options.model);
  c.precision = detail::text_of(options.precision);
  c.pooling = detail::text_of(options.pooling);
  if (options.normalize) c.normalize = *options.normalize ? NARTHEX_YES : NARTHEX_NO;
  c.threads = options.threads;
  c.max_length = options.max_length;
  c.prompts = prompts.data();
  c.n_prompts = prompts.size();
  c.default_prompt = detail::text_of(options.default_prompt);
  c.onnx_exact = options.onnx_exact ? 1 : 0;
  c.no_cache = options.use_cache ? 0 : 1;
  Model model;
  narthex_model* handle = nullptr;
  narthex_error error;
  if (narthex_model_load(&c, &handle, &error) != NARTHEX_OK) return detail::error_of(error);
  model.handle_.reset(handle);
  if (const Result<void> read = model.read_info(); !read) return read.error();
  return model;
}

inline Result<void> Model::read_info() {
  narthex_error error;
  narthex_model_info info = NARTHEX_MODEL_INFO_INIT;
  if (narthex_model_get_info(handle(), &info, &error) != NARTHEX_OK) return detail::error_of(error);
  info_.id = detail::string_of(info.id);
  info_.dim = info.dim;
  info_.semantic = info.semantic != 0;
  info_.token_vectors = info.token_vectors != 0;
  info_.precision = detail::string_of(info.precision);
  info_.isa = detail::string_of(info.isa);
  info_.max_length = info.max_length;
  info_.default_prompt = detail::string_of(info.default_prompt);
  for (std::size_t i = 0; i < info.n_prompts; ++i) {
    narthex_prompt prompt;
    if (narthex_model_get_prompt(handle(), i, &prompt, &error) != NARTHEX_OK) return detail::error_of(error);
    info_.prompts.push_back({detail::string_of(prompt.name), detail::string_of(prompt.text)});
  }
  return {};
}

// Floats that suffice, but for windows of token vectors, where they are a good guess.
inline Result<std::size_t> Model::first_capacity(const Texts& texts, const EmbedOptions& options) const {
  if (!info_.token_vectors) return texts.size() * info_.dim;
  std::size_t limit = info_.max_length;
  if (options.max_length > 0 && options.max_length < limit) limit = options.max_length;
  std::size_t vectors = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const Result<std::size_t> tokens = count_tokens(detail::string_of(texts.data()[i]), options);
    if (!tokens) return tokens.error();
    vectors += options.long_texts == LongTexts::window ? *tokens : (std::min)(*tokens, limit);
  }
  return vectors * info_.dim;
}

inline Result<Embeddings> Model::embed_all(const Texts& texts, const EmbedOptions& options) const {
  const narthex_embed_options c = detail::options_of(options);
  const Result<std::size_t> capacity = first_capacity(texts, options);
  if (!capacity) return capacity.error();
  Embeddings result;
  result.dim = info_.dim;
  result.values.resize(*capacity);
  result.n_vectors.resize(texts.size());
  result.tokens.resize(texts.size());
  result.truncated.resize(texts.size());
  narthex_embed_output out = NARTHEX_EMBED_OUTPUT_INIT;
  out.n_tokens = result.tokens.data();
  out.truncated = result.truncated.data();
  out.n_vectors = result.n_vectors.data();
  narthex_error error;
  narthex_status status = NARTHEX_OK;
  for (int turn = 0; turn < 2; ++turn) {  // the second one only when token vectors of windows did not fit
    out.vectors = result.values.data();
    out.capacity = result.values.size();
    status = narthex_embed(handle(), texts.data(), texts.size(), &c, &out, &error);
    if (status != NARTHEX_OK && status != NARTHEX_BUFFER_TOO_SMALL) break;
    result.values.resize(out.n_floats);
    if (status == NARTHEX_OK) break;
  }
  if (status != NARTHEX_OK) return detail::error_of(error);
  return result;
}

inline Result<Embedding> Model::embed(std::string_view text, const EmbedOptions& options) const {
  Result<Embeddings> all = embed_all({text}, options);
  if (!all) return all.error();
  return Embedding{std::move(all->values), all->n_vectors[0], all->tokens[0], all->truncated[0] != 0};
}

inline Result<std::vector<std::int32_t>> Model::tokenize(std::string_view text, const EmbedOptions& options) const {
  const narthex_embed_options c = detail::options_of(options);
  narthex_error error;
  // Tokens of less than two bytes on average are rare; then there is a second turn.
  std::vector<std::int32_t> ids(text.size() / 2 + 64);
  std::size_t n_ids = 0;
  narthex_status status = narthex_tokenize(handle(), detail::text_of(text), &c, ids.data(), ids.size(), &n_ids, &error);
  if (status == NARTHEX_BUFFER_TOO_SMALL) {
    ids.resize(n_ids);
    status = narthex_tokenize(handle(), detail::text_of(text), &c, ids.data(), ids.size(), &n_ids, &error);
  }
  if (status != NARTHEX_OK) return detail::error_of(error);
  ids.resize(n_ids);
  return ids;
}

inline Result<std::size_t> Model::count_tokens(std::string_view text, const EmbedOptions& options) const {
  const narthex_embed_options c = detail::options_of(options);
  narthex_error error;
  std::size_t n_ids = 0;
  if (narthex_tokenize(handle(), detail::text_of(text), &c, nullptr, 0, &n_ids, &error) != NARTHEX_OK) {
    return detail::error_of(error);
  }
  return n_ids;
}

}  // namespace api1
}  // namespace narthex

#endif  // NARTHEX_NARTHEX_HPP_
