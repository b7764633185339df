#include "cli/bench_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "cli/bench_workloads.h"
#include "models/load.h"

namespace narthex::cli {

using Clock = std::chrono::steady_clock;

Result<void> bench_tokenizer(const TokenizerArguments& arguments) {
  NX_TRY(const Tokenizer tokenizer, load_tokenizer(arguments.model));
  Workload workload = standard_workloads().back();
  if (!arguments.texts.empty()) {
    NX_TRY(workload, read_workload(arguments.texts));
  }
  std::size_t n_bytes = 0;
  for (const std::string& text : workload.texts) n_bytes += text.size();
  std::vector<double> times;
  std::size_t n_tokens = 0;
  const auto end = Clock::now() + std::chrono::duration<double>(arguments.seconds);
  for (int round = 0; round < 2 || Clock::now() < end; ++round) {
    const auto start = Clock::now();
    n_tokens = 0;
    for (const std::string& text : workload.texts) {
      NX_TRY(const Encoding encoding, tokenizer.encode(text));
      n_tokens += encoding.ids.size();
    }
    if (round > 0) times.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
  std::ranges::sort(times);
  const double median = times[times.size() / 2];
  const double mb = static_cast<double>(n_bytes) / 1e6;
  if (arguments.format == "json") {
    fmt::print(
        "{{\"texts\":{},\"mb\":{:.3f},\"tokens\":{},\"mb_per_s\":{:.2f},\"tokens_per_s\":{:.0f},\"threads\":1}}\n",
        workload.texts.size(), mb, n_tokens, mb / median, static_cast<double>(n_tokens) / median);
  } else {
    fmt::print("{} texts, {:.2f} MB, {} tokens: {:.1f} MB/s, {:.0f} tokens/s on one core\n", workload.texts.size(), mb,
               n_tokens, mb / median, static_cast<double>(n_tokens) / median);
  }
  return {};
}

}  // namespace narthex::cli
