// The models that Narthex knows by name: where each comes from, and what its files do not say themselves.
//
//   NX_TRY(const CatalogModel* model, find_model("bge-small-en-v1.5"));   names and aliases, without regard to case
//   pull(model->source, options)                                          hub/pull.h
//   catalog()                                                             all of them, for `narthex models`
//
// Adding a model is adding one entry in catalog.cc. What a model's own directory says (config.json, modules.json)
// agrees with the entry; files from packages come without it, so the entry is what they are run with. Covered by
// tests/models/catalog_test.cc.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hub/pull.h"

namespace narthex {

// What is put before a text; "query" and "document" are the usual names.
struct CatalogPrompt {
  std::string name;
  std::string text;
};

struct CatalogModel {
  std::string name;
  std::vector<std::string> aliases;
  std::string summary;  // one line for people
  std::string licence;  // SPDX
  int dim;
  int max_length;       // tokens, special ones included; it wins over the truncation in tokenizer.json
  std::string pooling;  // "cls", "mean", "max", "last" or "none"
  bool normalize;
  std::vector<CatalogPrompt> prompts;
  // The graph's output that already holds pooled vectors [batch, dim], where a source's file has one; else empty, and
  // the first output holds hidden states. A file without an output of this name is pooled as `pooling` says.
  std::string pooled_output;
  PullSpec source;
};

std::span<const CatalogModel> catalog();
Result<const CatalogModel*> find_model(std::string_view name);

}  // namespace narthex
