// Result<T>: a value or an Error, and the macros that pass errors up.
//
//   Result<Graph> read(...);
//   NX_TRY(Graph graph, read(path));     declares `graph`, or returns the Error from the enclosing function
//   NX_TRY_VOID(verify(graph));          the same for Result<void>
//
// `return fail(ErrorCode::kBadModel, "{}: node '{}' ...", file, node)` makes the Error with fmt.
#pragma once

#include <fmt/format.h>

#include <expected>

#include "base/error.h"

namespace narthex {

template <class T>
using Result = std::expected<T, Error>;

template <class... Args>
std::unexpected<Error> fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return std::unexpected(Error{code, fmt::format(format, std::forward<Args>(args)...)});
}

}  // namespace narthex

#define NX_CONCAT_(a, b) a##b
#define NX_CONCAT(a, b) NX_CONCAT_(a, b)
#define NX_TRY_NAMED_(name, declaration, ...)                 \
  auto name = (__VA_ARGS__);                                  \
  if (!name) return std::unexpected(std::move(name).error()); \
  declaration = std::move(*name)
#define NX_TRY(declaration, ...) NX_TRY_NAMED_(NX_CONCAT(nx_result_, __COUNTER__), declaration, __VA_ARGS__)
#define NX_TRY_VOID(...)                                                                                  \
  do {                                                                                                    \
    if (auto nx_status = (__VA_ARGS__); !nx_status) return std::unexpected(std::move(nx_status).error()); \
  } while (false)
