// Tensors: where the payload lies (raw_data, typed fields, external file), and that its size is what the dims say.
// raw_data and external data stay where they are; typed fields are decoded into a buffer. Covered by
// tests/onnx/tensor_test.cc and external_data_test.cc.
#include <bit>
#include <charconv>

#include "onnx/decode.h"
#include "onnx/foreign.h"

namespace narthex::onnx {
namespace {

static_assert(std::endian::native == std::endian::little, "payloads are used as they lie in the file");

// Field numbers of the typed payloads in TensorProto.
enum TypedField : std::uint32_t {
  kNone = 0,
  kFloats = 4,
  kInt32s = 5,
  kStrings = 6,
  kInt64s = 7,
  kDoubles = 10,
  kUint64s = 11
};

const char* field_name(std::uint32_t field) {
  switch (field) {
    case kFloats:
      return "float_data";
    case kInt32s:
      return "int32_data";
    case kStrings:
      return "string_data";
    case kInt64s:
      return "int64_data";
    case kDoubles:
      return "double_data";
    case kUint64s:
      return "uint64_data";
    default:
      return "raw_data";
  }
}

TypedField field_of(DType type) {
  switch (type) {
    case DType::kFloat32:
    case DType::kComplex64:
      return kFloats;
    case DType::kFloat64:
    case DType::kComplex128:
      return kDoubles;
    case DType::kInt64:
      return kInt64s;
    case DType::kUint32:
    case DType::kUint64:
      return kUint64s;
    case DType::kString:
      return kStrings;
    default:
      return kInt32s;
  }
}

struct TensorParts {
  std::int64_t dtype = 0;
  std::optional<protozero::data_view> raw;
  std::uint64_t n_typed[12] = {};  // values per field number
  bool external = false;
  bool segmented = false;
  std::vector<std::pair<std::string, std::string>> external_entries;
};

// Every varint ends in exactly one byte below 128.
std::uint64_t count_varints(protozero::data_view packed) {
  if (packed.empty()) return 0;
  if ((packed.data()[packed.size() - 1] & 0x80) != 0) {
    refuse(ErrorCode::kBadModel, "a packed list of integers stops inside a number");
  }
  std::uint64_t n = 0;
  for (std::size_t i = 0; i < packed.size(); ++i) n += (packed.data()[i] & 0x80) == 0 ? 1 : 0;
  return n;
}

std::uint64_t count_fixed(protozero::data_view packed, std::size_t size, std::uint32_t field) {
  if (packed.size() % size != 0) {
    refuse(ErrorCode::kBadModel, "{} has {} bytes, which is not a multiple of {}", field_name(field), packed.size(),
           size);
  }
  return packed.size() / size;
}

// Counts the numbers of a typed field, single or packed; skips any other field.
void count_numbers(Fields& field, TensorParts& parts) {
  const auto single = [&](TypedField number) {
    ++parts.n_typed[number];
    field.skip();
  };
  switch (field.key()) {
    case fixed32_key(kFloats):
      return single(kFloats);
    case fixed64_key(kDoubles):
      return single(kDoubles);
    case varint_key(kInt32s):
      return single(kInt32s);
    case varint_key(kInt64s):
      return single(kInt64s);
    case varint_key(kUint64s):
      return single(kUint64s);
    case bytes_key(kFloats):
      parts.n_typed[kFloats] += count_fixed(field.view(), sizeof(float), kFloats);
      return;
    case bytes_key(kDoubles):
      parts.n_typed[kDoubles] += count_fixed(field.view(), sizeof(double), kDoubles);
      return;
    case bytes_key(kInt32s):
      parts.n_typed[kInt32s] += count_varints(field.view());
      return;
    case bytes_key(kInt64s):
      parts.n_typed[kInt64s] += count_varints(field.view());
      return;
    case bytes_key(kUint64s):
      parts.n_typed[kUint64s] += count_varints(field.view());
      return;
    default:
      field.skip();
  }
}

// First pass: everything but the typed numbers, which are only counted, since data_type may come after them.
void scan(DecodeState& state, protozero::data_view message, Tensor& tensor, TensorParts& parts) {
  Fields field(state, message);
  while (field.next()) {
    switch (field.key()) {
      case varint_key(1):
        append_dims(state, field, false, tensor.dims);
        break;
      case bytes_key(1):
        append_dims(state, field, true, tensor.dims);
        break;
      case varint_key(2):
        parts.dtype = field.varint();
        break;
      case bytes_key(3):
        parts.segmented = true;
        field.skip();
        break;
      case bytes_key(kStrings):
        ++parts.n_typed[kStrings];
        append(state, tensor.strings) = field.string();
        break;
      case bytes_key(8):
        tensor.name = field.name();
        break;
      case bytes_key(9):
        parts.raw = field.view();
        break;
      case bytes_key(13):
        append(state, parts.external_entries) = decode_entry(state, field.view());
        break;
      case varint_key(14):
        parts.external = field.varint() == 1;
        break;
      default:
        count_numbers(field, parts);
    }
  }
}

std::string describe(const Tensor& tensor) {
  return fmt::format("{} [{}]", dtype_name(tensor.dtype), fmt::join(tensor.dims, ", "));
}

class TypedWriter {
 public:
  TypedWriter(DType type, std::byte* out) : type_(type), bits_(dtype_bits(type)), out_(out) {}

