// Real files cut, flipped and spliced: an Error or a model, never a crash. Under the asan preset this is where reads
// beyond the input show. Every case is repeatable: the seed is fixed and is printed with the case.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/file.h"
#include "onnx/model_builder.h"

namespace narthex::onnx {
namespace {

constexpr int kFlips = 20'000;
constexpr int kCuts = 2'000;

std::string load(const std::string& relative) {
  auto bytes = read_file(std::filesystem::path(NARTHEX_SOURCE_DIR) / relative, 1 << 20);
  EXPECT_TRUE(bytes) << bytes.error().message;
  return bytes.value_or("");
}

// The bytes lie in a block of exactly their size, so that a sanitizer sees a read past the end.
Result<std::shared_ptr<const Model>> read_exactly(std::string_view bytes) {
  const auto block = std::make_shared<std::byte[]>(bytes.size());
  if (!bytes.empty()) std::memcpy(block.get(), bytes.data(), bytes.size());
  return read_model({block.get(), bytes.size()}, "damaged.onnx", {}, {}, block);
}

// Touches every payload, so that a span out of bounds shows.
std::uint64_t touch(const Graph& graph) {
  std::uint64_t sum = 0;
  for (const Tensor& t : graph.initializers) {
    for (const std::byte b : t.data) sum += static_cast<std::uint64_t>(b);
  }
  for (const Node& n : graph.nodes) {
    for (const Attribute& a : n.attributes) {
      for (const Tensor& t : a.tensors) sum += t.data.size();
      for (const Graph& g : a.graphs) sum += touch(g);
    }
  }
  return sum;
}

void expect_whole_sentence(const Error& error) {
  EXPECT_TRUE(error.message.starts_with("damaged.onnx: ")) << error.message;
  EXPECT_LT(error.message.size(), 2000U) << error.message;
}

TEST(Corruption, ASmallFileCutAtEveryByte) {
  const std::string whole = load("tests/onnx/data/all_types.onnx");
  ASSERT_TRUE(read_exactly(whole));
  int failed = 0;
  for (std::size_t n = 0; n < whole.size(); ++n) {
    const auto result = read_exactly(std::string_view(whole).substr(0, n));
    if (result) continue;  // cut between two fields of the outermost message
    expect_whole_sentence(result.error());
    ++failed;
  }
  EXPECT_GT(failed, static_cast<int>(whole.size()) - 10);
}

TEST(Corruption, RealFilesCutAnywhere) {
  std::mt19937_64 random(20261201);
  const std::string names[] = {"x_bert_dyn_23_sdpa", "x_bert_ts_17_sdpa", "x_deberta_ts_17_eager",
                               "x_jinav3_dyn_18_sdpa"};
  for (const std::string& name : names) {
    const std::string whole = load("tests/data/graphs/" + name + ".onnx");
    for (int i = 0; i < kCuts / 4; ++i) {
      const std::size_t n = random() % whole.size();
      const auto result = read_exactly(std::string_view(whole).substr(0, n));
      if (!result) expect_whole_sentence(result.error());
    }
  }
}

TEST(Corruption, FlippedBits) {
  std::mt19937_64 random(20261202);
  // all_types is nearly all structure; in the real files most flips would hit weights, so half of theirs are aimed at
  // the first 64 KB, where the nodes lie.
  const std::string files[] = {load("tests/onnx/data/all_types.onnx"), load("tests/data/graphs/x_bert_ts_17_sdpa.onnx"),
                               load("tests/data/graphs/x_modern_dyn_23_sdpa.onnx")};
  int refused = 0;
  for (int i = 0; i < kFlips; ++i) {
    std::string bytes = files[i % 8 == 0 ? 1 + (i / 8) % 2 : 0];
    const int flips = 1 + static_cast<int>(random() % 4);
    for (int f = 0; f < flips; ++f) {
      const std::size_t span = random() % 2 == 0 ? std::min<std::size_t>(bytes.size(), 65536) : bytes.size();
      bytes[random() % span] ^= static_cast<char>(1 << (random() % 8));
    }
    const auto result = read_exactly(bytes);
    if (result) {
      touch((*result)->graph);
    } else {
      expect_whole_sentence(result.error());
      ++refused;
    }
  }
  EXPECT_GT(refused, kFlips / 10);
}

TEST(Corruption, BytesMovedAndRepeated) {
  std::mt19937_64 random(20261203);
  const std::string whole = load("tests/onnx/data/all_types.onnx");
  for (int i = 0; i < 5'000; ++i) {
    std::string bytes = whole;
    const std::size_t from = random() % bytes.size();
    const std::size_t n = random() % (bytes.size() - from) % 64;
    bytes.insert(random() % bytes.size(), whole.substr(from, n));
    if (const auto result = read_exactly(bytes); !result) expect_whole_sentence(result.error());
  }
}

}  // namespace
}  // namespace narthex::onnx
