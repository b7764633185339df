// The ONNX backend node tests through passes and interpreter: the same outputs as the evaluator wherever that one has
// an answer, also with the inputs turned into constants, so that whole nodes are folded.
#include <cmath>
#include <cstdio>

#include "conformance/node_tests.h"
#include "graph/build.h"
#include "onnx/read.h"
#include "ops/evaluate.h"
#include "ops/normalise.h"
#include "plan/interpreter.h"

namespace narthex {
namespace {

// Random numbers are new in every run.
bool is_random(const std::string& name) {
  return name.find("bernoulli") != std::string::npos || name.find("random") != std::string::npos;
}

bool same(const Tensor& got, const Tensor& want) {
  if (got.dtype() != want.dtype() || got.dims() != want.dims()) return false;
  if (got.dtype() == DType::kString) return got.strings() == want.strings();
  if (got.dtype() != DType::kFloat32) return std::equal(got.data(), got.data() + got.bytes(), want.data());
  for (std::size_t i = 0; i < got.as<float>().size(); ++i) {
    const double x = got.as<float>()[i];
    const double y = want.as<float>()[i];
    if (std::isnan(x) && std::isnan(y)) continue;
    if (!(x == y || std::abs(x - y) <= 1e-5 + 1e-5 * std::abs(y))) return false;
  }
  return true;
}

void expect_same(const Result<std::vector<Tensor>>& got, const std::vector<Tensor>& want, const std::string& what) {
  ASSERT_TRUE(got) << what << ": " << got.error().message;
  ASSERT_EQ(got->size(), want.size()) << what;
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_TRUE(same((*got)[i], want[i])) << what << ", output " << i;
}

Result<std::vector<Tensor>> compile_and_run(Graph graph, const std::vector<Tensor>& inputs) {
  CompileOptions options;
  options.passes.verify = true;
  NX_TRY(const auto program, compile(std::move(graph), options));
  return program->run(inputs);
}

Graph with_constant_inputs(Graph graph, const std::vector<Tensor>& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) graph.value(graph.inputs[i]).constant = inputs[i];
  graph.inputs.clear();
  return graph;
}

Result<Graph> load(const fs::path& path) {
  NX_TRY(const auto model, onnx::read_model(path));
  NX_TRY(Graph graph, build_graph(*model));
  NX_TRY_VOID(normalise(graph));
  return graph;
}

TEST(Interpreter, NodeTestsComputeWhatTheEvaluatorDoes) {
  std::size_t compared = 0;
  for (const auto* tests : {&node_tests(), &ort_tests()}) {
    for (const Case& c : tests->cases()) {
      if (is_random(c.name)) continue;
      const auto graph = load(tests->folder() / c.name / "model.onnx");
      const auto inputs = read_tensors(tests->folder() / c.name / "test_data_set_0", "input");
      if (!graph || !inputs) continue;
      const auto expected = evaluate(*graph, *inputs);
      if (!expected) continue;
      expect_same(compile_and_run(*graph, *inputs), *expected, c.name);
      expect_same(compile_and_run(with_constant_inputs(*graph, *inputs), {}), *expected, c.name + " of constants");
      ++compared;
    }
  }
  std::printf("%zu node tests compared\n", compared);
}

}  // namespace
}  // namespace narthex
