// What is to be done with a model, and why: pooling, normalisation, length, prompts, files.
//
//   read_model_card(directory, defaults)   reads config.json, modules.json and their relatives, in old and new
//   spellings
//
// Every choice carries the sentence that explains it; `narthex inspect` prints them. Files beside the model decide
// first, then `defaults` (the catalog's entry). What neither says stays empty, and load_embedder() asks for a flag
// rather than guess. Sources: sentence-transformers 5 and 6 saving code; reference rules in ARCHITECTURE.md. Covered by
// tests/models/model_card_test.cc.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "models/pooling.h"

namespace narthex {

// Tokens, where nothing says: what BERT has.
inline constexpr std::size_t kDefaultMaxLength = 512;

template <class T>
struct Choice {
  std::optional<T> value;
  std::string reason;
};

struct ModelCard {
  std::filesystem::path onnx_file;
  std::filesystem::path tokenizer_file;
  std::string model_type;  // config.json: "bert", "xlm-roberta", ...; may be empty
  Choice<Pooling> pooling;
  Choice<bool> normalize;
  Choice<std::size_t> max_length;              // tokens, special ones included
  Choice<std::string> output;                  // name of the graph output to use, when the files or the catalog say
  std::map<std::string, std::string> prompts;  // by name: "query" → "Represent this sentence ..."
  std::optional<std::string> default_prompt;   // name of the prompt that is used when none is asked for
  std::optional<std::size_t> truncate_dim;     // Matryoshka: keep the first so many elements of the finished vector
  bool lower_case = false;                     // lower the text before tokenizing (sentence_bert_config.json)
  int position_offset = 0;                     // position of the first token: 2 for the RoBERTa family
};

// Where the files say nothing. Empty members stay undecided.
struct CardDefaults {
  std::string name;  // for the reasons: "catalog entry bge-small-en-v1.5"
  std::optional<Pooling> pooling;
  std::optional<bool> normalize;
  std::optional<std::size_t> max_length;
  std::optional<std::string> output;
  std::map<std::string, std::string> prompts;
};

// `path` is a directory, or an .onnx file whose directory is searched for the other files.
Result<ModelCard> read_model_card(const std::filesystem::path& path, const CardDefaults& defaults = {});

}  // namespace narthex
