// The layout of an artifact file. Numbers are little-endian; byte_order says so.
//
//   Header           with the table of contents, and a checksum over both
//   metadata         u32 count, then (u32 bytes, key, u32 bytes, value) each
//   plan             plan_codec.h; empty when there is none
//   directory        one DirectoryEntry a constant, in the order in which the plan numbers them
//   tokenizer        bytes of text/
//   weights          constants, each at a multiple of 64: verified at load, read whole by every run
//   tables           large embedding tables, each at a multiple of a page, last in the file: not read at load
//
// Sections begin at multiples of 64, weights and tables at a page. Checksums are XXH3 (14 GB/s on one core here, what
// the memory gives); weights and tables have one for each constant, in the directory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

namespace narthex::artifact {

inline constexpr char kMagic[8] = {'N', 'a', 'r', 't', 'h', 'e', 'x', '\x1a'};
inline constexpr std::uint32_t kByteOrder = 0x01020304;
inline constexpr std::size_t kAlign = 64;
inline constexpr std::size_t kPage = 4096;
inline constexpr std::size_t kKeyDigits = 64;

enum SectionId : std::uint8_t { kMetadata, kPlan, kDirectory, kTokenizer, kWeights, kTables, kSections };
inline constexpr std::string_view kSectionNames[] = {"metadata", "plan", "directory", "tokenizer", "weights", "tables"};

struct Section {
  std::uint64_t offset;  // in the file
  std::uint64_t bytes;
  std::uint64_t checksum;  // 0 for weights and tables
};

struct Header {
  char magic[8];
  std::uint32_t byte_order;
  std::uint32_t version;
  char key[kKeyDigits];
  std::uint64_t file_bytes;
  Section sections[kSections];
  std::uint64_t checksum;  // of everything above
};
static_assert(std::has_unique_object_representations_v<Header>);

struct DirectoryEntry {
  std::uint64_t offset;  // in its section
  std::uint64_t bytes;   // > 0
  std::uint64_t checksum;
  std::uint64_t section;  // kWeights or kTables
};
static_assert(std::has_unique_object_representations_v<DirectoryEntry>);

constexpr std::uint64_t round_up(std::uint64_t n, std::uint64_t step) {
  return (n + step - 1) / step * step;
}

std::uint64_t checksum_of(std::span<const std::byte> bytes);
inline std::span<const std::byte> checked_part(const Header& header) {
  return {reinterpret_cast<const std::byte*>(&header), offsetof(Header, checksum)};
}

}  // namespace narthex::artifact
