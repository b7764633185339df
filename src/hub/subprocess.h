// Running another program without a shell: arguments as they are, output captured, a deadline, and an end that is
// certain.
//
//   run_program({"mvn", "-q", ...}, {.directory = dir, .timeout = 10min, .cancelled = ...})
//
// The program runs in a process group of its own, with /dev/null as input; past its deadline or on cancel the whole
// group gets SIGTERM, and two seconds later SIGKILL. Covered by tests/hub/subprocess_test.cc.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace narthex {

struct ProgramOptions {
  std::filesystem::path directory = {};  // where it runs; empty: here
  std::chrono::milliseconds timeout{600'000};
  std::function<bool()> cancelled = {};
};

struct ProgramResult {
  int exit_code = 0;   // 128 + signal when a signal ended it, as shells say
  std::string output;  // the last 64 KiB of standard output and standard error, as they came
};

// kNotFound: there is no such program. kIo: it did not end in time. kCancelled. Any exit code is a result.
Result<ProgramResult> run_program(const std::vector<std::string>& arguments, const ProgramOptions& options);

}  // namespace narthex
