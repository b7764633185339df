// Runs the ONNX backend node tests through reader, builder, normaliser and reference evaluator.
//
// node_tests.h says where the tests come from. unsupported.txt lists which do not pass and why; it is kept true both
// ways: a listed test that passes is a failure as much as one that fails and is not listed, and so is a line that no
// test needs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>

#include "base/float8.h"
#include "conformance/node_tests.h"
#include "graph/build.h"
#include "onnx/read.h"
#include "ops/evaluate.h"
#include "ops/normalise.h"

namespace narthex {
namespace {

// What issue 3 asks for at least.
constexpr std::size_t kMinPassed = 1080;

struct Unsupported {
  bool is_op = false;
  std::string pattern;  // an operator; or the name of a test, in which one '*' stands for any characters
  std::string reason;
  std::size_t used = 0;
};

bool matches(const Unsupported& entry, const std::string& name, const std::set<std::string>& ops) {
  if (entry.is_op) return ops.contains(entry.pattern);
  const std::size_t star = entry.pattern.find('*');
  if (star == std::string::npos) return name == entry.pattern;
  return name.starts_with(entry.pattern.substr(0, star)) && name.ends_with(entry.pattern.substr(star + 1));
}

void collect_ops(const onnx::Graph& graph, std::set<std::string>& ops) {
  for (const onnx::Node& node : graph.nodes) {
    ops.insert(node.op_type);
    for (const onnx::Attribute& attribute : node.attributes) {
      for (const onnx::Graph& subgraph : attribute.graphs) collect_ops(subgraph, ops);
    }
  }
}

std::vector<Unsupported> read_unsupported(const fs::path& path) {
  std::vector<Unsupported> entries;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream fields(line);
    Unsupported entry;
    std::string kind;
    fields >> kind >> entry.pattern;
    std::getline(fields >> std::ws, entry.reason);
    entry.is_op = kind == "op";
    EXPECT_TRUE(entry.is_op || kind == "test") << path << ": '" << line << "' begins with neither 'op' nor 'test'";
    entries.push_back(std::move(entry));
  }
  return entries;
}

const SmallFloat* small_float_format(DType dtype) {
  switch (dtype) {
    case DType::kFloat8E4M3FN:
      return &kFloat8E4M3FN;
    case DType::kFloat8E4M3FNUZ:
      return &kFloat8E4M3FNUZ;
    case DType::kFloat8E5M2:
      return &kFloat8E5M2;
    case DType::kFloat8E5M2FNUZ:
      return &kFloat8E5M2FNUZ;
    case DType::kFloat4E2M1:
      return &kFloat4E2M1;
    default:
      return nullptr;
  }
}

// The value of a floating element; nullopt for other types, which are compared by their bytes.
std::optional<double> floating(const Tensor& t, std::size_t i) {
  switch (t.dtype()) {
    case DType::kFloat32:
      return static_cast<double>(t.as<float>()[i]);
    case DType::kFloat64:
      return t.as<double>()[i];
    case DType::kFloat16:
      return static_cast<double>(static_cast<float>(t.as<Half>()[i]));
    case DType::kBFloat16:
      return static_cast<double>(static_cast<float>(t.as<BFloat16>()[i]));
    case DType::kFloat8E8M0:
      return static_cast<double>(e8m0_value(static_cast<std::uint8_t>(t.data()[i])));
    default:
      break;
  }
  const SmallFloat* format = small_float_format(t.dtype());
  if (format == nullptr) return std::nullopt;
  return static_cast<double>(small_float_value(static_cast<std::uint8_t>(t.data()[i]), *format));
}

// As numpy.testing.assert_allclose: NaN equals NaN, infinities equal themselves.
bool close(double got, double want, double rtol, double atol) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got);
  if (std::isinf(want) || std::isinf(got)) return want == got;
  return std::fabs(got - want) <= atol + rtol * std::fabs(want);
}

