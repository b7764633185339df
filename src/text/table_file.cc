#include "text/table_file.h"

#include <array>
#include <bit>
#include <cstring>

namespace narthex {
namespace {

static_assert(std::endian::native == std::endian::little, "tables are read where they lie");

constexpr std::size_t kAlignment = 8;
constexpr std::size_t kMaxSections = 64;
// Whatever changes the meaning of a section raises the last digits.
constexpr std::array<char, 8> kMagic{'N', 'X', 'T', 'O', 'K', '0', '0', '1'};

struct Header {
  std::array<char, 8> magic;
  std::uint64_t n_sections;
};

struct DirectoryEntry {
  std::uint32_t tag;
  std::uint32_t reserved;
  std::uint64_t offset;
  std::uint64_t size;
};

template <class T>
void append(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::size_t aligned(std::size_t size) {
  return (size + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

std::string write_tables(std::span<const TableSection> sections) {
  std::string out;
  append(out, Header{kMagic, sections.size()});
  std::size_t offset = sizeof(Header) + sections.size() * sizeof(DirectoryEntry);
  for (const TableSection& section : sections) {
    append(out, DirectoryEntry{section.tag, 0, offset, section.bytes.size()});
    offset += aligned(section.bytes.size());
  }
  out.reserve(offset);
  for (const TableSection& section : sections) {
    if (!section.bytes.empty()) out.append(reinterpret_cast<const char*>(section.bytes.data()), section.bytes.size());
    out.resize(aligned(out.size()));
  }
  return out;
}

Result<TableFile> TableFile::open(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                                  std::string_view source) {
  TableFile file;
  file.source_ = source;
  file.owner_ = std::move(owner);
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % kAlignment != 0) {
    auto copy = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
    bytes = *copy;
    file.owner_ = std::move(copy);
  }
  Header header{};
  if (bytes.size() >= sizeof header) std::memcpy(&header, bytes.data(), sizeof header);
  if (header.magic != kMagic) {
    return fail(ErrorCode::kBadModel, "{}: these are no tokenizer tables of this version; make them again", source);
  }
  const std::size_t room = (bytes.size() - sizeof header) / sizeof(DirectoryEntry);
  if (header.n_sections > std::min(room, kMaxSections)) {
    return fail(ErrorCode::kBadModel, "{}: tokenizer tables with {} sections in {} bytes", source, header.n_sections,
                bytes.size());
  }
  for (std::size_t i = 0; i < header.n_sections; ++i) {
    DirectoryEntry entry{};
    std::memcpy(&entry, bytes.data() + sizeof header + i * sizeof entry, sizeof entry);
    if (entry.offset % kAlignment != 0 || entry.offset > bytes.size() || entry.size > bytes.size() - entry.offset) {
      return fail(ErrorCode::kBadModel, "{}: section {} of the tokenizer tables lies outside of their {} bytes", source,
                  i, bytes.size());
    }
    file.sections_.push_back({entry.tag, bytes.subspan(entry.offset, entry.size)});
  }
  return file;
}

Result<std::span<const std::byte>> TableFile::section(std::uint32_t tag, std::size_t element_bytes) const {
  for (const TableSection& section : sections_) {
    if (section.tag == tag && section.bytes.size() % element_bytes == 0) return section.bytes;
  }
  std::string name;
  for (int shift = 0; shift < 32; shift += 8) {
    const char c = static_cast<char>(tag >> shift & 0x7F);
    name += c;
  }
  return fail(ErrorCode::kBadModel, "{}: the tokenizer tables lack the section '{}'", source_, name);
}

Result<std::string_view> TableFile::text(std::uint32_t tag) const {
  NX_TRY(const std::span<const std::byte> bytes, section(tag, 1));
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace narthex
