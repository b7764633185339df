// What every function of the C interface does at its border: arguments in, a status and a sentence out.
//
//   return guarded(error, [&]() -> Outcome { ... });   no exception leaves, and `error` is set in every case
//   NX_TRY(narthex_embed_options options, read_struct(given, "narthex_embed_options"));
//
// Outcome takes an Error as it is (NX_TRY works inside), and has the two statuses that only this interface knows.
// Covered by tests/api/c_api_test.cc.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <expected>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/result.h"
#include "narthex/narthex.h"

namespace narthex::api {

narthex_status status_of(ErrorCode code);

struct Failure {
  Failure(narthex_status s, std::string m) : status(s), message(std::move(m)) {}
  // NOLINTNEXTLINE(google-explicit-constructor): an Error becomes a Failure on its way up
  Failure(Error error) : status(status_of(error.code)), message(std::move(error.message)) {}

  narthex_status status;
  std::string message;
};
using Outcome = std::expected<void, Failure>;

// Fills `error`, which may be null, and returns the status. Needs no memory.
narthex_status report(narthex_error* error, narthex_status status, std::string_view message) noexcept;

template <class F>
narthex_status guarded(narthex_error* error, F&& body) noexcept {
  try {
    const Outcome outcome = body();
    return outcome ? report(error, NARTHEX_OK, "") : report(error, outcome.error().status, outcome.error().message);
  } catch (const std::bad_alloc&) {
    return report(error, NARTHEX_OUT_OF_MEMORY, "out of memory; nothing was changed");
  } catch (const std::length_error&) {  // a container that was asked for more than any memory holds
    return report(error, NARTHEX_OUT_OF_MEMORY, "out of memory: more was asked for than can be addressed");
  } catch (const std::exception& exception) {
    return report(error, NARTHEX_INTERNAL, exception.what());
  } catch (...) {
    return report(error, NARTHEX_INTERNAL, "an exception of unknown type; this is a bug in Narthex");
  }
}

// `what` names the argument in errors. The view is of the caller's bytes.
Result<std::string_view> read_text(narthex_text text, std::string_view what);
// The same for names and paths: a copy, without NUL inside.
Result<std::string> read_name(narthex_text text, std::string_view what);

// Bytes of the first version of each struct. They only ever grow at the end, so this is what every caller has.
template <class Struct>
inline constexpr std::size_t kFirstSize = 0;
template <>
inline constexpr std::size_t kFirstSize<narthex_load_options> =
    offsetof(narthex_load_options, no_cache) + sizeof(std::int32_t);
template <>
inline constexpr std::size_t kFirstSize<narthex_model_info> =
    offsetof(narthex_model_info, token_vectors) + sizeof(std::int32_t);
template <>
inline constexpr std::size_t kFirstSize<narthex_embed_options> =
    offsetof(narthex_embed_options, allow_special) + sizeof(std::int32_t);
template <>
inline constexpr std::size_t kFirstSize<narthex_embed_output> =
    offsetof(narthex_embed_output, n_vectors) + sizeof(std::size_t*);

struct StructSizes {
  std::size_t first;  // of the first version
  std::size_t now;    // as this library knows it
};
// Checks a caller's struct_size: at least the first version's.
Result<void> check_size(std::size_t size, StructSizes sizes, std::string_view name);
// The same, and that everything beyond what this library knows is zero.
Result<void> check_struct(const void* bytes, std::size_t size, StructSizes sizes, std::string_view name);

// A copy of the caller's struct as this library knows it: all defaults when `given` is null, and in fields that an
// older caller does not have.
template <class Struct>
Result<Struct> read_struct(const Struct* given, std::string_view name) {
  Struct copy{};
  if (given != nullptr) {
    NX_TRY_VOID(check_struct(given, given->struct_size, {kFirstSize<Struct>, sizeof(Struct)}, name));
    std::memcpy(&copy, given, std::min(given->struct_size, sizeof(Struct)));
  }
  return copy;
}

}  // namespace narthex::api
