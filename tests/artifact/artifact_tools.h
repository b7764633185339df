// What the tests of this folder share: plans of random encoders, what they compute, and files with new checksums.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "artifact/artifact.h"
#include "artifact/format.h"
#include "base/team.h"
#include "plan/lower.h"
#include "plan/random_encoder.h"

namespace narthex::testing_artifact {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "nx_artifact_XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  std::filesystem::path operator/(const std::filesystem::path& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }
  std::size_t n_files() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(path_), std::filesystem::directory_iterator()));
  }

 private:
  std::filesystem::path path_;
};

inline const std::string kKey = std::string(60, 'a') + "0123";

inline PackedPlan plan_of(const EncoderShape& shape, std::uint64_t seed, Precision precision,
                          std::optional<step::PoolKind> pool = std::nullopt) {
  LowerOptions options;
  options.precision = precision;
  options.pool = pool;
  return lower(EncoderMaker(shape, seed).make(), options);
}

inline EncoderShape random_shape_of(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  return random_shape([&](std::size_t n) { return static_cast<std::size_t>(random() % n); });
}
inline PackedPlan random_plan(std::uint64_t seed) {
  return plan_of(random_shape_of(seed), seed, static_cast<Precision>(seed % 3),
                 seed % 4 == 1   ? std::optional(step::PoolKind::kFirst)
                 : seed % 4 == 2 ? std::optional(step::PoolKind::kMean)
                                 : std::nullopt);
}

// Two sequences of tokens below 2, which every table has; empty where the plan refuses them.
inline std::vector<float> run(const PackedPlan& plan) {
  static Team alone(1);
  std::vector<std::int32_t> ids, types;
  for (std::int32_t i = 0; i < 40; ++i) {
    ids.push_back(i % 2);
    types.push_back(i / 3 % 2);
  }
  const std::vector<std::size_t> starts = {0, 3, ids.size()};
  const TokenBatch batch{ids, types, starts};
  if (!plan.check(batch)) return {};
  std::vector<float> out((plan.output_per_sequence() ? batch.n_sequences() : ids.size()) * plan.width());
  plan.run(alone, batch, out.data());
  return out;
}
inline bool same_bytes(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// Bytes at a multiple of 64, as a mapping has them.
class AlignedBytes {
 public:
  explicit AlignedBytes(std::string_view bytes) : bytes_(bytes.size() + 64), size_(bytes.size()) {
    if (size_ > 0) std::memcpy(data(), bytes.data(), size_);
  }
  std::byte* data() { return bytes_.data() + (64 - reinterpret_cast<std::uintptr_t>(bytes_.data()) % 64) % 64; }
  std::span<std::byte> span() { return {data(), size_}; }

 private:
  std::vector<std::byte> bytes_;
  std::size_t size_;
};

// The same plan with each constant in memory that ends where it ends, so that a sanitizer sees a step beyond.
inline PackedPlan with_own_constants(PackedPlan plan) {
  for (packed::Step& step : plan.steps) {
    for_constants(step, [&](Constant& constant) {
      if (!constant) return;
      constexpr std::align_val_t kAlignment{64};
      auto* memory = static_cast<std::byte*>(::operator new(constant.bytes, kAlignment));
      plan.owners.emplace_back(memory,
                               [](const void* p) { ::operator delete(const_cast<void*>(p), std::align_val_t{64}); });
      std::memcpy(memory, constant.data, constant.bytes);
      constant.data = memory;
    });
  }
  return plan;
}

inline std::string read_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}
inline void write_bytes(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

inline artifact::Header header_of(std::span<const std::byte> bytes) {
  artifact::Header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  return header;
}
// Makes every checksum that load looks at right again, as far as the sections lie inside the file.
inline void forge_checksums(std::span<std::byte> bytes) {
  artifact::Header header = header_of(bytes);
  const auto inside = [&](std::uint64_t offset, std::uint64_t size, std::uint64_t end) {
    return offset <= end && size <= end - offset;
  };
  const artifact::Section& directory = header.sections[artifact::kDirectory];
  if (inside(directory.offset, directory.bytes, bytes.size())) {
    for (std::uint64_t at = 0; at + sizeof(artifact::DirectoryEntry) <= directory.bytes;
         at += sizeof(artifact::DirectoryEntry)) {
      artifact::DirectoryEntry entry;
      std::memcpy(&entry, bytes.data() + directory.offset + at, sizeof entry);
      if (entry.section != artifact::kWeights && entry.section != artifact::kTables) continue;
      const artifact::Section& section = header.sections[entry.section];
      if (!inside(section.offset, section.bytes, bytes.size()) || !inside(entry.offset, entry.bytes, section.bytes))
        continue;
      entry.checksum = artifact::checksum_of(bytes.subspan(section.offset + entry.offset, entry.bytes));
      std::memcpy(bytes.data() + directory.offset + at, &entry, sizeof entry);
    }
  }
  for (std::size_t id = 0; id < artifact::kWeights; ++id) {
    artifact::Section& section = header.sections[id];
    if (inside(section.offset, section.bytes, bytes.size()))
      section.checksum = artifact::checksum_of(bytes.subspan(section.offset, section.bytes));
  }
  header.checksum = artifact::checksum_of(artifact::checked_part(header));
  std::memcpy(bytes.data(), &header, sizeof header);
}

}  // namespace narthex::testing_artifact
