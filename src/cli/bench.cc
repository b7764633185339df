// narthex bench: what this program costs on this machine.
//
//   bench engine      text in, vectors out, in this process, on the workloads that bench/engine.py gives to the peers
//   bench cold        process start to first vector
//   bench tokenizer   megabytes a second on one core
//
// Rows of `--format json` are stable: bench/engine.py reads them. Covered by tests/cli/bench_test.cc.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>

#include "base/team.h"
#include "cli/bench_cold.h"
#include "cli/bench_tokenizer.h"
#include "cli/bench_workloads.h"
#include "cli/command.h"
#include "cli/model_options.h"

namespace narthex::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMaxRounds = 100'000;

struct Arguments {
  ModelArguments model;
  std::string texts;
  std::size_t batch = 256;
  double seconds = 3;
  int rounds = kMaxRounds;
  int warm_up = 1;
  std::string format = "text";
};

struct Measured {
  std::size_t tokens = 0;
  double median_ms = 0;
  double p99_ms = 0;
};

// Every text of the workload once, in calls of `batch` texts; gives the number of tokens.
Result<std::size_t> embed_once(const Embedder& embedder, const EmbedOptions& options,
                               std::span<const std::string_view> texts, std::size_t batch) {
  std::size_t n_tokens = 0;
  for (std::size_t first = 0; first < texts.size(); first += batch) {
    const auto part = texts.subspan(first, std::min(batch, texts.size() - first));
    NX_TRY(const std::vector<Embedding> embeddings, embedder.embed(part, options));
    for (const Embedding& embedding : embeddings) n_tokens += embedding.tokens;
  }
  return n_tokens;
}

