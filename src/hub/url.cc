#include "hub/url.h"

// Header-only Boost.URL: this is the one file that compiles it.
#define BOOST_URL_NO_LIB
#include <boost/url.hpp>
#include <boost/url/src.hpp>

namespace narthex {
namespace {

namespace urls = boost::urls;

// Addresses come from environment variables and headers; longer ones are refused rather than copied around.
constexpr std::size_t kMaxUrl = 16384;

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

Result<Url> from_view(const urls::url_view& view, std::string_view shown) {
  Url url;
  url.scheme = lower(std::string_view(view.scheme().data(), view.scheme().size()));
  if (url.scheme != "http" && url.scheme != "https") {
    return fail(ErrorCode::kBadInput,
                "'{}' is not an address that can be fetched: it must begin with http:// or https://",
                shown.substr(0, 200));
  }
  url.host = lower(view.host_address());
  if (url.host.empty()) return fail(ErrorCode::kBadInput, "the address '{}' has no host", shown.substr(0, 200));
  url.port =
      view.has_port() && !view.port().empty() ? std::string(view.port()) : (url.scheme == "https" ? "443" : "80");
  url.target = std::string(view.encoded_path());
  if (url.target.empty()) url.target = "/";
  if (view.has_query()) url.target += "?" + std::string(view.encoded_query());
  if (view.has_userinfo()) url.user_info = view.userinfo();
  url.text = url.scheme + "://" + url.authority() + url.target;
  return url;
}

}  // namespace

std::string Url::authority() const {
  const bool is_default = port == (scheme == "https" ? "443" : "80");
  const std::string shown = host.find(':') == std::string::npos ? host : "[" + host + "]";
  return is_default ? shown : shown + ":" + port;
}

std::string Url::host_and_port() const {
  return (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + port;
}

Result<Url> parse_url(std::string_view text) {
  if (text.size() > kMaxUrl) return fail(ErrorCode::kBadInput, "an address of {} bytes is too long", text.size());
  const auto parsed = urls::parse_uri(urls::string_view(text.data(), text.size()));
  if (!parsed) {
    return fail(ErrorCode::kBadInput, "'{}' is not an address: {}", text.substr(0, 200), parsed.error().message());
  }
  return from_view(*parsed, text);
}

Result<Url> resolve_url(const Url& base, std::string_view reference) {
  if (reference.size() > kMaxUrl)
    return fail(ErrorCode::kBadInput, "an address of {} bytes is too long", reference.size());
  const auto parsed_base = urls::parse_uri(base.text);
  const auto parsed = urls::parse_uri_reference(urls::string_view(reference.data(), reference.size()));
  if (!parsed_base || !parsed) {
    return fail(ErrorCode::kBadInput, "{}: redirects to '{}', which is not an address", without_query(base),
                reference.substr(0, 200));
  }
  urls::url out;
  if (const auto resolved = urls::resolve(*parsed_base, *parsed, out); !resolved) {
    return fail(ErrorCode::kBadInput, "{}: redirects to '{}': {}", without_query(base), reference.substr(0, 200),
                resolved.error().message());
  }
  return from_view(out, reference);
}

std::string percent_encode(std::string_view text, std::string_view keep) {
  std::string out;
  for (const char c : text) {
    const bool unreserved = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                            std::string_view("-._~").find(c) != std::string_view::npos;
    if (unreserved || keep.find(c) != std::string_view::npos) {
      out.push_back(c);
    } else {
      fmt::format_to(std::back_inserter(out), "%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

std::string without_query(const Url& url) {
  return url.text.substr(0, url.text.find('?'));
}

}  // namespace narthex
