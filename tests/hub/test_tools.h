// What the tests of this folder share: a directory of their own, environment variables that are put back, big texts.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/sha256.h"
#include "fmt/format.h"

namespace narthex::testing_hub {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "nx_hub_XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  std::filesystem::path operator/(const std::filesystem::path& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

class Variables {
 public:
  // No variable that this layer reads is set, whatever the machine's environment says.
  Variables() {
    for (const char* name : {"HF_ENDPOINT",
                             "HF_HOME",
                             "HF_HUB_CACHE",
                             "HUGGINGFACE_HUB_CACHE",
                             "HF_TOKEN",
                             "HUGGING_FACE_HUB_TOKEN",
                             "HF_TOKEN_PATH",
                             "HF_HUB_DISABLE_IMPLICIT_TOKEN",
                             "HF_HUB_OFFLINE",
                             "TRANSFORMERS_OFFLINE",
                             "HF_HUB_ETAG_TIMEOUT",
                             "HF_HUB_DOWNLOAD_TIMEOUT",
                             "HF_HUB_DISABLE_SYMLINKS",
                             "XDG_CACHE_HOME",
                             "http_proxy",
                             "https_proxy",
                             "HTTP_PROXY",
                             "HTTPS_PROXY",
                             "all_proxy",
                             "ALL_PROXY",
                             "no_proxy",
                             "NO_PROXY",
                             "SSL_CERT_FILE",
                             "SSL_CERT_DIR"}) {
      set(name, nullptr);
    }
  }
  void set(const char* name, const char* value) {
    const char* old = std::getenv(name);
    old_.emplace_back(name, old == nullptr ? std::optional<std::string>() : std::string(old));
    if (value == nullptr) {
      ::unsetenv(name);
    } else {
      ::setenv(name, value, 1);
    }
  }
  void set(const char* name, const std::string& value) { set(name, value.c_str()); }
  ~Variables() {
    for (auto it = old_.rbegin(); it != old_.rend(); ++it) {
      if (it->second) {
        ::setenv(it->first.c_str(), it->second->c_str(), 1);
      } else {
        ::unsetenv(it->first.c_str());
      }
    }
  }
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;

 private:
  std::vector<std::pair<std::string, std::optional<std::string>>> old_;
};

inline void write_text(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

inline std::string read_text(const std::filesystem::path& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

// Bytes without a period, so that a range from the wrong place cannot look right.
inline std::string noise(std::size_t n_bytes, unsigned seed = 1) {
  std::string out(n_bytes, '\0');
  for (char& c : out) {
    seed = seed * 1664525U + 1013904223U;
    c = static_cast<char>(seed >> 24);
  }
  return out;
}

inline std::string sha256_of(const std::string& text) {
  Hasher hasher = Hasher::sha256();
  hasher.update(text);
  return hasher.hex();
}

inline std::string git_hash_of(const std::string& text) {
  Hasher hasher = Hasher::git_blob(text.size());
  hasher.update(text);
  return hasher.hex();
}

}  // namespace narthex::testing_hub
