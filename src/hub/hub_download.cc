// The fetching half of hub_source.h: what is asked of the network at all, transfers with resume, and the checks at the
// end.
#include <charconv>

#include "base/sha256.h"
#include "hub/disk.h"
#include "hub/hub_source.h"

namespace narthex {
namespace {

using Kind = HubFailure::Kind;

constexpr int kMaxRedirects = 5;
constexpr int kMaxFreshAddresses = 5;

std::unexpected<HubFailure> fatal(Error error) {
  return std::unexpected(HubFailure{Kind::kFatal, std::move(error)});
}

template <class... Args>
std::unexpected<HubFailure> failure(Kind kind, ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return std::unexpected(HubFailure{kind, Error{code, fmt::format(format, std::forward<Args>(args)...)}});
}

bool is_checkable(std::string_view etag) {
  return is_lower_hex(etag, 40) || is_lower_hex(etag, 64);
}

// "bytes 100-199/200" -> 100
std::optional<std::uint64_t> range_start(const std::string& text) {
  constexpr std::string_view kPrefix = "bytes ";
  if (!text.starts_with(kPrefix)) return std::nullopt;
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data() + kPrefix.size(), text.data() + text.size(), value);
  if (code != std::errc() || end == text.data() + text.size() || *end != '-') return std::nullopt;
  return value;
}

HttpOptions with_timeout(const HubSettings& settings, std::chrono::milliseconds timeout, const PullObserver& observer) {
  HttpOptions options = settings.http;
  options.connect_timeout = settings.connect_timeout;
  options.idle_timeout = timeout;
  options.cancelled = [&observer] { return observer.is_cancelled(); };
  return options;
}

}  // namespace

HubSource::HubSource(HubSettings settings, const PullObserver& observer)
    : settings_(std::move(settings)),
      observer_(observer),
      head_client_(with_timeout(settings_, settings_.head_timeout, observer)),
      get_client_(with_timeout(settings_, settings_.download_timeout, observer)) {
  if (auto endpoint = parse_url(settings_.endpoint)) endpoint_ = std::move(*endpoint);
}

std::expected<HubFile, HubFailure> HubSource::fetch(const HubRequest& request) {
  for (const auto& checked :
       {check_repository(request.repository), check_revision(request.revision), check_file(request.file)}) {
    if (!checked) return fatal(checked.error());
  }
  const HubCache cache(settings_.cache, request.repository, settings_.symlinks);
  const HubCache::Entry known = cache.find(request.revision, request.file);
  const auto is_settled = [&] { return is_commit(request.revision) || settings_.offline; };
  const auto from_cache = [&](const HubCache::Entry& entry) -> std::expected<HubFile, HubFailure> {
    return HubFile{entry.path, entry.commit};
  };
  if (is_settled() && known.state == HubCache::State::kPresent) return from_cache(known);
  if (is_settled() && known.state == HubCache::State::kKnownMissing) {
    return failure(Kind::kNoSuchFile, ErrorCode::kNotFound, "{}: {} has no such file", request.file,
                   request.repository);
  }
  if (settings_.offline) {
    return failure(Kind::kUnavailable, ErrorCode::kNotFound,
                   "{} of {} is not in the cache {}, and HF_HUB_OFFLINE forbids to ask the hub", request.file,
                   request.repository, settings_.cache.string());
  }
  auto metadata = head(request, cache);
  if (!metadata) {
    // A branch that was fetched before is still a good answer when the hub is down, as the Python client finds too.
    if (metadata.error().kind == Kind::kUnavailable && known.state == HubCache::State::kPresent) {
      observer_.message(fmt::format("{}; using the copy in the cache", metadata.error().error.message));
      return from_cache(known);
    }
    return std::unexpected(std::move(metadata).error());
  }
  const std::string commit = metadata->commit;
  const std::string etag = metadata->etag;
  if (auto ready = cache.prepare(); !ready) return fatal(std::move(ready).error());
  if (auto done = ensure_blob(request, cache, std::move(*metadata)); !done)
    return std::unexpected(std::move(done).error());
  auto path = cache.publish(commit, request.file, etag);
  if (!path) return fatal(std::move(path).error());
  // Last, so that a branch never points at a commit none of whose files is here.
  if (auto written = cache.write_ref(request.revision, commit); !written) return fatal(std::move(written).error());
  return HubFile{std::move(*path), commit};
}

