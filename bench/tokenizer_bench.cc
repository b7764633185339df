// How fast texts become ids, on one thread: MB/s by line, ids only and with offsets, and the time to load.
//
//   tokenizer_bench tokenizer.json text.txt...     one text a line; the best of several turns counts
//
// bench/tokenizer_peer.py measures the `tokenizers` wheel on the same files.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "text/tokenizer.h"

namespace {

using namespace narthex;

constexpr std::uint64_t kMaxTextBytes = 1u << 30;

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// The shortest of at least five turns within a second, in CPU time: what the machine can do when nobody disturbs it.
template <class Work>
double best_seconds(const Work& work) {
  double best = 1e9;
  const double begin = cpu_seconds();
  for (int turn = 0; turn < 5 || cpu_seconds() - begin < 1; ++turn) {
    const double start = cpu_seconds();
    work();
    best = std::min(best, cpu_seconds() - start);
  }
  return best;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

void encode_all(const char* what, const Tokenizer& tokenizer, const std::vector<std::string_view>& lines,
                const EncodeOptions& options) {
  std::size_t n_tokens = 0;
  std::size_t n_bytes = 0;
  const double seconds = best_seconds([&] {
    n_tokens = n_bytes = 0;
    for (const std::string_view line : lines) {
      const Result<Encoding> encoding = tokenizer.encode(line, options);
      if (!encoding) continue;
      n_tokens += encoding->ids.size();
      n_bytes += line.size();
    }
  });
  fmt::print("  {:<24} {:8.1f} MB/s {:9.2f} M tokens/s\n", what, static_cast<double>(n_bytes) * 1e-6 / seconds,
             static_cast<double>(n_tokens) * 1e-6 / seconds);
}

int bench(const std::string& tokenizer_file, const std::vector<std::string>& text_files) {
  Result<Tokenizer> tokenizer = Tokenizer::from_file(tokenizer_file);
  if (!tokenizer) {
    fmt::print(stderr, "{}\n", tokenizer.error().message);
    return 1;
  }
  const std::string tables = tokenizer->save_tables();
  const auto bytes = std::as_bytes(std::span(tables));
  fmt::print("load tokenizer.json {:.3f} ms, tables {:.3f} ms ({} bytes)\n",
             1e3 * best_seconds([&] { (void)Tokenizer::from_file(tokenizer_file); }),
             1e3 * best_seconds([&] { (void)Tokenizer::from_tables(bytes, nullptr, "tables"); }), tables.size());
  for (const std::string& file : text_files) {
    const Result<std::string> text = read_file(file, kMaxTextBytes);
    if (!text) {
      fmt::print(stderr, "{}\n", text.error().message);
      return 1;
    }
    const std::vector<std::string_view> lines = lines_of(*text);
    fmt::print("{}: {} texts, {} bytes\n", file, lines.size(), text->size());
    encode_all("ids", *tokenizer, lines, {});
    encode_all("ids, 64 tokens at most", *tokenizer, lines, {.max_length = 64});
    encode_all("ids and offsets", *tokenizer, lines, {.offsets = true});
    encode_all("ids, one text", *tokenizer, {*text}, {});
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: tokenizer_bench tokenizer.json text.txt...\n");
    return 2;
  }
  return bench(argv[1], {argv + 2, argv + argc});
}
