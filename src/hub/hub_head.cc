// The asking half of hub_source.h: resolve addresses, redirects, the headers that describe a file, and refusals.
#include <charconv>

#include "base/sha256.h"
#include "hub/disk.h"
#include "hub/hub_source.h"

namespace narthex {
namespace {

using Kind = HubFailure::Kind;

constexpr int kMaxRedirects = 8;

template <class... Args>
std::unexpected<HubFailure> failure(Kind kind, ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return std::unexpected(HubFailure{kind, Error{code, fmt::format(format, std::forward<Args>(args)...)}});
}

std::unexpected<HubFailure> fatal(Error error) {
  return std::unexpected(HubFailure{Kind::kFatal, std::move(error)});
}

// `W/"abc"` -> abc
std::string plain_etag(std::string_view etag) {
  if (etag.starts_with("W/")) etag.remove_prefix(2);
  if (etag.size() >= 2 && etag.front() == '"' && etag.back() == '"') etag = etag.substr(1, etag.size() - 2);
  return std::string(etag);
}

std::optional<std::uint64_t> number(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

// "/path" and "path" stay on the server that sent them; "//host/path" does not.
bool is_relative(std::string_view location) {
  return location.find("://") == std::string_view::npos && !location.starts_with("//");
}

std::string shown(const HubRequest& request) {
  return fmt::format("{} ({}, revision {})", request.file, request.repository, request.revision);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> HubSource::headers_for(const Url& url) const {
  std::vector<std::pair<std::string, std::string>> headers = {
      {"User-Agent", "narthex/" NARTHEX_VERSION}, {"Accept", "*/*"}, {"Accept-Encoding", "identity"}};
  if (!settings_.token.empty() && url.same_origin(endpoint_))
    headers.emplace_back("Authorization", "Bearer " + settings_.token);
  return headers;
}

Result<Url> HubSource::resolve_address(const HubRequest& request) const {
  return parse_url(fmt::format("{}/{}/resolve/{}/{}", settings_.endpoint, request.repository,
                               percent_encode(request.revision), percent_encode(request.file, "/")));
}

bool HubSource::is_hub_host(const Url& url) const {
  return url.same_origin(endpoint_) || (url.scheme == "https" && (url.host == "huggingface.co" || url.host == "hf.co"));
}

HubSource::Metadata HubSource::head(const HubRequest& request, const HubCache& cache) const {
  Retry retry(settings_, observer_);
  for (;;) {
    std::optional<std::chrono::seconds> asked;
    Metadata found = head_once(request, cache, asked);
    if (found || found.error().kind != Kind::kUnavailable) return found;
    // kNotFound marks a host that cannot be reached at all: another source is better than waiting.
    if (found.error().error.code == ErrorCode::kNotFound) return found;
    if (auto waited = retry.wait(found.error().error, asked); !waited) {
      const bool is_cancelled = waited.error().code == ErrorCode::kCancelled;
      return std::unexpected(HubFailure{is_cancelled ? Kind::kFatal : Kind::kUnavailable, std::move(waited).error()});
    }
  }
}

HubSource::Metadata HubSource::head_once(const HubRequest& request, const HubCache& cache,
                                         std::optional<std::chrono::seconds>& asked) const {
  auto address = resolve_address(request);
  if (!address) return fatal(std::move(address).error());
  Url at = std::move(*address);
  HubMetadata found;
  for (int hop = 0; hop <= kMaxRedirects; ++hop) {
    auto response = head_client_.send({.method = "HEAD", .url = at, .headers = headers_for(at)});
    if (!response) {
      HttpFailure& broken = response.error();
      const bool is_over = broken.kind == HttpFailure::Kind::kRefused || broken.kind == HttpFailure::Kind::kStopped;
      if (is_over) return fatal(std::move(broken.error));
      if (broken.kind == HttpFailure::Kind::kUnreachable) broken.error.code = ErrorCode::kNotFound;
      return std::unexpected(HubFailure{Kind::kUnavailable, std::move(broken.error)});
    }
    const int status = response->status;
    if (status == 429 || status >= 500) {
      asked = retry_after(*response, std::chrono::system_clock::now());
      return failure(Kind::kUnavailable, ErrorCode::kIo, "{}: the hub answers with status {}", without_query(at),
                     status);
    }
    if (status >= 400) return std::unexpected(refusal(request, *response, cache));
    // The first hop may be the only one that names the commit.
    if (const std::string commit = response->header("x-repo-commit"); !commit.empty()) found.commit = commit;
    if (!is_redirect(status)) return read_metadata(request, *response, at, std::move(found));
    const std::string location = response->header("location");
    if (location.empty()) {
      return failure(Kind::kFatal, ErrorCode::kIo, "{}: a redirect (status {}) names no place", without_query(at),
                     status);
    }
    auto next = resolve_url(at, location);
    if (!next) return fatal(std::move(next).error());
    if (at.scheme == "https" && next->scheme != "https") {
      return failure(Kind::kFatal, ErrorCode::kIo, "{}: redirects from https to {}, which is refused",
                     without_query(at), without_query(*next));
    }
    if (!is_relative(location) && !is_hub_host(*next))
      return read_metadata(request, *response, *next, std::move(found));
    at = std::move(*next);
  }
  return failure(Kind::kFatal, ErrorCode::kIo, "{}: more than {} redirects", shown(request), kMaxRedirects);
}

HubSource::Metadata HubSource::read_metadata(const HubRequest& request, const HttpResponse& response, const Url& at,
                                             HubMetadata found) const {
  found.location = at;
  if (!is_commit(found.commit)) {
    return failure(Kind::kFatal, ErrorCode::kIo, "{}: {} does not answer like the hub: X-Repo-Commit is '{}'",
                   shown(request), settings_.endpoint, found.commit.substr(0, 80));
  }
  if (is_commit(request.revision) && found.commit != request.revision) {
    return failure(Kind::kFatal, ErrorCode::kIo, "{}: the hub answers with commit {}", shown(request), found.commit);
  }
  const std::string linked = response.header("x-linked-etag");
  found.etag = plain_etag(linked.empty() ? response.header("etag") : linked);
  if (!is_plain_etag(found.etag)) {
    return failure(Kind::kFatal, ErrorCode::kIo, "{}: the hub's ETag '{}' cannot name a file of the cache",
                   shown(request), found.etag.substr(0, 80));
  }
  auto size = number(response.header("x-linked-size"));
  if (!size && !is_redirect(response.status)) size = number(response.header("content-length"));
  found.has_size = size.has_value();
  found.size = size.value_or(0);
  const bool names_other_content = !request.sha256.empty() && found.etag.size() == 64 && found.etag != request.sha256;
  if (names_other_content || (request.bytes != 0 && found.has_size && found.size != request.bytes)) {
    return failure(
        Kind::kFatal, ErrorCode::kBadModel,
        "{}: the hub now has other content (ETag {}, {} bytes) than the catalog expects (sha256 {}, {} bytes)",
        shown(request), found.etag, found.size, request.sha256, request.bytes);
  }
  return found;
}

HubFailure HubSource::refusal(const HubRequest& request, const HttpResponse& response, const HubCache& cache) const {
  const std::string code = response.header("x-error-code");
  const std::string commit = response.header("x-repo-commit");
  const std::string who = settings_.token.empty() ? "no token is set (HF_TOKEN)" : "the token that is set was sent";
  const auto sentence = [](ErrorCode error, std::string text) {
    return HubFailure{Kind::kFatal, Error{error, std::move(text)}};
  };
  if (code == "EntryNotFound" || (code.empty() && response.status == 404 && is_commit(commit))) {
    if (is_commit(commit)) cache.remember_missing(commit, request.file);
    return {Kind::kNoSuchFile,
            Error{ErrorCode::kNotFound, fmt::format("{}: the repository has no such file", shown(request))}};
  }
  if (code == "RevisionNotFound") {
    return sentence(ErrorCode::kNotFound,
                    fmt::format("{}: the hub has the repository, but not this revision", shown(request)));
  }
  if (code == "GatedRepo") {
    return sentence(ErrorCode::kIo, fmt::format("{}: access must be asked for at {}/{}; {}", request.repository,
                                                settings_.endpoint, request.repository, who));
  }
  if (code == "RepoNotFound" || response.status == 401 || (code.empty() && response.status == 404)) {
    return sentence(ErrorCode::kNotFound,
                    fmt::format("{}: the hub has no such repository, or it is private; {}", request.repository, who));
  }
  return sentence(ErrorCode::kIo,
                  fmt::format("{}: the hub refuses with status {}{}; {}", shown(request), response.status,
                              code.empty() ? "" : " (" + code.substr(0, 80) + ")", who));
}

}  // namespace narthex
