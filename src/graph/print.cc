#include "graph/print.h"

#include <fmt/ranges.h>

namespace narthex {
namespace {

std::string attribute_string(const AttributeValue& value) {
  struct Printer {
    std::string operator()(std::int64_t v) const { return fmt::to_string(v); }
    std::string operator()(float v) const { return fmt::to_string(v); }
    std::string operator()(const std::string& v) const { return fmt::format("\"{}\"", v); }
    std::string operator()(const Tensor& v) const {
      return fmt::format("{}{}", dtype_name(v.dtype()), dims_string(v.dims()));
    }
    std::string operator()(const std::vector<std::int64_t>& v) const { return fmt::format("[{}]", fmt::join(v, ",")); }
    std::string operator()(const std::vector<float>& v) const { return fmt::format("[{}]", fmt::join(v, ",")); }
    std::string operator()(const std::vector<std::string>& v) const { return fmt::format("[{}]", fmt::join(v, ",")); }
    std::string operator()(const std::vector<Tensor>& v) const { return fmt::format("{} tensors", v.size()); }
    std::string operator()(const std::shared_ptr<Graph>& v) const {
      return fmt::format("graph of {} nodes", v->nodes.size());
    }
  };
  return std::visit(Printer{}, value);
}

std::string ids_string(const std::vector<ValueId>& ids) {
  std::string text;
  for (const ValueId id : ids) {
    if (!text.empty()) text += ", ";
    text += id == kNoValue ? "-" : fmt::format("%{}", id);
  }
  return text;
}

}  // namespace

std::string value_string(const Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  std::string text = fmt::format("%{} {}", id, value.name);
  if (value.dtype != DType::kUndefined) text += fmt::format(" {}", dtype_name(value.dtype));
  if (value.shape) text += fmt::format(" {}", shape_string(*value.shape));
  return text;
}

std::string node_string(const Graph& graph, const Node& node) {
  std::string text;
  for (const ValueId id : node.outputs) {
    if (!text.empty()) text += ", ";
    text += id == kNoValue ? "-" : value_string(graph, id);
  }
  text += fmt::format(" = {}{}{}({})", node.domain, node.domain.empty() ? "" : ".", node.op, ids_string(node.inputs));
  for (const Attribute& attribute : node.attributes) {
    text += fmt::format(" {}={}", attribute.name, attribute_string(attribute.value));
  }
  return text;
}

std::string print_graph(const Graph& graph) {
  std::string text = fmt::format("graph {}\n", graph.name);
  for (const ValueId id : graph.inputs) text += fmt::format("input  {}\n", value_string(graph, id));
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    if (graph.values[i].constant) text += fmt::format("const  {}\n", value_string(graph, static_cast<ValueId>(i)));
  }
  for (const Node& node : graph.nodes) text += fmt::format("  {}\n", node_string(graph, node));
  for (const ValueId id : graph.outputs) text += fmt::format("output {}\n", value_string(graph, id));
  return text;
}

}  // namespace narthex
