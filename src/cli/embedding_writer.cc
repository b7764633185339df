#include "cli/embedding_writer.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/file.h"
#include "base/json.h"

namespace narthex::cli {
namespace {

// One size for every header, so that the number of rows can be filled in at the end. NumPy asks for a multiple of 64.
constexpr std::size_t kNpyHeaderBytes = 128;

std::string npy_header(std::uint64_t rows, std::size_t columns) {
  std::string header("\x93NUMPY\x01\x00", 8);
  std::string dict = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", rows, columns);
  dict.resize(kNpyHeaderBytes - header.size() - 2 - 1, ' ');
  dict += '\n';
  header += static_cast<char>(dict.size() & 0xFF);
  header += static_cast<char>(dict.size() >> 8);
  return header + dict;
}

void append_values(std::string& out, std::span<const float> values) {
  out += '[';
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out += ',';
    append_json_float(out, values[i]);
  }
  out += ']';
}

void append_row(std::string& out, std::uint64_t index, const Embedding& embedding, bool per_token) {
  out += fmt::format("{{\"index\":{},\"embedding\":", index);
  if (per_token) {
    const std::size_t dim = embedding.n_vectors == 0 ? 0 : embedding.values.size() / embedding.n_vectors;
    out += '[';
    for (std::size_t v = 0; v < embedding.n_vectors; ++v) {
      if (v > 0) out += ',';
      append_values(out, std::span(embedding.values).subspan(v * dim, dim));
    }
    out += ']';
  } else {
    append_values(out, embedding.values);
  }
  out += fmt::format(",\"tokens\":{},\"truncated\":{}}}", embedding.tokens, embedding.truncated);
}

}  // namespace

std::unexpected<Error> EmbeddingWriter::failed(const char* action) const {
  return fail(ErrorCode::kIo, "{}: cannot {}: {}", part_.empty() ? "standard output" : part_.string(), action,
              std::strerror(errno));
}

Result<std::unique_ptr<EmbeddingWriter>> EmbeddingWriter::open(EmbedFormat format, const std::string& output,
                                                               const std::string& job, const EmbedderInfo& info,
                                                               const std::string& model) {
  std::unique_ptr<EmbeddingWriter> writer(new EmbeddingWriter);
  writer->format_ = format;
  writer->info_ = info;
  writer->model_ = model;
  if (output.empty()) {
    if (format == EmbedFormat::kNpy) {
      return fail(ErrorCode::kUsage,
                  "--format npy needs --output FILE: the number of rows stands at the start of the file");
    }
    writer->file_ = stdout;
    NX_TRY_VOID(writer->begin());
    return writer;
  }
  writer->output_ = output;
  writer->part_ = output + ".part";
  NX_TRY_VOID(writer->open_part(job));
  return writer;
}

EmbeddingWriter::~EmbeddingWriter() {
  if (file_ != nullptr && file_ != stdout) std::fclose(file_);
}

Result<void> EmbeddingWriter::open_part(const std::string& job) {
  const std::filesystem::path job_file = part_.string() + ".job";
  std::error_code code;
  if (std::filesystem::exists(part_, code)) {
    // Reading on where a device or a pipe stopped has no meaning, and some never end.
    if (!std::filesystem::is_regular_file(part_, code)) {
      return fail(ErrorCode::kUsage, "{}: is not a regular file; choose another --output", part_.string());
    }
    const auto left = read_file(job_file, 1 << 20);
    if (!left || *left != job) {
      return fail(ErrorCode::kUsage, "{}: was left by another job ({}); delete it, or choose another --output",
                  part_.string(), left ? *left : "its .job file is missing");
    }
  } else {
    NX_TRY_VOID(write_file_atomically(job_file, job));
  }
  file_ = std::fopen(part_.c_str(), "ab+");
  if (file_ == nullptr) return failed("open");
  NX_TRY(rows_, whole_rows());
  if (rows_ == 0) {
    if (::ftruncate(::fileno(file_), 0) != 0) return failed("truncate");
    NX_TRY_VOID(begin());
  }
  return {};
}

