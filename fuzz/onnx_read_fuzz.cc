// Any bytes as an .onnx file: an Error or a model whose payloads lie inside the input. The kept corpus is
// fuzz/corpus/onnx_read.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "onnx/read.h"

namespace {

using namespace narthex;
using namespace narthex::onnx;

std::uint64_t sum = 0;

void visit(const Tensor& t) {
  const auto n = element_count(t.dims);
  NX_CHECK(n.has_value(), "a tensor that was read has a size");
  if (t.dtype == DType::kString) {
    NX_CHECK(t.strings.size() == *n && t.data.empty(), "a string tensor has its strings");
  } else {
    NX_CHECK(payload_bytes(t.dtype, *n) == t.data.size(), "a payload is as long as its dims say");
    for (const std::byte b : t.data) sum += static_cast<std::uint64_t>(b);
  }
}

void visit(const Graph& graph);

void visit(const Attribute& a) {
  if (a.type == AttrType::kTensor && a.ref_attr_name.empty()) visit(a.tensor());
  if (a.type == AttrType::kGraph && a.ref_attr_name.empty()) visit(a.graph());
  for (const Tensor& t : a.tensors) visit(t);
  for (const Graph& g : a.graphs) visit(g);
  for (const SparseTensor& s : a.sparse_tensors) visit(s.values), visit(s.indices);
}

void visit(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    for (const Attribute& a : node.attributes) visit(a);
  }
  for (const Tensor& t : graph.initializers) visit(t);
  for (const SparseTensor& s : graph.sparse_initializers) visit(s.values), visit(s.indices);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto model = read_model({reinterpret_cast<const std::byte*>(data), size}, "fuzz.onnx");
  if (model) {
    visit((*model)->graph);
    for (const Function& f : (*model)->functions) {
      for (const Node& node : f.nodes) {
        for (const Attribute& a : node.attributes) visit(a);
      }
    }
  } else {
    NX_CHECK(model.error().message.starts_with("fuzz.onnx: "), "an error names the file");
  }
  return 0;
}