  void put_bytes(const void* data, std::size_t size) {
    if (size > 0) std::memcpy(out_, data, size);
    out_ += size;
  }
  void put_varint(std::uint64_t bits, std::uint32_t field) {
    if (field == kInt32s) {
      put_int32(static_cast<std::int32_t>(static_cast<std::uint32_t>(bits)));
    } else if (type_ == DType::kUint32) {
      if (bits > UINT32_MAX) refuse(ErrorCode::kBadModel, "the value {} in uint64_data does not fit uint32", bits);
      put(static_cast<std::uint32_t>(bits));
    } else {
      put(bits);
    }
  }

 private:
  template <class T>
  void put(T value) {
    put_bytes(&value, sizeof value);
  }

  // One value of int32_data: a number, the bits of a small float, or one byte of packed elements. Writers disagree
  // whether small types are sign-extended, so both readings of the same bits are taken.
  void put_int32(std::int32_t value) {
    const unsigned bits = bits_ < 8 ? 8 : bits_;
    if (bits < 32 && (value < -(1 << (bits - 1)) || value >= 1 << bits)) {
      refuse(ErrorCode::kBadModel, "the value {} in int32_data does not fit {}", value, dtype_name(type_));
    }
    if (type_ == DType::kBool) value = value != 0 ? 1 : 0;
    if (bits == 8)
      put(static_cast<std::uint8_t>(value));
    else if (bits == 16)
      put(static_cast<std::uint16_t>(value));
    else
      put(value);
  }

