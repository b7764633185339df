// Any bytes → model → graph → canonical graph → passes → plan → two runs on small inputs: errors are fine, faults
// are not.
//
// The plan runs with a limit of 16 MB a tensor, so an input that asks for more must be refused, not allocated. Every
// stage that succeeds must leave a graph that verify() accepts.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "graph/build.h"
#include "graph/print.h"
#include "graph/verify.h"
#include "onnx/read.h"
#include "ops/normalise.h"
#include "plan/interpreter.h"
#include "protobuf_mutator.h"

namespace narthex {
namespace {

constexpr std::uint64_t kMaxTensorBytes = std::uint64_t{16} << 20;

enum class Fill { kZeros, kRamp };

template <class T>
void ramp(Tensor& tensor) {
  int next = 0;
  for (T& element : tensor.as_mutable<T>()) element = static_cast<T>(next++ % 7 - 2);
}

// From -2 to 4 and over again: axes, indices, lengths and divisors of both signs. Types left out stay zero.
void fill_ramp(Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::kFloat32:
      return ramp<float>(tensor);
    case DType::kFloat64:
      return ramp<double>(tensor);
    case DType::kInt8:
      return ramp<std::int8_t>(tensor);
    case DType::kUint8:
      return ramp<std::uint8_t>(tensor);
    case DType::kInt16:
      return ramp<std::int16_t>(tensor);
    case DType::kUint16:
      return ramp<std::uint16_t>(tensor);
    case DType::kInt32:
      return ramp<std::int32_t>(tensor);
    case DType::kUint32:
      return ramp<std::uint32_t>(tensor);
    case DType::kInt64:
      return ramp<std::int64_t>(tensor);
    case DType::kUint64:
      return ramp<std::uint64_t>(tensor);
    case DType::kBool:
      return ramp<bool>(tensor);
    default:
      return;
  }
}

// Of the declared types; open dimensions are 2.
Result<std::vector<Tensor>> small_inputs(const Graph& graph, Fill fill) {
  std::vector<Tensor> inputs;
  for (const ValueId id : graph.inputs) {
    const Value& value = graph.value(id);
    Dims dims;
    for (const Dim& dim : value.shape.value_or(Shape{})) dims.push_back(dim.constant().value_or(2));
    NX_TRY(Tensor tensor, Tensor::allocate(value.dtype, std::move(dims), kMaxTensorBytes));
    if (value.dtype != DType::kString) std::fill_n(tensor.mutable_data(), tensor.bytes(), std::byte{0});
    if (fill == Fill::kRamp) fill_ramp(tensor);
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

Result<void> whole_way(std::span<const std::byte> bytes) {
  NX_TRY(const std::shared_ptr<const onnx::Model> model, onnx::read_model(bytes, "fuzz.onnx"));
  NX_TRY(Graph graph, build_graph(*model));
  NX_CHECK(verify(graph), "a built graph that verify() refuses");
  NX_TRY_VOID(normalise(graph));
  NX_CHECK(verify(graph), "a normalised graph that verify() refuses");
  static_cast<void>(print_graph(graph));
  CompileOptions options;
  options.passes.verify = true;
  options.max_tensor_bytes = kMaxTensorBytes;
  NX_TRY(const std::shared_ptr<const Program> program, compile(std::move(graph), options));
  for (const Fill fill : {Fill::kZeros, Fill::kRamp}) {
    NX_TRY(const std::vector<Tensor> inputs, small_inputs(program->graph(), fill));
    static_cast<void>(program->run(inputs));
  }
  return {};
}

}  // namespace
}  // namespace narthex

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static_cast<void>(narthex::whole_way({reinterpret_cast<const std::byte*>(data), size}));
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  const bool as_tree = seed % 16 != 0;
  const std::size_t mutated = as_tree ? narthex::fuzzing::mutate_protobuf(data, size, max_size, seed / 16) : 0;
  return mutated != 0 ? mutated : LLVMFuzzerMutate(data, size, max_size);
}
