/* Narthex, C interface: texts to vectors on the CPU. Compiles as C99 and as C++; examples/embed.c is a whole program.
 *
 *   narthex_model_load(options, &model, &error)              a name, a model directory or an .onnx file
 *   narthex_embed(model, texts, n, options, &out, &error)    n texts, n vectors
 *   narthex_model_free(model)
 *
 * Rules that hold for every call
 *   - Status: NARTHEX_OK or the kind of failure. `error` may be NULL; else it receives the status and one sentence.
 *   - Nothing crashes on a bad argument: a null handle, pointer or text is NARTHEX_USAGE. (A pointer that is neither
 *     NULL nor valid, or a handle that was freed, cannot be told apart from a good one.)
 *   - No exception leaves a call. Memory that cannot be had is NARTHEX_OUT_OF_MEMORY, and the handle stays usable.
 *   - Texts are UTF-8 with an explicit length and need no final NUL. They are read during the call, never kept.
 *   - In option structs zero means "the default" in every field, and struct_size says which version of the struct the
 *     caller was compiled with. Start from the *_INIT macro or from an all-zero struct with struct_size set. A newer
 *     struct is accepted as long as what this library does not know is zero.
 *   - Threads: any number may use one model at the same time; it does not change after loading. Only free it when no
 *     call is running on it. A text's vector has the same bytes alone, in any batch, and with any number of threads.
 *   - A warning (a model that runs slower than it could, a cache that cannot be written) is a line on standard error;
 *     NARTHEX_LOG=off in the environment stops them.
 */
#ifndef NARTHEX_NARTHEX_H_
#define NARTHEX_NARTHEX_H_

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define NARTHEX_API __attribute__((visibility("default")))
#else
#define NARTHEX_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Later versions may add values: take one that you do not know for a failure. */
typedef enum narthex_status {
  NARTHEX_OK = 0,
  NARTHEX_USAGE = 1,       /* the call makes no sense: a null pointer, an unknown option or name */
  NARTHEX_NOT_FOUND = 2,   /* no such file or model; nothing is downloaded here, `narthex pull NAME` does that */
  NARTHEX_BAD_INPUT = 3,   /* a text that is not UTF-8 */
  NARTHEX_BAD_MODEL = 4,   /* a model file that is damaged or contradicts itself */
  NARTHEX_UNSUPPORTED = 5, /* well-formed, but this version cannot do it */
  NARTHEX_LIMIT = 6,       /* larger than a stated limit: a text over 100 MB, or over max_length when that is an
                              error */
  NARTHEX_IO = 7,          /* the file system failed */
  NARTHEX_CANCELLED = 8,
  NARTHEX_OUT_OF_MEMORY = 9,
  NARTHEX_BUFFER_TOO_SMALL = 10, /* the size that is needed has been written; nothing else was */
  NARTHEX_INTERNAL = 11          /* a bug in Narthex */
} narthex_status;

/* The caller's, usually on the stack; it never needs freeing, so that running out of memory can be reported too.
 * `message` ends with NUL; a longer sentence is cut between two characters. Every call sets both fields: after success
 * they are NARTHEX_OK and "". */
typedef struct narthex_error {
  narthex_status status;
  char message[1020];
} narthex_error;

/* UTF-8; `data` NULL with `size` 0 is the empty text, or "not given" in options. Strings that come from a model also
 * end with NUL and live as long as the model. */
typedef struct narthex_text {
  const char* data;
  size_t size; /* bytes */
} narthex_text;

/* A loaded model. */
typedef struct narthex_model narthex_model;

typedef enum narthex_choice {
  NARTHEX_MODEL_DECIDES = 0, /* what the model's files or the catalog say */
  NARTHEX_YES = 1,
  NARTHEX_NO = 2
} narthex_choice;

typedef struct narthex_prompt {
  narthex_text name; /* "query" */
  narthex_text text; /* put in front of a text: "Represent this sentence for searching relevant passages: " */
} narthex_prompt;

