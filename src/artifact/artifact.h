// A compiled model as one file: plan, packed weights, tokenizer tables, and what else was found out when it was
// compiled.
//
//   write_artifact(path, contents)   temporary file beside it, fsync, rename: several processes may race
//   load_artifact(path, key)         one read-only mapping, which every process that loads the file shares
//
// A cache: any error of load_artifact() is a reason to compile anew, never to give up. Every byte that decides where a
// run reads and writes is checksummed, bounded and checked (plan/packed_validate.h), so a damaged or forged file is an
// Error or gives other numbers. Embedding tables of kTableBytes and more are not read at load, since a text touches a
// few of their rows: reading them would cost a third of the start and of the memory. Their checksums are for
// check_tables(); a flipped bit in one changes a number, as row ids are checked against the table's size.
// format.h has the layout, identity.h the key. Covered by tests/artifact/.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "plan/packed.h"

namespace narthex {

// Counts changes of the layout in format.h, of the fields in plan_codec.cc, and of the layouts of packed weights.
inline constexpr std::uint32_t kArtifactVersion = 1;
inline constexpr std::size_t kTableBytes = std::size_t{1} << 20;

struct ArtifactContents {
  std::string key;                       // of identity.h: 64 lower-case hex digits
  const PackedPlan* plan = nullptr;      // null: the model runs in the interpreter
  std::span<const std::byte> tokenizer;  // Tokenizer::save_tables(); may be empty
  std::map<std::string, std::string> metadata;
};

struct LoadedArtifact {
  std::shared_ptr<const PackedPlan> plan;  // keeps the mapping alive itself; null when none was written
  std::span<const std::byte> tokenizer;    // 64-byte aligned, inside the mapping
  std::map<std::string, std::string> metadata;
  std::shared_ptr<const void> owner;  // of everything that lies in the mapping
  std::size_t file_bytes = 0;

  struct Table {
    std::span<const std::byte> bytes;
    std::uint64_t checksum;
  };
  std::vector<Table> tables;  // those that were not verified
  // Reads them all: for `narthex inspect` and tests. `source` begins the error message.
  Result<void> check_tables(std::string_view source) const;
};

// Creates the folder. On an Error the file is the old one, or none, and no other file is left behind.
Result<void> write_artifact(const std::filesystem::path& path, const ArtifactContents& contents);

Result<LoadedArtifact> load_artifact(const std::filesystem::path& path, std::string_view key);
// The same from bytes that `owner` keeps alive; they begin at a multiple of 64. `source` begins error messages.
Result<LoadedArtifact> open_artifact(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                                     std::string_view key, std::string_view source);

}  // namespace narthex
