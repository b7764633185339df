// Builds ONNX models in memory for tests: every function returns the bytes of one protobuf message.
//
//   using namespace narthex::onnx::build;
//   std::string bytes = model({.graph = {.nodes = {node("Add", {"x", "one"}, {"y"})},
//                                        .initializers = {tensor<float>("one", {1}, {1.0f})},
//                                        .inputs = {value_info("x", DType::kFloat32, {"batch", 4})},
//                                        .outputs = {value_info("y", DType::kFloat32, {"batch", 4})}}});
//   auto read = read_built(bytes, "add.onnx");   // Result<std::shared_ptr<const Model>>; owns the bytes
//
// A graph inside an attribute: attr_graph("then_branch", graph({...})). Used by the tests of several layers.
#pragma once

#include <cstdint>
#include <memory>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "onnx/read.h"

namespace narthex::onnx::build {

using Dims = std::vector<std::int64_t>;
using Strings = std::vector<std::string>;

template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, float>) return DType::kFloat32;
  if constexpr (std::is_same_v<T, double>) return DType::kFloat64;
  if constexpr (std::is_same_v<T, bool>) return DType::kBool;
  if constexpr (std::is_same_v<T, std::int8_t>) return DType::kInt8;
  if constexpr (std::is_same_v<T, std::uint8_t>) return DType::kUint8;
  if constexpr (std::is_same_v<T, std::int16_t>) return DType::kInt16;
  if constexpr (std::is_same_v<T, std::uint16_t>) return DType::kUint16;
  if constexpr (std::is_same_v<T, std::int32_t>) return DType::kInt32;
  if constexpr (std::is_same_v<T, std::uint32_t>) return DType::kUint32;
  if constexpr (std::is_same_v<T, std::int64_t>) return DType::kInt64;
  if constexpr (std::is_same_v<T, std::uint64_t>) return DType::kUint64;
  return DType::kUndefined;
}

inline void put_strings(protozero::pbf_writer& out, std::uint32_t field, const Strings& values) {
  for (const std::string& value : values) out.add_string(field, value);
}

inline void put_messages(protozero::pbf_writer& out, std::uint32_t field, const Strings& messages) {
  for (const std::string& message : messages) out.add_message(field, message);
}

// dims, data_type and name; the caller adds a payload.
inline void put_tensor_head(protozero::pbf_writer& out, std::string_view name, DType type, const Dims& dims) {
  out.add_packed_int64(1, dims.begin(), dims.end());
  out.add_int32(2, static_cast<std::int32_t>(type));
  if (!name.empty()) out.add_string(8, name.data(), name.size());
}

inline std::string raw_tensor(std::string_view name, DType type, const Dims& dims, std::string_view bytes) {
  std::string message;
  protozero::pbf_writer out(message);
  put_tensor_head(out, name, type, dims);
  out.add_bytes(9, bytes.data(), bytes.size());
  return message;
}

template <class T>
std::string tensor(std::string_view name, const Dims& dims, const std::vector<T>& values) {
  static_assert(dtype_of<T>() != DType::kUndefined);
  std::string bytes;
  for (const T value : values) bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  return raw_tensor(name, dtype_of<T>(), dims, bytes);
}

inline std::string string_tensor(std::string_view name, const Dims& dims, const Strings& values) {
  std::string message;
  protozero::pbf_writer out(message);
  put_tensor_head(out, name, DType::kString, dims);
  put_strings(out, 6, values);
  return message;
}

inline std::string key_value(std::string_view key, std::string_view value) {
  std::string message;
  protozero::pbf_writer out(message);
  out.add_string(1, key.data(), key.size());
  out.add_string(2, value.data(), value.size());
  return message;
}

// A tensor in a file of external data; entries are location, offset, length.
inline std::string external_tensor(std::string_view name, DType type, const Dims& dims,
                                   const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string message;
  protozero::pbf_writer out(message);
  put_tensor_head(out, name, type, dims);
  for (const auto& [key, value] : entries) out.add_message(13, key_value(key, value));
  out.add_int32(14, 1);
  return message;
}