  DType type_;
  unsigned bits_;
  std::byte* out_;
};

// Second pass, for one field that scan() has counted.
void copy_typed(DecodeState& state, protozero::data_view message, std::uint32_t number, TypedWriter& out) {
  Fields field(state, message);
  while (field.next()) {
    if (field.key() == bytes_key(number)) {
      const protozero::data_view packed = field.view();
      if (number == kFloats || number == kDoubles) {
        out.put_bytes(packed.data(), packed.size());
        continue;
      }
      const char* p = packed.data();
      const char* end = p + packed.size();
      while (p != end) out.put_varint(protozero::decode_varint(&p, end), number);
    } else if (field.key() == varint_key(number)) {
      out.put_varint(static_cast<std::uint64_t>(field.varint()), number);
    } else if (field.key() == fixed32_key(number) && number == kFloats) {
      const float value = field.fixed32();
      out.put_bytes(&value, sizeof value);
    } else if (field.key() == fixed64_key(number) && number == kDoubles) {
      const double value = field.fixed64();
      out.put_bytes(&value, sizeof value);
    } else {
      field.skip();
    }
  }
}

void decode_typed(DecodeState& state, Pieces pieces, const TensorParts& parts, std::uint64_t n, std::uint64_t bytes,
                  Tensor& tensor) {
  const TypedField field = field_of(tensor.dtype);
  std::uint64_t n_values = n;
  if (tensor.dtype == DType::kComplex64 || tensor.dtype == DType::kComplex128) n_values = 2 * n;
  if (dtype_bits(tensor.dtype) < 8) n_values = bytes;
  if (parts.n_typed[field] != n_values) {
    refuse(ErrorCode::kBadModel, "is {} and needs {} values in {}, which has {}", describe(tensor), n_values,
           field_name(field), parts.n_typed[field]);
  }
  state.charge(bytes);
  const std::shared_ptr<std::byte[]> buffer = std::make_shared<std::byte[]>(bytes);
  TypedWriter out(tensor.dtype, buffer.get());
  for (const protozero::data_view piece : pieces) copy_typed(state, piece, field, out);
  tensor.data = {buffer.get(), bytes};
  tensor.owner = buffer;
}

std::uint64_t parse_number(std::string_view key, std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    refuse(ErrorCode::kBadModel, "the {} {} of its external data is not a number", key, show_name(text));
  }
  return value;
}

void attach_external(DecodeState& state, const TensorParts& parts, std::uint64_t bytes, Tensor& tensor) {
  std::string_view location;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;  // 0 and absent mean the same to the writers of this format
  for (const auto& [key, value] : parts.external_entries) {
    if (key == "location") location = value;
    if (key == "offset") offset = parse_number(key, value);
    if (key == "length") length = parse_number(key, value);
  }
  if (length != 0 && length != bytes) {
    refuse(ErrorCode::kBadModel, "is {} and needs {} bytes, but its external data has length {}", describe(tensor),
           bytes, length);
  }
  if (bytes > state.limits.max_external_bytes - state.external_bytes) {
    refuse(ErrorCode::kLimit, "brings the external data to more than {} bytes", state.limits.max_external_bytes);
  }
  state.external_bytes += bytes;
  auto file = state.external.open(location);
  if (!file) throw Refusal{file.error().code, std::move(file.error().message)};
  const std::span<const std::byte> all = (*file)->bytes();
  if (offset > all.size() || bytes > all.size() - offset) {
    refuse(ErrorCode::kBadModel,
           "needs bytes {} to {}+{} of {}, which has only {}; the file is incomplete or belongs to another model",
           offset, offset, bytes, show_name(location), all.size());
  }
  tensor.data = all.subspan(offset, bytes);
  tensor.owner = *file;
}

// Which single field carries the payload; more than one is a contradiction.
std::uint32_t payload_field(const TensorParts& parts, const Tensor& tensor) {
  std::uint32_t found = kNone;
  for (const TypedField field : {kFloats, kInt32s, kStrings, kInt64s, kDoubles, kUint64s}) {
    if (parts.n_typed[field] == 0) continue;
    if (found != kNone) {
      refuse(ErrorCode::kBadModel, "has values in both {} and {}", field_name(found), field_name(field));
    }
    found = field;
  }
  const bool has_raw = parts.raw.has_value() && !parts.raw->empty();
  if (found != kNone && (has_raw || parts.external)) {
    refuse(ErrorCode::kBadModel, "has values in both {} and {}", field_name(found),
           parts.external ? "external data" : "raw_data");
  }
  if (found != kNone && found != field_of(tensor.dtype)) {
    refuse(ErrorCode::kBadModel, "is {} but has its values in {}; expected {} or raw_data", describe(tensor),
           field_name(found), field_name(field_of(tensor.dtype)));
  }
  return found;
}

void attach_payload(DecodeState& state, Pieces pieces, const TensorParts& parts, Tensor& tensor) {
  const std::optional<std::uint64_t> n = element_count(tensor.dims);
  if (!n) refuse(ErrorCode::kBadModel, "has the impossible dimensions [{}]", fmt::join(tensor.dims, ", "));
  const std::uint32_t field = payload_field(parts, tensor);
  if (tensor.dtype == DType::kString) {
    if (parts.external || parts.raw.value_or(protozero::data_view{}).size() > 0) {
      refuse(ErrorCode::kBadModel, "is a string tensor; its strings must be in string_data");
    }
    if (tensor.strings.size() != *n) {
      refuse(ErrorCode::kBadModel, "is {} and needs {} strings, found {}", describe(tensor), *n, tensor.strings.size());
    }
    return;
  }
  const std::optional<std::uint64_t> bytes = payload_bytes(tensor.dtype, *n);
  if (!bytes) refuse(ErrorCode::kBadModel, "is too large: {}", describe(tensor));
  if (parts.external) return attach_external(state, parts, *bytes, tensor);
  if (field != kNone) return decode_typed(state, pieces, parts, *n, *bytes, tensor);
  const protozero::data_view raw = parts.raw.value_or(protozero::data_view{});
  if (raw.size() != *bytes) {
    refuse(ErrorCode::kBadModel, "is {} and needs {} bytes of data, found {}", describe(tensor), *bytes, raw.size());
  }
  tensor.data = {reinterpret_cast<const std::byte*>(raw.data()), raw.size()};
  tensor.owner = state.owner;
}

}  // namespace

