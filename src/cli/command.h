// A command of the program: one file with its `run`, one row in commands.cc.
//
//   main() → run_command(argc, argv) → the row's run(args)
//
// Results go to stdout, everything else to stderr. Exit codes: 0 ok; 1 the answer is "no"; 2 usage or configuration; 3
// input or model unusable; 4 internal error. Covered by tests/cli.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace CLI {
class App;
}

namespace narthex::cli {

enum ExitCode { kOk = 0, kNo = 1, kUsageError = 2, kUnusable = 3, kInternal = 4 };

struct Command {
  const char* name;
  const char* summary;
  int (*run)(const std::vector<std::string>& args);
};

std::span<const Command> commands();
int run_command(int argc, char** argv);

// Prints the sentence to stderr and returns the exit code that belongs to it.
int report(const Error& error);

// Parses `args` into `app`; when the run ends here (--help, or a usage error that is now reported) gives the exit code.
std::optional<int> parse_arguments(CLI::App& app, const std::vector<std::string>& args);

int run_pull(const std::vector<std::string>& args);
int run_models(const std::vector<std::string>& args);
int run_embed(const std::vector<std::string>& args);
int run_tokenize(const std::vector<std::string>& args);
int run_compile(const std::vector<std::string>& args);
int run_inspect(const std::vector<std::string>& args);
int run_bench(const std::vector<std::string>& args);

}  // namespace narthex::cli
