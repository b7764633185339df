// Every value of the real models' graphs against ONNX Runtime's, each computed from ONNX Runtime's own inputs: integers
// exactly, floats to 1e-5 of the largest element. Errors cannot pile up from node to node, so this shows that each
// operator, the quantised ones above all, means the same. Needs NARTHEX_TEST_MODELS and NARTHEX_PYTHON.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>

#include "graph/build.h"
#include "models/test_tools.h"
#include "onnx/read.h"
#include "ops/evaluate.h"
#include "ops/normalise.h"

namespace narthex {
namespace {

std::map<std::string, Tensor> read_values(const std::string& path) {
  const auto bytes = read_file(path, std::uint64_t{1} << 31);
  std::map<std::string, Tensor> values;
  if (!bytes) return values;
  std::size_t at = 0;
  const auto take = [&]<class T>(T& value) {
    std::memcpy(&value, bytes->data() + at, sizeof value);
    at += sizeof value;
  };
  while (at < bytes->size()) {
    std::uint32_t length = 0;
    std::uint32_t dtype = 0;
    std::uint32_t rank = 0;
    take(length);
    std::string name = bytes->substr(at, length);
    at += length;
    take(dtype);
    take(rank);
    Dims dims(rank);
    for (std::int64_t& d : dims) take(d);
    Tensor tensor = Tensor::allocate(static_cast<DType>(dtype), dims).value();
    std::memcpy(tensor.mutable_data(), bytes->data() + at, tensor.bytes());
    at += tensor.bytes();
    values.emplace(std::move(name), std::move(tensor));
  }
  return values;
}

void expect_same(const Tensor& ours, const Tensor& theirs, const std::string& what) {
  ASSERT_EQ(ours.dtype(), theirs.dtype()) << what;
  ASSERT_EQ(ours.dims(), theirs.dims()) << what;
  if (ours.dtype() != DType::kFloat32) {
    EXPECT_EQ(0, std::memcmp(ours.data(), theirs.data(), ours.bytes())) << what;
    return;
  }
  double largest = 1e-30;
  for (const float x : theirs.as<float>()) {
    if (std::isfinite(x)) largest = std::max(largest, std::abs(static_cast<double>(x)));
  }
  for (std::int64_t i = 0; i < ours.count(); ++i) {
    const float a = ours.as<float>()[static_cast<std::size_t>(i)];
    const float b = theirs.as<float>()[static_cast<std::size_t>(i)];
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    ASSERT_LE(std::abs(static_cast<double>(a) - static_cast<double>(b)), 1e-5 * largest) << what << ", element " << i;
  }
}

class ValueParity : public ::testing::TestWithParam<const char*> {};

TEST_P(ValueParity, EveryNodeComputesWhatOnnxRuntimeComputes) {
  const auto python = environment_value("NARTHEX_PYTHON");
  const auto models = environment_value("NARTHEX_TEST_MODELS");
  if (!python || !models) return skip_loudly("values against ONNX Runtime", "NARTHEX_PYTHON or NARTHEX_TEST_MODELS");
  const std::string file = *models + "/" + GetParam() + "/model.onnx";
  const std::string dump = ::testing::TempDir() + "/values_" + GetParam();
  ASSERT_TRUE(run_oracle(*python, fmt::format("values {} 101,2129,2079,1045,25141,2026,20786,102 {}", file, dump)));
  const std::map<std::string, Tensor> expected = read_values(dump);
  const auto model = onnx::read_model(file);
  ASSERT_TRUE(model) << model.error().message;
  auto graph = build_graph(**model);
  ASSERT_TRUE(graph) << graph.error().message;
  ASSERT_TRUE(normalise(*graph));
  std::size_t compared = 0;
  std::map<std::string, std::size_t> by_op;
  for (const Node& node : graph->nodes) {
    std::vector<const Tensor*> inputs;
    bool known = true;
    for (const ValueId id : node.inputs) {
      const Tensor* input = nullptr;
      if (id != kNoValue) {
        const Value& value = graph->value(id);
        const auto found = expected.find(value.name);
        input = value.constant ? &*value.constant : found != expected.end() ? &found->second : nullptr;
        known = known && input != nullptr;
      }
      inputs.push_back(input);
    }
    if (!known) continue;
    const auto outputs = evaluate_node(*graph, node, inputs);
    ASSERT_TRUE(outputs) << outputs.error().message;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const auto found = node.has_output(i) ? expected.find(graph->value(node.outputs[i]).name) : expected.end();
      if (found == expected.end()) continue;
      expect_same((*outputs)[i], found->second, fmt::format("{} ({})", node.name, node.op));
      ++compared;
      ++by_op[node.op];
    }
  }
  EXPECT_GT(compared, graph->nodes.size() / 2) << "most values of the file must have been compared";
  std::printf("%s: %zu values equal ONNX Runtime's, %zu of them of DynamicQuantizeLinear and MatMulInteger\n",
              GetParam(), compared, by_op["DynamicQuantizeLinear"] + by_op["MatMulInteger"]);
}

INSTANTIATE_TEST_SUITE_P(Models, ValueParity,
                         ::testing::Values("bge-small-en-v1.5", "bge-small-en-v1.5-q", "all-MiniLM-L6-v2",
                                           "all-MiniLM-L6-v2-int8", "paraphrase-MiniLM-L3-v2"));

}  // namespace
}  // namespace narthex
