#include "artifact/source_index.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/sha256.h"
#include "base/utf8.h"
#include "onnx/read.h"

namespace narthex {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kVersion = 1;
// Some 300 bytes each: a folder of models has a few dozen files.
constexpr std::size_t kMaxEntries = 1024;
constexpr std::uint64_t kMaxBytes = std::uint64_t{4} << 20;

std::int64_t nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

std::string path_of(const fs::path& file) {
  std::error_code code;
  const fs::path path = fs::absolute(file, code);
  return (code ? file : path).lexically_normal().string();
}

Result<std::vector<std::string>> external_data_of(const fs::path& file) {
  if (file.extension() != ".onnx") return std::vector<std::string>();
  NX_TRY(const auto model, onnx::read_model(file));
  return model->external_locations;
}

// Throws what Boost.JSON throws where the structure is another one.
std::int64_t integer(const json::object& object, std::string_view name) {
  return object.at(name).as_int64();
}

}  // namespace

Result<SourceIndex::State> SourceIndex::state_of(const fs::path& file) {
  struct stat info{};
  if (::stat(file.c_str(), &info) != 0) {
    const int code = errno;
    return fail(code == ENOENT || code == ENOTDIR ? ErrorCode::kNotFound : ErrorCode::kIo, "{}: cannot be read: {}",
                file.string(), std::strerror(code));
  }
  return State{static_cast<std::int64_t>(info.st_dev), static_cast<std::int64_t>(info.st_ino),
               static_cast<std::int64_t>(info.st_size), nanoseconds(info.st_mtim), nanoseconds(info.st_ctim)};
}

// Whether a change after now would show in the times, whatever their resolution. Times in the future never settle.
bool SourceIndex::is_settled(const State& state) {
  constexpr std::int64_t kCoarsestClock = 2'000'000'000;
  const auto now =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch());
  return std::max(state.modified_ns, state.changed_ns) < now.count() - kCoarsestClock;
}

SourceIndex SourceIndex::read(const fs::path& path) {
  SourceIndex index;
  index.path_ = path;
  const auto text = read_file(path, kMaxBytes);
  if (text) index.parse(*text);
  return index;
}

void SourceIndex::parse(std::string_view text) {
  const auto value = parse_json(text, "index");
  if (!value) return;
  try {
    const json::object& root = value->as_object();
    if (integer(root, "version") != kVersion) return;
    for (const auto& item : root.at("files").as_array()) {
      const json::object& file = item.as_object();
      Entry entry;
      entry.state = {integer(file, "device"), integer(file, "inode"), integer(file, "size"),
                     integer(file, "modified_ns"), integer(file, "changed_ns")};
      entry.sha256 = file.at("sha256").as_string();
      for (const auto& location : file.at("external").as_array()) entry.external.emplace_back(location.as_string());
      if (is_lower_hex(entry.sha256, 64)) entries_[std::string(file.at("path").as_string())] = std::move(entry);
    }
  } catch (const std::exception&) {
    entries_.clear();  // some other program's, or an older one's
  }
}

Result<SourceIndex::Entry> SourceIndex::entry_of(const fs::path& file) {
  const std::string path = path_of(file);
  NX_TRY(const State state, state_of(file));
  if (const auto known = entries_.find(path); known != entries_.end() && known->second.state == state)
    return known->second;
  Entry entry{state, {}, {}};
  NX_TRY(entry.sha256, sha256_of_file(file));
  NX_TRY(entry.external, external_data_of(file));
  NX_TRY(const State after, state_of(file));
  if (after == state && is_settled(state) && find_invalid_utf8(path) == std::string::npos) {
    if (entries_.size() >= kMaxEntries) entries_.erase(entries_.begin());
    entries_[path] = entry;
    changed_ = true;
  }
  return entry;
}

Result<SourceDigest> SourceIndex::digest_of(const fs::path& file) {
  NX_TRY(const Entry entry, entry_of(file));
  SourceDigest digest{entry.sha256, {}};
  for (const std::string& location : entry.external) {
    NX_TRY(const Entry data, entry_of(file.parent_path() / location));
    digest.external.emplace_back(location, data.sha256);
  }
  return digest;
}

void SourceIndex::write() const {
  if (!changed_) return;
  std::string text = fmt::format("{{\"version\": {}, \"files\": [", kVersion);
  const char* separator = "\n";
  for (const auto& [path, entry] : entries_) {
    text += separator;
    separator = ",\n";
    text += "{\"path\": ";
    append_json_string(text, path);
    const auto& [device, inode, size, modified_ns, changed_ns] = entry.state;
    text += fmt::format(
        ", \"device\": {}, \"inode\": {}, \"size\": {}, \"modified_ns\": {}, \"changed_ns\": {}, \"sha256\": \"{}\", "
        "\"external\": [",
        device, inode, size, modified_ns, changed_ns, entry.sha256);
    for (std::size_t i = 0; i < entry.external.size(); ++i) {
      text += i == 0 ? "" : ", ";
      append_json_string(text, entry.external[i]);
    }
    text += "]}";
  }
  text += "\n]}\n";
  std::error_code ignored;
  if (path_.has_parent_path()) fs::create_directories(path_.parent_path(), ignored);
  const auto written = write_file_atomically(path_, text);
  if (!written) log_debug("every start hashes the models' files: {}", written.error().message);
}

}  // namespace narthex
