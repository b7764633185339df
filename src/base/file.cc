#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace narthex {
namespace {

struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

std::unexpected<Error> io_error(const std::filesystem::path& path, const char* action) {
  const int code = errno;
  return fail(code == ENOENT || code == ENOTDIR ? ErrorCode::kNotFound : ErrorCode::kIo, "{}: cannot {}: {}",
              path.string(), action, std::strerror(code));
}

// Opens a regular file and reads its size; directories and devices are refused.
Result<std::uint64_t> open_regular(const std::filesystem::path& path, Descriptor& file) {
  file.fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file.fd < 0) return io_error(path, "open");
  struct stat info{};
  if (::fstat(file.fd, &info) != 0) return io_error(path, "stat");
  if (!S_ISREG(info.st_mode)) return fail(ErrorCode::kBadInput, "{}: is not a regular file", path.string());
  return static_cast<std::uint64_t>(info.st_size);
}

}  // namespace

Result<std::string> read_file(const std::filesystem::path& path, std::uint64_t max_bytes) {
  Descriptor file;
  NX_TRY(const std::uint64_t size, open_regular(path, file));
  if (size > max_bytes) {
    return fail(ErrorCode::kLimit, "{}: has {} bytes, at most {} are read", path.string(), size, max_bytes);
  }
  std::string bytes(size, '\0');
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::read(file.fd, bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return io_error(path, "read");
    if (got == 0) break;  // truncated while reading: what is there is what the caller checks
    done += static_cast<std::size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

Result<void> write_file_atomically(const std::filesystem::path& path, std::string_view bytes) {
  std::string temporary = path.string() + ".XXXXXX";
  Descriptor file;
  file.fd = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (file.fd < 0) return io_error(path, "create a temporary file beside it");
  ::fchmod(file.fd, 0644);
  const auto give_up = [&](const char* action) {
    auto error = io_error(path, action);
    ::unlink(temporary.c_str());
    return error;
  };
  while (!bytes.empty()) {
    const ssize_t put = ::write(file.fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return give_up("write");
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  if (::fsync(file.fd) != 0) return give_up("write to disk");
  if (::rename(temporary.c_str(), path.c_str()) != 0) return give_up("replace");
  return {};
}

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::filesystem::path& path) {
  Descriptor file;
  NX_TRY(const std::uint64_t size, open_regular(path, file));
  std::shared_ptr<MappedFile> mapped(new MappedFile);
  if (size > 0) {
    void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
    if (address == MAP_FAILED) return io_error(path, "map");
    mapped->data_ = static_cast<const std::byte*>(address);
    mapped->size_ = size;
  }
  return mapped;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace narthex
