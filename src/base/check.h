// NX_CHECK(condition, "sentence"): always on, for our own bugs only. Input never reaches it: input gets a Result.
#pragma once

namespace narthex {

[[noreturn]] void check_failed(const char* file, int line, const char* condition, const char* what);

}  // namespace narthex

#define NX_CHECK(condition, what) \
  (static_cast<bool>(condition) ? static_cast<void>(0) : ::narthex::check_failed(__FILE__, __LINE__, #condition, what))
