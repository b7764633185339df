#include "graph/graph.h"

namespace narthex {
namespace {

template <class T>
Result<T> typed_attr(const Node& node, std::string_view name, T fallback, const char* expected) {
  const AttributeValue* value = node.find(name);
  if (value == nullptr) return fallback;
  if (const T* typed = std::get_if<T>(value)) return *typed;
  return fail(ErrorCode::kBadModel, "attribute '{}' must be {}", name, expected);
}

}  // namespace

const AttributeValue* Node::find(std::string_view attribute) const {
  for (const Attribute& a : attributes) {
    if (a.name == attribute) return &a.value;
  }
  return nullptr;
}

void Node::set(std::string_view attribute, AttributeValue value) {
  for (Attribute& a : attributes) {
    if (a.name == attribute) {
      a.value = std::move(value);
      return;
    }
  }
  attributes.push_back({std::string(attribute), std::move(value)});
}

Result<std::int64_t> Node::int_attr(std::string_view attribute, std::int64_t fallback) const {
  return typed_attr<std::int64_t>(*this, attribute, fallback, "an integer");
}

Result<float> Node::float_attr(std::string_view attribute, float fallback) const {
  return typed_attr<float>(*this, attribute, fallback, "a float");
}

Result<std::string> Node::string_attr(std::string_view attribute, std::string_view fallback) const {
  return typed_attr<std::string>(*this, attribute, std::string(fallback), "a string");
}

Result<std::vector<std::int64_t>> Node::ints_attr(std::string_view attribute,
                                                  std::vector<std::int64_t> fallback) const {
  return typed_attr<std::vector<std::int64_t>>(*this, attribute, std::move(fallback), "a list of integers");
}

ValueId Graph::add_constant(std::string constant_name, Tensor tensor) {
  const ValueId id = add_value(std::move(constant_name));
  Value& v = value(id);
  v.dtype = tensor.dtype();
  v.shape = Shape(tensor.dims().begin(), tensor.dims().end());
  v.constant = std::move(tensor);
  return id;
}

Error node_error(const Graph& graph, const Node& node, Error error) {
  error.message = fmt::format("{}: node '{}' ({}): {}", graph.source, node.name, node.op, error.message);
  return error;
}

}  // namespace narthex