typedef struct narthex_load_options {
  size_t struct_size;
  /* A catalog name ("bge-small-en-v1.5"), owner/name of the hub (both must have been pulled), a model directory, an
   * .onnx file with tokenizer.json beside it, or "hashing-ngram-256", which needs no files and always works (lexical:
   * info.semantic is 0). Default: "bge-small-en-v1.5". */
  narthex_text model;
  narthex_text precision; /* "auto", "fp32", "bf16", "int8". Default: "auto" */
  narthex_text pooling;   /* "cls", "mean", "max", "last", "none" (one vector a token). Default: the model's own */
  int32_t normalize;      /* a narthex_choice: whether vectors are scaled to length 1 */
  int32_t threads;        /* as narthex_set_threads(), before loading. Default: no call of it */
  size_t max_length;      /* tokens, special ones included. Default: the model's own */
  /* Prompts of your own, beside the model's; one of the same name replaces the model's. Copied. */
  const narthex_prompt* prompts; /* [n_prompts] */
  size_t n_prompts;
  narthex_text default_prompt; /* name of the prompt to use when none is asked for. Default: the model's own, if any */
  int32_t onnx_exact; /* 1: the graph operator by operator, with ONNX's own quantised arithmetic; slow. precision must
                         be "auto" or "fp32" then */
  int32_t no_cache;   /* 1: the model is compiled anew, and nothing is written to the disk */
} narthex_load_options;
#define NARTHEX_LOAD_OPTIONS_INIT \
  {sizeof(narthex_load_options), {NULL, 0}, {NULL, 0}, {NULL, 0}, NARTHEX_MODEL_DECIDES, 0, 0, NULL, 0, {NULL, 0}, 0, 0}

/* Loads a model. The first time it is compiled, which may take seconds, and the result is kept in the cache directory
 * ($NARTHEX_HOME/artifacts, or ~/.cache/narthex/artifacts); from then on it is mapped from there in hundredths of a
 * second. A cache that cannot be written costs that time again and is no error. `options` may be NULL: all defaults. On
 * success *model is a handle that narthex_model_free() ends; on failure it is NULL.
 * Errors: NARTHEX_USAGE, _NOT_FOUND, _BAD_MODEL, _UNSUPPORTED, _LIMIT, _IO, _OUT_OF_MEMORY. Thread-safe. */
NARTHEX_API narthex_status narthex_model_load(const narthex_load_options* options, narthex_model** model,
                                              narthex_error* error);

/* Frees a model; NULL does nothing. No other call may be running on it. */
NARTHEX_API void narthex_model_free(narthex_model* model);

typedef struct narthex_model_info {
  size_t struct_size; /* the caller's; only so many bytes are written */
  narthex_text id;
  narthex_text precision;      /* what is computed in: "fp32", "bf16", "int8" ... */
  narthex_text isa;            /* instruction set in use: "avx512" ... */
  narthex_text default_prompt; /* name; empty: none */
  size_t dim;                  /* elements of one vector */
  size_t max_length;           /* tokens, special ones included; 0: no limit */
  size_t n_prompts;            /* for narthex_model_get_prompt() */
  int32_t semantic;            /* 0: vectors compare spelling, not meaning */
  int32_t token_vectors;       /* 1: pooling "none", one vector a token */
} narthex_model_info;
#define NARTHEX_MODEL_INFO_INIT {sizeof(narthex_model_info), {NULL, 0}, {NULL, 0}, {NULL, 0}, {NULL, 0}, 0, 0, 0, 0, 0}

/* What is said of a model. Set info->struct_size first. Error: NARTHEX_USAGE. Thread-safe. */
NARTHEX_API narthex_status narthex_model_get_info(const narthex_model* model, narthex_model_info* info,
                                                  narthex_error* error);

/* Prompt number `index` (0 to n_prompts - 1, in order of their names). Error: NARTHEX_USAGE. Thread-safe. */
NARTHEX_API narthex_status narthex_model_get_prompt(const narthex_model* model, size_t index, narthex_prompt* prompt,
                                                    narthex_error* error);

/* What becomes of a text that has more tokens than max_length. */
typedef enum narthex_long_texts {
  NARTHEX_TRUNCATE = 0, /* only the first max_length tokens count, and `truncated` says so */
  NARTHEX_REFUSE = 1,   /* NARTHEX_LIMIT */
  NARTHEX_WINDOW = 2    /* windows of max_length tokens are embedded; their mean, weighted by tokens, is the vector */
} narthex_long_texts;