Result<Measured> measure(const Embedder& embedder, const EmbedOptions& options, const Workload& workload,
                         const Arguments& arguments) {
  const std::vector<std::string_view> texts(workload.texts.begin(), workload.texts.end());
  for (int i = 0; i < arguments.warm_up; ++i) {
    NX_TRY_VOID(embed_once(embedder, options, texts, arguments.batch));
  }
  Measured measured;
  std::vector<double> times;
  const auto end = Clock::now() + std::chrono::duration<double>(arguments.seconds);
  for (int round = 0; round < 1 || (Clock::now() < end && round < arguments.rounds); ++round) {
    const auto start = Clock::now();
    NX_TRY(measured.tokens, embed_once(embedder, options, texts, arguments.batch));
    times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
  std::ranges::sort(times);
  measured.median_ms = median_of_sorted(times);
  measured.p99_ms = times[times.size() * 99 / 100];
  return measured;
}

double resident_mb() {
  long pages = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  if (std::fscanf(file, "%*s %ld", &pages) != 1) pages = 0;
  std::fclose(file);
  return static_cast<double>(pages) * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1048576;
}

void print(const Workload& workload, const Measured& m, const EmbedderInfo& info, const Arguments& arguments) {
  const double tokens_per_s = 1e3 * static_cast<double>(m.tokens) / m.median_ms;
  if (arguments.format == "json") {
    // With --texts there is one row and its caller knows what it is; the standard workloads say their names.
    const std::string name = arguments.texts.empty() ? fmt::format("\"workload\":\"{}\",", workload.name) : "";
    fmt::print(
        "{{{}\"texts\":{},\"tokens\":{},\"median_ms\":{:.3f},\"p99_ms\":{:.3f},\"tokens_per_s\":{:.0f},"
        "\"precision\":\"{}\",\"isa\":\"{}\",\"threads\":{},\"rss_mb\":{:.1f}}}\n",
        name, workload.texts.size(), m.tokens, m.median_ms, m.p99_ms, tokens_per_s, info.precision, info.isa,
        Team::process().size(), resident_mb());
  } else {
    fmt::print("{:<12} {:>5} texts {:>7} tokens  median {:>9.3f} ms  p99 {:>9.3f} ms  {:>8.0f} tokens/s\n",
               workload.name, workload.texts.size(), m.tokens, m.median_ms, m.p99_ms, tokens_per_s);
  }
  std::fflush(stdout);
}

Result<void> bench_engine(const Arguments& arguments) {
  std::vector<Workload> workloads;
  if (arguments.texts.empty()) {
    workloads = standard_workloads();
  } else {
    NX_TRY(Workload workload, read_workload(arguments.texts));
    workloads.push_back(std::move(workload));
  }
  NX_TRY(const LoadOptions load, load_options(arguments.model));
  NX_TRY(const std::unique_ptr<Embedder> embedder, load_embedder(load));
  NX_TRY(const EmbedOptions options, embed_options(arguments.model, *embedder));
  for (const Workload& workload : workloads) {
    NX_TRY(const Measured measured, measure(*embedder, options, workload, arguments));
    print(workload, measured, embedder->info(), arguments);
  }
  if (arguments.format == "text") {
    fmt::print("{} on {}, {} threads, {:.0f} MB resident\n", embedder->info().precision, embedder->info().isa,
               Team::process().size(), resident_mb());
  }
  return {};
}

void add_format(CLI::App& app, std::string& format) {
  app.add_option("--format", format, "output")->check(CLI::IsMember({"text", "json"}))->capture_default_str();
}

void add_seconds(CLI::App& app, double& seconds, const char* what) {
  app.add_option("--seconds", seconds, what)->check(CLI::Range(0.01, 600.0))->capture_default_str();
}

CLI::App* add_engine(CLI::App& app, Arguments& arguments) {
  CLI::App* engine = app.add_subcommand("engine", "text in, vectors out, in this process");
  engine->add_option("--texts", arguments.texts, "file with one text a line, or .jsonl; default: standard workloads");
  engine->add_option("--batch", arguments.batch, "texts a call")->check(CLI::Range(1, 4096))->capture_default_str();
  add_seconds(*engine, arguments.seconds, "for each workload");
  engine->add_option("--rounds", arguments.rounds, "at most so many, however much time is left")
      ->check(CLI::Range(1, kMaxRounds));
  engine->add_option("--warm-up", arguments.warm_up, "rounds that do not count")
      ->check(CLI::Range(0, 100))
      ->capture_default_str();
  add_format(*engine, arguments.format);
  add_embedder_options(*engine, arguments.model);
  return engine;
}

CLI::App* add_cold(CLI::App& app, ColdArguments& arguments) {
  CLI::App* cold = app.add_subcommand("cold", "process start to first vector");
  cold->add_option("--text", arguments.text, "text to embed")->capture_default_str();
  cold->add_option("--runs", arguments.runs, "processes to start")->check(CLI::Range(1, 10'000))->capture_default_str();
  add_format(*cold, arguments.format);
  add_embedder_options(*cold, arguments.model);
  return cold;
}

CLI::App* add_tokenizer(CLI::App& app, TokenizerArguments& arguments, ModelArguments& model) {
  CLI::App* tokenizer = app.add_subcommand("tokenizer", "megabytes of text a second on one core");
  tokenizer->add_option("--texts", arguments.texts,
                        "file with one text a line, or .jsonl; default: the largest standard workload");
  add_seconds(*tokenizer, arguments.seconds, "to measure for");
  add_format(*tokenizer, arguments.format);
  add_model_option(*tokenizer, model);
  return tokenizer;
}

}  // namespace

int run_bench(const std::vector<std::string>& args) {
  Arguments arguments;
  ColdArguments cold_arguments;
  TokenizerArguments tokenizer_arguments;
  ModelArguments tokenizer_model;
  CLI::App app("Measure this program on this machine.", "narthex bench");
  app.footer(
      "Example:\n  narthex bench engine\n  narthex bench engine --texts texts.txt --batch 64 --format json\n"
      "  narthex bench cold --precision fp32");
  app.require_subcommand(1);
  add_engine(app, arguments);
  const CLI::App* cold = add_cold(app, cold_arguments);
  const CLI::App* tokenizer = add_tokenizer(app, tokenizer_arguments, tokenizer_model);
  if (const auto code = parse_arguments(app, args)) return *code;
  tokenizer_arguments.model = tokenizer_model.model;
  const auto done = cold->parsed()        ? bench_cold(cold_arguments)
                    : tokenizer->parsed() ? bench_tokenizer(tokenizer_arguments)
                                          : bench_engine(arguments);
  return done ? kOk : report(done.error());
}

}  // namespace narthex::cli
