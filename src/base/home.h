// Where models and compiled artifacts live.
//
//   narthex_home()   $NARTHEX_HOME/{models,artifacts}, or the XDG data directory for models and the XDG cache directory
//                    for artifacts: ~/.local/share/narthex/models and ~/.cache/narthex/artifacts
//
// Nothing is created here. Covered by tests/base/home_test.cc.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"

namespace narthex {

struct Home {
  std::filesystem::path models;     // one folder per model
  std::filesystem::path artifacts;  // a cache: may be deleted at any time
};

Result<Home> narthex_home();

// The value of an environment variable; empty counts as unset, as the XDG specification says for its own.
std::string environment(const char* name);
// `variable` if it holds an absolute path, else `below_home` under $HOME; kUsage when neither is set.
Result<std::filesystem::path> xdg_directory(const char* variable, const char* below_home);

}  // namespace narthex
