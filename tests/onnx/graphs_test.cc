// Real exports, compared with what the onnx package finds in them (data/graphs.json, made by summarize_graphs.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/file.h"
#include "base/json.h"
#include "base/sha256.h"
#include "onnx/read.h"

namespace narthex::onnx {
namespace {

namespace fs = std::filesystem;

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

std::string float_bits(float value) {
  return fmt::format("{:08x}", std::bit_cast<std::uint32_t>(value));
}

std::string tensor_text(const Tensor& t) {
  Hasher hasher = Hasher::sha256();
  hasher.update({reinterpret_cast<const char*>(t.data.data()), t.data.size()});
  return fmt::format("tensor {} {} [{}] {}", t.name, static_cast<int>(t.dtype), fmt::join(t.dims, ","), hasher.hex());
}

std::string graph_text(const Graph& graph);

std::string attribute_value(const Attribute& a) {
  std::vector<std::string> parts;
  switch (a.type) {
    case AttrType::kFloat:
      return float_bits(a.f);
    case AttrType::kInt:
      return std::to_string(a.i);
    case AttrType::kString:
      return hex(a.s);
    case AttrType::kTensor:
      return tensor_text(a.tensor());
    case AttrType::kGraph:
      return "{\n" + graph_text(a.graph()) + "}";
    case AttrType::kFloats:
      for (const float f : a.floats) parts.push_back(float_bits(f));
      break;
    case AttrType::kInts:
      for (const std::int64_t i : a.ints) parts.push_back(std::to_string(i));
      break;
    case AttrType::kStrings:
      for (const std::string& s : a.strings) parts.push_back(hex(s));
      break;
    default:
      ADD_FAILURE() << a.name << " is of type " << attr_type_name(a.type);
  }
  return fmt::format("{}", fmt::join(parts, ","));
}

std::string value_text(const char* kind, const ValueInfo& info) {
  std::vector<std::string> dims;
  for (const Dim& dim : info.type.shape) {
    dims.push_back(dim.kind == Dim::Kind::kValue   ? std::to_string(dim.value)
                   : dim.kind == Dim::Kind::kParam ? dim.param
                                                   : "?");
  }
  return fmt::format("{} {} {} [{}]\n", kind, info.name, static_cast<int>(info.type.elem),
                     info.type.has_shape ? fmt::format("{}", fmt::join(dims, ",")) : "any");
}

std::string graph_text(const Graph& graph) {
  std::string text = fmt::format("graph {}\n", graph.name);
  for (const Node& n : graph.nodes) {
    text += fmt::format("node {} {}:{} ({}) -> ({})\n", n.name, n.domain, n.op_type, fmt::join(n.inputs, ","),
                        fmt::join(n.outputs, ","));
    for (const Attribute& a : n.attributes) {
      text += fmt::format("  {} {} {}\n", a.name, attr_type_name(a.type), attribute_value(a));
    }
  }
  for (const Tensor& t : graph.initializers) text += tensor_text(t) + "\n";
  for (const ValueInfo& v : graph.inputs) text += value_text("input", v);
  for (const ValueInfo& v : graph.outputs) text += value_text("output", v);
  for (const ValueInfo& v : graph.value_infos) text += value_text("value", v);
  return text;
}

json::object summary(const Model& model) {
  json::object opsets;
  for (const OpsetImport& o : model.opset_imports) opsets[o.domain] = o.version;
  std::map<std::string, std::int64_t> ops;
  for (const Node& n : model.graph.nodes) ++ops[n.op_type];
  json::object nodes;
  for (const auto& [op, n] : ops) nodes[op] = n;
  json::array inputs;
  for (const ValueInfo& v : model.graph.inputs) inputs.emplace_back(v.name);
  json::array outputs;
  for (const ValueInfo& v : model.graph.outputs) outputs.emplace_back(v.name);
  Hasher hasher = Hasher::sha256();
  hasher.update(graph_text(model.graph));
  return {{"ir_version", model.ir_version},
          {"opsets", opsets},
          {"producer", model.producer_name + " " + model.producer_version},
          {"functions", static_cast<std::int64_t>(model.functions.size())},
          {"metadata", static_cast<std::int64_t>(model.metadata.size())},
          {"nodes", nodes},
          {"initializers", static_cast<std::int64_t>(model.graph.initializers.size())},
          {"inputs", inputs},
          {"outputs", outputs},
          {"content", hasher.hex()}};
}

TEST(Graphs, EveryExportReadsAsTheOnnxPackageReadsIt) {
  const auto text = read_file(fs::path(NARTHEX_TEST_DATA) / "graphs.json", 1 << 20);
  ASSERT_TRUE(text) << text.error().message;
  const auto golden = parse_json(*text, "graphs.json");
  ASSERT_TRUE(golden) << golden.error().message;
  ASSERT_EQ(golden->as_object().size(), 20U);
  for (const auto& [name, expected] : golden->as_object()) {
    const auto model = read_model(fs::path(NARTHEX_SOURCE_DIR) / "tests/data/graphs" / std::string(name));
    ASSERT_TRUE(model) << model.error().message;
    EXPECT_EQ(json::value(summary(**model)), expected) << name << "\n" << json::serialize(summary(**model));
  }
}

TEST(Graphs, PayloadsStayInTheMappedFile) {
  const auto model = read_model(fs::path(NARTHEX_SOURCE_DIR) / "tests/data/graphs/x_bert_ts_14_sdpa.onnx");
  ASSERT_TRUE(model) << model.error().message;
  const Tensor kept = (*model)->graph.initializers.front();
  for (const Tensor& t : (*model)->graph.initializers) {
    ASSERT_NE(t.owner, nullptr);
    EXPECT_EQ(t.owner, kept.owner) << t.name << " was copied";
  }
}

TEST(Graphs, TensorsOutliveTheModel) {
  auto model = read_model(fs::path(NARTHEX_SOURCE_DIR) / "tests/data/graphs/x_bert_ts_14_sdpa.onnx");
  ASSERT_TRUE(model) << model.error().message;
  const Tensor kept = (*model)->graph.initializers.front();
  const std::string before = tensor_text(kept);
  model->reset();
  EXPECT_EQ(tensor_text(kept), before);
}

}  // namespace
}  // namespace narthex::onnx
