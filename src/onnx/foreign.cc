#include "onnx/foreign.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"

namespace narthex::onnx {
namespace {

struct Signature {
  std::size_t offset;
  std::string_view magic;
  std::string_view sentence;
};

constexpr Signature kSignatures[] = {
    {0, "version https://git-lfs",
     "is a git-lfs pointer, not the model itself: run `git lfs pull` or download the file"},
    {0, "PK\x03\x04", "is a zip archive (perhaps a PyTorch checkpoint): unpack it, or export the model to ONNX"},
    {0, "\x1f\x8b", "is gzip-compressed: unpack it first"},
    {0, "\x28\xb5\x2f\xfd", "is zstd-compressed: unpack it first"},
    {0, "GGUF", "is a GGUF model: Narthex reads ONNX; get the .onnx file of this model"},
    {0, "\x89HDF", "is an HDF5 file (perhaps Keras weights): export the model to ONNX"},
    {0, "\x93NUMPY", "is a NumPy array, not a model"},
    {0,
     "\x7f"
     "ELF",
     "is a program or shared library, not a model"},
    {0, "%PDF", "is a PDF document, not a model"},
    {4, "TFL3", "is a TensorFlow Lite model: export the model to ONNX"},
    {4, "ORTM", "is an ONNX Runtime .ort file: use the .onnx file that it was made from"},
    {5, {"\0\0\0{\"", 5}, "is a safetensors file: it has weights but no graph; get the .onnx file of this model"},
    {0, "\x80\x02", "is a Python pickle (perhaps a PyTorch checkpoint): export the model to ONNX"},
};

// `head` may end inside a character.
bool is_text(std::string_view head) {
  const std::size_t invalid = find_invalid_utf8(head);
  if (invalid != std::string_view::npos && invalid + 4 <= head.size()) return false;
  return std::ranges::all_of(head, [](char c) {
    const auto u = static_cast<unsigned char>(c);
    return u >= 0x20 ? u != 0x7f : u == '\n' || u == '\r' || u == '\t';
  });
}

}  // namespace

std::string show_name(std::string_view name) {
  constexpr std::size_t kMaxShown = 100;
  std::string shown = replace_invalid_utf8(name.substr(0, kMaxShown));
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return fmt::format("'{}{}'", shown, name.size() > kMaxShown ? "…" : "");
}

std::string describe_foreign(std::string_view bytes) {
  if (bytes.empty()) return "is empty: the download or export did not finish; get the file again";
  for (const Signature& s : kSignatures) {
    if (bytes.size() >= s.offset && bytes.substr(s.offset).starts_with(s.magic)) return std::string(s.sentence);
  }
  const std::string_view head = bytes.substr(0, 256);
  if (!is_text(head)) return {};
  std::string_view text = head.substr(std::min(head.find_first_not_of(" \t\r\n"), head.size()));
  if (text.starts_with("<")) {
    return "is an HTML or XML page, not a model (perhaps an error or sign-in page saved by a download): get the file "
           "again";
  }
  if (text.starts_with("{") || text.starts_with("[")) return "is JSON, not a model: name the .onnx file instead";
  return fmt::format("is a text file that begins {}, not a model: name the .onnx file instead",
                     show_name(text.substr(0, 40)));
}

}  // namespace narthex::onnx
