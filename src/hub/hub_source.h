// One file from the hub into the shared cache, by the hub's own protocol.
//
//   HubSource hub(settings, observer);
//   hub.fetch({.repository = "BAAI/bge-small-en-v1.5", .revision = "main", .file = "onnx/model.onnx"})
//
// HEAD the resolve address without automatic redirects (hub_head.cc), then GET the CDN address it names, with Range
// when an earlier attempt or an earlier, killed process left bytes (hub_download.cc). Content is checked before it gets
// its name in blobs/: its size, its etag (sha256, or git's sha1) and the pinned sha256 if there is one. That check is
// why bytes of a killed process can be used, which the Python client does not do: it does not check. A commit of 40 hex
// digits whose file is present asks no network; nothing does when offline. Covered by tests/hub/hub_source_test.cc,
// hub_faults_test.cc.
#pragma once

#include <cstdint>
#include <expected>
#include <filesystem>
#include <string>

#include "hub/disk.h"
#include "hub/hub_cache.h"
#include "hub/hub_settings.h"
#include "hub/observer.h"
#include "hub/retry.h"

namespace narthex {

struct HubRequest {
  std::string repository;
  std::string revision;
  std::string file;
  std::string sha256 = {};  // pinned content, or empty
  std::uint64_t bytes = 0;  // pinned size, or 0
  std::string shown = {};   // the name in progress reports
};

struct HubFile {
  std::filesystem::path path;  // in snapshots/, usually a symbolic link
  std::string commit;
};

struct HubFailure {
  enum class Kind {
    kNoSuchFile,   // the repository has no such file: fine for an optional one
    kUnavailable,  // unreachable, overloaded, offline: says nothing about the model
    kFatal,
  };
  Kind kind;
  Error error;
};

// What HEAD tells about a file.
struct HubMetadata {
  std::string commit;
  std::string etag;
  std::uint64_t size = 0;
  bool has_size = false;
  Url location;  // where the bytes are
};

class HubSource {
 public:
  HubSource(HubSettings settings, const PullObserver& observer);

  std::expected<HubFile, HubFailure> fetch(const HubRequest& request);

 private:
  using Metadata = std::expected<HubMetadata, HubFailure>;
  using Done = std::expected<void, HubFailure>;

  Metadata head(const HubRequest& request, const HubCache& cache) const;
  Metadata head_once(const HubRequest& request, const HubCache& cache,
                     std::optional<std::chrono::seconds>& asked) const;
  Metadata read_metadata(const HubRequest& request, const HttpResponse& response, const Url& at,
                         HubMetadata found) const;
  HubFailure refusal(const HubRequest& request, const HttpResponse& response, const HubCache& cache) const;

  Done ensure_blob(const HubRequest& request, const HubCache& cache, HubMetadata metadata) const;
  Done download(const HubRequest& request, const HubCache& cache, HubMetadata& metadata, PartialFile& file) const;
  // One GET. Says in `again` whether HEAD must name a fresh address first.
  Done get_once(const HubRequest& request, const HubMetadata& metadata, PartialFile& file,
                std::optional<std::chrono::seconds>& asked, bool& is_expired) const;
  Result<void> verify(const HubRequest& request, const HubMetadata& metadata, const std::filesystem::path& path) const;

  std::vector<std::pair<std::string, std::string>> headers_for(const Url& url) const;
  Result<Url> resolve_address(const HubRequest& request) const;
  bool is_hub_host(const Url& url) const;

  HubSettings settings_;
  const PullObserver& observer_;
  Url endpoint_;
  HttpClient head_client_;
  HttpClient get_client_;
};

}  // namespace narthex
