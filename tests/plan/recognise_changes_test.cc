// Exported encoders with one thing changed, at random: an operand, an axis, a constant, an operator, an output.
// Whatever is still recognised computes what the changed graph does; the rest is refused. Never a wrong encoder.
#include <cstdio>
#include <cstdlib>

#include "graph/verify.h"
#include "ops/ops.h"
#include "plan/recognise_tools.h"

namespace narthex::testing {
namespace {

class Changer {
 public:
  Changer(Graph graph, unsigned seed) : graph_(std::move(graph)), random_(seed) {}

  // The changed graph, and in words what was changed; an empty graph when the draw did not fit.
  Graph change(std::string& what) {
    Graph graph = graph_;
    Node& node = graph.nodes[below(graph.nodes.size())];
    what = fmt::format("{} {}: ", node.op, node.name);
    using Change = bool (Changer::*)(Graph&, Node&, std::string&);
    constexpr Change kChanges[] = {&Changer::swap_inputs,    &Changer::other_input,  &Changer::other_operator,
                                   &Changer::other_constant, &Changer::other_number, &Changer::extra_output};
    const Change apply = kChanges[below(std::size(kChanges))];
    if (!(this->*apply)(graph, node, what) || !verify(graph)) return {};
    return graph;
  }

 private:
  std::size_t below(std::size_t n) { return random_() % n; }

  bool swap_inputs(Graph& /*graph*/, Node& node, std::string& what) {
    if (node.inputs.size() < 2 || node.inputs[0] == node.inputs[1]) return false;
    std::swap(node.inputs[0], node.inputs[1]);
    what += "operands 0 and 1 swapped";
    return true;
  }

  bool other_input(Graph& graph, Node& node, std::string& what) {
    if (node.inputs.empty()) return false;
    const std::size_t i = below(node.inputs.size());
    const std::size_t made_before = static_cast<std::size_t>(&node - graph.nodes.data());
    if (made_before == 0) return false;
    // One of the nearest values, which often have the right shape.
    const std::size_t from = made_before - 1 - below(std::min<std::size_t>(made_before, 30));
    const ValueId other = graph.nodes[from].outputs[0];
    if (other == node.inputs[i] || node.inputs[i] == kNoValue) return false;
    what += fmt::format("operand {} is '{}'", i, graph.value(other).name);
    node.inputs[i] = other;
    return true;
  }

