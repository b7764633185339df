#include "hub/manifest.h"

#include "base/file.h"
#include "base/json.h"
#include "base/sha256.h"
#include "hub/disk.h"

namespace narthex {
namespace {

constexpr std::uint64_t kMaxManifest = 1 << 20;
constexpr std::int64_t kFormat = 1;

std::string text_of(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(json::string_view(key.data(), key.size()));
  const json::string* text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr ? std::string() : std::string(text->data(), text->size());
}

}  // namespace

Result<Manifest> read_manifest(const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / kManifestName;
  NX_TRY(const std::string text, read_file(path, kMaxManifest));
  NX_TRY(const json::value root, parse_json(text, path.string()));
  const json::object* object = root.if_object();
  const json::value* format = object == nullptr ? nullptr : object->if_contains("format");
  const json::value* files = object == nullptr ? nullptr : object->if_contains("files");
  if (format == nullptr || format->if_int64() == nullptr || *format->if_int64() != kFormat || files == nullptr ||
      files->if_array() == nullptr) {
    return fail(ErrorCode::kBadModel, "{}: is not a manifest of format {}", path.string(), kFormat);
  }
  Manifest manifest{text_of(*object, "model"), text_of(*object, "source"), text_of(*object, "origin"), {}};
  for (const json::value& row : files->get_array()) {
    const json::object* file = row.if_object();
    const json::value* bytes = file == nullptr ? nullptr : file->if_contains("bytes");
    if (bytes == nullptr || bytes->if_int64() == nullptr || !is_safe_relative_path(text_of(*file, "name"))) {
      return fail(ErrorCode::kBadModel, "{}: a row of 'files' is malformed", path.string());
    }
    manifest.files.push_back(
        {text_of(*file, "name"), text_of(*file, "sha256"), static_cast<std::uint64_t>(*bytes->if_int64())});
  }
  return manifest;
}

Result<void> write_manifest(const std::filesystem::path& directory, const Manifest& manifest) {
  std::string out = fmt::format("{{\n  \"format\": {},\n  \"model\": ", kFormat);
  append_json_string(out, manifest.model);
  out += ",\n  \"source\": ";
  append_json_string(out, manifest.source);
  out += ",\n  \"origin\": ";
  append_json_string(out, manifest.origin);
  out += ",\n  \"files\": [";
  for (std::size_t i = 0; i < manifest.files.size(); ++i) {
    out += i == 0 ? "\n    {\"name\": " : ",\n    {\"name\": ";
    append_json_string(out, manifest.files[i].name);
    out += ", \"sha256\": ";
    append_json_string(out, manifest.files[i].sha256);
    out += fmt::format(", \"bytes\": {}}}", manifest.files[i].bytes);
  }
  out += "\n  ]\n}\n";
  return write_file_atomically(directory / kManifestName, out);
}

Result<std::vector<ManifestFile>> describe_files(const std::filesystem::path& directory,
                                                 const std::vector<std::string>& names) {
  std::vector<ManifestFile> files;
  for (const std::string& name : names) {
    std::error_code code;
    const std::filesystem::path path = directory / name;
    if (!std::filesystem::is_regular_file(path, code)) continue;
    const std::uint64_t n_bytes = std::filesystem::file_size(path, code);
    if (code) return fail(ErrorCode::kIo, "{}: cannot be read: {}", path.string(), code.message());
    NX_TRY(std::string sha256, sha256_of_file(path));
    files.push_back({name, std::move(sha256), n_bytes});
  }
  return files;
}

}  // namespace narthex
