// narthex bench engine: text in, vectors out, in this process; the same workloads as the peers' benchmark.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>

#include "base/cpu.h"
#include "base/team.h"
#include "cli/command.h"
#include "cli/model_options.h"
#include "cli/text_source.h"

namespace narthex::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct Arguments {
  ModelArguments model;
  std::string texts;
  std::size_t batch = 32;
  double seconds = 3;
  std::string format = "text";
};

struct Workload {
  std::string name;
  std::vector<std::string> texts;
};

struct Measured {
  std::string name;
  std::size_t texts = 0;
  std::size_t tokens = 0;
  double median_ms = 0;
  double p99_ms = 0;
};

// Words of one token each in the vocabulary of BERT, in an order that depends on the seed alone.
std::string made_text(std::size_t n_words, std::uint32_t seed) {
  static constexpr const char* kWords[] = {"the",  "user",   "asked",    "system", "model",  "memory", "index",
                                           "page", "answer", "question", "guard",  "prompt", "attack", "before",
                                           "five", "from",   "with",     "was",    "is",     "and",    "a"};
  std::string text;
  for (std::size_t i = 0; i < n_words; ++i) {
    seed = seed * 1664525u + 1013904223u;
    if (!text.empty()) text += ' ';
    text += kWords[(seed >> 16) % std::size(kWords)];
  }
  return text;
}

std::vector<Workload> standard_workloads() {
  std::vector<Workload> workloads = {{"query", {"how do I reset my password on the portal"}},
                                     {"one of 128 tokens", {made_text(126, 1)}},
                                     {"one of 512 tokens", {made_text(510, 2)}}};
  Workload mixed{"32 mixed", {}};
  for (std::uint32_t i = 0; i < 32; ++i) mixed.texts.push_back(made_text(10 + (i * 53) % 170, i));
  workloads.push_back(std::move(mixed));
  return workloads;
}

Result<Measured> measure(const Embedder& embedder, const EmbedOptions& options, const Workload& workload,
                         const Arguments& arguments) {
  Measured measured{workload.name, workload.texts.size(), 0, 0, 0};
  std::vector<double> times;
  const auto end = Clock::now() + std::chrono::duration<double>(arguments.seconds);
  for (int round = 0; round < 2 || (Clock::now() < end && round < 10'000); ++round) {
    const auto start = Clock::now();
    measured.tokens = 0;
    for (std::size_t first = 0; first < workload.texts.size(); first += arguments.batch) {
      const std::size_t n = std::min(arguments.batch, workload.texts.size() - first);
      const std::vector<std::string_view> views(workload.texts.begin() + static_cast<std::ptrdiff_t>(first),
                                                workload.texts.begin() + static_cast<std::ptrdiff_t>(first + n));
      NX_TRY(const std::vector<Embedding> embeddings, embedder.embed(views, options));
      for (const Embedding& embedding : embeddings) measured.tokens += embedding.tokens;
    }
    const double ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    if (round > 0) times.push_back(ms);  // the first round warms caches and makes threads
  }
  std::ranges::sort(times);
  measured.median_ms = times[times.size() / 2];
  measured.p99_ms = times[std::min(times.size() - 1, times.size() * 99 / 100)];
  return measured;
}

double resident_mb() {
  long pages = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  if (std::fscanf(file, "%*s %ld", &pages) != 1) pages = 0;
  std::fclose(file);
  return static_cast<double>(pages) * 4096 / 1048576;
}

void print(const Measured& m, const EmbedderInfo& info, const Arguments& arguments) {
  const double tokens_per_s = 1e3 * static_cast<double>(m.tokens) / m.median_ms;
  const int threads = Team::process().size();
  if (arguments.format == "json") {
    fmt::print(
        "{{\"workload\":\"{}\",\"texts\":{},\"tokens\":{},\"median_ms\":{:.3f},\"p99_ms\":{:.3f},\"tokens_per_s\":{:."
        "0f},"
        "\"precision\":\"{}\",\"isa\":\"{}\",\"threads\":{},\"rss_mb\":{:.0f}}}\n",
        m.name, m.texts, m.tokens, m.median_ms, m.p99_ms, tokens_per_s, info.precision, info.isa, threads,
        resident_mb());
  } else {
    fmt::print("{:<20} {:>5} texts {:>7} tokens  median {:>9.3f} ms  p99 {:>9.3f} ms  {:>8.0f} tokens/s\n", m.name,
               m.texts, m.tokens, m.median_ms, m.p99_ms, tokens_per_s);
  }
}

Result<void> bench_engine(const Arguments& arguments) {
  NX_TRY(const LoadOptions load, load_options(arguments.model));
  NX_TRY(const std::unique_ptr<Embedder> embedder, load_embedder(load));
  NX_TRY(const EmbedOptions options, embed_options(arguments.model, *embedder));
  std::vector<Workload> workloads;
  if (arguments.texts.empty()) {
    workloads = standard_workloads();
  } else {
    Workload workload{arguments.texts, {}};
    NX_TRY(TextSource source, TextSource::open({}, arguments.texts));
    while (true) {
      NX_TRY(std::optional<std::string> text, source.next());
      if (!text) break;
      workload.texts.push_back(*std::move(text));
    }
    if (workload.texts.empty()) return fail(ErrorCode::kBadInput, "{}: holds no texts", arguments.texts);
    workloads.push_back(std::move(workload));
  }
  for (const Workload& workload : workloads) {
    NX_TRY(const Measured measured, measure(*embedder, options, workload, arguments));
    print(measured, embedder->info(), arguments);
    std::fflush(stdout);
  }
  if (arguments.format == "text") {
    fmt::print("{} on {}, {} threads, {:.0f} MB resident\n", embedder->info().precision, embedder->info().isa,
               Team::process().size(), resident_mb());
  }
  return {};
}

}  // namespace

int run_bench(const std::vector<std::string>& args) {
  Arguments arguments;
  CLI::App app("Measure this program on this machine.", "narthex bench");
  app.footer("Example:\n  narthex bench engine\n  narthex bench engine --texts texts.txt --batch 64 --format json");
  app.require_subcommand(1);
  CLI::App* engine = app.add_subcommand("engine", "text in, vectors out, in this process");
  engine->add_option("--texts", arguments.texts, "file with one text a line; default: the standard workloads");
  engine->add_option("--batch", arguments.batch, "texts a call")->check(CLI::Range(1, 4096))->capture_default_str();
  engine->add_option("--seconds", arguments.seconds, "for each workload")
      ->check(CLI::Range(0.1, 600.0))
      ->capture_default_str();
  engine->add_option("--format", arguments.format, "output")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  add_embedder_options(*engine, arguments.model);
  if (const auto code = parse_arguments(app, args)) return *code;
  const auto done = bench_engine(arguments);
  return done ? kOk : report(done.error());
}

}  // namespace narthex::cli
