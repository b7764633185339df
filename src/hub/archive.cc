#include "hub/archive.h"

#include <minizip/unzip.h>

#include <memory>
#include <vector>

#include "hub/disk.h"

namespace narthex {
namespace {

constexpr std::size_t kBlock = 256 * 1024;
constexpr unsigned long kEncrypted = 1;  // bit of a member's general purpose flags

struct CloseArchive {
  void operator()(void* archive) const { ::unzClose(archive); }
};

}  // namespace

Result<void> extract_member(const std::filesystem::path& archive, const std::string& member,
                            const std::filesystem::path& to, const ExtractLimits& limits) {
  const std::unique_ptr<void, CloseArchive> zip(::unzOpen64(archive.c_str()));
  if (!zip) return fail(ErrorCode::kBadInput, "{}: is not a readable zip archive", archive.string());
  constexpr int kCaseSensitive = 1;
  if (::unzLocateFile(zip.get(), member.c_str(), kCaseSensitive) != UNZ_OK) {
    return fail(ErrorCode::kNotFound, "{}: has no member '{}'", archive.string(), member);
  }
  unz_file_info64 info{};
  const auto damaged = [&](const char* how) {
    return fail(ErrorCode::kBadInput, "{}: member '{}' {}", archive.string(), member, how);
  };
  if (::unzGetCurrentFileInfo64(zip.get(), &info, nullptr, 0, nullptr, 0, nullptr, 0) != UNZ_OK)
    return damaged("is damaged");
  if ((info.flag & kEncrypted) != 0) return damaged("is encrypted");
  const std::uint64_t n_bytes = info.uncompressed_size;
  if (limits.bytes != 0 && n_bytes != limits.bytes) {
    return fail(ErrorCode::kBadInput, "{}: member '{}' has {} bytes, expected {}", archive.string(), member, n_bytes,
                limits.bytes);
  }
  if (n_bytes > limits.max_bytes) {
    return fail(ErrorCode::kLimit, "{}: member '{}' has {} bytes, at most {} are extracted", archive.string(), member,
                n_bytes, limits.max_bytes);
  }
  if (::unzOpenCurrentFile(zip.get()) != UNZ_OK) return damaged("is compressed in a way that is not supported");
  NX_TRY(PartialFile out, PartialFile::open(to));
  NX_TRY_VOID(out.truncate());
  std::vector<char> block(kBlock);
  for (;;) {
    const int got = ::unzReadCurrentFile(zip.get(), block.data(), static_cast<unsigned>(block.size()));
    if (got < 0) return damaged("is damaged");
    if (got == 0) break;
    if (out.size() + static_cast<std::uint64_t>(got) > n_bytes) return damaged("is larger than it says");
    NX_TRY_VOID(out.append(std::string_view(block.data(), static_cast<std::size_t>(got))));
    if (limits.on_progress && !limits.on_progress(out.size(), n_bytes)) {
      return fail(ErrorCode::kCancelled, "{}: cancelled", archive.string());
    }
  }
  if (::unzCloseCurrentFile(zip.get()) != UNZ_OK) return damaged("is damaged: its checksum does not match");
  if (out.size() != n_bytes) return damaged("is cut short");
  return out.sync();
}

}  // namespace narthex