HubSource::Done HubSource::ensure_blob(const HubRequest& request, const HubCache& cache, HubMetadata metadata) const {
  auto lock = FileLock::take(cache.lock(metadata.etag), request.file, observer_);
  if (!lock) return fatal(std::move(lock).error());
  const std::filesystem::path blob = cache.blob(metadata.etag);
  std::error_code ignored;
  if (std::filesystem::is_regular_file(blob, ignored)) {
    // The Python client does not check what it downloads, and a disk may rot.
    if (verify(request, metadata, blob)) return {};
    observer_.message(fmt::format("{}: the cached copy is damaged; fetching it again", request.file));
    std::filesystem::remove(blob, ignored);
  }
  const std::filesystem::path partial = cache.partial(metadata.etag);
  for (bool is_fresh = false;; is_fresh = true) {
    auto file = PartialFile::open(partial);
    if (!file) return fatal(std::move(file).error());
    // Only content that can be checked at the end may be continued.
    const bool may_resume = is_checkable(metadata.etag) || !request.sha256.empty();
    const bool is_resumed = may_resume && !is_fresh && file->size() > 0;
    if (!is_resumed && file->size() > 0) {
      if (auto emptied = file->truncate(); !emptied) return fatal(std::move(emptied).error());
    }
    if (auto done = download(request, cache, metadata, *file); !done) return done;
    if (auto synced = file->sync(); !synced) return fatal(std::move(synced).error());
    auto checked = verify(request, metadata, partial);
    if (checked) break;
    std::filesystem::remove(partial, ignored);
    if (!is_resumed) return fatal(std::move(checked).error());
    observer_.message(fmt::format("{}: the continued download is damaged; starting over", request.file));
  }
  if (auto renamed = rename_file(partial, blob); !renamed) return fatal(std::move(renamed).error());
  return {};
}

HubSource::Done HubSource::download(const HubRequest& request, const HubCache& cache, HubMetadata& metadata,
                                    PartialFile& file) const {
  Retry retry(settings_, observer_);
  int n_fresh_addresses = 0;
  for (;;) {
    if (metadata.has_size && file.size() > metadata.size) {
      if (auto emptied = file.truncate(); !emptied) return fatal(std::move(emptied).error());
    }
    if (metadata.has_size && file.size() == metadata.size) return {};
    const std::uint64_t before = file.size();
    std::optional<std::chrono::seconds> asked;
    bool is_expired = false;
    Done done = get_once(request, metadata, file, asked, is_expired);
    if (done && (!metadata.has_size || file.size() == metadata.size)) return {};
    if (!done && done.error().kind == Kind::kFatal) return done;
    if (is_expired && n_fresh_addresses++ < kMaxFreshAddresses) {
      auto fresh = head(request, cache);
      if (!fresh) return std::unexpected(std::move(fresh).error());
      if (fresh->etag != metadata.etag) {
        return failure(Kind::kFatal, ErrorCode::kIo, "{} of {} changed at the hub while it was fetched; pull again",
                       request.file, request.repository);
      }
      metadata.location = fresh->location;
      continue;
    }
    Error why = done ? Error{ErrorCode::kIo,
                             fmt::format("{}: {} bytes arrived, expected {}", request.file, file.size(), metadata.size)}
                     : std::move(done).error().error;
    if (why.code == ErrorCode::kNotFound && file.size() == 0)
      return failure(Kind::kUnavailable, why.code, "{}", why.message);
    if (file.size() > before) retry.reset();
    if (auto waited = retry.wait(why, asked); !waited) {
      const bool is_cancelled = waited.error().code == ErrorCode::kCancelled;
      return std::unexpected(HubFailure{is_cancelled ? Kind::kFatal : Kind::kUnavailable, std::move(waited).error()});
    }
  }
}

