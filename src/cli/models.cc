// narthex models: what the catalog knows, and what is here.
#include <CLI/CLI.hpp>

#include "base/home.h"
#include "base/json.h"
#include "cli/command.h"
#include "models/catalog.h"
#include "models/hashing_embedder.h"

namespace narthex::cli {
namespace {

std::string json_row(const CatalogModel& model, const std::optional<PulledModel>& local) {
  std::string row = "{\"name\":";
  append_json_string(row, model.name);
  row += fmt::format(",\"dim\":{},\"max_length\":{},\"semantic\":true,\"pooling\":", model.dim, model.max_length);
  append_json_string(row, model.pooling);
  row += ",\"licence\":";
  append_json_string(row, model.licence);
  row += ",\"summary\":";
  append_json_string(row, model.summary);
  row += ",\"directory\":";
  if (local) {
    append_json_string(row, local->directory.string());
  } else {
    row += "null";
  }
  return row + "}";
}

}  // namespace

int run_models(const std::vector<std::string>& args) {
  std::string format = "text";
  CLI::App app("List the models that Narthex knows by name, and which of them are here.", "narthex models");
  app.footer("Example:\n  narthex models");
  app.add_option("--format", format, "output")->check(CLI::IsMember({"text", "json"}))->capture_default_str();
  if (const auto code = parse_arguments(app, args)) return *code;
  const auto home = narthex_home();
  if (!home) return report(home.error());
  std::string rows;
  if (format == "text") fmt::print("{:<26} {:<9} {:>4} {:>7}  {}\n", "MODEL", "HERE", "DIM", "TOKENS", "");
  for (const CatalogModel& model : catalog()) {
    const auto local = local_model(model.source, home->models);
    if (format == "json") {
      if (!rows.empty()) rows += ",\n";
      rows += json_row(model, local);
    } else {
      fmt::print("{:<26} {:<9} {:>4} {:>7}  {} ({})\n", model.name, local ? "yes" : "no", model.dim, model.max_length,
                 model.summary, model.licence);
    }
  }
  if (format == "json") {
    fmt::print("{{\"models\":[{}]}}\n", rows);
  } else {
    fmt::print("{:<26} {:<9} {:>4} {:>7}  {}\n", kHashingEmbedderId, "built in", kHashingDim, "-",
               "lexical, not semantic: compares spelling; needs no files");
    fmt::print("\nModels are in {}. Any other encoder runs from its directory or .onnx file.\n", home->models.string());
  }
  return kOk;
}

}  // namespace narthex::cli
