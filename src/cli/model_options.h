// The options that every command with a model takes, declared once.
#pragma once

#include <string>

#include "models/load.h"

namespace CLI {
class App;
}

namespace narthex::cli {

struct ModelArguments {
  std::string model{kDefaultModel};
  std::string precision = "auto";
  bool onnx_exact = false;
  std::string pooling;
  bool no_normalize = false;
  std::string prompt;
  std::size_t max_length = 0;
  std::string on_long = "truncate";
  int threads = 0;
  bool allow_special = false;
};

void add_model_option(CLI::App& app, ModelArguments& arguments);
// What decides how a model is compiled and run.
void add_plan_options(CLI::App& app, ModelArguments& arguments);
// Both, and what is to be done with texts.
void add_embedder_options(CLI::App& app, ModelArguments& arguments);

// Applies --threads, then turns the rest into options; errors name the option.
Result<LoadOptions> load_options(const ModelArguments& arguments);
Result<EmbedOptions> embed_options(const ModelArguments& arguments, const Embedder& embedder);

}  // namespace narthex::cli
