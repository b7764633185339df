// Loading by name, and damaged models: a real model cut and flipped gives a sentence or still runs, never a crash.
#include "models/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "models/test_tools.h"

namespace narthex {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

TEST(Load, NamesThatAreNothingSayWhatToDo) {
  ::setenv("NARTHEX_HOME", (::testing::TempDir() + "/load_test_home").c_str(), 1);
  EXPECT_THAT(resolve_model("bge-smal-en-v1.5").error().message, HasSubstr("did you mean 'bge-small-en-v1.5'?"));
  EXPECT_THAT(resolve_model("bge-small-en-v1.5").error().message, HasSubstr("`narthex pull bge-small-en-v1.5`"));
  EXPECT_THAT(resolve_model("./nowhere").error().message, HasSubstr("./nowhere: does not exist"));
  EXPECT_THAT(resolve_model("owner/name").error().message, HasSubstr("`narthex pull owner/name`"));
}

TEST(Load, ARepositoryOfTheHubIsNamedByOwnerAndName) {
  const auto spec = pull_spec("intfloat/e5-small-v2@abc123");
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->hub->repository, "intfloat/e5-small-v2");
  EXPECT_EQ(spec->hub->revision, "abc123");
  EXPECT_EQ(pull_spec("BAAI/bge-small-en-v1.5")->name, "bge-small-en-v1.5") << "an alias of the catalog";
  EXPECT_FALSE(pull_spec("owner/../name"));
}

TEST(Load, PrecisionsThatAreNotKnownOrContradictTheRequestAreRefused) {
  LoadOptions options;
  options.precision = "fp8";
  EXPECT_EQ(load_embedder(options).error().message, "precision 'fp8' is not known; auto, fp32, bf16 and int8 are");
  options.precision = "int8";
  options.onnx_exact = true;
  EXPECT_EQ(load_embedder(options).error().message,
            "--onnx-exact runs the graph in its own arithmetic; it cannot be asked for --precision int8");
}

// Loads `bytes` as a model and runs it on one text. True when every stage succeeded.
bool load_and_run(const fs::path& file, std::string_view bytes) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
  CompileOptions options;
  options.max_tensor_bytes = std::uint64_t{64} << 20;
  const auto program = compile_file(file, options);
  if (!program) {
    EXPECT_FALSE(program.error().message.empty());
    return false;
  }
  std::vector<Tensor> inputs;
  for (const ValueId id : (*program)->graph().inputs) {
    const Value& input = (*program)->graph().value(id);
    if (input.dtype != DType::kInt64) return false;
    Dims dims;
    for (const Dim& dim : input.shape.value_or(Shape{1, 5})) dims.push_back(dim.constant().value_or(5));
    auto tensor = Tensor::allocate(input.dtype, dims, options.max_tensor_bytes);
    if (!tensor) return false;
    std::ranges::fill(tensor->as_mutable<std::int64_t>(), 1);
    inputs.push_back(*std::move(tensor));
  }
  return (*program)->run(inputs).has_value();
}

TEST(Load, DamagedGraphsGiveASentenceOrRun) {
  const fs::path file = ::testing::TempDir() + "/damaged.onnx";
  std::mt19937 random(7);
  std::size_t ran = 0;
  for (const char* name :
       {"x_bert_ts_11_eager", "x_modern_dyn_18_sdpa", "x_deberta_dyn_18_eager", "x_xlmr_ts_14_eager"}) {
    const std::string whole =
        read_file(fs::path(NARTHEX_SOURCE_DIR) / "tests/data/graphs" / (std::string(name) + ".onnx"), 1 << 20).value();
    ASSERT_TRUE(load_and_run(file, whole)) << name;
    for (int i = 0; i < 60; ++i) {
      std::string damaged = whole;
      if (i % 4 == 0) {
        damaged.resize(random() % whole.size());
      } else {
        // The structure lies at the start of these files, before the weights.
        for (int flips = 0; flips < 1 + i % 3; ++flips)
          damaged[random() % (whole.size() / 3)] ^= static_cast<char>(1u << (random() % 8));
      }
      ran += load_and_run(file, damaged) ? 1 : 0;
    }
  }
  EXPECT_GT(ran, 10u) << "flipped weights and names still run";
}

TEST(Load, ADamagedRealModelGivesASentenceOrRuns) {
  const auto models = environment_value("NARTHEX_TEST_MODELS");
  if (!models) return skip_loudly("damaged copies of a real model", "NARTHEX_TEST_MODELS");
  const std::string whole = read_file(*models + "/bge-small-en-v1.5-q/model.onnx", std::uint64_t{1} << 30).value();
  const fs::path file = ::testing::TempDir() + "/damaged_real.onnx";
  std::mt19937 random(11);
  for (int i = 0; i < 24; ++i) {
    std::string damaged = whole;
    if (i % 3 == 0) damaged.resize(random() % whole.size());
    for (int flips = 0; flips < 1 << (i % 8); ++flips)
      damaged[random() % damaged.size()] ^= static_cast<char>(1u << (random() % 8));
    load_and_run(file, damaged);
  }
}

}  // namespace
}  // namespace narthex
