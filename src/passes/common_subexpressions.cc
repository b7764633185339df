// Keeps one of several equal nodes (same operator, attributes and inputs), of equal small constants, and of integer
// tensors whose elements are equal expressions.
//
//   common_subexpressions(graph)   returns the number of values replaced
//
// Exporters write the same mask or scale once a layer; the recogniser and the interpreter want to see it once. Nodes
// that carry subgraphs are left alone. Covered by tests/passes/common_subexpressions_test.cc.
#include <cstdint>
#include <cstring>
#include <string>
#include <unordered_map>

#include "ops/ops.h"
#include "passes/match.h"
#include "passes/passes.h"

namespace narthex {
namespace {

// Larger constants are weights: comparing them costs more than a second copy, which files rarely hold.
constexpr std::size_t kMaxSharedBytes = 4096;

template <class T>
void append_raw(std::string& key, const T& value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

template <class T>
void append_list(std::string& key, const std::vector<T>& list) {
  append_raw(key, list.size());
  for (const T& element : list) append_raw(key, element);
}

void append_text(std::string& key, std::string_view text) {
  append_raw(key, text.size());
  key.append(text);
}

bool append_tensor(std::string& key, const Tensor& tensor) {
  if (tensor.dtype() == DType::kString || tensor.bytes() > kMaxSharedBytes) return false;
  append_raw(key, tensor.dtype());
  append_list(key, tensor.dims());
  key.append(reinterpret_cast<const char*>(tensor.data()), tensor.bytes());
  return true;
}

bool append_attribute(std::string& key, const Attribute& attribute) {
  append_text(key, attribute.name);
  append_raw(key, attribute.value.index());
  return std::visit(
      [&]<class T>(const T& value) {
        if constexpr (std::is_same_v<T, std::int64_t> || std::is_same_v<T, float>) {
          append_raw(key, value);
        } else if constexpr (std::is_same_v<T, std::string>) {
          append_text(key, value);
        } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>> || std::is_same_v<T, std::vector<float>>) {
          append_list(key, value);
        } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          for (const std::string& text : value) append_text(key, text);
        } else if constexpr (std::is_same_v<T, Tensor>) {
          return append_tensor(key, value);
        } else {
          return false;
        }
        return true;
      },
      attribute.value);
}

bool is_random(const Node& node) {
  return node.op.starts_with("Random") || node.op == "Bernoulli" || node.op == "Multinomial";
}

// Text that is equal for equal nodes; nullopt for nodes that are never merged.
std::optional<std::string> key_of(const Node& node, const Replacements& replacements) {
  if (node.def == nullptr || is_random(node)) return std::nullopt;
  std::string key;
  append_raw(key, reinterpret_cast<std::uintptr_t>(node.def));
  append_raw(key, node.inputs.size());
  for (const ValueId v : node.inputs) append_raw(key, replacements.resolve(v));
  for (const ValueId v : node.outputs) append_raw(key, v == kNoValue);
  for (const Attribute& attribute : node.attributes) {
    if (!append_attribute(key, attribute)) return std::nullopt;
  }
  return key;
}

// Text that is equal for integer tensors of equal elements, as symbolic_shapes knows them: the same [batch, seq, 12,
// 32] is often computed from another tensor in every layer.
std::optional<std::string> content_key(const Graph& graph, const Node& node) {
  if (node.outputs.size() != 1 || node.outputs[0] == kNoValue) return std::nullopt;
  const Value& value = graph.value(node.outputs[0]);
  if (!value.content || !value.shape || value.dtype == DType::kUndefined) return std::nullopt;
  return fmt::format("{} {} {}", dtype_name(value.dtype), shape_string(*value.shape), shape_string(*value.content));
}

void share_constants(const Graph& graph, const Uses& uses, Replacements& replacements) {
  std::unordered_map<std::string, ValueId> constants;
  for (std::size_t v = 0; v < graph.values.size(); ++v) {
    const auto id = static_cast<ValueId>(v);
    std::string key;
    if (!graph.values[v].constant || uses.count(id) == 0 || uses.is_input(id)) continue;
    if (!append_tensor(key, *graph.values[v].constant)) continue;
    if (const auto [seen, is_new] = constants.try_emplace(std::move(key), id); !is_new) {
      replacements.add(uses, id, seen->second);
    }
  }
}

}  // namespace

Result<std::size_t> common_subexpressions(Graph& graph) {
  const Uses uses(graph);
  Replacements replacements(graph);
  share_constants(graph, uses, replacements);
  std::unordered_map<std::string, ValueId> contents;
  std::unordered_map<std::string, std::size_t> nodes;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (auto content = content_key(graph, graph.nodes[i])) {
      const ValueId result = graph.nodes[i].outputs[0];
      const auto [seen, is_new] = contents.try_emplace(*std::move(content), result);
      if (!is_new && replacements.add(uses, result, seen->second)) continue;
    }
    auto key = key_of(graph.nodes[i], replacements);
    if (!key) continue;
    const auto [seen, is_new] = nodes.try_emplace(*std::move(key), i);
    if (is_new) continue;
    const Node& first = graph.nodes[seen->second];
    for (std::size_t k = 0; k < first.outputs.size(); ++k) {
      if (first.outputs[k] != kNoValue) replacements.add(uses, graph.nodes[i].outputs[k], first.outputs[k]);
    }
  }
  return replacements.apply();
}

}  // namespace narthex
