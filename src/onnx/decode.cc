// Iteration over fields and the small messages: repeated integers, key-value entries, types.
#include "onnx/decode.h"

namespace narthex::onnx {

bool Fields::next() {
  const protozero::data_view rest = reader_.data();
  state_.at = rest.data();
  if (!reader_.next()) return false;
  if (reader_.wire_type() == protozero::pbf_wire_type::length_delimited) {
    // protozero keeps 32 bits of a length, so the whole number is checked here.
    const protozero::data_view after_key = reader_.data();
    const char* p = after_key.data();
    const char* end = p + after_key.size();
    const std::uint64_t length = protozero::decode_varint(&p, end);
    const auto left = static_cast<std::uint64_t>(end - p);
    if (length > left) {
      const auto offset = state_.at - state_.file.data();
      if (end == state_.file.data() + state_.file.size()) {
        refuse(ErrorCode::kBadModel,
               "truncated at byte {}: the field that begins at byte {} lacks {} more; get the file again",
               state_.file.size(), offset, length - left);
      }
      refuse(ErrorCode::kBadModel,
             "damaged at byte {}: a field of {} bytes lies in a message of which {} are left; get the file again",
             offset, length, left);
    }
  }
  return true;
}

std::string Fields::name() {
  const protozero::data_view bytes = view();
  if (bytes.size() > state_.limits.max_name_bytes) {
    refuse(ErrorCode::kLimit, "has a name of {} bytes; at most {} are read", bytes.size(),
           state_.limits.max_name_bytes);
  }
  state_.charge(bytes.size());
  return bytes.to_string();
}

std::string Fields::string() {
  const protozero::data_view bytes = view();
  state_.charge(bytes.size());
  return bytes.to_string();
}

void append_ints(DecodeState& state, Fields& field, bool packed, std::vector<std::int64_t>& out) {
  if (!packed) {
    state.charge(sizeof(std::int64_t));
    out.push_back(field.varint());
    return;
  }
  const protozero::data_view bytes = field.view();
  const char* p = bytes.data();
  const char* end = p + bytes.size();
  while (p != end) {
    state.charge(sizeof(std::int64_t));
    out.push_back(static_cast<std::int64_t>(protozero::decode_varint(&p, end)));
  }
}

void append_dims(DecodeState& state, Fields& field, bool packed, std::vector<std::int64_t>& out) {
  append_ints(state, field, packed, out);
  if (out.size() > state.limits.max_rank) {
    refuse(ErrorCode::kLimit, "has {} dimensions; at most {} are read", out.size(), state.limits.max_rank);
  }
}

std::pair<std::string, std::string> decode_entry(DecodeState& state, protozero::data_view message) {
  std::pair<std::string, std::string> entry;
  Fields field(state, message);
  while (field.next()) {
    switch (field.key()) {
      case bytes_key(1):
        entry.first = field.name();
        break;
      case bytes_key(2):
        entry.second = field.string();
        break;
      default:
        field.skip();
    }
  }
  return entry;
}

void decode_opset_import(DecodeState& state, protozero::data_view message, OpsetImport& opset) {
  Fields field(state, message);
  while (field.next()) {
    switch (field.key()) {
      case bytes_key(1):
        opset.domain = field.name();
        break;
      case varint_key(2):
        opset.version = field.varint();
        break;
      default:
        field.skip();
    }
  }
}

namespace {

DType to_dtype(std::int64_t number) {
  const bool known = number >= 0 && number <= static_cast<std::int64_t>(DType::kFloat6E3M2);
  return known ? static_cast<DType>(number) : DType::kUndefined;
}

// Members of a oneof: choosing another one forgets the first, choosing the same one merges.
void choose(Type& type, Type::Kind kind) {
  if (type.kind != kind) type = Type{};
  type.kind = kind;
}

void decode_dim(DecodeState& state, protozero::data_view message, Dim& dim) {
  Fields field(state, message);
  while (field.next()) {
    switch (field.key()) {
      case varint_key(1):
        dim = Dim{Dim::Kind::kValue, field.varint(), {}};
        break;
      case bytes_key(2):
        dim = Dim{Dim::Kind::kParam, 0, field.name()};
        break;
      default:
        field.skip();
    }
  }
}

void decode_shape(DecodeState& state, protozero::data_view message, Type& type) {
  type.has_shape = true;
  Fields field(state, message);
  while (field.next()) {
    if (field.key() != bytes_key(1)) {
      field.skip();
      continue;
    }
    if (type.shape.size() >= state.limits.max_rank) {
      refuse(ErrorCode::kLimit, "has a shape of more than {} dimensions", state.limits.max_rank);
    }
    decode_dim(state, field.view(), append(state, type.shape));
  }
}

void decode_tensor_type(DecodeState& state, protozero::data_view message, Type& type) {
  Fields field(state, message);
  while (field.next()) {
    switch (field.key()) {
      case varint_key(1):
        type.elem = to_dtype(field.varint());
        break;
      case bytes_key(2):
        decode_shape(state, field.view(), type);
        break;
      default:
        field.skip();
    }
  }
}

// Sequence and Optional hold their element type in field 1, Map its key type in 1 and its value type in 2.
void decode_container_type(DecodeState& state, protozero::data_view message, Type& type) {
  const bool is_map = type.kind == Type::Kind::kMap;
  Fields field(state, message);
  while (field.next()) {
    if (is_map && field.key() == varint_key(1)) {
      type.elem = to_dtype(field.varint());
    } else if (field.key() == bytes_key(is_map ? 2 : 1)) {
      if (type.inner.empty()) append(state, type.inner);
      decode_type(state, field.view(), type.inner.front());
    } else {
      field.skip();
    }
  }
}

}  // namespace

void decode_type(DecodeState& state, protozero::data_view message, Type& type) {
  state.descend();
  Fields field(state, message);
  while (field.next()) {
    switch (field.key()) {
      case bytes_key(1):
        choose(type, Type::Kind::kTensor);
        decode_tensor_type(state, field.view(), type);
        break;
      case bytes_key(8):
        choose(type, Type::Kind::kSparseTensor);
        decode_tensor_type(state, field.view(), type);
        break;
      case bytes_key(4):
        choose(type, Type::Kind::kSequence);
        decode_container_type(state, field.view(), type);
        break;
      case bytes_key(9):
        choose(type, Type::Kind::kOptional);
        decode_container_type(state, field.view(), type);
        break;
      case bytes_key(5):
        choose(type, Type::Kind::kMap);
        decode_container_type(state, field.view(), type);
        break;
      case bytes_key(7):
        choose(type, Type::Kind::kOpaque);
        field.skip();
        break;
      default:
        field.skip();
    }
  }
  state.ascend();
}

void decode_value_info(DecodeState& state, protozero::data_view message, ValueInfo& info) {
  Fields field(state, message);
  while (field.next()) {
    switch (field.key()) {
      case bytes_key(1):
        info.name = field.name();
        break;
      case bytes_key(2):
        decode_type(state, field.view(), info.type);
        break;
      default:
        field.skip();
    }
  }
}

}  // namespace narthex::onnx