HubSource::Done HubSource::get_once(const HubRequest& request, const HubMetadata& metadata, PartialFile& file,
                                    std::optional<std::chrono::seconds>& asked, bool& is_expired) const {
  Url at = metadata.location;
  const std::string& name = request.shown.empty() ? request.file : request.shown;
  HttpBody body;
  body.on_head = [&](const HttpResponse& response) -> Result<bool> {
    if (response.status == 206) {
      if (range_start(response.header("content-range")) == file.size()) return true;
      NX_TRY_VOID(file.truncate());  // another part than asked for: take nothing, start over
      return false;
    }
    if (response.status != 200) return false;
    if (file.size() > 0) NX_TRY_VOID(file.truncate());  // the server ignores Range and sends everything
    return true;
  };
  body.on_bytes = [&](std::string_view bytes) -> Result<void> {
    if (metadata.has_size && file.size() + bytes.size() > metadata.size) {
      return fail(ErrorCode::kIo, "{}: the server sends more than the {} bytes it announced", request.file,
                  metadata.size);
    }
    NX_TRY_VOID(file.append(bytes));
    observer_.progress({.source = "hub", .file = name, .done = file.size(), .total = metadata.size});
    return {};
  };
  for (int hop = 0; hop <= kMaxRedirects; ++hop) {
    HttpRequest get{.method = "GET", .url = at, .headers = headers_for(at)};
    if (file.size() > 0) get.headers.emplace_back("Range", fmt::format("bytes={}-", file.size()));
    auto response = get_client_.send(get, body);
    if (!response) {
      HttpFailure& broken = response.error();
      const bool is_over = broken.kind == HttpFailure::Kind::kRefused || broken.kind == HttpFailure::Kind::kStopped;
      if (broken.kind == HttpFailure::Kind::kUnreachable) broken.error.code = ErrorCode::kNotFound;
      return std::unexpected(HubFailure{is_over ? Kind::kFatal : Kind::kUnavailable, std::move(broken.error)});
    }
    const int status = response->status;
    if (status == 200 || status == 206) return {};
    if (status == 301 || status == 302 || status == 303 || status == 307 || status == 308) {
      auto next = resolve_url(at, response->header("location"));
      if (!next) return fatal(std::move(next).error());
      if (at.scheme == "https" && next->scheme != "https") {
        return failure(Kind::kFatal, ErrorCode::kIo, "{}: redirects from https to http, which is refused",
                       without_query(at));
      }
      at = std::move(*next);
      continue;
    }
    if (status == 416) {  // what is here is no beginning of what is there
      if (auto emptied = file.truncate(); !emptied) return fatal(std::move(emptied).error());
    }
    asked = retry_after(*response, std::chrono::system_clock::now());
    is_expired = status == 401 || status == 403 || status == 404 || status == 410;
    const bool may_pass = is_expired || status == 416 || status == 429 || status >= 500;
    return failure(may_pass ? Kind::kUnavailable : Kind::kFatal, ErrorCode::kIo,
                   "{}: the server answers with status {}", without_query(at), status);
  }
  return failure(Kind::kFatal, ErrorCode::kIo, "{}: more than {} redirects", request.file, kMaxRedirects);
}

Result<void> HubSource::verify(const HubRequest& request, const HubMetadata& metadata,
                               const std::filesystem::path& path) const {
  std::error_code code;
  const std::uint64_t n_bytes = std::filesystem::file_size(path, code);
  if (code) return fail(ErrorCode::kIo, "{}: cannot be read: {}", path.string(), code.message());
  if (metadata.has_size && n_bytes != metadata.size) {
    return fail(ErrorCode::kIo, "{}: {} bytes arrived, expected {}", request.file, n_bytes, metadata.size);
  }
  const std::string sha256 = !request.sha256.empty() ? request.sha256 : metadata.etag.size() == 64 ? metadata.etag : "";
  if (!sha256.empty()) {
    NX_TRY(const std::string found, sha256_of_file(path));
    if (found != sha256) {
      return fail(ErrorCode::kIo, "{}: the content is damaged: its sha256 is {}, expected {}", request.file, found,
                  sha256);
    }
  }
  if (is_lower_hex(metadata.etag, 40)) {
    Hasher hasher = Hasher::git_blob(n_bytes);
    NX_TRY_VOID(hash_file(path, hasher));
    if (const std::string found = hasher.hex(); found != metadata.etag) {
      return fail(ErrorCode::kIo, "{}: the content is damaged: its git hash is {}, expected {}", request.file, found,
                  metadata.etag);
    }
  }
  return {};
}

}  // namespace narthex
