// Golden models: an .onnx file that carries its own inputs and the outputs that ONNX Runtime computed, as initializers
// named "golden.in:NAME" and "golden.out:NAME". tests/ops/make_contrib_goldens.py writes them.
//
//   check_golden(path)   builds, normalises and evaluates the model and compares every output; false when it differs
//
// The tolerances are the model's metadata "rtol" and "atol".
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>

#include "graph/build.h"
#include "onnx/read.h"
#include "ops/evaluate.h"
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

inline Result<std::string> run_golden(const std::filesystem::path& path) {
  NX_TRY(const auto model, onnx::read_model(path));
  onnx::Model copy = *model;
  NX_TRY(const Golden golden, take_golden(copy));
  NX_TRY(Graph graph, build_graph(copy));
  NX_TRY_VOID(normalise(graph));
  std::vector<Tensor> inputs;
  for (const ValueId id : graph.inputs) inputs.push_back(golden.inputs.at(graph.value(id).name));
  std::vector<std::string> names;
  for (const onnx::ValueInfo& output : copy.graph.outputs) names.push_back(output.name);
  NX_TRY(const std::vector<Tensor> outputs, evaluate(graph, std::move(inputs)));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string differs = difference(outputs[i], golden.outputs.at(names[i]), golden);
    if (!differs.empty()) return fmt::format("output '{}': {}", names[i], differs);
  }
  return std::string();
}

inline bool check_golden(const std::filesystem::path& path) {
  const auto differs = run_golden(path);
  if (!differs) {
    ADD_FAILURE() << differs.error().message;
    return false;
  }
  EXPECT_EQ(*differs, "") << path.filename();
  return differs->empty();
}

}  // namespace narthex
