// Inference is never wrong on the ONNX backend node tests: types, shapes and contents that it gives equal what the
// evaluator computes; with numbers as they are, and with sizes and integer elements replaced by symbols.
#include <algorithm>

#include "conformance/node_tests.h"
#include "graph/build.h"
#include "ops/inference_check.h"
#include "ops/normalise.h"

namespace narthex {
namespace {

std::string symbol_name(std::int64_t value) {
  return fmt::format("n{}", value);
}
std::optional<std::int64_t> symbol_value(std::string_view name) {
  if (!name.starts_with('n')) return std::nullopt;
  return std::stoll(std::string(name.substr(1)));
}

// Symbols stand for sizes: positive, and far from where int32 arithmetic on them would wrap.
constexpr std::int64_t kMaxSize = 10'000;
Dim as_dim(std::int64_t value, bool symbolic) {
  return symbolic && value > 0 ? Dim::symbol(symbol_name(value)) : Dim(value);
}

void describe_input(Value& value, const Tensor& tensor, bool symbolic) {
  value.dtype = tensor.dtype();
  value.shape.emplace();
  // Rank 1 keeps its length: a content is known only for that.
  for (const std::int64_t d : tensor.dims()) value.shape->push_back(as_dim(d, symbolic && tensor.rank() != 1));
  const bool is_integer = tensor.dtype() == DType::kInt64 || tensor.dtype() == DType::kInt32;
  if (!is_integer || tensor.rank() > 1 || tensor.count() > 64) return;
  if (!symbolic) {
    value.constant = tensor;
    return;
  }
  const auto elements = ints_of(tensor, "input");
  ASSERT_TRUE(elements);
  if (!std::ranges::all_of(*elements, [](std::int64_t e) { return e >= -kMaxSize && e <= kMaxSize; })) return;
  value.content.emplace();
  for (const std::int64_t element : *elements) value.content->push_back(as_dim(element, symbolic));
}

Result<std::pair<Graph, std::vector<Tensor>>> load(const fs::path& folder) {
  NX_TRY(const auto model, onnx::read_model(folder / "model.onnx"));
  NX_TRY(Graph graph, build_graph(*model));
  NX_TRY_VOID(normalise(graph));
  NX_TRY(std::vector<Tensor> inputs, read_tensors(folder / "test_data_set_0", "input"));
  NX_TRY_VOID(evaluate(graph, inputs));
  return std::pair(std::move(graph), std::move(inputs));
}

InferenceTally check_case(const fs::path& folder, bool symbolic) {
  auto loaded = load(folder);
  if (!loaded) return {};  // conformance_test.cc says whether that is right
  auto& [graph, inputs] = *loaded;
  for (std::size_t i = 0; i < inputs.size(); ++i) describe_input(graph.value(graph.inputs[i]), inputs[i], symbolic);
  infer_graph(graph);
  return check_inference(graph, inputs, symbol_value);
}

void check_all(const NodeTests& tests, bool symbolic) {
  InferenceTally total;
  for (const Case& c : tests.cases()) {
    SCOPED_TRACE(c.name);
    const InferenceTally tally = check_case(tests.folder() / c.name, symbolic);
    total.values += tally.values;
    total.known_shapes += tally.known_shapes;
    total.known_ranks += tally.known_ranks;
    total.contents += tally.contents;
  }
  fmt::print("{} values: {} shapes known, {} ranks known, {} contents\n", total.values, total.known_shapes,
             total.known_ranks, total.contents);
}

TEST(ConformanceInference, AgreesWithTheEvaluatorOnNumbers) {
  check_all(node_tests(), false);
  check_all(ort_tests(), false);
}

TEST(ConformanceInference, AgreesWithTheEvaluatorOnSymbols) {
  check_all(node_tests(), true);
  check_all(ort_tests(), true);
}

}  // namespace
}  // namespace narthex
