#include "ops/normalise.h"

#include <unordered_map>

namespace narthex {
namespace {

// A row may emit nodes that their own rows rewrite again (FusedGemm → Gemm + FastGelu → …): more is a loop of ours.
constexpr int kMaxRewriteDepth = 12;

class NormaliseRewriter final : public Rewriter {
 public:
  explicit NormaliseRewriter(Graph& graph) : graph_(graph) {}

  Result<void> run() {
    std::vector<Node> source = std::move(graph_.nodes);
    graph_.nodes.clear();
    for (Node& node : source) {
      for (ValueId& input : node.inputs) input = follow(input);
      NX_TRY_VOID(add(std::move(node), 0));
    }
    for (ValueId& output : graph_.outputs) output = follow(output);
    return {};
  }

  ValueId emit(std::string_view op, std::vector<ValueId> inputs, std::vector<Attribute> attributes,
               ValueId output) override {
    if (output == kNoValue) output = graph_.add_value(fmt::format("{}/{}", current_->name, op));
    return emit_many(op, std::move(inputs), std::move(attributes), {output}).front();
  }

  std::vector<ValueId> emit_many(std::string_view op, std::vector<ValueId> inputs, std::vector<Attribute> attributes,
                                 std::vector<ValueId> outputs) override {
    Node node;
    node.name = current_->name;
    node.op = op;
    node.opset = kCanonicalOpset;
    node.inputs = std::move(inputs);
    node.attributes = std::move(attributes);
    node.outputs = outputs;
    emitted_.push_back(std::move(node));
    return outputs;
  }

  ValueId constant(Tensor tensor) override {
    return graph_.add_constant(fmt::format("{}/constant", current_->name), std::move(tensor));
  }

  ValueId new_value() override { return graph_.add_value(fmt::format("{}/value", current_->name)); }

  void alias(ValueId old_value, ValueId new_value) override { aliases_[old_value] = follow(new_value); }
  const Graph& graph() const override { return graph_; }

  const Tensor* constant_of(ValueId value) const override {
    if (value == kNoValue) return nullptr;
    const auto& constant = graph_.value(follow(value)).constant;
    return constant ? &*constant : nullptr;
  }

 private:
  ValueId follow(ValueId id) const {
    const auto found = aliases_.find(id);
    return found == aliases_.end() ? id : found->second;
  }

  Result<void> add(Node node, int depth) {
    const auto failed = [&](Error error) { return std::unexpected(node_error(graph_, node, std::move(error))); };
    node.def = find_op(node.domain, node.op, node.opset);
    if (node.def == nullptr) {
      return failed({ErrorCode::kUnsupported, fmt::format("operator '{}{}{}' (opset {}) is not supported", node.domain,
                                                          node.domain.empty() ? "" : ".", node.op, node.opset)});
    }
    if (auto counted = check_counts(node); !counted) return failed(counted.error());
    for (const Attribute& attribute : node.attributes) {
      if (const auto* subgraph = std::get_if<std::shared_ptr<Graph>>(&attribute.value))
        NX_TRY_VOID(normalise(**subgraph));
    }
    if (node.def->normalise == nullptr) {
      graph_.nodes.push_back(std::move(node));
      infer(graph_.nodes.back());
      return {};
    }
    if (depth >= kMaxRewriteDepth) return failed({ErrorCode::kUnsupported, "its rewriting does not end"});
    std::vector<Node> outer_emitted = std::move(emitted_);
    const Node* outer_current = current_;
    emitted_.clear();
    current_ = &node;
    auto rewritten = node.def->normalise(node, *this);
    std::vector<Node> emitted = std::move(emitted_);
    emitted_ = std::move(outer_emitted);
    current_ = outer_current;
    if (!rewritten) return failed(rewritten.error());
    for (Node& next : emitted) {
      for (ValueId& input : next.inputs) input = follow(input);
      // A row that changes only the spelling emits its own operator, with the canonical version.
      NX_TRY_VOID(add(std::move(next), depth + 1));
    }
    return {};
  }

  // Ranks and types help the rows that come later (Softmax before opset 13, FusedMatMul). What is invalid is reported
  // by whoever needs it: inferring is not this function's task.
  void infer(const Node& node) {
    if (node.def->infer == nullptr) return;
    InferContext context(graph_, node);
    static_cast<void>(node.def->infer(context));
  }

  static Result<void> check_counts(const Node& node) {
    const auto check = [](const char* what, std::size_t count, int least, int most) -> Result<void> {
      if (count < static_cast<std::size_t>(least) || count > static_cast<std::size_t>(most)) {
        return fail(ErrorCode::kBadModel, "has {} {}, expected {}", count, what,
                    least == most  ? fmt::to_string(least)
                    : most >= kAny ? fmt::format("{} or more", least)
                                   : fmt::format("{} to {}", least, most));
      }
      return {};
    };
    NX_TRY_VOID(check("inputs", node.inputs.size(), node.def->min_inputs, node.def->max_inputs));
    NX_TRY_VOID(check("outputs", node.outputs.size(), node.def->min_outputs, node.def->max_outputs));
    for (int i = 0; i < node.def->min_inputs; ++i) {
      // Required inputs come first in every ONNX operator; variadic ones may not be empty either.
      if (!node.has_input(static_cast<std::size_t>(i))) return fail(ErrorCode::kBadModel, "input {} is missing", i);
    }
    return {};
  }

  Graph& graph_;
  std::unordered_map<ValueId, ValueId> aliases_;
  std::vector<Node> emitted_;
  const Node* current_ = nullptr;
};

}  // namespace

Result<void> normalise(Graph& graph) {
  return NormaliseRewriter(graph).run();
}

}  // namespace narthex
