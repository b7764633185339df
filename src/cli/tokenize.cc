// narthex tokenize: ids, pieces and character offsets, as the model sees a text.
#include <CLI/CLI.hpp>

#include "base/json.h"
#include "cli/command.h"
#include "cli/model_options.h"
#include "cli/text_source.h"

namespace narthex::cli {
namespace {

struct Arguments {
  ModelArguments model;
  std::vector<std::string> texts;
  std::string input;
  std::string format = "json";
};

std::string piece(const Tokenizer& tokenizer, std::int32_t id) {
  return std::string(tokenizer.token(id).value_or(""));
}

std::string json_row(const Tokenizer& tokenizer, std::uint64_t index, const Encoding& encoding) {
  std::string row = fmt::format("{{\"index\":{},\"ids\":[", index);
  for (std::size_t i = 0; i < encoding.ids.size(); ++i) row += fmt::format("{}{}", i > 0 ? "," : "", encoding.ids[i]);
  row += "],\"tokens\":[";
  for (std::size_t i = 0; i < encoding.ids.size(); ++i) {
    if (i > 0) row += ',';
    append_json_string(row, piece(tokenizer, encoding.ids[i]));
  }
  row += "],\"offsets\":[";
  for (std::size_t i = 0; i < encoding.offsets.size(); ++i) {
    row += fmt::format("{}[{},{}]", i > 0 ? "," : "", encoding.offsets[i].begin, encoding.offsets[i].end);
  }
  return row + "]}";
}

std::string text_row(const Tokenizer& tokenizer, const Encoding& encoding) {
  std::string row;
  for (std::size_t i = 0; i < encoding.ids.size(); ++i) {
    row += fmt::format("{:>7}  {:<24} {}-{}\n", encoding.ids[i], piece(tokenizer, encoding.ids[i]),
                       encoding.offsets[i].begin, encoding.offsets[i].end);
  }
  return row;
}

Result<void> tokenize_all(const Arguments& arguments) {
  NX_TRY(TextSource source, TextSource::open(arguments.texts, arguments.input));
  NX_TRY(const Tokenizer tokenizer, load_tokenizer(arguments.model.model));
  const EncodeOptions options{
      .allow_special = arguments.model.allow_special, .max_length = arguments.model.max_length, .offsets = true};
  if (arguments.format == "json") {
    std::string head = "{\"model\":";
    append_json_string(head, arguments.model.model);
    fmt::print("{},\"data\":[", head);
  }
  for (std::uint64_t index = 0;; ++index) {
    NX_TRY(const std::optional<std::string> text, source.next());
    if (!text) break;
    auto encoding = tokenizer.encode(*text, options);
    if (!encoding) return fail(encoding.error().code, "text {}: {}", index, encoding.error().message);
    if (arguments.format == "json") {
      fmt::print("{}{}", index > 0 ? ",\n" : "", json_row(tokenizer, index, *encoding));
    } else if (arguments.format == "jsonl") {
      fmt::print("{}\n", json_row(tokenizer, index, *encoding));
    } else {
      fmt::print("{}\n", text_row(tokenizer, *encoding));
    }
  }
  if (arguments.format == "json") fmt::print("]}}\n");
  return {};
}

}  // namespace

int run_tokenize(const std::vector<std::string>& args) {
  Arguments arguments;
  CLI::App app("Show the tokens of texts: ids, pieces, and offsets in characters.", "narthex tokenize");
  app.footer("Example:\n  narthex tokenize \"unbelievable\" --format text");
  app.add_option("text", arguments.texts, "texts to tokenize");
  app.add_option("--input", arguments.input, "file with one text a line, or .jsonl with `text`; - is standard input");
  app.add_option("--format", arguments.format, "output")
      ->check(CLI::IsMember({"json", "jsonl", "text"}))
      ->capture_default_str();
  add_model_option(app, arguments.model);
  app.add_option("--max-length", arguments.model.max_length,
                 "cut after so many tokens, special ones included; default: never");
  app.add_flag("--allow-special", arguments.model.allow_special,
               "'[SEP]' in a text is the special token, not five characters");
  if (const auto code = parse_arguments(app, args)) return *code;
  const auto done = tokenize_all(arguments);
  return done ? kOk : report(done.error());
}

}  // namespace narthex::cli
