// Every element type and every way to store a tensor.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "onnx/model_builder.h"

namespace narthex::onnx {
namespace {

using namespace build;
using testing::HasSubstr;

// The tensor alone in a model.
Result<Tensor> read_tensor(const std::string& message) {
  const auto model = read_built(build::model({.graph = {.initializers = {message}}}), "t.onnx");
  if (!model) return std::unexpected(model.error());
  return (*model)->graph.initializers.front();
}

std::string message_of(const std::string& tensor) {
  const Result<Tensor> result = read_tensor(tensor);
  return result ? "no error" : result.error().message;
}

template <class Write>
std::string typed(DType type, const Dims& dims, Write write) {
  std::string message;
  protozero::pbf_writer out(message);
  put_tensor_head(out, "w", type, dims);
  write(out);
  return message;
}

TEST(Tensor, EveryTypeReadsTheSameFromTypedFieldsAndFromRawData) {
  const auto model = read_model(std::filesystem::path(NARTHEX_TEST_DATA) / "all_types.onnx");
  ASSERT_TRUE(model) << model.error().message;
  std::map<std::string, const Tensor*> by_name;
  for (const Tensor& t : (*model)->graph.initializers) by_name[t.name] = &t;
  int compared = 0;
  for (const auto& [name, raw] : by_name) {
    if (!name.starts_with("raw_")) continue;
    ASSERT_TRUE(by_name.contains("typed_" + name.substr(4))) << name;
    const Tensor& typed = *by_name["typed_" + name.substr(4)];
    EXPECT_EQ(typed.dtype, raw->dtype) << name;
    EXPECT_EQ(typed.dims, raw->dims) << name;
    ASSERT_EQ(typed.data.size(), raw->data.size()) << name;
    EXPECT_EQ(std::memcmp(typed.data.data(), raw->data.data(), raw->data.size()), 0) << name;
    EXPECT_EQ(raw->data.size(), payload_bytes(raw->dtype, 5)) << name;
    ++compared;
  }
  EXPECT_EQ(compared, 25);
  ASSERT_TRUE(by_name.contains("strings"));
  EXPECT_THAT(by_name["strings"]->strings,
              testing::ElementsAre("plain", "\u00fcn\u00efcode", std::string("\xff\x00\xfe", 3)));
}

TEST(Tensor, TypedFieldsMayBeUnpackedSplitAndBeforeTheType) {
  std::string message;
  protozero::pbf_writer out(message);
  const std::int64_t packed[] = {-2, 3};
  out.add_int64(7, 1);
  out.add_packed_int64(7, packed, packed + 2);
  out.add_int64(7, INT64_MIN);
  out.add_int64(1, 2);
  out.add_int64(1, 2);
  out.add_int32(2, static_cast<int>(DType::kInt64));
  const Result<Tensor> t = read_tensor(message);
  ASSERT_TRUE(t) << t.error().message;
  EXPECT_EQ(t->load<std::int64_t>(0), 1);
  EXPECT_EQ(t->load<std::int64_t>(1), -2);
  EXPECT_EQ(t->load<std::int64_t>(2), 3);
  EXPECT_EQ(t->load<std::int64_t>(3), INT64_MIN);
}

TEST(Tensor, UnpackedFloatsAndDoubles) {
  const Result<Tensor> f = read_tensor(typed(DType::kFloat32, {2}, [](auto& out) {
    out.add_float(4, 1.5F);
    out.add_float(4, -2.0F);
  }));
  ASSERT_TRUE(f) << f.error().message;
  EXPECT_EQ(f->load<float>(1), -2.0F);
  const Result<Tensor> d = read_tensor(typed(DType::kFloat64, {}, [](auto& out) { out.add_double(10, 0.1); }));
  ASSERT_TRUE(d) << d.error().message;
  EXPECT_EQ(d->load<double>(0), 0.1);
}

TEST(Tensor, SmallTypesMayBeSignOrZeroExtended) {
  for (const int value : {-1, 255}) {
    for (const DType type : {DType::kInt8, DType::kUint8, DType::kFloat8E5M2}) {
      const Result<Tensor> t = read_tensor(typed(type, {1}, [&](auto& out) { out.add_int32(5, value); }));
      ASSERT_TRUE(t) << t.error().message;
      EXPECT_EQ(t->load<std::uint8_t>(0), 255);
    }
  }
  EXPECT_THAT(message_of(typed(DType::kInt8, {1}, [](auto& out) { out.add_int32(5, 256); })),
              HasSubstr("t.onnx: tensor 'w': the value 256 in int32_data does not fit int8"));
  EXPECT_THAT(message_of(typed(DType::kUint16, {1}, [](auto& out) { out.add_int32(5, -32769); })),
              HasSubstr("does not fit uint16"));
  EXPECT_THAT(message_of(typed(DType::kUint32, {1}, [](auto& out) { out.add_uint64(11, 1ULL << 32); })),
              HasSubstr("does not fit uint32"));
}

TEST(Tensor, EmptyTensorsNeedNoPayload) {
  for (const DType type : {DType::kFloat32, DType::kInt4, DType::kString, DType::kComplex128}) {
    const Result<Tensor> t = read_tensor(typed(type, {3, 0, INT64_MAX}, [](auto&) {}));
    ASSERT_TRUE(t) << t.error().message;
    EXPECT_TRUE(t->data.empty());
    EXPECT_TRUE(t->strings.empty());
  }
}

TEST(Tensor, SizesMustAgreeWithTheDims) {
  EXPECT_THAT(message_of(raw_tensor("w", DType::kFloat32, {2, 2}, "12345678")),
              HasSubstr("t.onnx: tensor 'w': is float [2, 2] and needs 16 bytes of data, found 8"));
  EXPECT_THAT(message_of(raw_tensor("w", DType::kInt4, {3}, "1")), HasSubstr("needs 2 bytes"));
  EXPECT_EQ(message_of(raw_tensor("w", DType::kInt4, {3}, "12")), "no error");
  EXPECT_EQ(message_of(raw_tensor("w", DType::kUint2, {5}, "12")), "no error");
  EXPECT_THAT(message_of(typed(DType::kFloat32, {3}, [](auto& out) { out.add_float(4, 1); })),
              HasSubstr("needs 3 values in float_data, which has 1"));
  EXPECT_THAT(message_of(typed(DType::kComplex64, {1}, [](auto& out) { out.add_float(4, 1); })),
              HasSubstr("needs 2 values"));
  EXPECT_THAT(message_of(string_tensor("w", {2}, {"a"})), HasSubstr("needs 2 strings, found 1"));
  EXPECT_THAT(message_of(raw_tensor("w", DType::kFloat32, {-1}, "")), HasSubstr("impossible dimensions [-1]"));
  EXPECT_THAT(message_of(raw_tensor("w", DType::kFloat32, {1LL << 32, 1LL << 31}, "")),
              HasSubstr("impossible dimensions"));
  EXPECT_THAT(message_of(raw_tensor("w", DType::kFloat64, {1LL << 62}, "")), HasSubstr("too large"));
  // Claims 4 TB of one-byte varints; nothing may be allocated for it.
  EXPECT_THAT(message_of(typed(DType::kInt64, {1LL << 39}, [](auto& out) { out.add_int64(7, 1); })),
              HasSubstr("which has 1"));
}

TEST(Tensor, ThePayloadIsInOnePlaceAndOfTheRightType) {
  EXPECT_THAT(message_of(typed(DType::kFloat32, {1}, [](auto& out) { out.add_int32(5, 1); })),
              HasSubstr("is float [1] but has its values in int32_data; expected float_data or raw_data"));
  EXPECT_THAT(message_of(typed(DType::kFloat32, {1},
                               [](auto& out) {
                                 out.add_float(4, 1);
                                 out.add_bytes(9, "1234", 4);
                               })),
              HasSubstr("values in both float_data and raw_data"));
  EXPECT_THAT(message_of(typed(DType::kFloat32, {1},
                               [](auto& out) {
                                 out.add_float(4, 1);
                                 out.add_int32(5, 1);
                               })),
              HasSubstr("values in both float_data and int32_data"));
  EXPECT_THAT(message_of(raw_tensor("w", DType::kString, {1}, "a")), HasSubstr("must be in string_data"));
  EXPECT_THAT(message_of(raw_tensor("w", static_cast<DType>(99), {1}, "a")), HasSubstr("unknown element type 99"));
  EXPECT_THAT(message_of(raw_tensor("w", DType::kUndefined, {1}, "a")), HasSubstr("unknown element type 0"));
  EXPECT_THAT(message_of(raw_tensor("w", DType::kFloat6E2M3, {1}, "a")),
              HasSubstr("float6e2m3, which Narthex does not"));
  EXPECT_THAT(message_of(typed(DType::kFloat32, {1}, [](auto& out) { out.add_message(3, std::string()); })),
              HasSubstr("stored in segments"));
}

TEST(Tensor, MalformedPackedListsAreErrors) {
  EXPECT_THAT(message_of(typed(DType::kFloat32, {1}, [](auto& out) { out.add_bytes(4, "123", 3); })),
              HasSubstr("float_data has 3 bytes, which is not a multiple of 4"));
  EXPECT_THAT(message_of(typed(DType::kInt64, {1}, [](auto& out) { out.add_bytes(7, "\x80", 1); })),
              HasSubstr("stops inside a number"));
  EXPECT_THAT(
      message_of(typed(DType::kInt64, {1}, [](auto& out) { out.add_bytes(7, std::string(11, '\x80') + '\1'); })),
      HasSubstr("a number has more than ten bytes"));
}

TEST(Tensor, CountsAndSizesAreCheckedForOverflow) {
  EXPECT_EQ(element_count(Dims{}), 1U);
  EXPECT_EQ(element_count(Dims{INT64_MAX, 0, INT64_MAX}), 0U);
  EXPECT_EQ(element_count(Dims{INT64_MAX, 2}), std::nullopt);
  EXPECT_EQ(element_count(Dims{0, -1}), std::nullopt);
  EXPECT_EQ(payload_bytes(DType::kComplex128, INT64_MAX), std::nullopt);
  EXPECT_EQ(payload_bytes(DType::kUint4, UINT64_MAX), 1ULL << 63);
  EXPECT_EQ(payload_bytes(DType::kString, 1), std::nullopt);
  EXPECT_EQ(dtype_name(DType::kFloat8E4M3FNUZ), "float8e4m3fnuz");
  EXPECT_EQ(dtype_name(static_cast<DType>(200)), "undefined");
}

}  // namespace
}  // namespace narthex::onnx
