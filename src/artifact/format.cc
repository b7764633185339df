#include "artifact/format.h"

// Its functions in this file alone: nothing is linked, and the library is needed to build only.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace narthex::artifact {

std::uint64_t checksum_of(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace narthex::artifact
