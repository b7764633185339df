// Private to src/onnx: the state of one reading, and bounded iteration over the fields of a protobuf message.
//
// protozero reports malformed bytes by exceptions, so everything below read_model() does too: refuse() throws a
// Refusal, and read.cc turns both kinds into one Error that names the file, the path of nodes and tensors, and the
// byte. Structs are filled in place inside the Model, so that the trail may point to their names.
#pragma once

#include <algorithm>
#include <protozero/pbf_reader.hpp>

#include "onnx/external_data.h"
#include "onnx/read.h"

namespace narthex::onnx {

struct Refusal {
  ErrorCode code;
  std::string what;
};

template <class... Args>
[[noreturn]] void refuse(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  throw Refusal{code, fmt::format(format, std::forward<Args>(args)...)};
}

// Keys of fields as protozero's tag_and_type() gives them: number and wire type. A known number with another wire type
// falls to `default:` and is skipped, as protobuf does with unknown fields.
constexpr std::uint32_t varint_key(std::uint32_t field) {
  return field << 3;
}
constexpr std::uint32_t fixed64_key(std::uint32_t field) {
  return field << 3 | 1;
}
constexpr std::uint32_t bytes_key(std::uint32_t field) {
  return field << 3 | 2;
}
constexpr std::uint32_t fixed32_key(std::uint32_t field) {
  return field << 3 | 5;
}

// One step of the way from the model to the bytes in hand.
struct Place {
  const char* kind;         // "node", "attribute", "tensor", …
  const std::string* name;  // filled while reading
  const std::string* op;    // of a node, else null
  std::size_t index;        // shown while the name is empty
};

struct DecodeState {
  std::string_view file;
  std::shared_ptr<const void> owner;  // keeps `file` alive
  const ReadLimits& limits;
  ExternalFiles external;
  std::uint64_t external_bytes = 0;

  const char* at = nullptr;  // where the field in hand begins
  std::vector<Place> trail = {};
  std::uint64_t budget = 0;  // bytes that may still be allocated
  std::uint64_t n_nodes = 0, n_tensors = 0, n_attributes = 0, n_values = 0, n_functions = 0;
  std::uint32_t depth = 0;

  void charge(std::uint64_t bytes) {
    if (bytes > budget) {
      refuse(ErrorCode::kLimit, "decodes to more memory than {} times its size: it is damaged or hostile",
             limits.decoded_per_byte);
    }
    budget -= bytes;
  }
  static void count(std::uint64_t& n, std::uint64_t max, const char* what) {
    if (++n > max) refuse(ErrorCode::kLimit, "has more than {} {}", max, what);
  }
  void enter(Place place) { trail.push_back(place); }
  void leave() { trail.pop_back(); }  // not by destructor: after an exception the trail must still be there
  void descend() {
    ++depth;
    if (depth > std::min(limits.max_depth, kMaxDepth)) {
      refuse(ErrorCode::kLimit, "nests deeper than {} levels", std::min(limits.max_depth, kMaxDepth));
    }
  }
  void ascend() { --depth; }

 private:
  static constexpr std::uint32_t kMaxDepth = 256;  // what a thread's stack bears, whatever the limits say
};

class Fields {
 public:
  Fields(DecodeState& state, protozero::data_view message) : state_(state), reader_(message) {}

  // Advances to the next field; checks that a field with a length fits into the message.
  bool next();
  std::uint32_t key() const { return static_cast<std::uint32_t>(reader_.tag_and_type()); }

  // Each may be called once per field, and only for the wire type that key() says.
  void skip() { reader_.skip(); }
  protozero::data_view view() { return reader_.get_view(); }
  std::int64_t varint() { return reader_.get_int64(); }
  float fixed32() { return reader_.get_float(); }
  double fixed64() { return reader_.get_double(); }
  std::string name();    // at most max_name_bytes
  std::string string();  // bounded by the memory budget alone

 private:
  DecodeState& state_;
  protozero::pbf_reader reader_;
};

// Adds an element to a list of structs, charged to the memory budget.
template <class T>
T& append(DecodeState& state, std::vector<T>& list) {
  state.charge(sizeof(T));
  return list.emplace_back();
}

// Appends a repeated int64 field, packed or not.
void append_ints(DecodeState& state, Fields& field, bool packed, std::vector<std::int64_t>& out);
void append_dims(DecodeState& state, Fields& field, bool packed, std::vector<std::int64_t>& out);

// Several pieces are occurrences of one singular message, which protobuf merges.
using Pieces = std::span<const protozero::data_view>;
void decode_tensor(DecodeState& state, Pieces pieces, Tensor& tensor);
void decode_sparse_tensor(DecodeState& state, Pieces pieces, SparseTensor& tensor);
void decode_graph(DecodeState& state, protozero::data_view message, Graph& graph);
void decode_node(DecodeState& state, protozero::data_view message, Node& node);
void decode_attribute(DecodeState& state, protozero::data_view message, Attribute& attribute);
void decode_value_info(DecodeState& state, protozero::data_view message, ValueInfo& info);
void decode_type(DecodeState& state, protozero::data_view message, Type& type);
void decode_function(DecodeState& state, protozero::data_view message, Function& function);
void decode_opset_import(DecodeState& state, protozero::data_view message, OpsetImport& opset);
std::pair<std::string, std::string> decode_entry(DecodeState& state, protozero::data_view message);

}  // namespace narthex::onnx