  bool other_operator(Graph& /*graph*/, Node& node, std::string& what) {
    static constexpr const char* kGroups[][5] = {{"Add", "Sub", "Mul", "Div", "Max"},
                                                 {"Tanh", "Sigmoid", "Relu", "Erf", "Neg"},
                                                 {"Cos", "Sin", "Exp", "Sqrt", "Abs"},
                                                 {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceL2", "ReduceMin"},
                                                 {"Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual"}};
    for (const auto& group : kGroups) {
      if (std::ranges::find(group, node.op) == std::end(group)) continue;
      const char* op = group[below(5)];
      if (node.op == op) return false;
      node.op = op;
      node.def = find_op("", op, kCanonicalOpset);
      what += fmt::format("became {}", op);
      return node.def != nullptr;
    }
    return false;
  }

  bool other_constant(Graph& graph, Node& node, std::string& what) {
    for (ValueId& v : node.inputs) {
      if (v == kNoValue || !graph.value(v).constant || below(2) == 0) continue;
      Tensor tensor = *graph.value(v).constant;
      const std::size_t kind = below(3);
      if (tensor.dtype() == DType::kInt64) {
        std::vector<std::int64_t> elements(tensor.as<std::int64_t>().begin(), tensor.as<std::int64_t>().end());
        if (elements.empty()) return false;
        elements[below(elements.size())] += kind == 0 ? 1 : -1;
        what += "an integer constant one more or less";
        v = graph.add_constant("changed", Tensor::vector(elements).reshaped(tensor.dims()));
        return true;
      }
      if (tensor.dtype() != DType::kFloat32) return false;
      std::vector<float> elements(tensor.as<float>().begin(), tensor.as<float>().end());
      if (kind == 1 && tensor.rank() == 2 && tensor.dims()[0] == tensor.dims()[1]) {
        const auto n = static_cast<std::size_t>(tensor.dims()[0]);
        for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = tensor.as<float>()[i % n * n + i / n];
        what += "a matrix transposed";
      } else {
        for (float& x : elements) x = kind == 0 ? 0.5F * x : 0.25F - x;
        what += "another constant";
      }
      v = graph.add_constant("changed", Tensor::make<float>(tensor.dims(), elements));
      return true;
    }
    return false;
  }

  // A number among the attributes: axes, permutations, epsilons.
  bool other_number(Graph& /*graph*/, Node& node, std::string& what) {
    if (node.attributes.empty()) return false;
    Attribute& attribute = node.attributes[below(node.attributes.size())];
    what += "attribute " + attribute.name;
    if (auto* integer = std::get_if<std::int64_t>(&attribute.value)) {
      if (attribute.name == "to") return false;
      *integer += below(2) == 0 ? 1 : -1;
      return true;
    }
    if (auto* number = std::get_if<float>(&attribute.value)) {
      *number = *number * 3 + 0.4F;
      return true;
    }
    auto* integers = std::get_if<std::vector<std::int64_t>>(&attribute.value);
    if (integers == nullptr || integers->size() < 2) return false;
    std::swap((*integers)[below(integers->size())], (*integers)[below(integers->size())]);
    return true;
  }

  bool extra_output(Graph& graph, Node& node, std::string& what) {
    graph.outputs.push_back(node.outputs[0]);
    what += "its result is an output too";
    return true;
  }

  Graph graph_;
  std::mt19937 random_;
};

enum class Outcome : std::uint8_t { kNoTruth, kRefused, kAgrees };

// What the changed graph computes by the evaluator, before any pass, against what is recognised after them.
Outcome outcome_of(const Graph& changed, const std::string& what) {
  Graph graph = changed;
  if (!run_passes(graph)) return Outcome::kNoTruth;
  const Recognition recognition = recognise(graph, {});
  for (const std::string& refusal : recognition.refusals) {
    EXPECT_TRUE(recognition.encoder || !refusal.empty()) << what;
  }
  if (!recognition.encoder) return Outcome::kRefused;
  const Encoder& encoder = *recognition.encoder;
  Outcome outcome = Outcome::kNoTruth;
  for (const std::size_t length : {std::size_t{1}, std::size_t{4}, std::size_t{11}}) {
    if (length > encoder.max_positions) continue;
    const Sequence sequence = random_sequence(encoder, length, 7);
    const auto expected = evaluate(changed, graph_inputs(changed, sequence));
    if (!expected) continue;
    const std::vector<Matrix> got = run_reference(encoder, sequence.ids, sequence.types);
    for (std::size_t i = 0; i < got.size(); ++i) {
      const std::size_t output = encoder.outputs[i].graph_output;
      EXPECT_LE(difference(got[i], (*expected)[output]), 1e-3)
          << changed.source << ", " << what << ": " << length << " tokens, output " << output;
    }
    outcome = Outcome::kAgrees;
  }
  return outcome;
}

// Exporters write sums and products in either order.
TEST(Recognise, OperandOrderDoesNotMatter) {
  for (const auto& entry : std::filesystem::directory_iterator(kGraphs)) {
    if (entry.path().filename().string().starts_with("x_deberta") || entry.path().extension() != ".onnx") continue;
    SCOPED_TRACE(entry.path().filename().string());
    Graph graph = load_normalised(entry.path());
    for (Node& node : graph.nodes) {
      if (node.op == "Add" || node.op == "Mul" || node.op == "Equal") std::swap(node.inputs[0], node.inputs[1]);
    }
    EXPECT_EQ(outcome_of(graph, "every sum and product turned round"), Outcome::kAgrees);
    ASSERT_TRUE(run_passes(graph));
    for (const std::string& refusal : recognise(graph, {}).refusals) EXPECT_EQ(refusal, "");
  }
}

TEST(Recognise, OneThingChangedIsRecognisedRightOrRefused) {
  const char* more = std::getenv("NARTHEX_TEST_CHANGES");
  const std::size_t n_changes = more == nullptr ? 40 : std::strtoul(more, nullptr, 10);
  std::size_t counts[3] = {};
  unsigned seed = static_cast<unsigned>(n_changes);
  for (const auto& entry : std::filesystem::directory_iterator(kGraphs)) {
    if (entry.path().extension() != ".onnx") continue;
    Changer changer(load_normalised(entry.path()), ++seed);
    for (std::size_t n = 0; n < n_changes;) {
      std::string what;
      const Graph changed = changer.change(what);
      if (changed.nodes.empty()) continue;
      ++counts[static_cast<std::size_t>(outcome_of(changed, what))];
      ++n;
    }
  }
  std::printf("changed graphs: %zu refused, %zu recognised and right, %zu that compute nothing\n", counts[1], counts[2],
              counts[0]);
  EXPECT_GT(counts[1], 0U);
  EXPECT_GT(counts[2], 0U);
}

}  // namespace
}  // namespace narthex::testing
