// The exported encoders of tests/data/graphs and the real models: recognised whole, and what was recognised computes
// what the interpreter does.
#include "plan/recognise.h"

#include <cstdio>
#include <cstdlib>

#include "plan/interpreter.h"
#include "plan/recognise_tools.h"

namespace narthex::testing {
namespace {

// Everything but DeBERTa, whose attention looks at positions from both sides.
std::vector<std::filesystem::path> covered_graphs() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(kGraphs)) {
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() == ".onnx" && !name.starts_with("x_deberta")) paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  return paths;
}

void expect_agrees(const Encoder& encoder, const Program& program, const std::vector<std::size_t>& lengths,
                   double tolerance) {
  for (const std::size_t length : lengths) {
    if (length > encoder.max_positions) continue;
    const Sequence sequence = random_sequence(encoder, length, static_cast<unsigned>(length));
    const auto expected = program.run(graph_inputs(program.graph(), sequence));
    ASSERT_TRUE(expected) << expected.error().message;
    const std::vector<Matrix> got = run_reference(encoder, sequence.ids, sequence.types);
    for (std::size_t i = 0; i < got.size(); ++i) {
      const std::size_t output = encoder.outputs[i].graph_output;
      EXPECT_LE(difference(got[i], (*expected)[output]), tolerance) << length << " tokens, output " << output;
    }
  }
}

TEST(Recognise, ExportedEncodersWholeAndEqualToTheInterpreter) {
  std::size_t n_graphs = 0;
  for (const std::filesystem::path& path : covered_graphs()) {
    SCOPED_TRACE(path.filename().string());
    const Graph graph = load_canonical(path);
    const Recognition recognition = recognise(graph, {});
    EXPECT_TRUE(recognition.encoder) << refusals_of(recognition);
    if (!recognition.encoder) continue;
    for (const std::string& refusal : recognition.refusals) EXPECT_EQ(refusal, "");
    const Encoder& encoder = *recognition.encoder;
    EXPECT_EQ(encoder.outputs.size(), graph.outputs.size());
    EXPECT_EQ(recognition.counts.at("attention"), 2U);
    const auto program = compile(load_normalised(path));
    ASSERT_TRUE(program) << program.error().message;
    expect_agrees(encoder, **program, {1, 2, 3, 5, 16, 33, encoder.max_positions}, 1e-4);
    ++n_graphs;
  }
  EXPECT_EQ(n_graphs, 18U);
}

TEST(Recognise, RealModelsWholeAndEqualToTheInterpreter) {
  const char* models = std::getenv("NARTHEX_TEST_MODELS");
  if (models == nullptr) GTEST_SKIP() << "SKIPPED (loud): NARTHEX_TEST_MODELS names no folder of models";
  std::size_t n_models = 0;
  for (const auto& entry : std::filesystem::directory_iterator(models)) {
    const std::filesystem::path path = entry.path() / "model.onnx";
    if (!std::filesystem::exists(path)) continue;
    SCOPED_TRACE(entry.path().filename().string());
    const Graph graph = load_canonical(path);
    const Recognition recognition = recognise(graph, {});
    ASSERT_TRUE(recognition.encoder) << refusals_of(recognition);
    EXPECT_EQ(refusals_of(recognition).find("node"), std::string::npos) << refusals_of(recognition);
    ++n_models;
    // A quantised file's activations are not rounded in the plan, so that only float files can agree closely.
    const bool quantised = std::ranges::any_of(
        graph.nodes, [](const Node& node) { return node.op == "MatMulInteger" || node.op == "DequantizeLinear"; });
    if (quantised) continue;
    const auto program = compile(load_normalised(path));
    ASSERT_TRUE(program) << program.error().message;
    expect_agrees(*recognition.encoder, **program, {1, 6}, 1e-4);
  }
  EXPECT_GT(n_models, 0U);
}

TEST(Recognise, DisentangledAttentionIsRefusedWithASentence) {
  for (const char* name : {"x_deberta_dyn_18_eager.onnx", "x_deberta_ts_17_eager.onnx"}) {
    const Graph graph = load_canonical(kGraphs / name);
    const Recognition recognition = recognise(graph, {});
    EXPECT_FALSE(recognition.encoder) << name;
    ASSERT_EQ(recognition.refusals.size(), graph.outputs.size());
    for (const std::string& refusal : recognition.refusals) {
      EXPECT_NE(refusal.find("node '"), std::string::npos) << refusal;
      std::printf("%s: %s\n", name, refusal.c_str());
    }
  }
}

}  // namespace
}  // namespace narthex::testing
