#include "graph/build.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_map>

namespace narthex {
namespace {

using Opsets = std::unordered_map<std::string, int>;
using FunctionKey = std::string;

FunctionKey function_key(std::string_view domain, std::string_view name, std::string_view overload) {
  return fmt::format("{}\n{}\n{}", domain == "ai.onnx" ? "" : domain, name, overload);
}

// The names visible at one place. A scope with a parent is a subgraph: what it takes from the parent becomes its input.
struct Scope {
  Graph* graph = nullptr;
  Scope* parent = nullptr;
  std::unordered_map<std::string, ValueId> names;
  std::vector<std::string> captures;  // names taken from the parent, in the order of the inputs made for them
};

// The body of a function being inlined: where its attribute references look.
struct CallEnvironment {
  const onnx::Node* call = nullptr;
  const onnx::Function* function = nullptr;
  const CallEnvironment* outer = nullptr;
};

void collect_names(const onnx::Node& node, std::vector<std::string_view>& names) {
  for (const std::string& input : node.inputs) names.push_back(input);
  for (const onnx::Attribute& attribute : node.attributes) {
    for (const onnx::Graph& graph : attribute.graphs) {
      for (const onnx::Node& inner : graph.nodes) collect_names(inner, names);
      for (const onnx::ValueInfo& output : graph.outputs) names.push_back(output.name);
    }
  }
}

class Builder {
 public:
  explicit Builder(const onnx::Model& model) : model_(model) {
    for (const onnx::Function& function : model.functions) {
      functions_[function_key(function.domain, function.name, function.overload)] = &function;
    }
  }

  Result<Graph> build();

 private:
  Result<Opsets> read_opsets(const std::vector<onnx::OpsetImport>& imports) const;
  Result<void> fill(Graph& graph, Scope& scope, const onnx::Graph& source, const Opsets& opsets,
                    const CallEnvironment* env);
  Result<void> add_inputs(Graph& graph, Scope& scope, const onnx::Graph& source);
  Result<void> add_initializers(Graph& graph, Scope& scope, const onnx::Graph& source);
  Result<std::vector<std::size_t>> order(const std::vector<onnx::Node>& nodes) const;
  Result<void> add_nodes(Scope& scope, const std::vector<onnx::Node>& nodes, const Opsets& opsets,
                         const CallEnvironment* env, int depth);
  Result<void> add_node(Scope& scope, const onnx::Node& source, const Opsets& opsets, const CallEnvironment* env);
  Result<void> inline_function(Scope& scope, const onnx::Node& call, const onnx::Function& function,
                               const CallEnvironment* env, int depth);
  Result<ValueId> resolve(Scope& scope, const std::string& name, const onnx::Node* user);
  ValueId find(Scope& scope, const std::string& name);
  Result<ValueId> define(Scope& scope, const std::string& name, const onnx::Node& producer);
  Result<std::vector<Attribute>> attributes(const onnx::Node& node, const CallEnvironment* env,
                                            std::vector<const onnx::Attribute*>& graphs) const;
  Result<void> add_subgraphs(Scope& scope, Node& node, const onnx::Node& source,
                             const std::vector<const onnx::Attribute*>& graphs, const Opsets& opsets,
                             const CallEnvironment* env);

  template <class... Args>
  std::unexpected<Error> node_fail(const onnx::Node& node, fmt::format_string<Args...> format, Args&&... args) const {
    return fail(ErrorCode::kBadModel, "{}: node '{}' ({}): {}", model_.source, node.name, node.op_type,
                fmt::format(format, std::forward<Args>(args)...));
  }

