// Golden models: an .onnx file that carries its own inputs and the outputs that ONNX Runtime computed, as initializers
// named "golden.in:NAME" and "golden.out:NAME". tests/ops/make_contrib_goldens.py writes them.
//
//   check_golden(path)     builds, normalises and evaluates the model and compares every output; then checks that what
//                          inference says of every value, sizes of inputs being symbols, is what came out
//   golden_models(folder)  the files of a folder below tests/ops/data
//
// The tolerances are the model's metadata "rtol" and "atol".
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "graph/build.h"
#include "onnx/read.h"
#include "ops/evaluate.h"
#include "ops/inference_check.h"
#include "ops/normalise.h"
#include "ops/util.h"

namespace narthex {

struct Golden {
  std::map<std::string, Tensor> inputs;
  std::map<std::string, Tensor> outputs;
  double rtol = 1e-5;
  double atol = 1e-6;
};

inline Result<Golden> take_golden(onnx::Model& model) {
  Golden golden;
  for (const onnx::Tensor& tensor : model.graph.initializers) {
    const bool is_input = tensor.name.starts_with("golden.in:");
    if (!is_input && !tensor.name.starts_with("golden.out:")) continue;
    NX_TRY(Tensor value, Tensor::from_onnx(tensor));
    (is_input ? golden.inputs : golden.outputs)[tensor.name.substr(tensor.name.find(':') + 1)] = std::move(value);
  }
  std::erase_if(model.graph.initializers, [](const onnx::Tensor& t) { return t.name.starts_with("golden."); });
  for (const auto& [key, value] : model.metadata) {
    if (key == "rtol") golden.rtol = std::stod(value);
    if (key == "atol") golden.atol = std::stod(value);
  }
  return golden;
}

inline double element(const Tensor& tensor, std::int64_t i) {
  double value = 0;
  const auto load = [&]<class T>() -> Result<void> {
    value = static_cast<double>(static_cast<Compute<T>>(tensor.as<T>()[static_cast<std::size_t>(i)]));
    return {};
  };
  if (tensor.dtype() == DType::kBool) return tensor.as<bool>()[static_cast<std::size_t>(i)] ? 1 : 0;
  if (dtype_size(tensor.dtype()) == 1) return static_cast<double>(static_cast<std::int8_t>(tensor.data()[i]));
  EXPECT_TRUE(dispatch_numeric(tensor.dtype(), load));
  return value;
}

// Empty when they agree, else what differs.
inline std::string difference(const Tensor& got, const Tensor& want, const Golden& golden) {
  if (got.dtype() != want.dtype())
    return fmt::format("type {} != {}", dtype_name(got.dtype()), dtype_name(want.dtype()));
  if (got.dims() != want.dims())
    return fmt::format("shape {} != {}", dims_string(got.dims()), dims_string(want.dims()));
  for (std::int64_t i = 0; i < got.count(); ++i) {
    const double x = element(got, i);
    const double y = element(want, i);
    const bool same =
        x == y || (std::isnan(x) && std::isnan(y)) || std::abs(x - y) <= golden.atol + golden.rtol * std::abs(y);
    if (!same) return fmt::format("element {}: {} != {}", i, x, y);
  }
  return {};
}

// The symbols of the graph's inputs under the sizes of actual ones.
inline std::map<std::string, std::int64_t> bind_symbols(const Graph& graph, const std::vector<Tensor>& inputs) {
  std::map<std::string, std::int64_t> sizes;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::optional<Shape>& shape = graph.value(graph.inputs[i]).shape;
    for (std::size_t d = 0; shape && d < shape->size(); ++d) {
      const auto name = (*shape)[d].symbol_name();
      if (name) sizes[std::string(*name)] = inputs[i].dims()[d];
    }
  }
  return sizes;
}

inline Result<std::string> run_golden(const std::filesystem::path& path) {
  NX_TRY(const auto model, onnx::read_model(path));
  onnx::Model copy = *model;
  NX_TRY(const Golden golden, take_golden(copy));
  NX_TRY(Graph graph, build_graph(copy));
  NX_TRY_VOID(normalise(graph));
  std::vector<Tensor> inputs;
  for (const ValueId id : graph.inputs) inputs.push_back(golden.inputs.at(graph.value(id).name));
  NX_TRY(const std::vector<Tensor> outputs, evaluate(graph, inputs));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string& name = copy.graph.outputs[i].name;
    const std::string differs = difference(outputs[i], golden.outputs.at(name), golden);
    if (!differs.empty()) return fmt::format("output '{}': {}", name, differs);
  }
  const auto sizes = bind_symbols(graph, inputs);
  infer_graph(graph);
  check_inference(graph, inputs, [&](std::string_view symbol) -> std::optional<std::int64_t> {
    const auto found = sizes.find(std::string(symbol));
    return found == sizes.end() ? std::nullopt : std::optional(found->second);
  });
  return std::string();
}

inline void check_golden(const std::filesystem::path& path) {
  SCOPED_TRACE(path.filename());
  const auto differs = run_golden(path);
  ASSERT_TRUE(differs) << differs.error().message;
  EXPECT_EQ(*differs, "");
}

inline std::vector<std::filesystem::path> golden_models(const char* folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(NARTHEX_TEST_DATA) / folder)) {
    if (entry.path().extension() == ".onnx") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace narthex
