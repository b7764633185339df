#include "api/call.h"

#include <algorithm>
#include <cstdint>

namespace narthex::api {
namespace {

// A field that took the place of padding could not be told from what an old caller left there, so none has any.
static_assert(sizeof(narthex_load_options) == kFirstSize<narthex_load_options>);
static_assert(sizeof(narthex_model_info) == kFirstSize<narthex_model_info>);
static_assert(sizeof(narthex_embed_options) == kFirstSize<narthex_embed_options>);
static_assert(sizeof(narthex_embed_output) == kFirstSize<narthex_embed_output>);
static_assert(sizeof(narthex_error) == 1024);

// Far above any version of any struct: a struct_size beyond it was never set.
constexpr std::size_t kMaxStructSize = 4096;

}  // namespace

narthex_status status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUsage:
      return NARTHEX_USAGE;
    case ErrorCode::kNotFound:
      return NARTHEX_NOT_FOUND;
    case ErrorCode::kBadInput:
      return NARTHEX_BAD_INPUT;
    case ErrorCode::kBadModel:
      return NARTHEX_BAD_MODEL;
    case ErrorCode::kUnsupported:
      return NARTHEX_UNSUPPORTED;
    case ErrorCode::kLimit:
      return NARTHEX_LIMIT;
    case ErrorCode::kIo:
      return NARTHEX_IO;
    case ErrorCode::kCancelled:
      return NARTHEX_CANCELLED;
  }
  return NARTHEX_INTERNAL;
}

narthex_status report(narthex_error* error, narthex_status status, std::string_view message) noexcept {
  if (error == nullptr) return status;
  error->status = status;
  std::size_t size = std::min(message.size(), sizeof(error->message) - 1);
  if (size < message.size()) {
    while (size > 0 && (static_cast<unsigned char>(message[size]) & 0xC0) == 0x80) --size;
  }
  std::ranges::copy(message.substr(0, size), error->message);
  error->message[size] = '\0';
  return status;
}

Result<std::string_view> read_text(narthex_text text, std::string_view what) {
  if (text.size == 0) return std::string_view();
  if (text.data == nullptr) return fail(ErrorCode::kUsage, "{} is NULL with size {}", what, text.size);
  if (text.size > static_cast<std::size_t>(PTRDIFF_MAX)) {
    return fail(ErrorCode::kUsage, "{} has size {}, more than any text", what, text.size);
  }
  return std::string_view(text.data, text.size);
}

Result<std::string> read_name(narthex_text text, std::string_view what) {
  NX_TRY(const std::string_view view, read_text(text, what));
  if (view.find('\0') != std::string_view::npos) return fail(ErrorCode::kUsage, "{} has a NUL inside", what);
  return std::string(view);
}

Result<void> check_size(std::size_t size, StructSizes sizes, std::string_view name) {
  if (size >= sizes.first && size <= kMaxStructSize) return {};
  return fail(ErrorCode::kUsage, "struct_size of a {0} is {1}, expected {2}: set it to sizeof({0})", name, size,
              sizes.now);
}

Result<void> check_struct(const void* bytes, std::size_t size, StructSizes sizes, std::string_view name) {
  NX_TRY_VOID(check_size(size, sizes, name));
  const std::string_view all(static_cast<const char*>(bytes), size);
  if (all.find_first_not_of('\0', sizes.now) != std::string_view::npos) {
    return fail(ErrorCode::kUnsupported, "a {} sets an option that version {} of the library does not know", name,
                NARTHEX_VERSION);
  }
  return {};
}

}  // namespace narthex::api
