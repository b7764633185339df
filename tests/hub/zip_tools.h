// Zip files for tests, made by the library's writing half.
#pragma once

#include <minizip/zip.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace narthex::testing_hub {

inline void write_zip(const std::filesystem::path& path,
                      const std::vector<std::pair<std::string, std::string>>& members, const char* password = nullptr) {
  std::filesystem::create_directories(path.parent_path());
  zipFile zip = ::zipOpen64(path.c_str(), APPEND_STATUS_CREATE);
  for (const auto& [name, bytes] : members) {
    const zip_fileinfo info{};
    ::zipOpenNewFileInZip3_64(zip, name.c_str(), &info, nullptr, 0, nullptr, 0, nullptr, Z_DEFLATED, 1, 0, -MAX_WBITS,
                              8, Z_DEFAULT_STRATEGY, password, 0, 0);
    ::zipWriteInFileInZip(zip, bytes.data(), static_cast<unsigned>(bytes.size()));
    ::zipCloseFileInZip(zip);
  }
  ::zipClose(zip, nullptr);
}

}  // namespace narthex::testing_hub
