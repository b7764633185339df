#include "hub/disk.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

namespace narthex {
namespace {

constexpr std::chrono::milliseconds kLockPoll{50};
constexpr std::size_t kMaxPath = 1024;

std::unexpected<Error> io_error(const std::filesystem::path& path, std::string_view action) {
  const int code = errno;
  return fail(ErrorCode::kIo, "{}: cannot {}: {}", path.string(), action, std::strerror(code));
}

}  // namespace

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

Result<FileLock> FileLock::take(const std::filesystem::path& path, std::string_view what,
                                const PullObserver& observer) {
  NX_TRY_VOID(make_directories(path.parent_path()));
  bool told = false;
  for (;;) {
    Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (file.get() < 0) return io_error(path, "open the lock");
    while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EINTR) continue;
      if (errno != EWOULDBLOCK) return io_error(path, "lock");
      if (observer.is_cancelled())
        return fail(ErrorCode::kCancelled, "{}: cancelled while waiting for another process", what);
      if (!told) observer.message(fmt::format("{}: another process is fetching it; waiting", what));
      told = true;
      std::this_thread::sleep_for(kLockPoll);
    }
    // The Python client may have removed the file between open and flock: then the lock is on a name nobody sees.
    struct stat held{};
    struct stat named{};
    if (::fstat(file.get(), &held) == 0 && ::stat(path.c_str(), &named) == 0 && held.st_ino == named.st_ino) {
      return FileLock(std::move(file));
    }
  }
}

Result<PartialFile> PartialFile::open(const std::filesystem::path& path) {
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_APPEND, 0666));
  if (file.get() < 0) return io_error(path, "open");
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) return io_error(path, "stat");
  if (!S_ISREG(info.st_mode)) return fail(ErrorCode::kIo, "{}: is not a regular file", path.string());
  return PartialFile(path, std::move(file), static_cast<std::uint64_t>(info.st_size));
}

Result<void> PartialFile::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(file_.get(), bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return io_error(path_, "write");
    size_ += static_cast<std::uint64_t>(put);
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return {};
}

Result<void> PartialFile::truncate() {
  if (::ftruncate(file_.get(), 0) != 0) return io_error(path_, "truncate");
  size_ = 0;
  return {};
}

Result<void> PartialFile::sync() {
  if (::fsync(file_.get()) != 0) return io_error(path_, "write to disk");
  return {};
}

Result<void> make_directories(const std::filesystem::path& path) {
  std::error_code code;
  std::filesystem::create_directories(path, code);
  if (code) return fail(ErrorCode::kIo, "{}: cannot create the directory: {}", path.string(), code.message());
  return {};
}

Result<void> rename_file(const std::filesystem::path& from, const std::filesystem::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return io_error(from, fmt::format("rename to {}", to.string()));
  sync_directory(to.parent_path());
  return {};
}

Result<void> place_file(const std::filesystem::path& from, const std::filesystem::path& to) {
  std::error_code code;
  const std::filesystem::path real =
      std::filesystem::canonical(from, code);  // a link would break when its cache is emptied
  if (code) return fail(ErrorCode::kIo, "{}: cannot be read: {}", from.string(), code.message());
  std::filesystem::remove(to, code);
  if (::link(real.c_str(), to.c_str()) == 0) return {};
  std::filesystem::copy_file(real, to, code);
  if (code) return fail(ErrorCode::kIo, "{}: cannot be copied to {}: {}", from.string(), to.string(), code.message());
  NX_TRY(PartialFile copy, PartialFile::open(to));
  return copy.sync();
}

void sync_directory(const std::filesystem::path& path) {
  const Descriptor directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() >= 0) ::fsync(directory.get());  // some file systems cannot; the rename stands all the same
}

bool is_safe_relative_path(std::string_view path) {
  if (path.empty() || path.size() > kMaxPath) return false;
  for (const char c : path) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F || c == '\\') return false;
  }
  while (true) {
    const auto slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (part.empty() || part == "." || part == ".." || part.size() > 255) return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

}  // namespace narthex
