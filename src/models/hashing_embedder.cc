#include "models/hashing_embedder.h"

#include <blake2.h>

#include <cmath>

#include "base/utf8.h"
#include "text/python_text.h"

namespace narthex {
namespace {

// Byte offsets of the code points of valid UTF-8, and of its end.
std::vector<std::size_t> code_point_offsets(std::string_view text) {
  std::vector<std::size_t> offsets;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) offsets.push_back(i);
  }
  offsets.push_back(text.size());
  return offsets;
}

std::uint32_t window_hash(std::string_view window) {
  std::uint8_t digest[4];
  blake2b(digest, window.data(), nullptr, sizeof digest, window.size(), 0);
  return std::uint32_t{digest[0]} << 24 | std::uint32_t{digest[1]} << 16 | std::uint32_t{digest[2]} << 8 | digest[3];
}

}  // namespace

std::array<std::int32_t, kHashingDim> hashing_counts(std::string_view text, std::size_t* n_windows) {
  const std::string lowered = python_lower(text);
  std::string low = " ";
  for (const std::string_view word : python_split(lowered)) {
    if (low.size() > 1) low += ' ';
    low += word;
  }
  low += ' ';
  const std::vector<std::size_t> offsets = code_point_offsets(low);
  const std::size_t n_points = offsets.size() - 1;
  std::array<std::int32_t, kHashingDim> counts{};
  std::size_t windows = 0;
  for (const std::size_t n : {std::size_t{2}, std::size_t{3}}) {
    for (std::size_t i = 0; i + n <= n_points; ++i) {
      const std::uint32_t h = window_hash(std::string_view(low).substr(offsets[i], offsets[i + n] - offsets[i]));
      counts[h % kHashingDim] += (h >> 31) != 0 ? 1 : -1;
      ++windows;
    }
  }
  if (n_windows != nullptr) *n_windows = windows;
  return counts;
}

HashingEmbedder::HashingEmbedder() {
  info_.id = kHashingEmbedderId;
  info_.semantic = false;
  info_.dim = kHashingDim;
  info_.precision = "fp32";
  info_.isa = "scalar";
}

Result<std::vector<Embedding>> HashingEmbedder::embed(std::span<const std::string_view> texts,
                                                      const EmbedOptions& options) const {
  std::vector<Embedding> embeddings(texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (const std::size_t bad = find_invalid_utf8(texts[i]); bad != std::string_view::npos) {
      return fail(ErrorCode::kBadInput, "text {} is not valid UTF-8 at byte {}", i, bad);
    }
    const std::string prompted = options.prompt + std::string(texts[i]);
    const auto counts = hashing_counts(prompted, &embeddings[i].tokens);
    double sum = 0;
    for (const std::int32_t c : counts) sum += static_cast<double>(c) * c;
    const double norm = sum > 0 ? std::sqrt(sum) : 1.0;
    embeddings[i].values.reserve(kHashingDim);
    for (const std::int32_t c : counts) embeddings[i].values.push_back(static_cast<float>(c / norm));
  }
  return embeddings;
}

}  // namespace narthex
