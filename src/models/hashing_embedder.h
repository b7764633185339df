// HashingEmbedder: the lexical embedder that is always available and says what it is (`semantic` false).
//
//   low = " " + " ".join(text.lower().split()) + " "           CPython's lower and split, Unicode 14
//   for n in 2, 3, for each window of n code points of low:
//     h = BLAKE2b(utf8(window), 4 bytes) as a big-endian u32
//     counts[h mod 256] += bit 31 of h ? +1 : -1
//   L2-normalised in float64, then rounded to float32; an all-zero vector stays zero
//
// Covered by tests/models/hashing_embedder_test.cc, which holds it against the same few lines of Python.
#pragma once

#include <array>
#include <cstdint>

#include "models/embedder.h"

namespace narthex {

inline constexpr std::string_view kHashingEmbedderId = "hashing-ngram-256";
inline constexpr std::size_t kHashingDim = 256;

// The counts before normalisation; `text` must be valid UTF-8. `n_windows` receives the number of windows counted.
std::array<std::int32_t, kHashingDim> hashing_counts(std::string_view text, std::size_t* n_windows = nullptr);

class HashingEmbedder final : public Embedder {
 public:
  HashingEmbedder();
  const EmbedderInfo& info() const override { return info_; }
  // Texts of any length are embedded whole: max_length and long_texts have no meaning here.
  Result<std::vector<Embedding>> embed(std::span<const std::string_view> texts,
                                       const EmbedOptions& options) const override;

 private:
  EmbedderInfo info_;
};

}  // namespace narthex
