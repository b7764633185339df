// Graphs, nodes, attributes and functions. Covered by tests/onnx/read_test.cc.
#include "onnx/decode.h"
#include "onnx/foreign.h"

namespace narthex::onnx {
namespace {

// Which fields of an AttributeProto were there, as a set of AttrType bits.
using ValueSet = std::uint32_t;

constexpr ValueSet bit(AttrType type) {
  return ValueSet{1} << static_cast<unsigned>(type);
}

void append_floats(DecodeState& state, Fields& field, std::vector<float>& out) {
  const protozero::data_view bytes = field.view();
  if (bytes.size() % sizeof(float) != 0) {
    refuse(ErrorCode::kBadModel, "a packed list of floats has {} bytes, which is not a multiple of 4", bytes.size());
  }
  state.charge(bytes.size());
  const std::size_t old = out.size();
  out.resize(old + bytes.size() / sizeof(float));
  if (!bytes.empty()) std::memcpy(out.data() + old, bytes.data(), bytes.size());
}

void decode_child_graph(DecodeState& state, protozero::data_view message, Graph& graph) {
  state.descend();
  decode_graph(state, message, graph);
  state.ascend();
}

// Settles the type of an attribute: old files do not say it, broken ones contradict it.
void settle_type(Attribute& a, std::int64_t declared, ValueSet present) {
  if (declared < 0 || declared > static_cast<std::int64_t>(AttrType::kTypes)) {
    refuse(ErrorCode::kBadModel, "has the unknown type {}", declared);
  }
  a.type = static_cast<AttrType>(declared);
  for (const auto& [one, many] : {std::pair{AttrType::kTensor, AttrType::kTensors},
                                  {AttrType::kGraph, AttrType::kGraphs},
                                  {AttrType::kSparseTensor, AttrType::kSparseTensors},
                                  {AttrType::kType, AttrType::kTypes}}) {
    if ((present & bit(one)) != 0 && (present & bit(many)) != 0) {
      refuse(ErrorCode::kBadModel, "has both a value of type {} and a list of them", attr_type_name(one));
    }
    const bool missing = a.type == one && (present & bit(one)) == 0 && a.ref_attr_name.empty();
    if (missing) refuse(ErrorCode::kBadModel, "is of type {} but has no such value", attr_type_name(one));
  }
  if (present == 0) return;
  if (a.type == AttrType::kUndefined) {
    if (std::popcount(present) != 1) refuse(ErrorCode::kBadModel, "has several values and does not say its type");
    a.type = static_cast<AttrType>(std::countr_zero(present));
  } else if ((present & bit(a.type)) == 0) {
    refuse(ErrorCode::kBadModel, "says that its type is {}, but its value is of type {}", attr_type_name(a.type),
           attr_type_name(static_cast<AttrType>(std::countr_zero(present))));
  }
}

struct AttributeParts {
  std::int64_t type = 0;
  ValueSet present = 0;
  std::vector<protozero::data_view> tensor;  // occurrences of the singular fields `t` and `sparse_tensor`
  std::vector<protozero::data_view> sparse;
};

// The repeated fields. False if the field is none of them.
bool decode_list_value(DecodeState& state, Fields& field, Attribute& a, AttributeParts& parts) {
  AttrType seen{};
  switch (field.key()) {
    case bytes_key(7):
      seen = AttrType::kFloats;
      append_floats(state, field, a.floats);
      break;
    case fixed32_key(7):
      seen = AttrType::kFloats;
      append(state, a.floats) = field.fixed32();
      break;
    case bytes_key(8):
      seen = AttrType::kInts;
      append_ints(state, field, true, a.ints);
      break;
    case varint_key(8):
      seen = AttrType::kInts;
      append_ints(state, field, false, a.ints);
      break;
    case bytes_key(9):
      seen = AttrType::kStrings;
      append(state, a.strings) = field.string();
      break;
    case bytes_key(10): {
      seen = AttrType::kTensors;
      const protozero::data_view message = field.view();
      decode_tensor(state, {&message, 1}, append(state, a.tensors));
      break;
    }
    case bytes_key(11):
      seen = AttrType::kGraphs;
      decode_child_graph(state, field.view(), append(state, a.graphs));
      break;
    case bytes_key(23): {
      seen = AttrType::kSparseTensors;
      const protozero::data_view message = field.view();
      decode_sparse_tensor(state, {&message, 1}, append(state, a.sparse_tensors));
      break;
    }
    case bytes_key(15):
      seen = AttrType::kTypes;
      decode_type(state, field.view(), append(state, a.types));
      break;
    default:
      return false;
  }
  parts.present |= bit(seen);
  return true;
}

// Names and the singular fields.
void decode_single_value(DecodeState& state, Fields& field, Attribute& a, AttributeParts& parts) {
  AttrType seen{};
  switch (field.key()) {
    case bytes_key(1):
      a.name = field.name();
      return;
    case bytes_key(21):
      a.ref_attr_name = field.name();
      return;
    case varint_key(20):
      parts.type = field.varint();
      return;
    case fixed32_key(2):
      seen = AttrType::kFloat;
      a.f = field.fixed32();
      break;
    case varint_key(3):
      seen = AttrType::kInt;
      a.i = field.varint();
      break;
    case bytes_key(4):
      seen = AttrType::kString;
      a.s = field.string();
      break;
    case bytes_key(5):
      seen = AttrType::kTensor;
      append(state, parts.tensor) = field.view();
      break;
    case bytes_key(22):
      seen = AttrType::kSparseTensor;
      append(state, parts.sparse) = field.view();
      break;
    case bytes_key(6):
      // A second occurrence merges into the first. If the list `graphs` came first, settle_type() refuses the mixture.
      seen = AttrType::kGraph;
      if (a.graphs.empty()) append(state, a.graphs);
      decode_child_graph(state, field.view(), a.graphs.front());
      break;
    case bytes_key(14):
      seen = AttrType::kType;
      if (a.types.empty()) append(state, a.types);
      decode_type(state, field.view(), a.types.front());
      break;
    default:
      field.skip();
      return;
  }
  parts.present |= bit(seen);
}

}  // namespace

void decode_attribute(DecodeState& state, protozero::data_view message, Attribute& a) {
  state.count(state.n_attributes, state.limits.max_attributes, "attributes");
  AttributeParts parts;
  Fields field(state, message);
  while (field.next()) {
    if (!decode_list_value(state, field, a, parts)) decode_single_value(state, field, a, parts);
  }
  settle_type(a, parts.type, parts.present);
  if (!parts.tensor.empty()) decode_tensor(state, parts.tensor, append(state, a.tensors));
  if (!parts.sparse.empty()) decode_sparse_tensor(state, parts.sparse, append(state, a.sparse_tensors));
}

void decode_node(DecodeState& state, protozero::data_view message, Node& node) {
  state.count(state.n_nodes, state.limits.max_nodes, "nodes");
  Fields field(state, message);
  while (field.next()) {
    switch (field.key()) {
      case bytes_key(1):
        append(state, node.inputs) = field.name();
        break;
      case bytes_key(2):
        append(state, node.outputs) = field.name();
        break;
      case bytes_key(3):
        node.name = field.name();
        break;
      case bytes_key(4):
        node.op_type = field.name();
        break;
      case bytes_key(7):
        node.domain = field.name();
        break;
      case bytes_key(8):
        node.overload = field.name();
        break;
      case bytes_key(5): {
        Attribute& attribute = append(state, node.attributes);
        state.enter({"attribute", &attribute.name, nullptr, node.attributes.size() - 1});
        decode_attribute(state, field.view(), attribute);
        state.leave();
        break;
      }
      default:
        field.skip();
    }
  }
}

namespace {

void append_node(DecodeState& state, protozero::data_view message, std::vector<Node>& nodes) {
  Node& node = append(state, nodes);
  state.enter({"node", &node.name, &node.op_type, nodes.size() - 1});
  decode_node(state, message, node);
  state.leave();
}

void append_value_info(DecodeState& state, protozero::data_view message, std::vector<ValueInfo>& list,
                       const char* kind) {
  state.count(state.n_values, state.limits.max_values, "described values");
  ValueInfo& info = append(state, list);
  state.enter({kind, &info.name, nullptr, list.size() - 1});
  decode_value_info(state, message, info);
  state.leave();
}

}  // namespace

void decode_graph(DecodeState& state, protozero::data_view message, Graph& graph) {
  Fields field(state, message);
  while (field.next()) {
    switch (field.key()) {
      case bytes_key(1):
        append_node(state, field.view(), graph.nodes);
        break;
      case bytes_key(2):
        graph.name = field.name();
        break;
      case bytes_key(5): {
        const protozero::data_view tensor = field.view();
        decode_tensor(state, {&tensor, 1}, append(state, graph.initializers));
        break;
      }
      case bytes_key(15): {
        const protozero::data_view tensor = field.view();
        decode_sparse_tensor(state, {&tensor, 1}, append(state, graph.sparse_initializers));
        break;
      }
      case bytes_key(11):
        append_value_info(state, field.view(), graph.inputs, "graph input");
        break;
      case bytes_key(12):
        append_value_info(state, field.view(), graph.outputs, "graph output");
        break;
      case bytes_key(13):
        append_value_info(state, field.view(), graph.value_infos, "value");
        break;
      default:
        field.skip();
    }
  }
}

void decode_function(DecodeState& state, protozero::data_view message, Function& function) {
  state.count(state.n_functions, state.limits.max_functions, "functions");
  Fields field(state, message);
  while (field.next()) {
    switch (field.key()) {
      case bytes_key(1):
        function.name = field.name();
        break;
      case bytes_key(4):
        append(state, function.inputs) = field.name();
        break;
      case bytes_key(5):
        append(state, function.outputs) = field.name();
        break;
      case bytes_key(6):
        append(state, function.attributes) = field.name();
        break;
      case bytes_key(7):
        append_node(state, field.view(), function.nodes);
        break;
      case bytes_key(9):
        decode_opset_import(state, field.view(), append(state, function.opset_imports));
        break;
      case bytes_key(10):
        function.domain = field.name();
        break;
      case bytes_key(11): {
        Attribute& attribute = append(state, function.default_attributes);
        state.enter({"attribute", &attribute.name, nullptr, function.default_attributes.size() - 1});
        decode_attribute(state, field.view(), attribute);
        state.leave();
        break;
      }
      case bytes_key(12):
        append_value_info(state, field.view(), function.value_infos, "value");
        break;
      case bytes_key(13):
        function.overload = field.name();
        break;
      default:
        field.skip();
    }
  }
}

}  // namespace narthex::onnx
