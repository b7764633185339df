// Writes embeddings as they are made, as JSON, JSON lines or a NumPy file, to standard output or to a file.
//
//   NX_TRY(auto writer, EmbeddingWriter::open(format, output, job, info, model));
//   writer->rows_done()       rows that an interrupted run of the same job has left; skip that many texts
//   writer->write(embedding)  … then writer->finish()
//
// A file is written as OUTPUT.part, beside OUTPUT.part.job that says which job it belongs to, and renamed when it is
// complete: OUTPUT is never half a result. Running the same job again goes on after the last whole row (jsonl, npy;
// json starts again). Covered by tests/cli/embedding_writer_test.cc.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "models/embedder.h"

namespace narthex::cli {

enum class EmbedFormat { kJson, kJsonl, kNpy };

class EmbeddingWriter {
 public:
  // `output` empty: standard output. `job` is any text that differs when the results would (model, options, input).
  static Result<std::unique_ptr<EmbeddingWriter>> open(EmbedFormat format, const std::string& output,
                                                       const std::string& job, const EmbedderInfo& info,
                                                       const std::string& model);
  ~EmbeddingWriter();
  EmbeddingWriter(const EmbeddingWriter&) = delete;
  EmbeddingWriter& operator=(const EmbeddingWriter&) = delete;

  std::uint64_t rows_done() const { return rows_; }
  Result<void> write(const Embedding& embedding);
  // Makes what was written so far survive an interruption.
  Result<void> flush();
  Result<void> finish();

 private:
  EmbeddingWriter() = default;
  Result<void> open_part(const std::string& job);
  Result<std::uint64_t> whole_rows();
  Result<void> begin();
  Result<void> put(std::string_view bytes);
  std::unexpected<Error> failed(const char* action) const;

  EmbedFormat format_ = EmbedFormat::kJson;
  std::filesystem::path output_;
  std::filesystem::path part_;
  std::FILE* file_ = nullptr;
  EmbedderInfo info_;
  std::string model_;
  std::string line_;
  std::size_t row_values_ = 0;  // npy: every row has as many
  std::uint64_t rows_ = 0;
};

}  // namespace narthex::cli
