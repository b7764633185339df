#include "text/double_array.h"

#include <algorithm>
#include <array>
#include <bit>

#include "base/check.h"

namespace narthex {
namespace {

constexpr std::uint32_t kBlock = 256;
constexpr std::uint32_t kFree = 0xFF;

struct Bits256 {
  std::array<std::uint64_t, 4> words{};
  bool has(std::uint32_t i) const { return (words[i >> 6] >> (i & 63) & 1) != 0; }
  void set(std::uint32_t i) { words[i >> 6] |= std::uint64_t{1} << (i & 63); }
};

// A block that may still take nodes. One that refused too often is left as it is: this bounds the work of strings made
// to fit nowhere. On BERT's vocabulary 64 refusals and 8 blocks leave 2 % of the units free.
struct OpenBlock {
  static constexpr std::size_t kMax = 8;
  static constexpr std::uint32_t kMaxRefusals = 64;

  std::uint32_t first;  // unit
  Bits256 taken;
  Bits256 bases;
  std::uint32_t n_taken = 0;
  std::uint32_t refusals = 0;

  // The base under which all `labels` are free, within the block; kBlock when there is none.
  std::uint32_t fit(std::span<const std::uint8_t> labels) const {
    if (n_taken + labels.size() > kBlock) return kBlock;
    for (std::uint32_t word = 0; word < 4; ++word) {
      for (std::uint64_t open = ~taken.words[word]; open != 0; open &= open - 1) {
        const std::uint32_t base = (word * 64 + static_cast<std::uint32_t>(std::countr_zero(open))) ^ labels[0];
        if (bases.has(base)) continue;
        if (std::ranges::none_of(labels, [&](std::uint8_t label) { return taken.has(base ^ label); })) return base;
      }
    }
    return kBlock;
  }
};

// Big-endian, so that comparing numbers compares the first eight bytes.
std::uint64_t sort_prefix(std::string_view text) {
  std::uint64_t prefix = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    prefix = prefix << 8 | (i < text.size() ? static_cast<unsigned char>(text[i]) : 0u);
  }
  return prefix;
}

void sort_keys(std::vector<DoubleArray::Key>& keys) {
  struct Sortable {
    std::uint64_t prefix;
    DoubleArray::Key key;
  };
  std::vector<Sortable> order;
  order.reserve(keys.size());
  for (const DoubleArray::Key& key : keys) order.push_back({sort_prefix(key.text), key});
  std::ranges::sort(order, [](const Sortable& a, const Sortable& b) {
    return a.prefix != b.prefix ? a.prefix < b.prefix : a.key.text < b.key.text;
  });
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = order[i].key;
}

struct Arrays {
  std::vector<std::uint32_t> units;
  std::vector<std::int32_t> values;
};

}  // namespace

class DoubleArray::Builder {
 public:
  explicit Builder(std::span<const Key> keys) : keys_(keys), arrays_(std::make_shared<Arrays>()) {
    arrays_->units.assign(kBlock, kFree);
    arrays_->values.assign(kBlock, 0);
  }

  // Depth first: what lies below a node is near it.
  bool build() {
    if (keys_.empty()) open_block();  // the first node to be placed opens it otherwise, and so gets the base kRoot
    std::vector<Range> stack;
    if (!add_children({0, keys_.size(), 0, kNoUnit}, stack)) return false;
    while (!stack.empty()) {
      const Range next = stack.back();
      stack.pop_back();
      if (!add_children(next, stack)) return false;
    }
    return true;
  }

  std::shared_ptr<Arrays> arrays() { return arrays_; }

 private:
  static constexpr std::uint32_t kNoUnit = 0xFFFFFFFF;
  // Keys with the first `depth` bytes in common, below one unit.
  struct Range {
    std::size_t begin;
    std::size_t end;
    std::size_t depth;
    std::uint32_t unit;
  };

