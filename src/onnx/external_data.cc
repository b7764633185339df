#include "onnx/external_data.h"

#include <algorithm>
#include <system_error>

#include "onnx/foreign.h"

namespace narthex::onnx {
namespace {

namespace fs = std::filesystem;

bool is_inside(const fs::path& path, const fs::path& directory) {
  const auto [d, p] = std::mismatch(directory.begin(), directory.end(), path.begin(), path.end());
  return d == directory.end() && p != path.end();
}

// True if `directory` is …/REPO/snapshots/REVISION[/…] and `target` is directly in …/REPO/blobs. Both are canonical, so
// a blobs folder that is itself a symlink to elsewhere does not match.
bool is_hub_blob(const fs::path& target, const fs::path& directory) {
  fs::path inner = directory;
  while (inner.has_relative_path()) {
    const fs::path parent = inner.parent_path();
    if (parent.filename() == "snapshots" && target.parent_path() == parent.parent_path() / "blobs") return true;
    inner = parent;
  }
  return false;
}

Result<fs::path> resolve(const fs::path& directory, std::string_view location) {
  if (location.empty()) return fail(ErrorCode::kBadModel, "its external data has no location");
  if (location.find('\0') != std::string_view::npos) {
    return fail(ErrorCode::kBadModel, "the location {} of its external data has a zero byte", show_name(location));
  }
  const fs::path relative(location);
  if (relative.is_absolute() || std::ranges::find(relative, fs::path("..")) != relative.end()) {
    return fail(
        ErrorCode::kBadModel,
        "the location {} of its external data leaves the model's directory; only files beside the model are read",
        show_name(location));
  }
  std::error_code error;
  const fs::path base = fs::canonical(directory, error);
  if (error) return fail(ErrorCode::kNotFound, "{}: {}", directory.string(), error.message());
  fs::path target = fs::canonical(base / relative, error);
  if (error) {
    return fail(ErrorCode::kNotFound, "its data lies in {}, which is not in {} ({}); put that file beside the model",
                show_name(location), base.string(), error.message());
  }
  if (!is_inside(target, base) && !is_hub_blob(target, base)) {
    return fail(ErrorCode::kBadModel,
                "the location {} of its external data is a link out of the model's directory; only files beside the "
                "model are read",
                show_name(location));
  }
  return target;
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> ExternalFiles::open(std::string_view location) {
  if (!directory_) {
    return fail(ErrorCode::kBadModel, "its data lies in {}, but the model was read from memory without a directory",
                show_name(location));
  }
  if (const auto known = files_.find(location); known != files_.end()) return known->second;
  if (files_.size() >= max_files_) {
    return fail(ErrorCode::kLimit, "the model's external data lies in more than {} files", max_files_);
  }
  NX_TRY(const std::filesystem::path path, resolve(*directory_, location));
  NX_TRY(std::shared_ptr<const MappedFile> file, MappedFile::open(path));
  files_.emplace(std::string(location), file);
  return file;
}

std::vector<std::string> ExternalFiles::locations() const {
  std::vector<std::string> all;
  for (const auto& [location, file] : files_) all.push_back(location);
  return all;
}

}  // namespace narthex::onnx