Result<void> compare(const Tensor& got, const Tensor& want, const Case& c) {
  if (got.dtype() != want.dtype()) {
    return fail(ErrorCode::kBadModel, "gives {}, expected {}", dtype_name(got.dtype()), dtype_name(want.dtype()));
  }
  if (got.dims() != want.dims()) {
    return fail(ErrorCode::kBadModel, "has shape {}, expected {}", dims_string(got.dims()), dims_string(want.dims()));
  }
  if (got.dtype() == DType::kString) {
    if (got.strings() == want.strings()) return {};
    return fail(ErrorCode::kBadModel, "strings differ");
  }
  // The wheel's own runner allows two units in the last place of a bfloat16.
  const double rtol = got.dtype() == DType::kBFloat16 ? std::max(c.rtol, std::ldexp(1.0, -6)) : c.rtol;
  const std::size_t size = dtype_size(got.dtype());
  for (std::size_t i = 0; i < static_cast<std::size_t>(got.count()); ++i) {
    if (const auto value = floating(got, i)) {
      const double expected = *floating(want, i);
      if (close(*value, expected, rtol, c.atol)) continue;
      return fail(ErrorCode::kBadModel, "element {} is {}, expected {}", i, *value, expected);
    }
    if (std::memcmp(got.data() + i * size, want.data() + i * size, size) != 0) {
      return fail(ErrorCode::kBadModel, "element {} differs", i);
    }
  }
  return {};
}

// `ops` gets the operators of the model.
Result<void> run(const fs::path& folder, const Case& c, std::set<std::string>& ops) {
  NX_TRY(const auto model, onnx::read_model(folder / c.name / "model.onnx"));
  collect_ops(model->graph, ops);
  NX_TRY(Graph graph, build_graph(*model));
  NX_TRY_VOID(normalise(graph));
  const fs::path data = folder / c.name / "test_data_set_0";
  NX_TRY(std::vector<Tensor> inputs, read_tensors(data, "input"));
  NX_TRY(const std::vector<Tensor> expected, read_tensors(data, "output"));
  NX_TRY(const std::vector<Tensor> outputs, evaluate(graph, std::move(inputs)));
  if (outputs.size() != expected.size()) {
    return fail(ErrorCode::kBadModel, "gives {} outputs, expected {}", outputs.size(), expected.size());
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (auto same = compare(outputs[i], expected[i], c); !same) {
      return fail(ErrorCode::kBadModel, "output {} {}", i, same.error().message);
    }
  }
  return {};
}

TEST(Conformance, NodeTestsPassOrAreListedAsUnsupported) {
  const std::vector<Case>& cases = node_tests().cases();
  const fs::path& folder = node_tests().folder();
  if (cases.empty()) return;
  std::vector<Unsupported> unsupported =
      read_unsupported(fs::path(NARTHEX_SOURCE_DIR) / "tests/conformance/unsupported.txt");
  std::size_t passed = 0;
  for (const Case& c : cases) {
    std::set<std::string> ops;
    const Result<void> result = run(folder, c, ops);
    passed += result ? 1 : 0;
    bool listed = false;
    for (Unsupported& entry : unsupported) {
      if (!matches(entry, c.name, ops)) continue;
      listed = true;
      ++entry.used;
      EXPECT_FALSE(result) << c.name << " passes, but unsupported.txt lists it: " << entry.pattern;
    }
    EXPECT_TRUE(result || listed) << c.name << ": " << (result ? "" : result.error().message);
  }
  for (const Unsupported& entry : unsupported) {
    EXPECT_GT(entry.used, 0U) << "unsupported.txt: no test matches '" << entry.pattern << "'";
    EXPECT_FALSE(entry.reason.empty()) << "unsupported.txt: '" << entry.pattern << "' has no reason";
  }
  std::printf("%zu passed of %zu\n", passed, cases.size());
  EXPECT_GE(passed, kMinPassed);
}

TEST(Conformance, OldOpsetsAndCornersGiveWhatOnnxRuntimeGives) {
  std::size_t passed = 0;
  for (const Case& c : ort_tests().cases()) {
    std::set<std::string> ops;
    const Result<void> result = run(ort_tests().folder(), c, ops);
    passed += result ? 1 : 0;
    EXPECT_TRUE(result) << c.name << ": " << result.error().message;
  }
  std::printf("%zu passed of %zu\n", passed, ort_tests().cases().size());
}

}  // namespace
}  // namespace narthex
