// Texts to vectors: the interface that every embedder has, semantic or not.
//
//   embed(texts, options)   one Embedding a text, in order; a text's vector does not depend on the other texts
//
// Embedders are immutable and may be shared by threads. load_embedder() in models/load.h makes them.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace narthex {

// What is said of an embedder in every output, so that nobody mistakes lexical vectors for semantic ones.
struct EmbedderInfo {
  std::string id;              // "bge-small-en-v1.5", "hashing-ngram-256"
  bool semantic = false;       // false: vectors compare spelling, not meaning
  bool token_vectors = false;  // pooling "none": one vector a token
  std::size_t dim = 0;
  std::string precision;
  std::string isa;
  std::size_t max_length = 0;                  // tokens, special ones included; 0: no limit
  std::map<std::string, std::string> prompts;  // by name
  std::string default_prompt;                  // name of the one to use when none is asked for; empty: no prompt
};

enum class LongTexts {
  kTruncate,  // keep the first max_length tokens and say so
  kError,     // refuse the text
  kWindow,    // embed windows of max_length tokens and take their token-weighted mean
};

struct EmbedOptions {
  std::string prompt;          // put in front of every text
  std::size_t max_length = 0;  // 0: the embedder's own
  LongTexts long_texts = LongTexts::kTruncate;
  bool allow_special = false;  // "[CLS]" in a text is the special token, not five characters
};

struct Embedding {
  std::vector<float> values;  // [dim]; with pooling "none" [n_vectors, dim], row-major
  std::size_t n_vectors = 1;
  std::size_t tokens = 0;  // that the vector was computed from, special ones included
  bool truncated = false;
};

class Embedder {
 public:
  virtual ~Embedder() = default;
  virtual const EmbedderInfo& info() const = 0;
  virtual Result<std::vector<Embedding>> embed(std::span<const std::string_view> texts,
                                               const EmbedOptions& options) const = 0;
};

}  // namespace narthex
