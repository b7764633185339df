// The exported encoders against ONNX Runtime's own outputs (tests/plan/make_goldens.py), and what a Program promises:
// any number of threads, any batch, any size of the team, the same bits.
#include "plan/interpreter.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/file.h"
#include "base/home.h"
#include "base/json.h"
#include "base/team.h"
#include "graph/build.h"
#include "onnx/read.h"
#include "ops/normalise.h"
#include "passes/graph_maker.h"

namespace narthex::testing {
namespace {

const std::filesystem::path kGraphs = std::filesystem::path(NARTHEX_SOURCE_DIR) / "tests/data/graphs";

Graph load(const std::filesystem::path& path) {
  const auto model = onnx::read_model(path);
  EXPECT_TRUE(model) << model.error().message;
  auto graph = build_graph(**model);
  EXPECT_TRUE(graph) << graph.error().message;
  const auto done = normalise(*graph);
  EXPECT_TRUE(done) << done.error().message;
  return *std::move(graph);
}

Dims dims_of(const json::value& value) {
  Dims dims;
  for (const json::value& d : value.as_array()) dims.push_back(d.to_number<std::int64_t>());
  return dims;
}

Tensor input_of(const Graph& graph, ValueId id, const json::value& golden_case) {
  for (const json::value& input : golden_case.at("inputs").as_array()) {
    if (std::string_view(input.at("name").as_string()) != graph.value(id).name) continue;
    const Dims dims = dims_of(input.at("data"));  // the elements are integers too
    EXPECT_EQ(graph.value(id).dtype, DType::kInt64);
    return Tensor::vector(dims).reshaped(dims_of(input.at("dims")));
  }
  ADD_FAILURE() << "no golden input named " << graph.value(id).name;
  return {};
}

double element(const Tensor& tensor, std::size_t i) {
  if (tensor.dtype() == DType::kFloat32) return tensor.as<float>()[i];
  return tensor.dtype() == DType::kInt64 ? static_cast<double>(tensor.as<std::int64_t>()[i]) : NAN;
}

// The largest difference between every step-th element and the golden ones.
double difference(const Tensor& got, const json::value& golden, std::int64_t step) {
  if (got.dims() != dims_of(golden.at("dims"))) return INFINITY;
  double largest = 0;
  std::size_t at = 0;
  for (const json::value& expected : golden.at("data").as_array()) {
    const double off = std::abs(element(got, at) - expected.to_number<double>());
    if (!(off <= largest)) largest = off;
    at += static_cast<std::size_t>(step);
  }
  return largest;
}

// Every case of one golden file; returns their number. `check_evaluate`: also against the (slow) evaluator.
std::size_t expect_golden(const std::filesystem::path& model, const std::filesystem::path& golden_path,
                          bool check_evaluate) {
  SCOPED_TRACE(model.filename());
  const Graph graph = load(model);
  const auto program = compile(graph);
  EXPECT_TRUE(program) << program.error().message;
  const auto text = read_file(golden_path, 1 << 20);
  EXPECT_TRUE(text) << text.error().message;
  if (!program || !text) return 0;
  const auto golden = parse_json(*text, golden_path.string());
  EXPECT_TRUE(golden) << golden.error().message;
  const auto& cases = golden->at("cases").as_array();
  for (const json::value& golden_case : cases) {
    std::vector<Tensor> inputs;
    for (const ValueId v : graph.inputs) inputs.push_back(input_of(graph, v, golden_case));
    const auto got = (*program)->run(inputs);
    EXPECT_TRUE(got) << got.error().message;
    if (!got) continue;
    const auto& outputs = golden_case.at("outputs").as_array();
    EXPECT_EQ(outputs.size(), got->size());
    for (std::size_t i = 0; i < std::min(outputs.size(), got->size()); ++i) {
      EXPECT_LE(difference((*got)[i], outputs[i], golden->at("step").to_number<std::int64_t>()), 1e-4);
    }
    if (!check_evaluate) continue;
    const auto expected = evaluate(graph, inputs);
    EXPECT_TRUE(expected) << expected.error().message;
    if (expected) {
      EXPECT_LE(largest_difference(*expected, *got), 1e-5);
    }
  }
  return cases.size();
}

TEST(Interpreter, ExportedEncodersEqualOnnxRuntimeAndEvaluate) {
  std::size_t n_cases = 0;
  const auto folder = std::filesystem::path(NARTHEX_TEST_DATA) / "goldens";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    n_cases += expect_golden(kGraphs / (entry.path().stem().string() + ".onnx"), entry.path(), true);
  }
  EXPECT_EQ(n_cases, 78U);
}

TEST(Interpreter, RealModelsEqualOnnxRuntime) {
  const std::string python = environment("NARTHEX_PYTHON");
  const std::string models = environment("NARTHEX_TEST_MODELS");
  if (python.empty() || models.empty()) {
    std::fprintf(stderr,
                 "SKIPPED (loud): real models need NARTHEX_PYTHON (with onnxruntime) and NARTHEX_TEST_MODELS, "
                 "the folder that `narthex pull` fills\n");
    return;
  }
  // bge-small-en-v1.5-q is not among them: its arithmetic amplifies rounding (tests/models/value_parity_test.cc).
  const auto links = std::filesystem::temp_directory_path() / fmt::format("narthex-models-{}", ::getpid());
  std::filesystem::create_directories(links);
  std::size_t n_models = 0;
  for (const char* name :
       {"bge-small-en-v1.5", "all-MiniLM-L6-v2", "all-MiniLM-L6-v2-int8", "paraphrase-MiniLM-L3-v2"}) {
    const auto file = std::filesystem::path(models) / name / "model.onnx";
    if (!std::filesystem::exists(file)) continue;
    std::filesystem::create_symlink(file, links / (std::string(name) + ".onnx"));
    ++n_models;
  }
  EXPECT_GT(n_models, 0U) << models << " holds none of the models";
  const auto target = std::filesystem::temp_directory_path() / fmt::format("narthex-goldens-{}", ::getpid());
  const std::string command = fmt::format("'{}' '{}/tests/plan/make_goldens.py' '{}' '{}'", python, NARTHEX_SOURCE_DIR,
                                          links.string(), target.string());
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  std::size_t n_compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(target)) {
    const auto model = links / (entry.path().stem().string() + ".onnx");
    EXPECT_GT(expect_golden(model, entry.path(), false), 0U);
    ++n_compared;
  }
  EXPECT_EQ(n_compared, n_models);
  std::filesystem::remove_all(target);
  std::filesystem::remove_all(links);
}

