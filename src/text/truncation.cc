#include "text/truncation.h"

#include <algorithm>
#include <utility>

namespace narthex {

Result<KeptLengths> kept_lengths(std::size_t first, std::size_t second, std::size_t room, TruncationStrategy strategy) {
  if (first + second <= room) return KeptLengths{first, second};
  if (room == 0) return KeptLengths{0, 0};
  if (strategy == TruncationStrategy::kLongestFirst) {
    // The shorter text keeps all of it or half of the room; the odd token goes to the longer one, and in a tie to the
    // second.
    std::size_t low = std::min(first, second);
    std::size_t high = low > room ? low : std::max(low, room - low);
    if (low + high > room) {
      low = room / 2;
      high = room - low;
    }
    if (first > second) std::swap(low, high);
    return KeptLengths{low, high};
  }
  const bool only_first = strategy == TruncationStrategy::kOnlyFirst;
  const std::size_t other = only_first ? second : first;
  if (other >= room) {
    return fail(
        ErrorCode::kBadInput,
        "the {} text alone has {} tokens or more, which leaves nothing of the other within {} tokens; shorten it or "
        "truncate the longest first",
        only_first ? "second" : "first", other, room);
  }
  return only_first ? KeptLengths{room - other, other} : KeptLengths{other, room - other};
}

}  // namespace narthex
