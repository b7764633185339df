#include "base/home.h"

#include <cstdlib>

namespace narthex {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

Result<std::filesystem::path> xdg_directory(const char* variable, const char* below_home) {
  std::filesystem::path named(environment(variable));
  if (named.is_absolute()) return named;  // a relative one is to be ignored, says the specification
  const std::filesystem::path home(environment("HOME"));
  if (home.empty()) {
    return fail(ErrorCode::kUsage,
                "neither {} nor HOME is set, so there is no place for Narthex's files; set NARTHEX_HOME", variable);
  }
  return home / below_home;
}

Result<Home> narthex_home() {
  const std::filesystem::path named(environment("NARTHEX_HOME"));
  if (!named.empty()) {
    std::error_code ignored;
    std::filesystem::path absolute = std::filesystem::absolute(named, ignored);
    if (ignored) absolute = named;
    return Home{absolute / "models", absolute / "artifacts"};
  }
  NX_TRY(const std::filesystem::path data, xdg_directory("XDG_DATA_HOME", ".local/share"));
  NX_TRY(const std::filesystem::path cache, xdg_directory("XDG_CACHE_HOME", ".cache"));
  return Home{data / "narthex" / "models", cache / "narthex" / "artifacts"};
}

}  // namespace narthex