typedef struct narthex_embed_options {
  size_t struct_size;
  narthex_text prompt;      /* name of a prompt. Default: the model's default prompt, if it has one */
  narthex_text prompt_text; /* a prompt itself, instead of a name; not NULL with size 0: no prompt */
  size_t max_length;        /* tokens; can only lower the model's. Default: the model's */
  int32_t long_texts;       /* a narthex_long_texts */
  int32_t allow_special;    /* 1: "[SEP]" in a text is the special token, not five characters */
} narthex_embed_options;
#define NARTHEX_EMBED_OPTIONS_INIT {sizeof(narthex_embed_options), {NULL, 0}, {NULL, 0}, 0, NARTHEX_TRUNCATE, 0}

/* Where results go; the buffers are the caller's. */
typedef struct narthex_embed_output {
  size_t struct_size;
  float* vectors;     /* in: room for `capacity` floats. One row of `dim` floats a vector, texts in order */
  size_t capacity;    /* in: floats */
  size_t n_floats;    /* out: floats written or, with NARTHEX_BUFFER_TOO_SMALL, needed */
  size_t* n_tokens;   /* in: [n_texts] or NULL. Tokens each vector was computed from, special ones included */
  uint8_t* truncated; /* in: [n_texts] or NULL. 1: the text was longer than max_length and its end was left out */
  size_t* n_vectors;  /* in: [n_texts] or NULL. Vectors of each text: 1, but with pooling "none" one a token */
} narthex_embed_output;
#define NARTHEX_EMBED_OUTPUT_INIT {sizeof(narthex_embed_output), NULL, 0, 0, NULL, NULL, NULL}

/* Texts to vectors: `out->vectors` is [n_texts, dim], row-major float32.
 *
 * `n_texts` may be 0; a text may be empty. `options` may be NULL. Many texts in one call are faster than many calls; a
 * few hundred are enough, and memory grows with them.
 * Size: n_texts * info.dim floats always suffice, and less is NARTHEX_BUFFER_TOO_SMALL before anything is computed.
 * Only with pooling "none" does the size depend on the texts (tokens * dim): too small is then found out after
 * computing; n_texts * info.max_length * info.dim suffices unless long_texts is NARTHEX_WINDOW. Errors: NARTHEX_USAGE,
 * _BAD_INPUT (names the text and the byte), _LIMIT, _BUFFER_TOO_SMALL, _OUT_OF_MEMORY, and _BAD_MODEL when a graph
 * contradicts itself. On an error the buffers hold nothing of use. Thread-safe. */
NARTHEX_API narthex_status narthex_embed(const narthex_model* model, const narthex_text* texts, size_t n_texts,
                                         const narthex_embed_options* options, narthex_embed_output* out,
                                         narthex_error* error);

/* The token ids of one text as the model would see it with the prompt and allow_special of `options` (may be NULL),
 * special tokens included; nothing is cut. *n_ids receives their number. With `ids` NULL and `capacity` 0 that is all,
 * and the way to count tokens; a `capacity` below it is NARTHEX_BUFFER_TOO_SMALL.
 * Errors: NARTHEX_USAGE, _BAD_INPUT, _LIMIT, _BUFFER_TOO_SMALL, _OUT_OF_MEMORY, and _UNSUPPORTED for
 * "hashing-ngram-256", which has no tokens. Thread-safe. */
NARTHEX_API narthex_status narthex_tokenize(const narthex_model* model, narthex_text text,
                                            const narthex_embed_options* options, int32_t* ids, size_t capacity,
                                            size_t* n_ids, narthex_error* error);

/* Cosine similarity of two vectors of `dim` elements: -1 to 1, summed in double, elements in order. 0 when a vector is
 * all zeros, or NULL. Thread-safe. */
NARTHEX_API float narthex_cosine_similarity(const float* a, const float* b, size_t dim);

/* The number of threads that compute, in this process, for all models; the thread that calls counts as one. 1 to 1024.
 * Has to come before the first computation: later only the number in use is accepted, any other is NARTHEX_USAGE.
 * Without it: NARTHEX_THREADS of the environment, else the cores this process may use. Thread-safe. */
NARTHEX_API narthex_status narthex_set_threads(int32_t n_threads, narthex_error* error);

/* "0.1.0"; never NULL. Thread-safe. */
NARTHEX_API const char* narthex_version(void);

/* "not found" for NARTHEX_NOT_FOUND, and so on; "unknown" for other numbers. Thread-safe. */
NARTHEX_API const char* narthex_status_name(int status);

#ifdef __cplusplus
}
#endif

#endif /* NARTHEX_NARTHEX_H_ */
