#include "cli/bench_cold.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/cpu.h"
#include "base/json.h"
#include "cli/bench_workloads.h"

extern char** environ;

namespace narthex::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct Run {
  double ms = 0;
  double peak_mb = 0;
  std::string out;
};

// The same options that `bench engine` takes reach the measured command, so that both are about the same work.
std::vector<std::string> command_line(const ColdArguments& arguments) {
  const ModelArguments& model = arguments.model;
  std::vector<std::string> line = {"narthex",   "embed",       "--format",      "json",      "--model",
                                   model.model, "--precision", model.precision, "--on-long", model.on_long};
  if (model.onnx_exact) line.emplace_back("--onnx-exact");
  if (model.no_normalize) line.emplace_back("--no-normalize");
  if (model.allow_special) line.emplace_back("--allow-special");
  if (!model.pooling.empty()) line.insert(line.end(), {"--pooling", model.pooling});
  if (!model.prompt.empty()) line.insert(line.end(), {"--prompt", model.prompt});
  if (model.max_length > 0) line.insert(line.end(), {"--max-length", std::to_string(model.max_length)});
  if (model.threads > 0) line.insert(line.end(), {"--threads", std::to_string(model.threads)});
  line.insert(line.end(), {"--", arguments.text});
  return line;
}

// Starts this program with its stdout in a pipe, whose reading end is returned. A quiet one says nothing on stderr:
// what there is to say was said by the first.
Result<std::pair<pid_t, int>> start(const std::vector<std::string>& line, bool quiet) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return fail(ErrorCode::kIo, "pipe: {}", std::strerror(errno));
  std::vector<char*> argv;
  for (const std::string& word : line) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  if (quiet) posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int error = posix_spawn(&child, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (error != 0) {
    close(ends[0]);
    return fail(ErrorCode::kIo, "this program could not be started again: {}", std::strerror(error));
  }
  return std::pair{child, ends[0]};
}

Result<Run> run_once(const std::vector<std::string>& line, bool quiet) {
  Run run;
  const auto begin = Clock::now();
  NX_TRY(const auto started, start(line, quiet));
  const auto [child, pipe_end] = started;
  std::array<char, 16384> buffer;
  while (true) {
    const ssize_t got = read(pipe_end, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    run.ms = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
    run.out.append(buffer.data(), static_cast<std::size_t>(got));
  }
  close(pipe_end);
  int status = 0;
  rusage usage{};
  while (wait4(child, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return fail(ErrorCode::kUnsupported, "`narthex embed` failed, see above: a start that ends so is not measured");
  }
  run.peak_mb = static_cast<double>(usage.ru_maxrss) / 1024;
  return run;
}

}  // namespace

Result<void> bench_cold(const ColdArguments& arguments) {
  const std::vector<std::string> line = command_line(arguments);
  NX_TRY(const Run first, run_once(line, false));
  std::vector<double> times;
  double peak_mb = 0;
  for (int i = 0; i < arguments.runs; ++i) {
    NX_TRY(const Run run, run_once(line, true));
    times.push_back(run.ms);
    peak_mb = std::max(peak_mb, run.peak_mb);
  }
  std::ranges::sort(times);
  NX_TRY(const json::value answer, parse_json(first.out, "narthex embed"));
  const json::object& embedder = answer.at("embedder").as_object();
  const std::string precision(embedder.at("precision").as_string());
  const std::string isa(embedder.at("isa").as_string());
  const int threads = arguments.model.threads > 0 ? arguments.model.threads : active_threads();
  const auto tokens = answer.at("data").at(0).at("tokens").to_number<std::size_t>();
  const double median_ms = median_of_sorted(times);
  const double p99_ms = times[times.size() * 99 / 100];
  if (arguments.format == "json") {
    fmt::print(
        "{{\"texts\":1,\"tokens\":{},\"median_ms\":{:.3f},\"p99_ms\":{:.3f},\"tokens_per_s\":{:.0f},"
        "\"precision\":\"{}\",\"isa\":\"{}\",\"threads\":{},\"rss_mb\":{:.1f},\"runs\":{},\"min_ms\":{:.3f}}}\n",
        tokens, median_ms, p99_ms, 1e3 * static_cast<double>(tokens) / median_ms, precision, isa, threads, peak_mb,
        arguments.runs, times.front());
  } else {
    fmt::print(
        "process start to first vector: fastest {:.1f} ms, median {:.1f} ms of {} runs ({} on {}, {} threads, "
        "{:.0f} MB at most; page cache warm)\n",
        times.front(), median_ms, arguments.runs, precision, isa, threads, peak_mb);
  }
  return {};
}

}  // namespace narthex::cli
