// Writing an artifact: sizes and checksums first, so that the file is written once from front to back, and no second
// copy of the weights is made in memory.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "artifact/artifact.h"
#include "artifact/bytes.h"
#include "artifact/format.h"
#include "artifact/plan_codec.h"
#include "base/sha256.h"
#include "plan/packed_validate.h"

namespace narthex {
namespace {

namespace fs = std::filesystem;
using artifact::DirectoryEntry;
using artifact::Header;
using artifact::round_up;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span<const char>(text.data(), text.size()));
}

// What goes into the file, in the order of the file.
struct Piece {
  std::uint64_t offset;
  std::span<const std::byte> bytes;
};

struct Layout {
  Header header{};
  std::string metadata, plan;
  std::vector<DirectoryEntry> directory;
  std::vector<Piece> pieces;
};

std::string encode_metadata(const std::map<std::string, std::string>& metadata) {
  artifact::ByteWriter writer;
  writer.number(static_cast<std::uint32_t>(metadata.size()));
  for (const auto& [name, value] : metadata) {
    writer.text(name);
    writer.text(value);
  }
  return writer.bytes();
}

// Gives the constants of one section their offsets; returns the section's size.
std::uint64_t place_constants(const artifact::ConstantPool& pool, bool tables, std::uint64_t section_offset,
                              Layout& layout) {
  std::uint64_t used = 0;
  for (std::size_t i = 0; i < pool.entries().size(); ++i) {
    const auto& [constant, checksum, table] = pool.entries()[i];
    if (table != tables) continue;
    used = round_up(used, tables ? artifact::kPage : artifact::kAlign);
    layout.directory[i] = {used, constant.bytes, checksum, tables ? artifact::kTables : artifact::kWeights};
    layout.pieces.push_back({section_offset + used, {constant.data, constant.bytes}});
    used += constant.bytes;
  }
  return used;
}

void lay_out(const ArtifactContents& contents, Layout& layout) {
  artifact::ConstantPool pool;
  layout.metadata = encode_metadata(contents.metadata);
  if (contents.plan != nullptr) layout.plan = artifact::encode_plan(*contents.plan, pool);
  layout.directory.resize(pool.entries().size());

  Header& header = layout.header;
  std::memcpy(header.magic, artifact::kMagic, sizeof header.magic);
  header.byte_order = artifact::kByteOrder;
  header.version = kArtifactVersion;
  std::memcpy(header.key, contents.key.data(), artifact::kKeyDigits);
  const std::span<const std::byte> small[] = {bytes_of(layout.metadata), bytes_of(layout.plan),
                                              std::as_bytes(std::span(layout.directory)), contents.tokenizer};
  std::uint64_t end = sizeof(Header);
  for (std::size_t id = 0; id < std::size(small); ++id) {
    header.sections[id] = {round_up(end, artifact::kAlign), small[id].size(), 0};
    layout.pieces.push_back({header.sections[id].offset, small[id]});
    end = header.sections[id].offset + small[id].size();
  }
  for (const auto id : {artifact::kWeights, artifact::kTables}) {
    const std::uint64_t offset = round_up(end, artifact::kPage);
    header.sections[id] = {offset, place_constants(pool, id == artifact::kTables, offset, layout), 0};
    end = offset + header.sections[id].bytes;
  }
  header.file_bytes = end;
  for (std::size_t id = 0; id < std::size(small); ++id)
    header.sections[id].checksum = artifact::checksum_of(small[id]);  // only now is the directory filled in
  header.checksum = artifact::checksum_of(artifact::checked_part(header));
}

// A file that is removed unless it is put in its place.
class TemporaryFile {
 public:
  static Result<TemporaryFile> beside(const fs::path& path) {
    TemporaryFile file(path);
    file.fd_ = ::mkostemp(file.name_.data(), O_CLOEXEC);
    if (file.fd_ < 0) return file.error("create a temporary file beside it");
    ::fchmod(file.fd_, 0644);
    return file;
  }
  TemporaryFile(TemporaryFile&& other) noexcept
      : path_(std::move(other.path_)),
        name_(std::move(other.name_)),
        fd_(std::exchange(other.fd_, -1)),
        offset_(other.offset_) {}
  TemporaryFile& operator=(TemporaryFile&&) = delete;
  ~TemporaryFile() {
    if (fd_ < 0) return;
    ::close(fd_);
    ::unlink(name_.c_str());
  }

  // Zeros up to `offset`, then the bytes.
  Result<void> write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
    static constexpr std::byte kZeros[artifact::kPage] = {};
    while (offset_ < offset)
      NX_TRY_VOID(write({kZeros, static_cast<std::size_t>(std::min<std::uint64_t>(offset - offset_, sizeof kZeros))}));
    return write(bytes);
  }
  Result<void> place() {
    if (::fsync(fd_) != 0) return error("write to disk");
    if (::rename(name_.c_str(), path_.c_str()) != 0) return error("replace");
    ::close(std::exchange(fd_, -1));
    return {};
  }

 private:
  explicit TemporaryFile(const fs::path& path) : path_(path), name_(path.string() + ".XXXXXX") {}
  std::unexpected<Error> error(const char* action) const {
    return fail(ErrorCode::kIo, "{}: cannot {}: {}", path_.string(), action, std::strerror(errno));
  }
  Result<void> write(std::span<const std::byte> bytes) {
    offset_ += bytes.size();
    while (!bytes.empty()) {
      const ssize_t put = ::write(fd_, bytes.data(), bytes.size());
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return error("write");
      bytes = bytes.subspan(static_cast<std::size_t>(put));
    }
    return {};
  }

  fs::path path_;
  std::string name_;
  int fd_ = -1;
  std::uint64_t offset_ = 0;
};

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

// What writers that were killed have left beside `path`. An hour is longer than anybody writes.
void remove_leftovers(const fs::path& path) {
  const std::string prefix = path.filename().string() + ".";
  std::error_code code;
  for (fs::directory_iterator it(folder_of(path), code), end; !code && it != end; it.increment(code)) {
    std::error_code ignored;
    const std::string name = it->path().filename().string();
    if (!name.starts_with(prefix) || name.size() != prefix.size() + 6) continue;
    if (fs::file_time_type::clock::now() - it->last_write_time(ignored) < std::chrono::hours(1) || ignored) continue;
    fs::remove(it->path(), ignored);
  }
}

}  // namespace

Result<void> write_artifact(const fs::path& path, const ArtifactContents& contents) {
  if (!is_lower_hex(contents.key, artifact::kKeyDigits))
    return fail(ErrorCode::kUsage, "{}: '{}' is no key of a compiled model", path.string(), contents.key);
  if (contents.plan != nullptr) NX_TRY_VOID(validate(*contents.plan));
  std::error_code code;
  fs::create_directories(folder_of(path), code);
  if (code) return fail(ErrorCode::kIo, "{}: cannot create the folder: {}", folder_of(path).string(), code.message());
  remove_leftovers(path);
  Layout layout;
  lay_out(contents, layout);
  NX_TRY(TemporaryFile file, TemporaryFile::beside(path));
  NX_TRY_VOID(file.write_at(0, std::as_bytes(std::span(&layout.header, 1))));
  for (const Piece& piece : layout.pieces) NX_TRY_VOID(file.write_at(piece.offset, piece.bytes));
  // The tables' section ends with its last constant; without one, at its page.
  NX_TRY_VOID(file.write_at(layout.header.file_bytes, {}));
  return file.place();
}

}  // namespace narthex
