// Which proxy a request takes: the rules of HTTP_PROXY and NO_PROXY as command-line tools share them. Declared in
// http_client.h; covered by tests/hub/http_client_test.cc.
#include "base/home.h"
#include "hub/http_client.h"

namespace narthex {
namespace {

// Lower case wins, as in curl and Python.
std::string either_case(const char* lower, const char* upper) {
  std::string value = environment(lower);
  return value.empty() ? environment(upper) : value;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// "example.org" and ".example.org" cover the host and everything below it; "example.org:8080" only that port.
bool rule_covers(std::string_view rule, const Url& url) {
  if (rule == "*") return true;
  if (const auto colon = rule.rfind(':'); colon != std::string_view::npos && rule.find(':') == colon) {
    if (rule.substr(colon + 1) != url.port) return false;
    rule = rule.substr(0, colon);
  }
  if (rule.starts_with("*.")) rule.remove_prefix(1);
  while (rule.starts_with(".")) rule.remove_prefix(1);
  if (rule.empty()) return false;
  const std::string_view host = url.host;
  return host == rule ||
         (host.size() > rule.size() && host.ends_with(rule) && host[host.size() - rule.size() - 1] == '.');
}

}  // namespace

HttpOptions http_options_from_environment() {
  HttpOptions options;
  const std::string any = either_case("all_proxy", "ALL_PROXY");
  options.https_proxy = either_case("https_proxy", "HTTPS_PROXY");
  options.http_proxy = either_case("http_proxy", "HTTP_PROXY");
  if (options.https_proxy.empty()) options.https_proxy = any;
  if (options.http_proxy.empty()) options.http_proxy = any;
  options.no_proxy = either_case("no_proxy", "NO_PROXY");
  return options;
}

Result<std::optional<Url>> proxy_for(const HttpOptions& options, const Url& url) {
  std::string address = url.scheme == "https" ? options.https_proxy : options.http_proxy;
  if (address.empty()) return std::nullopt;
  std::string_view rules = options.no_proxy;
  while (!rules.empty()) {
    const auto comma = rules.find(',');
    if (rule_covers(trim(rules.substr(0, comma)), url)) return std::nullopt;
    rules = comma == std::string_view::npos ? std::string_view() : rules.substr(comma + 1);
  }
  if (address.find("://") == std::string::npos) address = "http://" + address;
  auto proxy = parse_url(address);
  if (!proxy || proxy->scheme != "http") {
    // The address may hold a password, so it is not repeated here.
    return fail(ErrorCode::kUsage,
                "the proxy that the environment names for {} requests is not an http:// address; "
                "only such proxies are supported",
                url.scheme);
  }
  return std::move(*proxy);
}

}  // namespace narthex
