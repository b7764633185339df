// Which artifact belongs to a model's files, found without reading them when nothing has changed.
//
//   NX_TRY(ArtifactId id, identify({label, files, options}, home.artifacts / kSourceIndexName));
//   load_artifact(artifact_path(home.artifacts, id), id.key)
//
// The name follows from the bytes of the sources and the options; the key also from the format, the program's version
// and the sources it was built from. So another build finds the file, sees that it is not its own, and replaces it: a
// cache holds one file for each model and choice of options. Digests of large files are kept in an index by path,
// device, inode, size and times of change; a file that was changed less than two seconds before is hashed again at the
// next start, as its times could not show a second change. A damaged index only costs the hashing. Covered by
// tests/artifact/identity_test.cc.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace narthex {

inline constexpr std::string_view kSourceIndexName = "sources.json";

struct SourceIdentity {
  std::string label;                           // for people who look into the folder: the model's name
  std::vector<std::filesystem::path> files;    // whose bytes matter; external data of an .onnx file comes by itself
  std::map<std::string, std::string> options;  // everything else that decides what is compiled: resolved precision, …
};

struct ArtifactId {
  std::string name;  // of the file
  std::string key;   // 64 lower-case hex digits, kept in it
};

// Errors are those of reading the files; an index that cannot be read or written is none.
Result<ArtifactId> identify(const SourceIdentity& identity, const std::filesystem::path& index_file);

std::filesystem::path artifact_path(const std::filesystem::path& artifacts, const ArtifactId& id);

}  // namespace narthex
