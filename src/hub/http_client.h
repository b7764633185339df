// A small HTTP/1.1 client for downloads: one request, one connection, no redirects of its own.
//
//   HttpClient client(http_options_from_environment());
//   client.send({.method = "GET", .url = url, .headers = {...}}, body)
//
// https trusts the system's certificates (or SSL_CERT_FILE, SSL_CERT_DIR) and checks the host name. Proxies come from
// HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY. Every wait has a deadline and looks at `cancelled` twenty times a
// second; name look-up too, which has no deadline of its own. Boost.Beast is compiled in http_client.cc alone. Covered
// by tests/hub/http_client_test.cc.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "hub/url.h"

namespace narthex {

struct HttpRequest {
  std::string method = "GET";
  Url url;
  std::vector<std::pair<std::string, std::string>> headers = {};
};

struct HttpResponse {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers = {};  // names in lower case

  std::string header(std::string_view lower_case_name) const;  // empty when absent
};

struct HttpOptions {
  std::chrono::milliseconds connect_timeout{10'000};  // name look-up, TCP, proxy and TLS handshake, each
  std::chrono::milliseconds idle_timeout{10'000};     // the longest silence while sending or receiving
  std::uint32_t max_header_bytes = 64 * 1024;
  std::uint64_t max_body_bytes = std::uint64_t{1} << 40;
  std::string https_proxy = {};  // an address, or empty
  std::string http_proxy = {};
  std::string no_proxy = {};  // comma-separated hosts, domains, "*"
  std::function<bool()> cancelled = {};
};

HttpOptions http_options_from_environment();
// The proxy that a request to `url` goes through, or nothing.
Result<std::optional<Url>> proxy_for(const HttpOptions& options, const Url& url);

struct HttpBody {
  // Sees status and headers; false ends the exchange without reading the body.
  std::function<Result<bool>(const HttpResponse&)> on_head;
  std::function<Result<void>(std::string_view)> on_bytes;
};

struct HttpFailure {
  enum class Kind {
    kUnreachable,  // no name, nobody listens, no answer to the connection: another source may be better
    kInterrupted,  // the exchange broke off; trying again may help
    kRefused,      // certificate, malformed answer, over a limit: trying again will not help
    kStopped,      // cancelled, or the body handler returned an error
  };
  Kind kind;
  Error error;
};

class HttpClient {
 public:
  explicit HttpClient(HttpOptions options) : options_(std::move(options)) {}

  // Returns when the whole body has been handed over; a body cut short is kInterrupted.
  std::expected<HttpResponse, HttpFailure> send(const HttpRequest& request, const HttpBody& body = {}) const;

  const HttpOptions& options() const { return options_; }

 private:
  HttpOptions options_;
};

}  // namespace narthex
