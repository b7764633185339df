// How many tokens of each text stay, by the reference's rule.
//
//   NX_TRY(KeptLengths kept, kept_lengths(n_first, n_second, room, TruncationStrategy::kLongestFirst));
//
// Covered by tests/text/truncation_test.cc.
#pragma once

#include <cstddef>

#include "base/result.h"
#include "text/tokenizer.h"

namespace narthex {

struct KeptLengths {
  std::size_t first;
  std::size_t second;
};

// `room` is the maximal length less the special tokens.
Result<KeptLengths> kept_lengths(std::size_t first, std::size_t second, std::size_t room, TruncationStrategy strategy);

}  // namespace narthex
