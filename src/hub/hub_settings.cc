#include "hub/hub_settings.h"

#include <algorithm>
#include <charconv>

#include "base/file.h"
#include "base/home.h"

namespace narthex {
namespace {

constexpr std::uint64_t kMaxTokenFile = 16 * 1024;

bool is_on(const char* name) {
  std::string value = environment(name);
  for (char& c : value) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return value == "1" || value == "ON" || value == "YES" || value == "TRUE";
}

std::string trimmed(const std::string& text) {
  const char* blank = " \t\r\n";
  const auto first = text.find_first_not_of(blank);
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

std::filesystem::path expanded(const std::string& path) {
  if (path == "~" || path.starts_with("~/")) return std::filesystem::path(environment("HOME") + path.substr(1));
  return path;
}

Result<std::chrono::milliseconds> seconds_from(const char* name, std::chrono::milliseconds otherwise) {
  const std::string text = trimmed(environment(name));
  if (text.empty()) return otherwise;
  double seconds = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (code != std::errc() || end != text.data() + text.size() || !(seconds > 0) || seconds > 86400) {
    return fail(ErrorCode::kUsage, "{}: expected a number of seconds, found '{}'", name, text);
  }
  return std::chrono::milliseconds(std::max<long long>(1, static_cast<long long>(seconds * 1000)));
}

Result<std::string> find_token(const std::filesystem::path& hf_home) {
  if (is_on("HF_HUB_DISABLE_IMPLICIT_TOKEN")) return std::string();
  std::string token = trimmed(environment("HF_TOKEN"));
  if (token.empty()) token = trimmed(environment("HUGGING_FACE_HUB_TOKEN"));
  if (token.empty()) {
    const std::string named = environment("HF_TOKEN_PATH");
    auto text = read_file(named.empty() ? hf_home / "token" : expanded(named), kMaxTokenFile);
    if (text) token = trimmed(*text);  // no file: no token, and most models need none
  }
  if (std::any_of(token.begin(), token.end(), [](char c) { return c <= 0x20 || c >= 0x7F; })) {
    return fail(ErrorCode::kUsage,
                "the hub's token (HF_TOKEN or its file) contains characters that a token cannot have");
  }
  return token;
}

}  // namespace

Result<HubSettings> hub_settings_from_environment() {
  HubSettings settings;
  settings.http = http_options_from_environment();
  if (std::string endpoint = trimmed(environment("HF_ENDPOINT")); !endpoint.empty()) {
    while (endpoint.ends_with('/')) endpoint.pop_back();
    if (auto parsed = parse_url(endpoint); !parsed)
      return fail(ErrorCode::kUsage, "HF_ENDPOINT: {}", parsed.error().message);
    settings.endpoint = std::move(endpoint);
  }
  const std::string cache = environment("HF_HUB_CACHE");
  const std::string old_cache = environment("HUGGINGFACE_HUB_CACHE");
  std::filesystem::path hf_home = expanded(environment("HF_HOME"));
  if (hf_home.empty()) {
    auto base = xdg_directory("XDG_CACHE_HOME", ".cache");
    if (base) hf_home = *base / "huggingface";
    if (!base && cache.empty() && old_cache.empty()) return std::unexpected(std::move(base).error());
  }
  settings.cache = !cache.empty() ? expanded(cache) : !old_cache.empty() ? expanded(old_cache) : hf_home / "hub";
  settings.offline = is_on("HF_HUB_OFFLINE") || is_on("TRANSFORMERS_OFFLINE");
  settings.symlinks = !is_on("HF_HUB_DISABLE_SYMLINKS");
  NX_TRY(settings.token, find_token(hf_home));
  NX_TRY(settings.head_timeout, seconds_from("HF_HUB_ETAG_TIMEOUT", settings.head_timeout));
  NX_TRY(settings.download_timeout, seconds_from("HF_HUB_DOWNLOAD_TIMEOUT", settings.download_timeout));
  return settings;
}

}  // namespace narthex
