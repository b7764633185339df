#include "artifact/identity.h"

#include <algorithm>

#include "artifact/artifact.h"
#include "artifact/source_index.h"
#include "base/sha256.h"
#include "engine_id.h"

namespace narthex {
namespace {

namespace fs = std::filesystem;

// A list of strings that no two different lists spell alike.
void add(Hasher& hasher, std::string_view text) {
  hasher.update(fmt::format("{}:", text.size()));
  hasher.update(text);
}

std::string file_name(std::string_view label, std::string_view digest) {
  constexpr std::size_t kLabelBytes = 80, kDigits = 24;
  std::string name;
  for (const char c : label.substr(0, kLabelBytes)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                       (c == '.' && !name.empty());
    name += plain ? c : '_';
  }
  return fmt::format("{}{}{}.narthex", name, name.empty() ? "" : "-", digest.substr(0, kDigits));
}

}  // namespace

Result<ArtifactId> identify(const SourceIdentity& identity, const fs::path& index_file) {
  SourceIndex index = SourceIndex::read(index_file);
  Hasher sources = Hasher::sha256();
  for (const fs::path& file : identity.files) {
    NX_TRY(const SourceDigest digest, index.digest_of(file));
    add(sources, file.filename().string());
    add(sources, digest.sha256);
    for (const auto& [location, sha256] : digest.external) {
      add(sources, location);
      add(sources, sha256);
    }
  }
  index.write();
  add(sources, fmt::format("{} options", identity.options.size()));
  for (const auto& [name, value] : identity.options) {
    add(sources, name);
    add(sources, value);
  }
  const std::string digest = sources.hex();
  Hasher key = Hasher::sha256();
  for (const std::string& part :
       {digest, fmt::format("format {}", kArtifactVersion), std::string(NARTHEX_VERSION), std::string(kEngineId)})
    add(key, part);
  return ArtifactId{file_name(identity.label, digest), key.hex()};
}

fs::path artifact_path(const fs::path& artifacts, const ArtifactId& id) {
  return artifacts / id.name;
}

}  // namespace narthex
