// The digests of source files, remembered with what tells that they have not changed since. The inside of identify().
#pragma once

#include <compare>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace narthex {

struct SourceDigest {
  std::string sha256;
  std::vector<std::pair<std::string, std::string>> external;  // location and sha256 of an .onnx file's external data
};

class SourceIndex {
 public:
  // An index that is missing, damaged or of another version is empty.
  static SourceIndex read(const std::filesystem::path& path);

  // From memory if the file's state is the remembered one, else from its bytes.
  Result<SourceDigest> digest_of(const std::filesystem::path& file);
  // If anything was learnt. Another process that writes at the same time wins or loses: what is lost is hashed again.
  void write() const;

 private:
  // Of a file at one moment. The time of change of the inode cannot be set by anybody, so a file that was replaced by
  // another of the same size and modification time still differs.
  struct State {
    std::int64_t device = 0, inode = 0, size = 0, modified_ns = 0, changed_ns = 0;
    bool operator==(const State&) const = default;
  };
  struct Entry {
    State state;
    std::string sha256;
    std::vector<std::string> external;
  };

  static Result<State> state_of(const std::filesystem::path& file);
  static bool is_settled(const State& state);
  Result<Entry> entry_of(const std::filesystem::path& file);
  void parse(std::string_view text);

  std::filesystem::path path_;
  std::map<std::string, Entry> entries_;  // by absolute path
  bool changed_ = false;
};

}  // namespace narthex
