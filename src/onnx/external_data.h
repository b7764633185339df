// Finds and maps files of external tensor data, and keeps them inside the model's directory.
//
//   ExternalFiles::open(location)   one mapping per location, shared by all tensors
//
// A location is relative to the directory the model was opened through, without `..`. Symlinks are resolved, and a
// target outside that directory is refused, with one exception: in a hub cache (…/snapshots/REVISION/…) every file is
// a symlink to …/blobs/HASH of the same repository. Covered by tests/onnx/external_data_test.cc.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"

namespace narthex::onnx {

class ExternalFiles {
 public:
  ExternalFiles(std::optional<std::filesystem::path> directory, std::uint64_t max_files)
      : directory_(std::move(directory)), max_files_(max_files) {}

  // Errors do not name the model: the caller adds the file and the tensor.
  Result<std::shared_ptr<const MappedFile>> open(std::string_view location);
  // Of everything that was opened.
  std::vector<std::string> locations() const;

 private:
  std::optional<std::filesystem::path> directory_;
  std::uint64_t max_files_;
  std::map<std::string, std::shared_ptr<const MappedFile>, std::less<>> files_;
};

}  // namespace narthex::onnx
