// http and https addresses: parsing, relative references, percent-encoding. Boost.URL does the work, in url.cc alone.
//
//   parse_url("https://hub.example/a?b")     kBadInput for anything but absolute http(s) addresses with a host
//   resolve_url(base, "/c")                  the address that a Location header means
//   percent_encode("a b/c", "/")             unreserved characters and `keep` stay as they are
//
// Covered by tests/hub/url_test.cc.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace narthex {

struct Url {
  std::string scheme;     // "http" or "https"
  std::string host;       // lower case, IPv6 without brackets
  std::string port;       // never empty: 80 or 443 by default
  std::string target;     // path and query as they go into the request line, at least "/"
  std::string user_info;  // "user:password", decoded; used for proxies only
  std::string text;       // the whole address without user information and fragment

  // The part that decides whether a secret may be sent again.
  bool same_origin(const Url& other) const {
    return scheme == other.scheme && host == other.host && port == other.port;
  }
  // Host with brackets where IPv6 needs them, and the port unless it is the scheme's own.
  std::string authority() const;
  std::string host_and_port() const;
};

Result<Url> parse_url(std::string_view text);
Result<Url> resolve_url(const Url& base, std::string_view reference);
std::string percent_encode(std::string_view text, std::string_view keep = "");
// An address for messages: the query of a signed address is a secret, so it is left out.
std::string without_query(const Url& url);

}  // namespace narthex
