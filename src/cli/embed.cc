// narthex embed: texts to vectors, streamed in bounded memory; an interrupted run to a file goes on where it stopped.
#include <csignal>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>

#include "cli/command.h"
#include "cli/embedding_writer.h"
#include "cli/model_options.h"
#include "cli/progress.h"
#include "cli/text_source.h"

namespace narthex::cli {
namespace {

// Enough texts that equal lengths meet in a batch; few enough that memory stays small and progress is seen.
constexpr std::size_t kChunkTexts = 256;
constexpr std::size_t kChunkBytes = std::size_t{4} << 20;

std::atomic<bool> interrupted{false};

struct Arguments {
  ModelArguments model;
  std::vector<std::string> texts;
  std::string input;
  std::string output;
  std::string format = "json";
};

EmbedFormat format_of(const std::string& name) {
  if (name == "npy") return EmbedFormat::kNpy;
  return name == "jsonl" ? EmbedFormat::kJsonl : EmbedFormat::kJson;
}

// Whatever makes the rows differ; an interrupted run is continued only by the same job.
std::string job_description(const Arguments& a, const EmbedOptions& options) {
  return fmt::format(
      "model={} precision={} pooling={} normalize={} prompt={:?} max_length={} on_long={} special={} input={} "
      "format={}",
      a.model.model, a.model.precision, a.model.pooling, !a.model.no_normalize, options.prompt, options.max_length,
      a.model.on_long, options.allow_special, a.input, a.format);
}

Result<void> skip_rows(TextSource& source, std::uint64_t rows) {
  for (std::uint64_t i = 0; i < rows; ++i) {
    NX_TRY(const std::optional<std::string> text, source.next());
    if (!text) {
      return fail(ErrorCode::kBadInput,
                  "{}: has only {} texts, but an interrupted run has written {} rows already; the input "
                  "is another one",
                  source.name(), i, rows);
    }
  }
  return {};
}

Result<void> embed_chunk(const Embedder& embedder, const EmbedOptions& options, const std::vector<std::string>& chunk,
                         std::uint64_t first_row, EmbeddingWriter& writer, std::uint64_t& n_truncated) {
  const std::vector<std::string_view> views(chunk.begin(), chunk.end());
  auto embeddings = embedder.embed(views, options);
  if (!embeddings) {
    return fail(embeddings.error().code, "{} (texts {} to {} of the input)", embeddings.error().message, first_row,
                first_row + chunk.size() - 1);
  }
  for (const Embedding& embedding : *embeddings) {
    n_truncated += embedding.truncated ? 1 : 0;
    NX_TRY_VOID(writer.write(embedding));
  }
  return {};
}

Result<void> embed_all(const Arguments& arguments) {
  NX_TRY(TextSource source, TextSource::open(arguments.texts, arguments.input));
  NX_TRY(const LoadOptions load, load_options(arguments.model));
  NX_TRY(const std::unique_ptr<Embedder> embedder, load_embedder(load));
  NX_TRY(const EmbedOptions options, embed_options(arguments.model, *embedder));
  NX_TRY(const auto writer,
         EmbeddingWriter::open(format_of(arguments.format), arguments.output, job_description(arguments, options),
                               embedder->info(), arguments.model.model));
  const std::uint64_t resumed = writer->rows_done();
  if (resumed > 0) {
    fmt::print(stderr, "narthex: going on after the {} rows of an interrupted run\n", resumed);
    NX_TRY_VOID(skip_rows(source, resumed));
  }
  Progress progress("embed");
  const auto start = std::chrono::steady_clock::now();
  std::uint64_t n_truncated = 0;
  bool more = true;
  while (more) {
    std::vector<std::string> chunk;
    std::size_t chunk_bytes = 0;
    while (chunk.size() < kChunkTexts && chunk_bytes < kChunkBytes) {
      NX_TRY(std::optional<std::string> text, source.next());
      more = text.has_value();
      if (!more) break;
      chunk_bytes += text->size();
      chunk.push_back(*std::move(text));
    }
    if (chunk.empty()) break;
    NX_TRY_VOID(embed_chunk(*embedder, options, chunk, writer->rows_done(), *writer, n_truncated));
    NX_TRY_VOID(writer->flush());
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    progress.update(source.bytes_read(), source.bytes_total(),
                    fmt::format("{} texts, {:.0f}/s", writer->rows_done(),
                                static_cast<double>(writer->rows_done() - resumed) / seconds));
    if (interrupted) {
      return fail(ErrorCode::kCancelled, "interrupted after {} texts{}", writer->rows_done(),
                  arguments.output.empty() ? "" : "; the same command goes on from there");
    }
  }
  if (n_truncated > 0) {
    fmt::print(stderr, "narthex: {} texts were longer than {} tokens and were cut (--on-long window or error)\n",
               n_truncated, options.max_length > 0 ? options.max_length : embedder->info().max_length);
  }
  if (!embedder->info().semantic) {
    fmt::print(stderr, "narthex: '{}' is lexical, not semantic: its vectors compare spelling, not meaning\n",
               embedder->info().id);
  }
  return writer->finish();
}

}  // namespace

int run_embed(const std::vector<std::string>& args) {
  Arguments arguments;
  CLI::App app("Turn texts into vectors.", "narthex embed");
  app.footer(
      "Example:\n  narthex embed \"how do I reset my password\"\n"
      "  narthex embed --input texts.txt --format npy --output vectors.npy");
  app.add_option("text", arguments.texts, "texts to embed");
  app.add_option("--input", arguments.input, "file with one text a line, or .jsonl with `text`; - is standard input");
  app.add_option("--format", arguments.format, "output")
      ->check(CLI::IsMember({"json", "jsonl", "npy"}))
      ->capture_default_str();
  app.add_option("--output", arguments.output, "file to write; an interrupted run of the same command goes on");
  add_embedder_options(app, arguments.model);
  if (const auto code = parse_arguments(app, args)) return *code;
  // A handler only for files: on a pipe or a terminal the default, an end at once, is what people expect.
  if (!arguments.output.empty()) {
    std::signal(SIGINT, [](int) { interrupted = true; });
    std::signal(SIGTERM, [](int) { interrupted = true; });
  }
  const auto done = embed_all(arguments);
  return done ? kOk : report(done.error());
}

}  // namespace narthex::cli