void decode_tensor(DecodeState& state, Pieces pieces, Tensor& tensor) {
  state.count(state.n_tensors, state.limits.max_tensors, "tensors");
  state.enter({"tensor", &tensor.name, nullptr, state.n_tensors - 1});
  TensorParts parts;
  for (const protozero::data_view piece : pieces) scan(state, piece, tensor, parts);
  if (parts.segmented) refuse(ErrorCode::kUnsupported, "is stored in segments, which Narthex does not read");
  constexpr auto kLast = static_cast<std::int64_t>(DType::kFloat6E3M2);
  const bool known = parts.dtype > 0 && parts.dtype <= kLast;
  if (!known) refuse(ErrorCode::kBadModel, "has the unknown element type {}", parts.dtype);
  tensor.dtype = static_cast<DType>(parts.dtype);
  if (tensor.dtype == DType::kFloat6E2M3 || tensor.dtype == DType::kFloat6E3M2) {
    refuse(ErrorCode::kUnsupported, "is of type {}, which Narthex does not read", dtype_name(tensor.dtype));
  }
  attach_payload(state, pieces, parts, tensor);
  state.leave();
}

void decode_sparse_tensor(DecodeState& state, Pieces pieces, SparseTensor& tensor) {
  std::vector<protozero::data_view> values;
  std::vector<protozero::data_view> indices;
  for (const protozero::data_view piece : pieces) {
    Fields field(state, piece);
    while (field.next()) {
      switch (field.key()) {
        case bytes_key(1):
          append(state, values) = field.view();
          break;
        case bytes_key(2):
          append(state, indices) = field.view();
          break;
        case varint_key(3):
          append_dims(state, field, false, tensor.dims);
          break;
        case bytes_key(3):
          append_dims(state, field, true, tensor.dims);
          break;
        default:
          field.skip();
      }
    }
  }
  if (values.empty() || indices.empty()) {
    refuse(ErrorCode::kBadModel, "a sparse tensor lacks its {}", values.empty() ? "values" : "indices");
  }
  if (!element_count(tensor.dims)) {
    refuse(ErrorCode::kBadModel, "a sparse tensor has the impossible dimensions [{}]", fmt::join(tensor.dims, ", "));
  }
  decode_tensor(state, values, tensor.values);
  decode_tensor(state, indices, tensor.indices);
  if (tensor.indices.dtype != DType::kInt64) {
    refuse(ErrorCode::kBadModel, "the sparse tensor {} has indices of type {}, expected int64",
           show_name(tensor.values.name), dtype_name(tensor.indices.dtype));
  }
}

}  // namespace narthex::onnx
