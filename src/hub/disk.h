// The file operations that downloads need: locks between processes, files that grow, links that fall back to copies.
//
//   FileLock::take(path, "bge-small", observer)   waits for other processes, says so once, can be cancelled
//   PartialFile::open(path)                        append, truncate, sync
//   place_file(from, to)                           hard link, else copy: the bytes are on disk once where possible
//
// Covered by tests/hub/disk_test.cc.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "hub/observer.h"

namespace narthex {

// A file's descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor();
  int get() const { return fd_; }

 private:
  int fd_;
};

// flock on a file of its own; released when destroyed, and by the system when the process dies.
class FileLock {
 public:
  static Result<FileLock> take(const std::filesystem::path& path, std::string_view what, const PullObserver& observer);

 private:
  explicit FileLock(Descriptor file) : file_(std::move(file)) {}
  Descriptor file_;
};

class PartialFile {
 public:
  // Opens or creates; what an earlier process left is kept. A symbolic link in its place is refused.
  static Result<PartialFile> open(const std::filesystem::path& path);

  std::uint64_t size() const { return size_; }
  Result<void> append(std::string_view bytes);
  Result<void> truncate();
  Result<void> sync();

 private:
  PartialFile(std::filesystem::path path, Descriptor file, std::uint64_t size)
      : path_(std::move(path)), file_(std::move(file)), size_(size) {}
  std::filesystem::path path_;
  Descriptor file_;
  std::uint64_t size_ = 0;
};

Result<void> make_directories(const std::filesystem::path& path);
Result<void> rename_file(const std::filesystem::path& from, const std::filesystem::path& to);
Result<void> place_file(const std::filesystem::path& from, const std::filesystem::path& to);
// Makes renames and new names in a directory last through a power cut.
void sync_directory(const std::filesystem::path& path);
// A path that stays inside the folder it is appended to: relative, no "..", no empty part, no control characters.
bool is_safe_relative_path(std::string_view path);

}  // namespace narthex
