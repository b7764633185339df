// The calls that need no model: version, threads, names of statuses, similarity.
#include <cmath>

#include "api/call.h"
#include "base/cpu.h"
#include "base/team.h"

extern "C" {

narthex_status narthex_set_threads(std::int32_t n_threads, narthex_error* error) {
  using namespace narthex;
  using namespace narthex::api;
  return guarded(error, [&]() -> Outcome {
    if (n_threads < 1 || n_threads > kMaxThreads) {
      return std::unexpected(
          Failure(NARTHEX_USAGE, fmt::format("{} threads, expected 1 to {}", n_threads, kMaxThreads)));
    }
    if (!Team::set_process_size(n_threads)) {
      return std::unexpected(Failure(
          NARTHEX_USAGE, fmt::format("{} threads were asked for, but {} are computing already: set their number before "
                                     "the first computation",
                                     n_threads, Team::process().size())));
    }
    return {};
  });
}

const char* narthex_version(void) {
  return NARTHEX_VERSION;
}

const char* narthex_status_name(int status) {
  switch (status) {
    case NARTHEX_OK:
      return "ok";
    case NARTHEX_USAGE:
      return "usage";
    case NARTHEX_NOT_FOUND:
      return "not found";
    case NARTHEX_BAD_INPUT:
      return "bad input";
    case NARTHEX_BAD_MODEL:
      return "bad model";
    case NARTHEX_UNSUPPORTED:
      return "unsupported";
    case NARTHEX_LIMIT:
      return "limit";
    case NARTHEX_IO:
      return "io";
    case NARTHEX_CANCELLED:
      return "cancelled";
    case NARTHEX_OUT_OF_MEMORY:
      return "out of memory";
    case NARTHEX_BUFFER_TOO_SMALL:
      return "buffer too small";
    case NARTHEX_INTERNAL:
      return "internal";
    default:
      return "unknown";
  }
}

float narthex_cosine_similarity(const float* a, const float* b, std::size_t dim) {
  if (a == nullptr || b == nullptr) return 0.0F;
  double dot = 0;
  double aa = 0;
  double bb = 0;
  for (std::size_t i = 0; i < dim; ++i) {
    dot += static_cast<double>(a[i]) * b[i];
    aa += static_cast<double>(a[i]) * a[i];
    bb += static_cast<double>(b[i]) * b[i];
  }
  return aa > 0 && bb > 0 ? static_cast<float>(dot / std::sqrt(aa) / std::sqrt(bb)) : 0.0F;
}

}  // extern "C"