std::vector<Tensor> texts(const Graph& graph, std::int64_t batch, std::int64_t length) {
  std::vector<Tensor> inputs;
  for (const ValueId v : graph.inputs) {
    Tensor tensor = *Tensor::allocate(DType::kInt64, {batch, length});
    const bool is_ids = graph.value(v).name == "input_ids";
    const bool is_mask = graph.value(v).name == "attention_mask";
    std::int64_t i = 0;
    for (std::int64_t& element : tensor.as_mutable<std::int64_t>()) {
      element = is_ids ? 3 + i * 31 % 87 : is_mask ? 1 : 0;
      ++i;
    }
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

std::vector<Tensor> row_of(const std::vector<Tensor>& tensors, std::int64_t row) {
  std::vector<Tensor> rows;
  for (const Tensor& tensor : tensors) {
    Dims dims = tensor.dims();
    const std::size_t bytes = tensor.bytes() / static_cast<std::size_t>(dims[0]);
    dims[0] = 1;
    Tensor copy = *Tensor::allocate(tensor.dtype(), dims);
    std::copy_n(tensor.data() + static_cast<std::size_t>(row) * bytes, bytes, copy.mutable_data());
    rows.push_back(std::move(copy));
  }
  return rows;
}

TEST(Interpreter, SameBitsAloneInABatchAndOnAnyTeam) {
  const Graph graph = load(kGraphs / "x_bert_ts_17_sdpa.onnx");
  const std::vector<Tensor> inputs = texts(graph, 5, 33);
  Team alone(1);
  Team three(3);
  CompileOptions one_thread;
  one_thread.team = &alone;
  CompileOptions three_threads;
  three_threads.team = &three;
  const auto expected = (*compile(graph, one_thread))->run(inputs);
  ASSERT_TRUE(expected);
  const auto program = *compile(graph, three_threads);
  const auto got = program->run(inputs);
  ASSERT_TRUE(got);
  EXPECT_EQ(largest_difference(*expected, *got), 0);
  for (std::int64_t row = 0; row < 5; ++row) {
    const auto single = program->run(row_of(inputs, row));
    ASSERT_TRUE(single);
    EXPECT_EQ(largest_difference(row_of(*expected, row), *single), 0) << row;
  }
}

TEST(Interpreter, RunsInManyThreadsAtOnce) {
  const Graph graph = load(kGraphs / "x_bert_ts_11_eager.onnx");
  const auto program = *compile(graph);
  std::vector<std::thread> threads;
  for (std::int64_t t = 1; t <= 4; ++t) {
    threads.emplace_back([&, t] {
      const std::vector<Tensor> inputs = texts(graph, t, 5 + 3 * t);
      const auto expected = evaluate(graph, inputs);
      for (int i = 0; i < 10; ++i) {
        const auto got = program->run(inputs);
        ASSERT_TRUE(expected && got);
        EXPECT_LE(largest_difference(*expected, *got), 1e-5);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Interpreter, OutputsOutliveTheNextRun) {
  const Graph graph = load(kGraphs / "x_bert_ts_11_eager.onnx");
  const auto program = *compile(graph);
  const auto first = program->run(texts(graph, 1, 8));
  const auto again = program->run(texts(graph, 1, 8));
  static_cast<void>(program->run(texts(graph, 2, 4)));
  ASSERT_TRUE(first && again);
  EXPECT_EQ(largest_difference(*first, *again), 0);
}

TEST(Interpreter, InputOrConstantAsOutput) {
  GraphMaker m;
  const ValueId x = m.input("x", DType::kFloat32, {kBatch, 4});
  m.output(x);
  m.output(m.floats({2}));
  m.output(m.op("Reshape", {x, m.ints({4, -1})}));
  const auto program = *compile(m.graph());
  const std::vector<Tensor> inputs = {random_floats({3, 4})};
  const auto got = program->run(inputs);
  ASSERT_TRUE(got);
  EXPECT_EQ(largest_difference(*evaluate(m.graph(), inputs), *got), 0);
}

TEST(Interpreter, TooLargeIntermediateIsAnError) {
  GraphMaker m;
  const ValueId x = m.input("x", DType::kFloat32, {kBatch, 1});
  const ValueId y = m.input("y", DType::kFloat32, {1, kSeq});
  m.output(m.op("Add", {x, y}));
  CompileOptions options;
  options.max_tensor_bytes = 1 << 16;
  const auto program = *compile(m.graph(), options);
  EXPECT_TRUE(program->run(std::vector{random_floats({100, 1}), random_floats({1, 100})}));
  const auto got = program->run(std::vector{random_floats({200, 1}), random_floats({1, 200})});
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kLimit);
}

TEST(Interpreter, SummaryTellsWhatRunsByKernel) {
  const auto program = *compile(load(kGraphs / "x_bert_ts_11_eager.onnx"));
  const ProgramSummary& summary = program->summary();
  EXPECT_EQ(summary.ops_after.at("LayerNormalization"), 5U);
  EXPECT_EQ(summary.ops_after.count("Erf"), 0U);
  EXPECT_GT(summary.ops_before.at("Erf"), 0U);
  EXPECT_EQ(summary.steps.size(), program->graph().nodes.size());
  EXPECT_GT(summary.packed_bytes, 0U);
  for (const StepSummary& step : summary.steps) {
    if (step.op == "narthex.Linear" || step.op == "MatMul") {
      EXPECT_TRUE(step.by_kernel) << step.node;
    }
  }
}

}  // namespace
}  // namespace narthex::testing
