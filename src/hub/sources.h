// The three places a model can come from, each bringing a whole model into an empty staging directory. Used by pull.cc
// alone.
//
// A source returns its origin for the manifest. It has checked every digest that the spec pins for it.
#pragma once

#include <filesystem>
#include <string>

#include "hub/hub_settings.h"
#include "hub/pull.h"

namespace narthex {

Result<std::string> bring_from_hub(const PullSpec& spec, const HubSettings& settings,
                                   const std::filesystem::path& staging, const PullObserver& observer);
Result<std::string> bring_from_packages(const PullSpec& spec, const std::filesystem::path& staging,
                                        const PullOptions& options);
Result<std::string> bring_from_directory(const PullSpec& spec, const std::filesystem::path& directory,
                                         const std::filesystem::path& staging, const PullObserver& observer);

// Compares one staged file with what its source pins.
Result<void> check_staged(const SourceFile& file, const std::filesystem::path& path);

}  // namespace narthex