  void open_block() {
    if (open_.size() == OpenBlock::kMax) open_.erase(open_.begin());
    open_.push_back({.first = static_cast<std::uint32_t>(arrays_->units.size()), .taken = {}, .bases = {}});
    arrays_->units.resize(arrays_->units.size() + kBlock, kFree);
    arrays_->values.resize(arrays_->values.size() + kBlock, 0);
  }

  std::uint32_t take(OpenBlock& block, std::uint32_t base, std::span<const std::uint8_t> labels) {
    block.bases.set(base);
    for (const std::uint8_t label : labels) block.taken.set(base ^ label);
    block.n_taken += static_cast<std::uint32_t>(labels.size());
    return block.first + base;
  }

  // A base for a node with these children, whose units it takes; kDead when all units are used up.
  std::uint32_t place(std::span<const std::uint8_t> labels) {
    for (std::size_t i = open_.size(); i-- > 0;) {
      const std::uint32_t base = open_[i].fit(labels);
      if (base != kBlock) return take(open_[i], base, labels);
      if (++open_[i].refusals >= OpenBlock::kMaxRefusals || open_[i].n_taken == kBlock) {
        open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
    if (arrays_->units.size() + kBlock > kMaxUnits) return kDead;
    open_block();
    return take(open_.back(), 0, labels);
  }

  bool add_children(Range range, std::vector<Range>& stack) {
    if (range.begin < range.end && keys_[range.begin].text.size() == range.depth) ++range.begin;
    if (range.begin == range.end) return true;
    labels_.clear();
    const std::size_t first_child = stack.size();
    for (std::size_t i = range.begin; i < range.end;) {
      const auto label = static_cast<std::uint8_t>(keys_[i].text[range.depth]);
      std::size_t end = i + 1;
      while (end < range.end && static_cast<std::uint8_t>(keys_[end].text[range.depth]) == label) ++end;
      labels_.push_back(label);
      stack.push_back({i, end, range.depth + 1, 0});
      i = end;
    }
    const std::uint32_t base = place(labels_);
    if (base == kDead) return false;
    if (range.unit != kNoUnit) arrays_->units[range.unit] |= base << kBaseShift;
    for (std::size_t i = 0; i < labels_.size(); ++i) {
      Range& child = stack[first_child + i];
      child.unit = base ^ labels_[i];
      const Key& key = keys_[child.begin];
      const bool terminal = key.text.size() == child.depth;
      arrays_->units[child.unit] = labels_[i] | (terminal ? kTerminal : 0u);
      if (terminal) arrays_->values[child.unit] = key.value;
    }
    return true;
  }

  std::span<const Key> keys_;
  std::shared_ptr<Arrays> arrays_;
  std::vector<OpenBlock> open_;
  std::vector<std::uint8_t> labels_;
};

DoubleArray::DoubleArray() {
  *this = *build({});
}

std::optional<DoubleArray> DoubleArray::build(std::vector<Key> keys) {
  sort_keys(keys);
  Builder builder(keys);
  if (!builder.build()) return std::nullopt;
  const std::shared_ptr<const Arrays> arrays = builder.arrays();
  return DoubleArray(arrays->units, arrays->values, arrays);
}

std::optional<DoubleArray> DoubleArray::from_parts(std::span<const std::uint32_t> units,
                                                   std::span<const std::int32_t> values,
                                                   std::shared_ptr<const void> owner) {
  const std::size_t n = units.size();
  if (n < 2 * kBlock || n % kBlock != 0 || n > kMaxUnits || values.size() != n) return std::nullopt;
  std::uint32_t largest = 0;
  for (const std::uint32_t unit : units) largest = std::max(largest, unit);
  std::int32_t signs = 0;
  for (const std::int32_t value : values) signs |= value;
  if (largest >> kBaseShift >= n || signs < 0) return std::nullopt;
  return DoubleArray(units, values, std::move(owner));
}

std::optional<std::int32_t> DoubleArray::find(std::string_view key) const {
  const Match match = longest(kRoot, key);
  if (match.length == 0 || match.length != key.size()) return std::nullopt;
  return match.value;
}

}  // namespace narthex
