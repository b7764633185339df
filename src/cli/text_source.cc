#include "cli/text_source.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/json.h"

namespace narthex::cli {

Result<TextSource> TextSource::open(std::vector<std::string> texts, const std::string& input) {
  TextSource source;
  if (!texts.empty() && !input.empty()) {
    return fail(ErrorCode::kUsage, "give texts as arguments or with --input, not both");
  }
  if (!texts.empty()) {
    source.texts_ = std::move(texts);
    source.name_ = "arguments";
    return source;
  }
  if (input.empty() && ::isatty(STDIN_FILENO) != 0) {
    return fail(ErrorCode::kUsage,
                "no text given: pass texts as arguments, or a file with --input (- is standard input)");
  }
  if (input.empty() || input == "-") {
    source.file_.reset(stdin);
    source.name_ = "standard input";
    return source;
  }
  source.name_ = input;
  source.file_.reset(std::fopen(input.c_str(), "rb"));
  if (source.file_ == nullptr) {
    return fail(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo, "{}: cannot open: {}", input,
                std::strerror(errno));
  }
  struct stat info{};
  if (::fstat(::fileno(source.file_.get()), &info) == 0) {
    if (S_ISDIR(info.st_mode)) return fail(ErrorCode::kBadInput, "{}: is a directory, expected a file of texts", input);
    source.bytes_total_ = static_cast<std::uint64_t>(info.st_size);
  }
  source.jsonl_ = input.ends_with(".jsonl");
  return source;
}

Result<bool> TextSource::fill() {
  buffer_.resize(std::size_t{1} << 16);
  at_ = 0;
  const std::size_t got = std::fread(buffer_.data(), 1, buffer_.size(), file_.get());
  const int code = errno;
  buffer_.resize(got);
  bytes_read_ += got;
  if (got == 0 && std::ferror(file_.get()) != 0) {
    return fail(ErrorCode::kIo, "{}: cannot read: {}", name_, std::strerror(code));
  }
  return got > 0;
}

Result<std::optional<std::string>> TextSource::next_line() {
  std::string line;
  bool any = false;
  while (true) {
    if (at_ == buffer_.size()) {
      NX_TRY(const bool more, fill());
      if (!more) break;
    }
    any = true;
    const std::size_t newline = buffer_.find('\n', at_);
    const std::size_t end = newline == std::string::npos ? buffer_.size() : newline;
    line.append(buffer_, at_, end - at_);
    at_ = newline == std::string::npos ? end : end + 1;
    if (line.size() > kMaxLineBytes) {
      return fail(ErrorCode::kLimit, "{}: line {} is longer than {} bytes", name_, line_ + 1, kMaxLineBytes);
    }
    if (newline != std::string::npos) break;
  }
  if (!any) return std::nullopt;
  ++line_;
  if (!line.empty() && line.back() == '\r') line.pop_back();
  return line;
}

Result<std::optional<std::string>> TextSource::next() {
  if (file_ == nullptr) {
    if (next_text_ == texts_.size()) return std::nullopt;
    return std::move(texts_[next_text_++]);
  }
  NX_TRY(std::optional<std::string> line, next_line());
  if (!line || !jsonl_) return line;
  const std::string where = fmt::format("{}: line {}", name_, line_);
  NX_TRY(const json::value row, parse_json(*line, where));
  const json::value* text = row.is_object() ? row.as_object().if_contains("text") : nullptr;
  if (text == nullptr || !text->is_string()) {
    return fail(ErrorCode::kBadInput, "{}: must be a JSON object with a string member 'text'", where);
  }
  return std::string(text->as_string());
}

}  // namespace narthex::cli