  const onnx::Model& model_;
  std::unordered_map<FunctionKey, const onnx::Function*> functions_;
  std::size_t n_nodes_ = 0;
};

Result<Opsets> Builder::read_opsets(const std::vector<onnx::OpsetImport>& imports) const {
  Opsets opsets;
  for (const onnx::OpsetImport& import : imports) {
    const std::string domain = import.domain == "ai.onnx" ? "" : import.domain;
    if (import.version < 0 || import.version > 1'000'000) {
      return fail(ErrorCode::kBadModel, "{}: opset version {} of domain '{}' is not valid", model_.source,
                  import.version, import.domain);
    }
    opsets[domain] = static_cast<int>(import.version);
  }
  if (const auto onnx_opset = opsets.find(""); onnx_opset != opsets.end()) {
    if (onnx_opset->second < kMinOpset || onnx_opset->second > kMaxOpset) {
      return fail(ErrorCode::kUnsupported, "{}: is written for ONNX opset {}; Narthex reads opsets {} to {}",
                  model_.source, onnx_opset->second, kMinOpset, kMaxOpset);
    }
  }
  return opsets;
}

Result<Graph> Builder::build() {
  NX_TRY(const Opsets opsets, read_opsets(model_.opset_imports));
  Graph graph;
  Scope scope;
  scope.graph = &graph;
  NX_TRY_VOID(fill(graph, scope, model_.graph, opsets, nullptr));
  return graph;
}

Result<void> Builder::fill(Graph& graph, Scope& scope, const onnx::Graph& source, const Opsets& opsets,
                           const CallEnvironment* env) {
  graph.source = model_.source;
  graph.name = source.name;
  NX_TRY_VOID(add_initializers(graph, scope, source));
  NX_TRY_VOID(add_inputs(graph, scope, source));
  NX_TRY_VOID(add_nodes(scope, source.nodes, opsets, env, 0));
  for (const onnx::ValueInfo& output : source.outputs) {
    const ValueId id = find(scope, output.name);
    if (id == kNoValue) {
      return fail(ErrorCode::kBadModel, "{}: graph output '{}' is made by no node", model_.source, output.name);
    }
    graph.outputs.push_back(id);
  }
  return {};
}

Result<void> Builder::add_initializers(Graph& graph, Scope& scope, const onnx::Graph& source) {
  if (!source.sparse_initializers.empty()) {
    return fail(ErrorCode::kUnsupported,
                "{}: sparse initializer '{}' is not supported; export the model with dense weights", model_.source,
                source.sparse_initializers.front().values.name);
  }
  for (const onnx::Tensor& initializer : source.initializers) {
    auto tensor = Tensor::from_onnx(initializer);
    if (!tensor) {
      return fail(tensor.error().code, "{}: initializer '{}': {}", model_.source, initializer.name,
                  tensor.error().message);
    }
    const ValueId id = graph.add_constant(initializer.name, *std::move(tensor));
    if (!scope.names.emplace(initializer.name, id).second) {
      return fail(ErrorCode::kBadModel, "{}: initializer '{}' is there twice", model_.source, initializer.name);
    }
  }
  return {};
}

Result<void> Builder::add_inputs(Graph& graph, Scope& scope, const onnx::Graph& source) {
  for (const onnx::ValueInfo& input : source.inputs) {
    if (scope.names.contains(input.name))
      continue;  // a default that old files also list as an input: taken as constant
    if (input.type.kind != onnx::Type::Kind::kTensor && input.type.kind != onnx::Type::Kind::kUnset) {
      return fail(ErrorCode::kUnsupported,
                  "{}: graph input '{}' is not a tensor; sequences, maps and optionals are not supported",
                  model_.source, input.name);
    }
    const ValueId id = graph.add_value(input.name);
    Value& value = graph.value(id);
    value.dtype = input.type.elem;
    if (input.type.has_shape) {
      value.shape.emplace();
      for (const onnx::Dim& dim : input.type.shape) {
        if (dim.kind == onnx::Dim::Kind::kValue && dim.value >= 0) {
          value.shape->emplace_back(dim.value);
        } else if (dim.kind == onnx::Dim::Kind::kParam && !dim.param.empty()) {
          value.shape->push_back(Dim::symbol(dim.param));
        } else {
          value.shape->push_back(Dim::symbol(fmt::format("{}.{}", input.name, value.shape->size())));
        }
      }
    }
    graph.inputs.push_back(id);
    if (!scope.names.emplace(input.name, id).second) {
      return fail(ErrorCode::kBadModel, "{}: graph input '{}' is there twice", model_.source, input.name);
    }
  }
  return {};
}

Result<std::vector<std::size_t>> Builder::order(const std::vector<onnx::Node>& nodes) const {
  std::unordered_map<std::string_view, std::size_t> producers;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string& output : nodes[i].outputs) {
      if (!output.empty()) producers.emplace(output, i);
    }
  }
  std::vector<std::vector<std::size_t>> users(nodes.size());
  std::vector<std::size_t> missing(nodes.size(), 0);
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    names.clear();
    collect_names(nodes[i], names);
    for (const std::string_view name : names) {
      const auto producer = producers.find(name);
      if (producer == producers.end()) continue;
      users[producer->second].push_back(i);
      ++missing[i];
    }
  }
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>>
      ready;  // the file's own order where it can be
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (missing[i] == 0) ready.push(i);
  }
  std::vector<std::size_t> sorted;
  while (!ready.empty()) {
    const std::size_t i = ready.top();
    ready.pop();
    sorted.push_back(i);
    for (const std::size_t user : users[i]) {
      if (--missing[user] == 0) ready.push(user);
    }
  }
  if (sorted.size() != nodes.size()) {
    const auto stuck = std::ranges::find_if(missing, [](std::size_t n) { return n > 0; }) - missing.begin();
    return node_fail(nodes[static_cast<std::size_t>(stuck)], "depends on its own output (the graph has a cycle)");
  }
  return sorted;
}

