#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace narthex {

void check_failed(const char* file, int line, const char* condition, const char* what) {
  std::fprintf(stderr, "narthex: internal error at %s:%d: %s (%s). This is a bug in Narthex; please report it.\n", file,
               line, what, condition);
  std::abort();
}

}  // namespace narthex