// Counts the whole rows that an interrupted run left, and cuts off what follows them.
Result<std::uint64_t> EmbeddingWriter::whole_rows() {
  std::uint64_t rows = 0;
  std::uint64_t keep = 0;
  if (format_ == EmbedFormat::kNpy) {
    std::fseek(file_, 0, SEEK_END);
    const auto size = static_cast<std::uint64_t>(std::ftell(file_));
    if (size < kNpyHeaderBytes || info_.dim == 0) return 0;
    rows = (size - kNpyHeaderBytes) / (info_.dim * sizeof(float));
    keep = kNpyHeaderBytes + rows * info_.dim * sizeof(float);
    row_values_ = info_.dim;
  } else if (format_ == EmbedFormat::kJsonl) {
    if (std::fseek(file_, 0, SEEK_SET) != 0) return failed("read");
    char buffer[1 << 16];
    std::uint64_t at = 0;
    while (const std::size_t got = std::fread(buffer, 1, sizeof buffer, file_)) {
      for (std::size_t i = 0; i < got; ++i) {
        ++at;
        if (buffer[i] != '\n') continue;
        ++rows;
        keep = at;
      }
    }
  }
  if (rows > 0 && ::ftruncate(::fileno(file_), static_cast<off_t>(keep)) != 0) return failed("truncate");
  return rows;
}

Result<void> EmbeddingWriter::begin() {
  if (format_ != EmbedFormat::kJson) return {};
  std::string head = "{\"model\":";
  append_json_string(head, model_);
  head += ",\"embedder\":{\"id\":";
  append_json_string(head, info_.id);
  head += fmt::format(",\"semantic\":{},\"dim\":{},\"precision\":", info_.semantic, info_.dim);
  append_json_string(head, info_.precision);
  head += ",\"isa\":";
  append_json_string(head, info_.isa);
  head += "},\"data\":[";
  return put(head);
}

Result<void> EmbeddingWriter::put(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) return failed("write");
  return {};
}

Result<void> EmbeddingWriter::write(const Embedding& embedding) {
  if (format_ == EmbedFormat::kNpy) {
    if (row_values_ == 0) {
      row_values_ = embedding.values.size();
      NX_TRY_VOID(put(npy_header(0, row_values_)));
    }
    if (embedding.values.size() != row_values_) {
      return fail(ErrorCode::kUsage,
                  "--format npy needs rows of one length, but row {} has {} values and the first {}; token "
                  "vectors (--pooling none) go into json or jsonl",
                  rows_, embedding.values.size(), row_values_);
    }
    NX_TRY_VOID(put({reinterpret_cast<const char*>(embedding.values.data()), embedding.values.size() * sizeof(float)}));
    ++rows_;
    return {};
  }
  line_.clear();
  if (format_ == EmbedFormat::kJson && rows_ > 0) line_ += ",\n";
  append_row(line_, rows_, embedding, info_.token_vectors);
  if (format_ == EmbedFormat::kJsonl) line_ += '\n';
  ++rows_;
  return put(line_);
}

Result<void> EmbeddingWriter::flush() {
  if (std::fflush(file_) != 0) return failed("write");
  return {};
}

Result<void> EmbeddingWriter::finish() {
  if (format_ == EmbedFormat::kJson) NX_TRY_VOID(put("]}\n"));
  if (format_ == EmbedFormat::kNpy && row_values_ == 0) NX_TRY_VOID(put(npy_header(0, info_.dim)));
  NX_TRY_VOID(flush());
  if (part_.empty()) return {};
  if (format_ == EmbedFormat::kNpy) {
    // The stream appends; the header is filled in through the path.
    std::FILE* header = std::fopen(part_.c_str(), "rb+");
    if (header == nullptr) return failed("open");
    const std::string bytes = npy_header(rows_, row_values_ == 0 ? info_.dim : row_values_);
    const bool written = std::fwrite(bytes.data(), 1, bytes.size(), header) == bytes.size();
    if (std::fclose(header) != 0 || !written) return failed("write");
  }
  if (::fsync(::fileno(file_)) != 0) return failed("write to disk");
  std::error_code code;
  std::filesystem::rename(part_, output_, code);
  if (code)
    return fail(ErrorCode::kIo, "{}: cannot rename to {}: {}", part_.string(), output_.string(), code.message());
  std::filesystem::remove(part_.string() + ".job", code);
  return {};
}

}  // namespace narthex::cli