inline std::string attr_int(std::string_view name, std::int64_t value) {
  std::string message;
  protozero::pbf_writer out(message);
  out.add_string(1, name.data(), name.size());
  out.add_int64(3, value);
  out.add_int32(20, static_cast<std::int32_t>(AttrType::kInt));
  return message;
}

inline std::string attr_float(std::string_view name, float value) {
  std::string message;
  protozero::pbf_writer out(message);
  out.add_string(1, name.data(), name.size());
  out.add_float(2, value);
  out.add_int32(20, static_cast<std::int32_t>(AttrType::kFloat));
  return message;
}

inline std::string attr_string(std::string_view name, std::string_view value) {
  std::string message;
  protozero::pbf_writer out(message);
  out.add_string(1, name.data(), name.size());
  out.add_bytes(4, value.data(), value.size());
  out.add_int32(20, static_cast<std::int32_t>(AttrType::kString));
  return message;
}

inline std::string attr_ints(std::string_view name, const std::vector<std::int64_t>& values) {
  std::string message;
  protozero::pbf_writer out(message);
  out.add_string(1, name.data(), name.size());
  for (const std::int64_t value : values) out.add_int64(8, value);  // proto2 writers do not pack
  out.add_int32(20, static_cast<std::int32_t>(AttrType::kInts));
  return message;
}

inline std::string attr_floats(std::string_view name, const std::vector<float>& values) {
  std::string message;
  protozero::pbf_writer out(message);
  out.add_string(1, name.data(), name.size());
  for (const float value : values) out.add_float(7, value);
  out.add_int32(20, static_cast<std::int32_t>(AttrType::kFloats));
  return message;
}

inline std::string attr_strings(std::string_view name, const Strings& values) {
  std::string message;
  protozero::pbf_writer out(message);
  out.add_string(1, name.data(), name.size());
  put_strings(out, 9, values);
  out.add_int32(20, static_cast<std::int32_t>(AttrType::kStrings));
  return message;
}

inline std::string attr_message(std::string_view name, std::uint32_t field, AttrType type, const std::string& value) {
  std::string message;
  protozero::pbf_writer out(message);
  out.add_string(1, name.data(), name.size());
  out.add_message(field, value);
  out.add_int32(20, static_cast<std::int32_t>(type));
  return message;
}

inline std::string attr_tensor(std::string_view name, const std::string& tensor) {
  return attr_message(name, 5, AttrType::kTensor, tensor);
}

inline std::string attr_graph(std::string_view name, const std::string& graph) {
  return attr_message(name, 6, AttrType::kGraph, graph);
}

// Inside a function: the value is that of the function's attribute `ref`.
inline std::string attr_ref(std::string_view name, std::string_view ref, AttrType type) {
  std::string message;
  protozero::pbf_writer out(message);
  out.add_string(1, name.data(), name.size());
  out.add_string(21, ref.data(), ref.size());
  out.add_int32(20, static_cast<std::int32_t>(type));
  return message;
}

struct NodeExtra {
  std::string name = {};
  std::string domain = {};
  std::string overload = {};
};

inline std::string node(std::string_view op_type, const Strings& inputs, const Strings& outputs,
                        const Strings& attributes = {}, const NodeExtra& extra = {}) {
  std::string message;
  protozero::pbf_writer out(message);
  put_strings(out, 1, inputs);
  put_strings(out, 2, outputs);
  if (!extra.name.empty()) out.add_string(3, extra.name);
  out.add_string(4, op_type.data(), op_type.size());
  put_messages(out, 5, attributes);
  if (!extra.domain.empty()) out.add_string(7, extra.domain);
  if (!extra.overload.empty()) out.add_string(8, extra.overload);
  return message;
}

// A number, a name, or nothing (std::monostate) for an unknown dimension.
struct DimSpec {
  DimSpec() = default;
  DimSpec(int number) : value(std::int64_t{number}) {}
  DimSpec(std::int64_t number) : value(number) {}
  DimSpec(const char* name) : value(std::string(name)) {}
  std::variant<std::monostate, std::int64_t, std::string> value;
};