ValueId Builder::find(Scope& scope, const std::string& name) {
  if (const auto found = scope.names.find(name); found != scope.names.end()) return found->second;
  if (scope.parent == nullptr) return kNoValue;
  const ValueId outer = find(*scope.parent, name);
  if (outer == kNoValue) return kNoValue;
  const ValueId id = scope.graph->add_value(name);
  const Value& captured = scope.parent->graph->value(outer);
  scope.graph->value(id).dtype = captured.dtype;
  scope.graph->value(id).shape = captured.shape;
  scope.graph->inputs.push_back(id);
  scope.captures.push_back(name);
  scope.names.emplace(name, id);
  return id;
}

Result<ValueId> Builder::resolve(Scope& scope, const std::string& name, const onnx::Node* user) {
  if (name.empty()) return kNoValue;
  // Names that stand for an omitted argument of an inlined function are bound to kNoValue.
  if (const auto found = scope.names.find(name); found != scope.names.end()) return found->second;
  const ValueId id = find(scope, name);
  if (id == kNoValue) return node_fail(*user, "input '{}' is made by no node and is no input of the graph", name);
  return id;
}

Result<ValueId> Builder::define(Scope& scope, const std::string& name, const onnx::Node& producer) {
  if (name.empty()) return kNoValue;
  const ValueId id = scope.graph->add_value(name);
  if (!scope.names.emplace(name, id).second) return node_fail(producer, "makes '{}', which exists already", name);
  return id;
}

Result<void> Builder::add_nodes(Scope& scope, const std::vector<onnx::Node>& nodes, const Opsets& opsets,
                                const CallEnvironment* env, int depth) {
  NX_TRY(const std::vector<std::size_t> sorted, order(nodes));
  for (const std::size_t i : sorted) {
    const onnx::Node& source = nodes[i];
    const auto function = functions_.find(function_key(source.domain, source.op_type, source.overload));
    if (function != functions_.end()) {
      NX_TRY_VOID(inline_function(scope, source, *function->second, env, depth + 1));
    } else {
      NX_TRY_VOID(add_node(scope, source, opsets, env));
    }
  }
  return {};
}

Result<void> Builder::add_node(Scope& scope, const onnx::Node& source, const Opsets& opsets,
                               const CallEnvironment* env) {
  if (++n_nodes_ > kMaxGraphNodes) {
    return fail(ErrorCode::kLimit, "{}: has more than {} nodes once its functions are inlined", model_.source,
                kMaxGraphNodes);
  }
  Node node;
  node.op = source.op_type;
  node.domain = source.domain == "ai.onnx" ? "" : source.domain;
  node.name = source.name.empty() ? fmt::format("{}_{}", source.op_type, n_nodes_) : source.name;
  const auto opset = opsets.find(node.domain);
  if (opset == opsets.end() && node.domain.empty()) {
    return node_fail(source, "the file imports no version of the ONNX operator set");
  }
  node.opset = opset == opsets.end() ? 1 : opset->second;
  std::vector<const onnx::Attribute*> graphs;
  NX_TRY(node.attributes, attributes(source, env, graphs));
  for (const std::string& input : source.inputs) {
    NX_TRY(const ValueId id, resolve(scope, input, &source));
    node.inputs.push_back(id);
  }
  if (!graphs.empty()) NX_TRY_VOID(add_subgraphs(scope, node, source, graphs, opsets, env));
  for (const std::string& output : source.outputs) {
    NX_TRY(const ValueId id, define(scope, output, source));
    node.outputs.push_back(id);
  }
  scope.graph->nodes.push_back(std::move(node));
  return {};
}

Result<void> Builder::add_subgraphs(Scope& scope, Node& node, const onnx::Node& source,
                                    const std::vector<const onnx::Attribute*>& graphs, const Opsets& opsets,
                                    const CallEnvironment* env) {
  std::vector<std::shared_ptr<Graph>> built;
  std::vector<Scope> scopes(graphs.size());
  std::vector<std::string> captures;  // of all subgraphs together, in the order of the node's extra inputs
  std::vector<std::size_t> n_formal;
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    built.push_back(std::make_shared<Graph>());
    scopes[i].graph = built[i].get();
    scopes[i].parent = &scope;
    NX_TRY_VOID(fill(*built[i], scopes[i], graphs[i]->graph(), opsets, env));
    n_formal.push_back(built[i]->inputs.size() - scopes[i].captures.size());
    for (const std::string& name : scopes[i].captures) {
      if (std::ranges::find(captures, name) == captures.end()) captures.push_back(name);
    }
  }
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    Graph& graph = *built[i];
    // Formal inputs may stand anywhere among the captures made while the body was read: keep them in front.
    std::vector<ValueId> inputs(graph.inputs.begin(), graph.inputs.begin() + static_cast<std::ptrdiff_t>(n_formal[i]));
    for (const std::string& name : captures) {
      const auto found = std::ranges::find(scopes[i].captures, name);
      inputs.push_back(found == scopes[i].captures.end() ? graph.add_value(name) : scopes[i].names.at(name));
    }
    graph.inputs = std::move(inputs);
    node.attributes.push_back({graphs[i]->name, std::move(built[i])});
  }
  for (const std::string& name : captures) {
    NX_TRY(const ValueId id, resolve(scope, name, &source));
    node.inputs.push_back(id);
  }
  return {};
}

