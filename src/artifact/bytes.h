// Bounded writing and reading of small numbers and strings in bytes: what the plan and the metadata are made of.
//
// A reader that fails once fails for good and yields zeros: the caller looks at ok() when it is done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace narthex::artifact {

class ByteWriter {
 public:
  template <class T>
    requires std::is_arithmetic_v<T>
  void number(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void text(std::string_view value) {
    number(static_cast<std::uint32_t>(value.size()));
    bytes_.append(value);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <class T>
    requires std::is_arithmetic_v<T>
  T number() {
    static_assert(!std::is_same_v<T, bool>, "not every byte is a bool");
    T value{};
    if (const std::byte* at = take(sizeof value)) std::memcpy(&value, at, sizeof value);
    return value;
  }
  std::string_view text() {
    const auto size = number<std::uint32_t>();
    const std::byte* at = take(size);
    return at == nullptr ? std::string_view() : std::string_view(reinterpret_cast<const char*>(at), size);
  }
  // Of things that take at least `least_bytes` each: no count makes anybody allocate more than the bytes warrant.
  std::uint32_t count(std::size_t least_bytes) {
    const auto n = number<std::uint32_t>();
    if (n > (bytes_.size() - used_) / least_bytes) fail();
    return ok_ ? n : 0;
  }

  void fail() { ok_ = false; }
  bool ok() const { return ok_; }
  bool at_end() const { return used_ == bytes_.size(); }

 private:
  const std::byte* take(std::size_t n) {
    if (!ok_ || n > bytes_.size() - used_) {
      ok_ = false;
      return nullptr;
    }
    used_ += n;
    return bytes_.data() + used_ - n;
  }

  std::span<const std::byte> bytes_;
  std::size_t used_ = 0;
  bool ok_ = true;
};

}  // namespace narthex::artifact
