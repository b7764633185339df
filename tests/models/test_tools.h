// What the tests of this layer share: the Python oracles and the models, where they are; loud skips, where they are
// not.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"

namespace narthex {

inline std::optional<std::string> environment_value(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? std::optional<std::string>(value) : std::nullopt;
}

inline void skip_loudly(const std::string& what, const char* variable) {
  std::fprintf(stderr, "SKIPPED (loud): %s, because %s is not set\n", what.c_str(), variable);
}

// Runs tests/models/oracle.py; false when it fails.
inline bool run_oracle(const std::string& python, const std::string& arguments) {
  const std::string command = python + " " + NARTHEX_SOURCE_DIR "/tests/models/oracle.py " + arguments;
  return std::system(command.c_str()) == 0;
}

inline std::vector<json::object> read_rows(const std::filesystem::path& path) {
  std::vector<json::object> rows;
  const auto text = read_file(path, std::uint64_t{1} << 30);
  if (!text) return rows;
  for (std::size_t at = 0; at < text->size();) {
    const std::size_t end = text->find('\n', at);
    auto row = parse_json(std::string_view(*text).substr(at, end - at), path.string());
    if (!row) {
      std::fprintf(stderr, "%s\n", row.error().message.c_str());
      return {};
    }
    rows.push_back(row->as_object());
    at = end + 1;
  }
  return rows;
}

}  // namespace narthex
