// What a narthex_model is: an embedder, and the prompts that were given beside its own.
//
//   NX_TRY(const EmbedOptions options, embed_options(*model, given));   the caller's struct, checked, prompt looked up
//
// Immutable once loaded. Covered by tests/api/c_api_test.cc.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "api/call.h"
#include "models/embedder.h"
#include "text/tokenizer.h"

struct narthex_model {
  std::unique_ptr<narthex::Embedder> embedder;
  const narthex::Tokenizer* tokenizer = nullptr;  // of `embedder`; null when it has none
  bool lower_case = false;                        // texts are lowered before they are tokenized
  std::size_t dim = 0;                            // never 0, also when the graph does not say it
  std::map<std::string, std::string> prompts;
  std::string default_prompt;  // a name in `prompts`, or empty
};

namespace narthex::api {

Result<EmbedOptions> embed_options(const narthex_model& model, const narthex_embed_options* given);

}  // namespace narthex::api
