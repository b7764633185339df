// Digests of files and streams: sha256, and git's sha1 of a blob, which the hub uses for small files.
//
//   Hasher h = Hasher::sha256();  h.update(bytes);  h.hex()      64 lower-case hex digits
//   Hasher g = Hasher::git_blob(n_bytes);                        40: sha1("blob " + n + "\0" + bytes)
//   sha256_of_file(path)
//
// Covered by tests/base/sha256_test.cc.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace narthex {

class Hasher {
 public:
  static Hasher sha256();
  // git names a blob by its content and its length, so the length must be known first.
  static Hasher git_blob(std::uint64_t n_bytes);

  void update(std::string_view bytes);
  // Ends the stream: no update() after it.
  std::string hex();

  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;
  ~Hasher();

 private:
  struct State;
  explicit Hasher(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Feeds a whole file to a hasher, a block at a time.
Result<void> hash_file(const std::filesystem::path& path, Hasher& hasher);
Result<std::string> sha256_of_file(const std::filesystem::path& path);

// True for n_digits lower-case hex digits.
bool is_lower_hex(std::string_view text, std::size_t n_digits);

}  // namespace narthex
