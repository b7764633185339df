// The folder layout that the hub's Python client and this one share, for one repository. No network here.
//
//   HubCache cache(settings, "BAAI/bge-small-en-v1.5");
//   cache.find("main", "config.json")     the snapshot's file, known to be missing, or unknown
//   cache.publish(commit, file, etag)     snapshots/<commit>/<file> -> ../../blobs/<etag>, relative
//   cache.write_ref("main", commit)
//
// models--org--name/{blobs,snapshots,refs,.no_exist}, locks beside it in .locks, CACHEDIR.TAG at the top. Names are
// validated by check_repository, check_revision and check_file before any path is made of them.
// Covered by tests/hub/hub_cache_test.cc.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace narthex {

Result<void> check_repository(std::string_view repository);
Result<void> check_revision(std::string_view revision);
Result<void> check_file(std::string_view file);
bool is_commit(std::string_view revision);
// An etag becomes a file name, so only what servers really send is accepted: letters, digits, '-', '_'.
bool is_plain_etag(std::string_view etag);

class HubCache {
 public:
  HubCache(std::filesystem::path root, std::string_view repository, bool symlinks);

  enum class State { kPresent, kKnownMissing, kUnknown };
  struct Entry {
    State state = State::kUnknown;
    std::filesystem::path path;  // of the snapshot's file when kPresent
    std::string commit;
  };
  // A branch or tag is looked up in refs/.
  Entry find(std::string_view revision, std::string_view file) const;

  std::filesystem::path blob(std::string_view etag) const;
  // Where a download of this etag grows. One name per etag, so that a killed process's bytes are found again; the
  // Python client ignores it.
  std::filesystem::path partial(std::string_view etag) const;
  std::filesystem::path lock(std::string_view etag) const;

  Result<std::filesystem::path> publish(std::string_view commit, std::string_view file, std::string_view etag) const;
  Result<void> write_ref(std::string_view revision, std::string_view commit) const;
  // Remembers that this commit has no such file; failure to do so is harmless.
  void remember_missing(std::string_view commit, std::string_view file) const;
  // Creates the folders and the tag that tells backup programs to leave the cache out.
  Result<void> prepare() const;

 private:
  std::optional<std::string> commit_of(std::string_view revision) const;
  std::filesystem::path pointer(std::string_view commit, std::string_view file) const;

  std::filesystem::path root_;
  std::filesystem::path folder_;
  std::string folder_name_;
  bool symlinks_;
};

}  // namespace narthex