inline std::string tensor_type(DType type, const std::vector<DimSpec>& dims, bool has_shape = true) {
  std::string shape;
  protozero::pbf_writer shape_out(shape);
  for (const DimSpec& dim : dims) {
    std::string one;
    protozero::pbf_writer dim_out(one);
    if (const auto* number = std::get_if<std::int64_t>(&dim.value)) dim_out.add_int64(1, *number);
    if (const auto* name = std::get_if<std::string>(&dim.value)) dim_out.add_string(2, *name);
    shape_out.add_message(1, one);
  }
  std::string tensor;
  protozero::pbf_writer tensor_out(tensor);
  tensor_out.add_int32(1, static_cast<std::int32_t>(type));
  if (has_shape) tensor_out.add_message(2, shape);
  std::string message;
  protozero::pbf_writer(message).add_message(1, tensor);
  return message;
}

inline std::string value_info_of_type(std::string_view name, const std::string& type) {
  std::string message;
  protozero::pbf_writer out(message);
  out.add_string(1, name.data(), name.size());
  out.add_message(2, type);
  return message;
}

inline std::string value_info(std::string_view name, DType type, const std::vector<DimSpec>& dims) {
  return value_info_of_type(name, tensor_type(type, dims));
}

inline std::string value_info_any_rank(std::string_view name, DType type) {
  return value_info_of_type(name, tensor_type(type, {}, false));
}

struct GraphSpec {
  std::string name = "g";
  Strings nodes = {};
  Strings initializers = {};
  Strings inputs = {};
  Strings outputs = {};
  Strings value_infos = {};
  Strings sparse_initializers = {};
};

inline std::string graph(const GraphSpec& spec) {
  std::string message;
  protozero::pbf_writer out(message);
  put_messages(out, 1, spec.nodes);
  out.add_string(2, spec.name);
  put_messages(out, 5, spec.initializers);
  put_messages(out, 15, spec.sparse_initializers);
  put_messages(out, 11, spec.inputs);
  put_messages(out, 12, spec.outputs);
  put_messages(out, 13, spec.value_infos);
  return message;
}

inline std::string opset(std::string_view domain, std::int64_t version) {
  std::string message;
  protozero::pbf_writer out(message);
  if (!domain.empty()) out.add_string(1, domain.data(), domain.size());
  out.add_int64(2, version);
  return message;
}

struct FunctionSpec {
  std::string name = {};
  std::string domain = {};
  Strings inputs = {};
  Strings outputs = {};
  Strings nodes = {};
  Strings attributes = {};          // names
  Strings default_attributes = {};  // attr_int(…) and so on
  Strings opsets = {opset("", 17)};
  std::string overload = {};
};

inline std::string function(const FunctionSpec& spec) {
  std::string message;
  protozero::pbf_writer out(message);
  out.add_string(1, spec.name);
  put_strings(out, 4, spec.inputs);
  put_strings(out, 5, spec.outputs);
  put_strings(out, 6, spec.attributes);
  put_messages(out, 7, spec.nodes);
  put_messages(out, 9, spec.opsets);
  out.add_string(10, spec.domain);
  put_messages(out, 11, spec.default_attributes);
  if (!spec.overload.empty()) out.add_string(13, spec.overload);
  return message;
}

struct ModelSpec {
  GraphSpec graph = {};
  std::int64_t opset = 17;
  Strings extra_opsets = {};  // opset("com.microsoft", 1)
  Strings functions = {};
  std::int64_t ir_version = 9;
};

inline std::string model(const ModelSpec& spec) {
  std::string message;
  protozero::pbf_writer out(message);
  out.add_int64(1, spec.ir_version);
  out.add_string(2, "tests");
  out.add_message(7, graph(spec.graph));
  out.add_message(8, opset("", spec.opset));
  put_messages(out, 8, spec.extra_opsets);
  put_messages(out, 25, spec.functions);
  return message;
}

// Reads bytes and keeps them alive as long as the tensors.
inline Result<std::shared_ptr<const Model>> read_built(std::string bytes, std::string source = "built.onnx",
                                                       const ReadLimits& limits = {}) {
  const auto owner = std::make_shared<const std::string>(std::move(bytes));
  return read_model(std::as_bytes(std::span(*owner)), std::move(source), {}, limits, owner);
}

}  // namespace narthex::onnx::build
