#include "onnx/model.h"

#include <limits>

namespace narthex::onnx {
namespace {

struct DTypeRow {
  std::string_view name;
  unsigned bits;
};

// Indexed by the number of the type.
constexpr DTypeRow kDTypes[] = {
    {"undefined", 0},      {"float", 32},    {"uint8", 8},        {"int8", 8},           {"uint16", 16},
    {"int16", 16},         {"int32", 32},    {"int64", 64},       {"string", 0},         {"bool", 8},
    {"float16", 16},       {"double", 64},   {"uint32", 32},      {"uint64", 64},        {"complex64", 64},
    {"complex128", 128},   {"bfloat16", 16}, {"float8e4m3fn", 8}, {"float8e4m3fnuz", 8}, {"float8e5m2", 8},
    {"float8e5m2fnuz", 8}, {"uint4", 4},     {"int4", 4},         {"float4e2m1", 4},     {"float8e8m0", 8},
    {"uint2", 2},          {"int2", 2},      {"float6e2m3", 0},   {"float6e3m2", 0},
};

constexpr std::string_view kAttrTypes[] = {
    "UNDEFINED", "FLOAT",   "INT",    "STRING",        "TENSOR",         "GRAPH",      "FLOATS",     "INTS",
    "STRINGS",   "TENSORS", "GRAPHS", "SPARSE_TENSOR", "SPARSE_TENSORS", "TYPE_PROTO", "TYPE_PROTOS"};

const DTypeRow& row(DType type) {
  const auto index = static_cast<std::size_t>(type);
  return index < std::size(kDTypes) ? kDTypes[index] : kDTypes[0];
}

}  // namespace

std::string_view dtype_name(DType type) {
  return row(type).name;
}

unsigned dtype_bits(DType type) {
  return row(type).bits;
}

std::string_view attr_type_name(AttrType type) {
  const auto index = static_cast<std::size_t>(type);
  return kAttrTypes[index < std::size(kAttrTypes) ? index : 0];
}

std::optional<std::uint64_t> element_count(std::span<const std::int64_t> dims) {
  // A zero anywhere makes the product zero, whatever the others are, so it is looked for before multiplying.
  bool has_zero = false;
  for (const std::int64_t dim : dims) {
    if (dim < 0) return std::nullopt;
    has_zero |= dim == 0;
  }
  if (has_zero) return 0;
  std::int64_t product = 1;
  for (const std::int64_t dim : dims) {
    if (__builtin_mul_overflow(product, dim, &product)) return std::nullopt;
  }
  return static_cast<std::uint64_t>(product);
}

std::optional<std::uint64_t> payload_bytes(DType type, std::uint64_t n) {
  const unsigned bits = dtype_bits(type);
  if (bits == 0) return std::nullopt;
  if (bits < 8) {
    const unsigned per_byte = 8 / bits;
    return n / per_byte + (n % per_byte != 0 ? 1 : 0);
  }
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(n, std::uint64_t{bits / 8}, &bytes)) return std::nullopt;
  return bytes;
}

}  // namespace narthex::onnx
