#include "text/byte_trie.h"

#include "base/check.h"

namespace narthex {

ByteTrie::ByteTrie() : edges_(64), values_{kNone} {}

std::size_t ByteTrie::slot(std::uint32_t key) const {
  const std::size_t mask = edges_.size() - 1;
  std::size_t at = (key * 0x9E3779B97F4A7C15u >> 32) & mask;
  while (edges_[at].key != key && edges_[at].key != kFree) at = (at + 1) & mask;
  return at;
}

std::uint32_t ByteTrie::step(std::uint32_t node, unsigned char byte) const {
  const Edge& edge = edges_[slot(node << 8 | byte)];
  return edge.key == kFree ? kNone : edge.to;
}

void ByteTrie::grow() {
  std::vector<Edge> old(edges_.size() * 2);
  old.swap(edges_);
  for (const Edge& edge : old) {
    if (edge.key != kFree) edges_[slot(edge.key)] = edge;
  }
}

void ByteTrie::add(std::string_view key, std::uint32_t value) {
  NX_CHECK(values_.size() + key.size() <= kMaxTotalBytes + 2, "the strings of a trie are capped by its owner");
  std::uint32_t node = kRoot;
  for (const char c : key) {
    const std::uint32_t edge_key = node << 8 | static_cast<unsigned char>(c);
    std::size_t at = slot(edge_key);
    if (edges_[at].key == kFree) {
      if ((n_edges_ + 1) * 2 > edges_.size()) {
        grow();
        at = slot(edge_key);
      }
      edges_[at] = {edge_key, static_cast<std::uint32_t>(values_.size())};
      values_.push_back(kNone);
      ++n_edges_;
    }
    node = edges_[at].to;
  }
  values_[node] = value;
}

std::uint32_t ByteTrie::walk(std::uint32_t node, std::string_view bytes) const {
  for (const char c : bytes) {
    if (node == kNone) break;
    node = step(node, static_cast<unsigned char>(c));
  }
  return node;
}

ByteTrie::Match ByteTrie::longest(std::uint32_t node, std::string_view text) const {
  Match best;
  for (std::size_t i = 0; i < text.size(); ++i) {
    node = step(node, static_cast<unsigned char>(text[i]));
    if (node == kNone) break;
    if (values_[node] != kNone) best = {i + 1, values_[node]};
  }
  return best;
}

}  // namespace narthex