Result<void> Builder::inline_function(Scope& scope, const onnx::Node& call, const onnx::Function& function,
                                      const CallEnvironment* env, int depth) {
  if (depth > kMaxFunctionDepth) {
    return fail(ErrorCode::kLimit, "{}: function '{}' is nested more than {} deep, or calls itself", model_.source,
                function.name, kMaxFunctionDepth);
  }
  if (call.inputs.size() > function.inputs.size() || call.outputs.size() > function.outputs.size()) {
    return node_fail(call, "has {} inputs and {} outputs, but the function declares {} and {}", call.inputs.size(),
                     call.outputs.size(), function.inputs.size(), function.outputs.size());
  }
  NX_TRY(const Opsets opsets, read_opsets(function.opset_imports));
  Scope body;
  body.graph = scope.graph;
  for (std::size_t i = 0; i < function.inputs.size(); ++i) {
    ValueId id = kNoValue;
    if (i < call.inputs.size()) {
      NX_TRY(id, resolve(scope, call.inputs[i], &call));
    }
    body.names[function.inputs[i]] = id;
  }
  const CallEnvironment inner{&call, &function, env};
  NX_TRY_VOID(add_nodes(body, function.nodes, opsets, &inner, depth));
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    if (call.outputs[i].empty()) continue;
    const auto made = body.names.find(function.outputs[i]);
    if (made == body.names.end() || made->second == kNoValue) {
      return node_fail(call, "function output '{}' is made by no node of the function", function.outputs[i]);
    }
    if (!scope.names.emplace(call.outputs[i], made->second).second) {
      return node_fail(call, "makes '{}', which exists already", call.outputs[i]);
    }
  }
  return {};
}

// The attribute that a reference inside a function body means; nullptr when the call leaves it out.
const onnx::Attribute* referenced(std::string_view name, const CallEnvironment* env) {
  if (env == nullptr) return nullptr;
  for (const onnx::Attribute& given : env->call->attributes) {
    if (given.name != name) continue;
    return given.ref_attr_name.empty() ? &given : referenced(given.ref_attr_name, env->outer);
  }
  for (const onnx::Attribute& fallback : env->function->default_attributes) {
    if (fallback.name == name) return &fallback;
  }
  return nullptr;
}

Result<std::vector<Attribute>> Builder::attributes(const onnx::Node& node, const CallEnvironment* env,
                                                   std::vector<const onnx::Attribute*>& graphs) const {
  std::vector<Attribute> result;
  for (const onnx::Attribute& declared : node.attributes) {
    const onnx::Attribute* source = &declared;
    if (!declared.ref_attr_name.empty()) {
      source = referenced(declared.ref_attr_name, env);
      if (source == nullptr) continue;
    }
    const auto add = [&](AttributeValue value) { result.push_back({declared.name, std::move(value)}); };
    switch (source->type) {
      case onnx::AttrType::kFloat:
        add(source->f);
        break;
      case onnx::AttrType::kInt:
        add(source->i);
        break;
      case onnx::AttrType::kString:
        add(source->s);
        break;
      case onnx::AttrType::kFloats:
        add(source->floats);
        break;
      case onnx::AttrType::kInts:
        add(source->ints);
        break;
      case onnx::AttrType::kStrings:
        add(source->strings);
        break;
      case onnx::AttrType::kGraph:
        graphs.push_back(&declared);
        break;
      case onnx::AttrType::kTensor: {
        auto tensor = Tensor::from_onnx(source->tensor());
        if (!tensor) return node_fail(node, "attribute '{}': {}", declared.name, tensor.error().message);
        add(*std::move(tensor));
        break;
      }
      default:
        return fail(ErrorCode::kUnsupported, "{}: node '{}' ({}): attribute '{}' of type {} is not supported",
                    model_.source, node.name, node.op_type, declared.name, onnx::attr_type_name(source->type));
    }
  }
  return result;
}

}  // namespace

Result<Graph> build_graph(const onnx::Model& model) {
  return Builder(model).build();
}

}  // namespace narthex
