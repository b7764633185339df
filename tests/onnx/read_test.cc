// Messages other than tensors: attributes, types, functions, protobuf's rules, limits, and the sentences of errors.
#include "onnx/read.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "onnx/model_builder.h"

namespace narthex::onnx {
namespace {

using namespace build;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

template <class Write>
std::string message(Write write) {
  std::string bytes;
  protozero::pbf_writer out(bytes);
  write(out);
  return bytes;
}

std::string error_of(const std::string& bytes, const ReadLimits& limits = {}) {
  const auto result = read_built(bytes, "m.onnx", limits);
  return result ? "no error" : result.error().message;
}

std::string with_nodes(const Strings& nodes) {
  return model({.graph = {.nodes = nodes}});
}

// Attributes of one node; fails the test if they cannot be read.
std::vector<Attribute> read_attributes(const Strings& attributes) {
  const auto result = read_built(with_nodes({node("Op", {}, {"y"}, attributes)}));
  EXPECT_TRUE(result) << result.error().message;
  return result ? (*result)->graph.nodes.front().attributes : std::vector<Attribute>{};
}

std::string attribute_error(const std::string& attribute) {
  return error_of(with_nodes({node("Op", {}, {"y"}, {attribute}, {.name = "n"})}));
}

TEST(Read, AttributesOfEveryType) {
  const std::string sparse = message([](auto& out) {
    out.add_message(1, tensor<float>("s", {1}, {2.0F}));
    out.add_message(2, tensor<std::int64_t>("", {1}, {3}));
    out.add_int64(3, 5);
  });
  const std::string one = tensor<float>("t", {}, {1.0F});
  const auto a = read_attributes(
      {attr_int("i", -7), attr_float("f", 0.5F), attr_string("s", std::string("\xff\0", 2)), attr_tensor("t", one),
       attr_graph("g", graph({.name = "inner", .nodes = {node("Identity", {"a"}, {"b"})}})),
       attr_ints("is", {INT64_MIN, 0, 5}), attr_floats("fs", {1.0F, -2.0F}), attr_strings("ss", {"a", ""}),
       attr_message("ts", 10, AttrType::kTensors, one), attr_message("gs", 11, AttrType::kGraphs, graph({})),
       attr_message("sp", 22, AttrType::kSparseTensor, sparse),
       attr_message("sps", 23, AttrType::kSparseTensors, sparse),
       attr_message("tp", 14, AttrType::kType, tensor_type(DType::kInt8, {2})),
       attr_message("tps", 15, AttrType::kTypes, tensor_type(DType::kInt8, {2}))});
  ASSERT_EQ(a.size(), 14U);
  EXPECT_EQ(a[0].i, -7);
  EXPECT_EQ(a[1].f, 0.5F);
  EXPECT_EQ(a[2].s, std::string("\xff\0", 2));
  EXPECT_EQ(a[3].tensor().load<float>(0), 1.0F);
  EXPECT_EQ(a[4].graph().name, "inner");
  EXPECT_EQ(a[4].graph().nodes.front().op_type, "Identity");
  EXPECT_THAT(a[5].ints, ElementsAre(INT64_MIN, 0, 5));
  EXPECT_THAT(a[6].floats, ElementsAre(1.0F, -2.0F));
  EXPECT_THAT(a[7].strings, ElementsAre("a", ""));
  EXPECT_EQ(a[8].tensors.size(), 1U);
  EXPECT_EQ(a[9].graphs.size(), 1U);
  EXPECT_EQ(a[10].sparse_tensors.front().values.name, "s");
  EXPECT_EQ(a[10].sparse_tensors.front().indices.load<std::int64_t>(0), 3);
  EXPECT_THAT(a[11].sparse_tensors.front().dims, ElementsAre(5));
  EXPECT_EQ(a[12].types.front().elem, DType::kInt8);
  EXPECT_EQ(a[13].type, AttrType::kTypes);
}

TEST(Read, PackedListsReadAsUnpackedOnes) {
  const std::int64_t ints[] = {-1, 300};
  const float floats[] = {1.0F, 2.0F};
  const auto a = read_attributes({message([&](auto& out) {
                                    out.add_string(1, "is");
                                    out.add_packed_int64(8, ints, ints + 2);
                                    out.add_int64(8, 7);
                                    out.add_int32(20, 7);
                                  }),
                                  message([&](auto& out) {
                                    out.add_string(1, "fs");
                                    out.add_float(7, 0.0F);
                                    out.add_packed_float(7, floats, floats + 2);
                                    out.add_int32(20, 6);
                                  })});
  ASSERT_EQ(a.size(), 2U);
  EXPECT_THAT(a[0].ints, ElementsAre(-1, 300, 7));
  EXPECT_THAT(a[1].floats, ElementsAre(0.0F, 1.0F, 2.0F));
}

TEST(Read, TheTypeOfAnAttributeIsInferredOrMustAgree) {
  const auto a = read_attributes({message([](auto& out) {
                                    out.add_string(1, "old");
                                    out.add_int64(8, 3);
                                  }),
                                  message([](auto& out) {
                                    out.add_string(1, "zero left out");
                                    out.add_int32(20, 2);
                                  }),
                                  attr_ref("alpha", "outer_alpha", AttrType::kTensor)});
  ASSERT_EQ(a.size(), 3U);
  EXPECT_EQ(a[0].type, AttrType::kInts);
  EXPECT_EQ(a[1].i, 0);
  EXPECT_EQ(a[2].ref_attr_name, "outer_alpha");
  EXPECT_THAT(
      attribute_error(message([](auto& out) {
        out.add_string(1, "a");
        out.add_float(2, 1);
        out.add_int32(20, 2);
      })),
      HasSubstr("m.onnx: node 'n' (Op): attribute 'a': says that its type is INT, but its value is of type FLOAT"));
  EXPECT_THAT(attribute_error(message([](auto& out) {
                out.add_string(1, "a");
                out.add_int32(20, 5);
              })),
              HasSubstr("is of type GRAPH but has no such value"));
  EXPECT_THAT(attribute_error(message([](auto& out) {
                out.add_message(6, graph({}));
                out.add_message(11, graph({}));
                out.add_int32(20, 5);
              })),
              HasSubstr("both a value of type GRAPH and a list"));
  EXPECT_THAT(attribute_error(message([](auto& out) { out.add_int32(20, 77); })), HasSubstr("unknown type 77"));
  EXPECT_THAT(attribute_error(message([](auto& out) { out.add_int32(20, -1); })), HasSubstr("unknown type -1"));
  EXPECT_THAT(attribute_error(message([](auto& out) {
                out.add_int64(3, 1);
                out.add_float(2, 1);
              })),
              HasSubstr("attribute number 0: has several values and does not say its type"));
}

TEST(Read, ShapesAndTypes) {
  const auto wrap = [](std::uint32_t field, const std::string& inner) {
    return message(
        [&](auto& out) { out.add_message(field, message([&](auto& type) { type.add_message(1, inner); })); });
  };
  const std::string map = message([](auto& out) {
    out.add_message(5, message([](auto& m) {
                      m.add_int32(1, 7);
                      m.add_message(2, tensor_type(DType::kFloat32, {}));
                    }));
  });
  const auto result =
      read_built(model({.graph = {.inputs = {
                                      value_info("a", DType::kInt64, {"batch", 4, DimSpec{}, -1}),
                                      value_info("scalar", DType::kBool, {}),
                                      value_info_any_rank("b", DType::kFloat16),
                                      value_info_of_type("s", wrap(4, tensor_type(DType::kInt8, {2}))),
                                      value_info_of_type("o", wrap(9, wrap(4, tensor_type(DType::kInt8, {})))),
                                      value_info_of_type("m", map),
                                      value_info_of_type("none", ""),
                                      value_info("strange", static_cast<DType>(99), {}),
                                  }}}));
  ASSERT_TRUE(result) << result.error().message;
  const auto& in = (*result)->graph.inputs;
  ASSERT_EQ(in.size(), 8U);
  EXPECT_EQ(in[0].type.elem, DType::kInt64);
  EXPECT_EQ(in[0].type.shape[0].param, "batch");
  EXPECT_EQ(in[0].type.shape[1].value, 4);
  EXPECT_EQ(in[0].type.shape[2].kind, Dim::Kind::kUnknown);
  EXPECT_EQ(in[0].type.shape[3].value, -1);
  EXPECT_TRUE(in[1].type.has_shape);
  EXPECT_TRUE(in[1].type.shape.empty());
  EXPECT_FALSE(in[2].type.has_shape);
  EXPECT_EQ(in[3].type.kind, Type::Kind::kSequence);
  EXPECT_EQ(in[3].type.inner[0].elem, DType::kInt8);
  EXPECT_EQ(in[4].type.kind, Type::Kind::kOptional);
  EXPECT_EQ(in[4].type.inner[0].kind, Type::Kind::kSequence);
  EXPECT_EQ(in[5].type.kind, Type::Kind::kMap);
  EXPECT_EQ(in[5].type.elem, DType::kInt64);
  EXPECT_EQ(in[5].type.inner[0].elem, DType::kFloat32);
  EXPECT_EQ(in[6].type.kind, Type::Kind::kUnset);
  EXPECT_EQ(in[7].type.elem, DType::kUndefined);
}

TEST(Read, FunctionsOpsetsAndMetadata) {
  std::string bytes =
      model({.extra_opsets = {opset("com.microsoft", 1)},
             .functions = {function({.name = "f",
                                     .domain = "local",
                                     .inputs = {"x"},
                                     .outputs = {"y"},
                                     .nodes = {node("Elu", {"x"}, {"y"}, {attr_ref("alpha", "a", AttrType::kFloat)})},
                                     .attributes = {"a"},
                                     .default_attributes = {attr_float("b", 2)},
                                     .opsets = {opset("", 18)},
                                     .overload = "o"})}});
  bytes += message([](auto& out) { out.add_message(14, key_value("author", "me")); });
  const auto result = read_built(bytes);
  ASSERT_TRUE(result) << result.error().message;
  const Model& m = **result;
  ASSERT_EQ(m.opset_imports.size(), 2U);
  EXPECT_EQ(m.opset_imports[1].domain, "com.microsoft");
  EXPECT_EQ(m.opset_imports[0].version, 17);
  EXPECT_THAT(m.metadata, ElementsAre(std::pair<std::string, std::string>("author", "me")));
  ASSERT_EQ(m.functions.size(), 1U);
  const Function& f = m.functions[0];
  EXPECT_EQ(f.domain + f.name + f.overload, "localfo");
  EXPECT_EQ(f.opset_imports[0].version, 18);
  EXPECT_THAT(f.attributes, ElementsAre("a"));
  EXPECT_EQ(f.default_attributes[0].f, 2.0F);
  EXPECT_EQ(f.nodes[0].attributes[0].ref_attr_name, "a");
}

// Protobuf: of a singular field the last occurrence counts, of a singular message all occurrences merge.
TEST(Read, RepeatedSingularFieldsFollowProtobuf) {
  const std::string attribute = message([](auto& out) {
    out.add_string(1, "first");
    out.add_message(5, message([](auto& t) {
                      t.add_int64(1, 2);
                      t.add_int32(2, 7);
                    }));
    out.add_string(1, "second");
    out.add_message(5, message([](auto& t) {
                      t.add_int64(7, 10);
                      t.add_int64(7, 20);
                    }));
    out.add_int32(20, 4);
  });
  std::string bytes = with_nodes({node("A", {}, {"a"}, {attribute})});
  bytes += message([](auto& out) {
    out.add_message(7, graph({.name = "renamed", .nodes = {node("B", {}, {"b"})}}));
    out.add_int64(1, 3);
  });
  const auto result = read_built(bytes);
  ASSERT_TRUE(result) << result.error().message;
  const Graph& g = (*result)->graph;
  EXPECT_EQ((*result)->ir_version, 3);
  EXPECT_EQ(g.name, "renamed");
  ASSERT_EQ(g.nodes.size(), 2U);
  const Attribute& a = g.nodes[0].attributes[0];
  EXPECT_EQ(a.name, "second");
  ASSERT_EQ(a.tensors.size(), 1U);
  EXPECT_EQ(a.tensor().load<std::int64_t>(1), 20);
  // A oneof keeps its last member.
  const std::string dim = message([](auto& out) {
    out.add_string(2, "batch");
    out.add_int64(1, 8);
  });
  const std::string type = message([&](auto& out) {
    out.add_message(
        1, message([&](auto& t) { t.add_message(2, message([&](auto& shape) { shape.add_message(1, dim); })); }));
  });
  const auto shaped = read_built(model({.graph = {.inputs = {value_info_of_type("x", type)}}}));
  ASSERT_TRUE(shaped) << shaped.error().message;
  EXPECT_EQ((*shaped)->graph.inputs[0].type.shape[0].kind, Dim::Kind::kValue);
}

TEST(Read, UnknownFieldsAreSkippedAndGroupsAreRefused) {
  const std::string unknown = message([](auto& out) {
    out.add_int64(900, -1);
    out.add_fixed32(901, 1);
    out.add_fixed64(902, 1);
    out.add_bytes(903, "xyz", 3);
    out.add_string(1, "ir_version of another wire type");
    out.add_int64(7, 5);  // a graph that is a number
  });
  EXPECT_EQ(error_of(unknown + model({})), "no error");
  EXPECT_THAT(error_of(model({}) + "\x1b"), HasSubstr("has an encoding that ONNX does not use"));
  EXPECT_THAT(error_of(model({}) + std::string("\0", 1)), HasSubstr("a field has an impossible number"));
  EXPECT_THAT(error_of(model({}) + "\x08" + std::string(12, '\xff')), HasSubstr("more than ten bytes"));
}

TEST(Read, ErrorsSayWhereTheDamageIs) {
  const std::string whole = with_nodes({node("Op", {"x"}, {"y"}, {attr_int("axis", 1)}, {.name = "n"})});
  EXPECT_THAT(error_of(whole.substr(0, whole.size() - 8)),
              StartsWith("m.onnx: truncated at byte " + std::to_string(whole.size() - 8)));
  // A length inside a node that reaches out of the node.
  std::string inner = node("Op", {"x"}, {"y"}, {}, {.name = "n"});
  inner += "\x2a\x7f";
  EXPECT_THAT(error_of(with_nodes({inner}) + std::string(200, ' ')),
              testing::MatchesRegex("m.onnx: node 'n' \\(Op\\): damaged at byte [0-9]+: a field of 127 bytes lies in a "
                                    "message of which 0 are left; get the file again"));
  // A bad name in an error stays one printable line.
  const std::string bad = std::string("a\nb\xff") + std::string(500, 'c');
  const std::string text =
      error_of(with_nodes({node("Op", {}, {}, {attr_message("", 6, AttrType::kTensor, graph({}))}, {.name = bad})}));
  EXPECT_THAT(text, HasSubstr("node 'a b\uFFFDccc"));
  EXPECT_LT(text.size(), 400U);
}

std::string nested_graph(int depth) {
  std::string inner = graph({});
  for (int i = 0; i < depth; ++i)
    inner = graph({.nodes = {node("If", {"c"}, {"y"}, {attr_graph("then_branch", inner)})}});
  return message([&](auto& out) { out.add_message(7, inner); });
}

std::string nested_type(int depth) {
  std::string type = tensor_type(DType::kFloat32, {});
  for (int i = 0; i < depth; ++i) {
    type = message([&](auto& out) { out.add_message(4, message([&](auto& s) { s.add_message(1, type); })); });
  }
  return model({.graph = {.inputs = {value_info_of_type("x", type)}}});
}

TEST(Read, NestingIsBounded) {
  EXPECT_EQ(error_of(nested_graph(16)), "no error");
  EXPECT_THAT(error_of(nested_graph(17)), HasSubstr("nests deeper than 16 levels"));
  EXPECT_EQ(error_of(nested_type(15)), "no error");
  EXPECT_THAT(error_of(nested_type(16)), HasSubstr("nests deeper than 16 levels"));
  ReadLimits reckless;
  reckless.max_depth = UINT32_MAX;
  EXPECT_THAT(error_of(nested_graph(2000), reckless), HasSubstr("nests deeper than 256 levels"));
  EXPECT_THAT(error_of(nested_type(2000), reckless), HasSubstr("nests deeper than 256 levels"));
}

TEST(Read, EveryCountHasALimit) {
  const std::string busy =
      model({.graph = {.nodes = {node("A", {}, {}, {attr_int("a", 1), attr_int("b", 1)}), node("B", {}, {})},
                       .initializers = {tensor<float>("s", {}, {1}), tensor<float>("t", {1, 1}, {1})},
                       .inputs = {value_info("x", DType::kFloat32, {1, 1})},
                       .outputs = {value_info("y", DType::kFloat32, {})}},
             .functions = {function({.name = "f"}), function({.name = "g"})}});
  ASSERT_EQ(error_of(busy), "no error");
  const auto limited = [&](auto ReadLimits::* member, std::uint64_t value) {
    ReadLimits limits;
    limits.*member = value;
    const auto result = read_built(busy, "m.onnx", limits);
    EXPECT_FALSE(result);
    if (result) return std::string("no error");
    EXPECT_EQ(result.error().code, ErrorCode::kLimit);
    return result.error().message;
  };
  EXPECT_THAT(limited(&ReadLimits::max_file_bytes, busy.size() - 1), HasSubstr("at most"));
  EXPECT_THAT(limited(&ReadLimits::max_nodes, 1), HasSubstr("more than 1 nodes"));
  EXPECT_THAT(limited(&ReadLimits::max_tensors, 1), HasSubstr("more than 1 tensors"));
  EXPECT_THAT(limited(&ReadLimits::max_attributes, 1), HasSubstr("more than 1 attributes"));
  EXPECT_THAT(limited(&ReadLimits::max_values, 1), HasSubstr("more than 1 described values"));
  EXPECT_THAT(limited(&ReadLimits::max_functions, 1), HasSubstr("more than 1 functions"));
  EXPECT_THAT(limited(&ReadLimits::max_rank, 1), HasSubstr("2 dimensions; at most 1"));
  EXPECT_THAT(limited(&ReadLimits::max_name_bytes, 4), HasSubstr("a name of 5 bytes"));
}

// Two bytes a piece become structs of hundreds: without a budget 64 MB would become 10 GB.
TEST(Read, MemoryIsProportionalToTheInput) {
  std::string empty_attributes;
  for (int i = 0; i < 1'000'000; ++i) empty_attributes += std::string("\x2a\x00", 2);
  const std::string node_bytes = message([](auto& out) { out.add_string(4, "Op"); }) + empty_attributes;
  EXPECT_THAT(error_of(with_nodes({node_bytes})), HasSubstr("node number 0 (Op)"));
  EXPECT_THAT(error_of(with_nodes({node_bytes})), HasSubstr("decodes to more memory than 64 times its size"));
}

TEST(Read, ForeignFilesAreRecognised) {
  const auto says = [](const std::string& bytes) { return error_of(bytes); };
  EXPECT_THAT(says(""), HasSubstr("m.onnx: is empty"));
  EXPECT_THAT(says("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"),
              HasSubstr("git-lfs pointer"));
  EXPECT_THAT(says("<!DOCTYPE html><html>"), HasSubstr("HTML"));
  EXPECT_THAT(says("\n  <html>"), HasSubstr("HTML"));
  EXPECT_THAT(says("{\"error\": \"Not found\"}"), HasSubstr("is JSON"));
  EXPECT_THAT(says(" [1, 2]"), HasSubstr("is JSON"));
  EXPECT_THAT(says("PK\x03\x04\x14\x00"), HasSubstr("zip archive"));
  EXPECT_THAT(says("\x1f\x8b\x08 gzip"), HasSubstr("gzip"));
  EXPECT_THAT(says("GGUF\x03"), HasSubstr("GGUF"));
  EXPECT_THAT(says(std::string("\x40\0\0\0\0\0\0\0{\"w\":", 13)), HasSubstr("safetensors"));
  EXPECT_THAT(says("Entry not found"), HasSubstr("text file that begins 'Entry not found'"));
  EXPECT_THAT(says(std::string("\x0a\x03\x12\x01\x61", 5)), HasSubstr("has no graph"));  // protobuf, but not ONNX
  EXPECT_THAT(says(std::string(64, '\xff')), HasSubstr("damaged at byte 0"));
}

TEST(Read, SparseInitializersAreKept) {
  const auto sparse = [](const Dims& dims, bool with_indices, bool wide) {
    return message([&](auto& out) {
      out.add_message(1, tensor<float>("s", {2}, {1, 2}));
      if (with_indices) {
        out.add_message(2, wide ? tensor<std::int64_t>("", {2}, {0, 3}) : tensor<std::int32_t>("", {2}, {0, 3}));
      }
      out.add_packed_int64(3, dims.begin(), dims.end());
    });
  };
  const auto read = [](const std::string& s) {
    return read_built(model({.graph = {.sparse_initializers = {s}}}), "m.onnx");
  };
  const auto good = read(sparse({2, 2}, true, true));
  ASSERT_TRUE(good) << good.error().message;
  EXPECT_EQ((*good)->graph.sparse_initializers[0].values.load<float>(1), 2.0F);
  EXPECT_THAT(read(sparse({2, 2}, false, true)).error().message, HasSubstr("lacks its indices"));
  EXPECT_THAT(read(sparse({2, 2}, true, false)).error().message, HasSubstr("indices of type int32, expected int64"));
  EXPECT_THAT(read(sparse({-2}, true, true)).error().message, HasSubstr("impossible dimensions"));
}

}  // namespace
}  // namespace narthex::onnx
