// Sections of bytes behind each other, each under a tag: the form in which a tokenizer's tables are kept.
//
//   std::string bytes = write_tables({{kVocabularyTag, ...}});
//   NX_TRY(TableFile file, TableFile::open(bytes, owner, "artifact"));
//   NX_TRY(auto entries, file.array<Entry>(kVocabularyTag));       a view into `bytes`
//
// Little-endian, sections at multiples of 8 bytes. open() checks the directory; what is in a section is for its reader
// to check. Covered by tests/text/tables_test.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/result.h"

namespace narthex {

constexpr std::uint32_t table_tag(const char (&name)[5]) {
  std::uint32_t tag = 0;
  for (int i = 3; i >= 0; --i) tag = tag << 8 | static_cast<unsigned char>(name[i]);
  return tag;
}

struct TableSection {
  std::uint32_t tag;
  std::span<const std::byte> bytes;
};

template <class T>
TableSection table_section(std::uint32_t tag, std::span<const T> values) {
  return {tag, std::as_bytes(values)};
}

std::string write_tables(std::span<const TableSection> sections);

class TableFile {
 public:
  // `owner` keeps `bytes` alive. Bytes that begin at an odd address are copied.
  static Result<TableFile> open(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                                std::string_view source);

  // kBadModel when there is none, or its size is not a multiple of T's.
  template <class T>
  Result<std::span<const T>> array(std::uint32_t tag) const {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= 8);
    NX_TRY(const std::span<const std::byte> bytes, section(tag, sizeof(T)));
    return std::span<const T>(reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T));
  }
  Result<std::string_view> text(std::uint32_t tag) const;

  const std::shared_ptr<const void>& owner() const { return owner_; }
  const std::string& source() const { return source_; }

 private:
  Result<std::span<const std::byte>> section(std::uint32_t tag, std::size_t element_bytes) const;

  std::vector<TableSection> sections_;
  std::shared_ptr<const void> owner_;
  std::string source_;
};

}  // namespace narthex
