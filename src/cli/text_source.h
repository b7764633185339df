// Where the texts of a command come from: its arguments, a file, or standard input; one at a time, in bounded memory.
//
//   TextSource source = ...open(args, "--input value");
//   while (true) { NX_TRY(std::optional<std::string> text, source.next()); if (!text) break; ... }
//
// A file has one text a line, or, when its name ends in .jsonl, one JSON object a line with the member `text`. Every
// line is a text, empty ones too, so that the n-th result belongs to the n-th line. Covered by
// tests/cli/text_source_test.cc.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace narthex::cli {

inline constexpr std::size_t kMaxLineBytes = std::size_t{64} << 20;

class TextSource {
 public:
  // Exactly one of the two must be given; `input` "-" is standard input. With neither, standard input is read unless it
  // is a terminal.
  static Result<TextSource> open(std::vector<std::string> texts, const std::string& input);

  // The next text, or nothing at the end. Errors name the file and the line.
  Result<std::optional<std::string>> next();

  // For a progress bar: bytes read so far, and in all (0 when not known).
  std::uint64_t bytes_read() const { return bytes_read_; }
  std::uint64_t bytes_total() const { return bytes_total_; }
  const std::string& name() const { return name_; }

 private:
  struct Close {
    void operator()(std::FILE* file) const {
      if (file != stdin) std::fclose(file);
    }
  };
  Result<bool> fill();
  Result<std::optional<std::string>> next_line();

  std::vector<std::string> texts_;
  std::size_t next_text_ = 0;
  std::unique_ptr<std::FILE, Close> file_;
  std::string name_;
  std::string buffer_;
  std::size_t at_ = 0;
  bool jsonl_ = false;
  std::uint64_t line_ = 0;
  std::uint64_t bytes_read_ = 0;
  std::uint64_t bytes_total_ = 0;
};

}  // namespace narthex::cli
