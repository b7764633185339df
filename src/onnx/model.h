// An ONNX model as plain structs: the protobuf messages of onnx.proto, decoded but not understood.
//
//   read_model() in onnx/read.h makes them; graph/ gives them meaning
//
// Names are owned strings. Tensor payloads are spans: into the model file (raw_data), into a file of external data, or
// into a buffer decoded from the typed fields; `owner` keeps whichever it is alive, so a Tensor may outlive its Model.
// After reading, every tensor's bytes equal its element count times its element size. Payloads are little endian and
// may be UNALIGNED (protobuf does not align): copy elements out with load<T>(). Documentation strings, training
// information, quantization annotations and device configurations are dropped.
// Covered by tests/onnx/read_test.cc, tensor_test.cc.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace narthex::onnx {

// Numbers of TensorProto.DataType.
enum class DType : std::uint8_t {
  kUndefined = 0,
  kFloat32 = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kFloat64 = 11,
  kUint32 = 12,
  kUint64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBFloat16 = 16,
  kFloat8E4M3FN = 17,
  kFloat8E4M3FNUZ = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2FNUZ = 20,
  kUint4 = 21,
  kInt4 = 22,
  kFloat4E2M1 = 23,
  kFloat8E8M0 = 24,
  kUint2 = 25,
  kInt2 = 26,
  kFloat6E2M3 = 27,  // known by name only: read_model() refuses tensors of the two 6-bit types
  kFloat6E3M2 = 28,
};

// Lower-case name as the ONNX documentation spells it ("float", "int64", "float8e4m3fn"); "undefined" for other values.
std::string_view dtype_name(DType type);
// Bits of one element in a payload: 2 and 4 for the packed types, 0 for string, undefined and the 6-bit types.
unsigned dtype_bits(DType type);
// Product of the dimensions (1 for a scalar); empty if one is negative or the product exceeds 2^63 − 1.
std::optional<std::uint64_t> element_count(std::span<const std::int64_t> dims);
// Bytes of `n` elements, packed types rounded up to whole bytes; empty on overflow or for types without a size.
std::optional<std::uint64_t> payload_bytes(DType type, std::uint64_t n);

struct Tensor {
  std::string name;
  DType dtype = DType::kUndefined;
  std::vector<std::int64_t> dims;  // all ≥ 0
  std::span<const std::byte> data;
  std::shared_ptr<const void> owner;  // null only when read_model() was given bytes without an owner
  std::vector<std::string> strings;   // the elements of a string tensor, whose `data` is empty; any bytes, often UTF-8

  // Precondition: sizeof(T) is the element size and i is below the element count.
  template <class T>
  T load(std::size_t i) const {
    T value;
    std::memcpy(&value, data.data() + i * sizeof(T), sizeof(T));
    return value;
  }
};

// COO: `values` is [nnz]; `indices` is [nnz] (linear) or [nnz, rank], int64. Neither order nor range is checked.
struct SparseTensor {
  Tensor values;  // carries the name of a sparse initializer
  Tensor indices;
  std::vector<std::int64_t> dims;
};

struct Dim {
  enum class Kind : std::uint8_t { kUnknown, kValue, kParam };
  Kind kind = Kind::kUnknown;
  std::int64_t value = 0;  // kValue; as written in the file, so it may be negative
  std::string param;       // kParam, e.g. "batch_size"
};

// TypeProto. The kind says which of the other members mean something.
struct Type {
  enum class Kind : std::uint8_t { kUnset, kTensor, kSparseTensor, kSequence, kOptional, kMap, kOpaque };
  Kind kind = Kind::kUnset;
  DType elem = DType::kUndefined;  // kTensor, kSparseTensor; for kMap the type of the key
  bool has_shape = false;          // false: not even the rank is known
  std::vector<Dim> shape;
  std::vector<Type> inner;  // kSequence, kOptional: the element type; kMap: the value type; none or one entry
};

struct ValueInfo {
  std::string name;
  Type type;
};

struct Graph;

// Numbers of AttributeProto.AttributeType.
enum class AttrType : std::uint8_t {
  kUndefined = 0,
  kFloat = 1,
  kInt = 2,
  kString = 3,
  kTensor = 4,
  kGraph = 5,
  kFloats = 6,
  kInts = 7,
  kStrings = 8,
  kTensors = 9,
  kGraphs = 10,
  kSparseTensor = 11,
  kSparseTensors = 12,
  kType = 13,
  kTypes = 14,
};

std::string_view attr_type_name(AttrType type);  // "FLOAT", "INTS", … as onnx.proto spells them

// The type says which member holds the value. The single tensor, graph, sparse tensor or type of kTensor, kGraph,
// kSparseTensor and kType is the one entry of the list (guaranteed to be there unless ref_attr_name is set).
struct Attribute {
  std::string name;
  std::string ref_attr_name;             // inside functions: the value is that of the function's attribute of this name
  AttrType type = AttrType::kUndefined;  // inferred from the value where an old file does not say
  float f = 0;
  std::int64_t i = 0;
  std::string s;  // bytes, not necessarily UTF-8
  std::vector<float> floats;
  std::vector<std::int64_t> ints;
  std::vector<std::string> strings;
  std::vector<Tensor> tensors;
  std::vector<Graph> graphs;
  std::vector<SparseTensor> sparse_tensors;
  std::vector<Type> types;

  const Tensor& tensor() const { return tensors.front(); }
  const Graph& graph() const { return graphs.front(); }
};

struct Node {
  std::string name;  // often empty or repeated
  std::string op_type;
  std::string domain;               // "" is ai.onnx, which is left as written
  std::string overload;             // picks one of several functions with the same domain and name
  std::vector<std::string> inputs;  // "" marks an omitted optional input
  std::vector<std::string> outputs;
  std::vector<Attribute> attributes;
};

struct Graph {
  std::string name;
  std::vector<Node> nodes;
  std::vector<Tensor> initializers;
  std::vector<SparseTensor> sparse_initializers;
  std::vector<ValueInfo> inputs;  // before IR version 4 these include the initializers
  std::vector<ValueInfo> outputs;
  std::vector<ValueInfo> value_infos;
};

struct OpsetImport {
  std::string domain;
  std::int64_t version = 0;
};

struct Function {
  std::string name;
  std::string domain;
  std::string overload;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<std::string> attributes;        // names of attributes without a default
  std::vector<Attribute> default_attributes;  // attributes with one
  std::vector<Node> nodes;
  std::vector<OpsetImport> opset_imports;
  std::vector<ValueInfo> value_infos;
};

struct Model {
  std::string source;  // what errors call the file: its path, or the name read_model() was given
  std::int64_t ir_version = 0;
  std::vector<OpsetImport> opset_imports;
  std::string producer_name;
  std::string producer_version;
  std::string domain;
  std::int64_t model_version = 0;
  Graph graph;
  std::vector<Function> functions;
  std::vector<std::pair<std::string, std::string>> metadata;  // metadata_props in file order
  std::uint64_t file_bytes = 0;                               // the .onnx itself
  std::uint64_t external_bytes = 0;                           // payload bytes that lie in files of external data
  std::vector<std::string> external_locations;                // of those files, beside the .onnx; in order of name
};

}  // namespace narthex::onnx
