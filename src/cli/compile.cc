// narthex compile: the artifact that the next start maps, and what its precision costs.
#include <CLI/CLI.hpp>

#include "base/json.h"
#include "cli/command.h"
#include "cli/model_options.h"
#include "cli/plan_report.h"
#include "cli/progress.h"
#include "models/hashing_embedder.h"

namespace narthex::cli {
namespace {

struct Arguments {
  ModelArguments model;
  std::string format = "text";
};

// Which results are the same bytes on every instruction set: all arithmetic of the plan but native bfloat16.
bool same_on_every_isa(const PrecisionReport& report) {
  const bool bf16_products = report.precision == Precision::kBf16 ||
                             (!report.fallback_products.empty() && report.fallback == Precision::kBf16);
  return !bf16_products && report.attention != Precision::kBf16;
}

std::uintmax_t bytes_of(const std::filesystem::path& file) {
  std::error_code code;
  const std::uintmax_t bytes = std::filesystem::file_size(file, code);
  return code ? 0 : bytes;
}

void print_text(const InspectedModel& model) {
  print_plan(model.compiled);
  if (model.compiled.plan) {
    fmt::print("  bytes        {}\n", same_on_every_isa(model.compiled.precision)
                                          ? "the same on every instruction set"
                                          : "the same in any batch and with any threads, not on every instruction set");
  }
  fmt::print("artifact\n  file         {}\n  size         {}\n", model.artifact.string(),
             bytes_string(bytes_of(model.artifact)));
}

void print_json(const InspectedModel& model) {
  std::string out = "{\"model\":";
  append_json_string(out, model.embedder->info().id);
  append_plan(out, model.compiled);
  if (model.compiled.plan) out += fmt::format(",\"same_on_every_isa\":{}", same_on_every_isa(model.compiled.precision));
  out += ",\"artifact\":";
  append_json_string(out, model.artifact.string());
  fmt::print("{},\"bytes\":{}}}\n", out, bytes_of(model.artifact));
}

Result<void> compile(const Arguments& arguments) {
  if (arguments.model.model == kHashingEmbedderId) {
    return fail(ErrorCode::kUsage, "'{}' has nothing to compile: it is part of the program", arguments.model.model);
  }
  NX_TRY(const LoadOptions options, load_options(arguments.model));
  NX_TRY(const InspectedModel model, compile_model(options));
  if (arguments.format == "json") {
    print_json(model);
  } else {
    print_text(model);
  }
  return {};
}

}  // namespace

int run_compile(const std::vector<std::string>& args) {
  Arguments arguments;
  CLI::App app("Compile a model into the cache that later starts map, and measure what its precision costs.",
               "narthex compile");
  app.footer("Example:\n  narthex compile bge-small-en-v1.5 --precision int8");
  app.add_option("model,--model", arguments.model.model, "catalog name, directory or .onnx file")
      ->capture_default_str();
  add_plan_options(app, arguments.model);
  app.add_option("--format", arguments.format, "output")->check(CLI::IsMember({"text", "json"}))->capture_default_str();
  if (const auto code = parse_arguments(app, args)) return *code;
  const auto done = compile(arguments);
  return done ? kOk : report(done.error());
}

}  // namespace narthex::cli
