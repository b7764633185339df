#include "cli/model_options.h"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>

#include "base/cpu.h"
#include "base/nearest.h"
#include "base/team.h"

namespace narthex::cli {

void add_model_option(CLI::App& app, ModelArguments& arguments) {
  app.add_option("--model", arguments.model, "catalog name, model directory, .onnx file, or hashing-ngram-256")
      ->capture_default_str();
}

void add_plan_options(CLI::App& app, ModelArguments& arguments) {
  app.add_option("--precision", arguments.precision, "arithmetic")
      ->check(CLI::IsMember({"auto", "fp32", "bf16", "int8"}))
      ->capture_default_str();
  app.add_option("--pooling", arguments.pooling,
                 "cls, mean, max, last, none (token vectors); default: the model's own");
  app.add_option("--threads", arguments.threads, "default: the cores this process may use")
      ->check(CLI::Range(1, kMaxThreads));
}

void add_embedder_options(CLI::App& app, ModelArguments& arguments) {
  add_model_option(app, arguments);
  add_plan_options(app, arguments);
  app.add_flag("--onnx-exact", arguments.onnx_exact,
               "run a quantised graph in its own arithmetic, operator by operator, instead of the compiled plan");
  app.add_flag("--no-normalize", arguments.no_normalize,
               "leave vectors as they are instead of scaling them to length 1");
  app.add_option("--prompt", arguments.prompt, "name of one of the model's prompts, put in front of every text");
  app.add_option("--max-length", arguments.max_length, "tokens, special ones included; default: the model's limit")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 20));
  app.add_option("--on-long", arguments.on_long, "texts over the limit")
      ->check(CLI::IsMember({"truncate", "error", "window"}))
      ->capture_default_str();
  app.add_flag("--allow-special", arguments.allow_special,
               "'[SEP]' in a text is the special token, not five characters");
}

Result<LoadOptions> load_options(const ModelArguments& arguments) {
  if (arguments.threads > 0 && !Team::set_process_size(arguments.threads)) {
    return fail(ErrorCode::kUsage, "--threads comes too late: threads are running already");
  }
  LoadOptions options;
  options.model = arguments.model;
  options.precision = arguments.precision;
  options.onnx_exact = arguments.onnx_exact;
  if (!arguments.pooling.empty()) {
    NX_TRY(options.pooling, parse_pooling(arguments.pooling));
  }
  if (arguments.no_normalize) options.normalize = false;
  return options;
}

Result<EmbedOptions> embed_options(const ModelArguments& arguments, const Embedder& embedder) {
  EmbedOptions options;
  options.max_length = arguments.max_length;
  options.allow_special = arguments.allow_special;
  options.long_texts = arguments.on_long == "error"    ? LongTexts::kError
                       : arguments.on_long == "window" ? LongTexts::kWindow
                                                       : LongTexts::kTruncate;
  const auto& prompts = embedder.info().prompts;
  const std::string name = arguments.prompt.empty() ? embedder.info().default_prompt : arguments.prompt;
  if (name.empty()) return options;
  const auto found = prompts.find(name);
  if (found == prompts.end()) {
    std::vector<std::string_view> names;
    names.reserve(prompts.size());
    for (const auto& [known, text] : prompts) names.emplace_back(known);
    return fail(ErrorCode::kUsage, "--prompt: model '{}' has no prompt '{}'; it has: {}", embedder.info().id, name,
                names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
  }
  options.prompt = found->second;
  return options;
}

}  // namespace narthex::cli
