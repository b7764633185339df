// narthex.json in a model's directory: which files belong to it and where they came from. Written last, so its presence
// says that the rest is complete.
//
//   {"format": 1, "model": NAME, "source": "hub", "origin": "org/name@commit", "files": [{"name", "sha256", "bytes"}]}
//
// Covered by tests/hub/pull_test.cc.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace narthex {

inline constexpr const char* kManifestName = "narthex.json";

struct ManifestFile {
  std::string name;
  std::string sha256;
  std::uint64_t bytes = 0;
};

struct Manifest {
  std::string model;
  std::string source;
  std::string origin;
  std::vector<ManifestFile> files;
};

Result<Manifest> read_manifest(const std::filesystem::path& directory);
Result<void> write_manifest(const std::filesystem::path& directory, const Manifest& manifest);
// Hashes every file of `directory` named in `names` that is there.
Result<std::vector<ManifestFile>> describe_files(const std::filesystem::path& directory,
                                                 const std::vector<std::string>& names);

}  // namespace narthex
