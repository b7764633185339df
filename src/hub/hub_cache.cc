#include "hub/hub_cache.h"

#include <unistd.h>

#include <algorithm>

#include "base/file.h"
#include "base/sha256.h"
#include "hub/disk.h"

namespace narthex {
namespace {

constexpr std::string_view kCacheTag =
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# This file marks the directory as a cache; see https://bford.info/cachedir/\n";

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}

bool is_edge_char(char c) {
  return c != '-' && c != '.';
}

bool is_repository_part(std::string_view part) {
  return !part.empty() && part.size() <= 96 && std::all_of(part.begin(), part.end(), is_name_char) &&
         is_edge_char(part.front()) && is_edge_char(part.back());
}

std::string folder_name(std::string_view repository) {
  std::string name = "models--";
  for (const char c : repository) {
    if (c == '/') {
      name += "--";
    } else {
      name += c;
    }
  }
  return name;
}

}  // namespace

Result<void> check_repository(std::string_view repository) {
  const auto slash = repository.find('/');
  const std::string_view owner = slash == std::string_view::npos ? std::string_view("x") : repository.substr(0, slash);
  const std::string_view name = slash == std::string_view::npos ? repository : repository.substr(slash + 1);
  const bool is_valid = is_repository_part(owner) && is_repository_part(name) && repository.size() <= 193 &&
                        repository.find("--") == std::string_view::npos &&
                        repository.find("..") == std::string_view::npos && !repository.ends_with(".git");
  if (is_valid) return {};
  return fail(ErrorCode::kUsage,
              "'{}' is not a repository of the hub: expected OWNER/NAME of letters, digits, '-', '_' and '.', "
              "without '--' or '..'",
              repository.substr(0, 200));
}

Result<void> check_revision(std::string_view revision) {
  if (is_safe_relative_path(revision) && revision.size() <= 255) return {};
  return fail(ErrorCode::kUsage, "'{}' is not a revision: expected a branch, a tag or a commit of 40 hex digits",
              revision.substr(0, 200));
}

Result<void> check_file(std::string_view file) {
  if (is_safe_relative_path(file)) return {};
  return fail(ErrorCode::kUsage, "'{}' is not a file of a repository: expected a relative path without '..'",
              file.substr(0, 200));
}

bool is_commit(std::string_view revision) {
  return is_lower_hex(revision, 40);
}

bool is_plain_etag(std::string_view etag) {
  return !etag.empty() && etag.size() <= 128 && etag.find('.') == std::string_view::npos &&
         std::all_of(etag.begin(), etag.end(), is_name_char);
}

HubCache::HubCache(std::filesystem::path root, std::string_view repository, bool symlinks)
    : root_(std::move(root)), folder_name_(folder_name(repository)), symlinks_(symlinks) {
  folder_ = root_ / folder_name_;
}

std::filesystem::path HubCache::blob(std::string_view etag) const {
  return folder_ / "blobs" / etag;
}

std::filesystem::path HubCache::partial(std::string_view etag) const {
  return folder_ / "blobs" / (std::string(etag) + ".narthex.incomplete");
}

std::filesystem::path HubCache::lock(std::string_view etag) const {
  return root_ / ".locks" / folder_name_ / (std::string(etag) + ".lock");
}

std::filesystem::path HubCache::pointer(std::string_view commit, std::string_view file) const {
  return folder_ / "snapshots" / commit / file;
}

std::optional<std::string> HubCache::commit_of(std::string_view revision) const {
  if (is_commit(revision)) return std::string(revision);
  auto text = read_file(folder_ / "refs" / revision, 256);
  if (!text) return std::nullopt;
  while (!text->empty() && (text->back() == '\n' || text->back() == ' ')) text->pop_back();
  if (!is_commit(*text)) return std::nullopt;
  return std::move(*text);
}

HubCache::Entry HubCache::find(std::string_view revision, std::string_view file) const {
  Entry entry;
  const auto commit = commit_of(revision);
  if (!commit) return entry;
  entry.commit = *commit;
  std::error_code ignored;
  const std::filesystem::path path = pointer(*commit, file);
  if (std::filesystem::is_regular_file(path, ignored)) {  // follows the link: a dangling one is not present
    entry.state = State::kPresent;
    entry.path = path;
  } else if (std::filesystem::exists(folder_ / ".no_exist" / *commit / file, ignored)) {
    entry.state = State::kKnownMissing;
  }
  return entry;
}

Result<std::filesystem::path> HubCache::publish(std::string_view commit, std::string_view file,
                                                std::string_view etag) const {
  std::filesystem::path path = pointer(commit, file);
  NX_TRY_VOID(make_directories(path.parent_path()));
  const std::filesystem::path temporary = path.string() + fmt::format(".{}.new", ::getpid());
  std::error_code code;
  std::filesystem::remove(temporary, code);
  if (symlinks_) {
    std::filesystem::path target = std::filesystem::path("..") / "..";
    for (const char c : file) {
      if (c == '/') target = std::filesystem::path("..") / target;
    }
    std::filesystem::create_symlink(target / "blobs" / etag, temporary, code);
  }
  if (!symlinks_ || code) NX_TRY_VOID(place_file(blob(etag), temporary));
  NX_TRY_VOID(rename_file(temporary, path));
  return path;
}

Result<void> HubCache::write_ref(std::string_view revision, std::string_view commit) const {
  if (revision == commit || commit_of(revision) == commit) return {};
  const std::filesystem::path path = folder_ / "refs" / revision;
  NX_TRY_VOID(make_directories(path.parent_path()));
  return write_file_atomically(path, commit);  // no newline: the Python client reads the whole file
}

void HubCache::remember_missing(std::string_view commit, std::string_view file) const {
  const std::filesystem::path path = folder_ / ".no_exist" / commit / file;
  if (!make_directories(path.parent_path())) return;
  [[maybe_unused]] const auto created = PartialFile::open(path);
}

Result<void> HubCache::prepare() const {
  NX_TRY_VOID(make_directories(folder_ / "blobs"));
  NX_TRY_VOID(make_directories(folder_ / "snapshots"));
  std::error_code ignored;
  const std::filesystem::path tag = root_ / "CACHEDIR.TAG";
  if (std::filesystem::exists(tag, ignored)) return {};
  return write_file_atomically(tag, kCacheTag);
}

}  // namespace narthex
