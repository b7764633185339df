// Whole files in and out, with errors that name the path.
//
//   read_file(path, max_bytes)    kLimit over the cap, kNotFound, kIo
//   write_file_atomically(path)   temporary file beside it, fsync, rename: readers see the old file or the new one
//   MappedFile::open(path)        read-only mapping; the file must not be truncated while it is mapped
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace narthex {

Result<std::string> read_file(const std::filesystem::path& path, std::uint64_t max_bytes);
Result<void> write_file_atomically(const std::filesystem::path& path, std::string_view bytes);

class MappedFile {
 public:
  // The mapping lives as long as the last copy of the pointer; tensors keep it alive by aliasing.
  static Result<std::shared_ptr<const MappedFile>> open(const std::filesystem::path& path);

  std::span<const std::byte> bytes() const { return {data_, size_}; }

  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

 private:
  MappedFile() = default;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace narthex
