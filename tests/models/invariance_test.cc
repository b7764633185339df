// The promise that no peer makes: the same text gives the same bytes alone, in any batch, in any order, with any number
// of threads, at every precision; in fp32 on every instruction set too, and in int8 where nothing fell back from int8.
// Threads and instruction sets are chosen once a process, so the program itself is asked for them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "base/cpu.h"
#include "models/load.h"
#include "models/small_model.h"
#include "models/test_tools.h"

namespace narthex {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrecisions[] = {"fp32", "bf16", "int8"};

// 2 to 60 tokens of the letters' tokenizer; equal texts, an empty one, and lengths around 16 and 32, where tiles
// end.
std::vector<std::string> texts_to_embed() {
  std::vector<std::string> texts = {"", "one", "one two", "a short text", "one two", "reset my password"};
  const std::string words = "the quick brown fox jumps over the lazy dog near the bank of the river at night ";
  for (const std::size_t length : {13, 14, 15, 16, 17, 30, 31, 32, 33, 47, 60, 64})
    texts.push_back(words.substr(0, length));
  texts.push_back(words + words + words);
  return texts;
}

// A home of its own: real models are linked into it, and nothing compiled elsewhere is found in it.
class ScratchHome {
 public:
  explicit ScratchHome(const std::string& name)
      : directory_(fs::temp_directory_path() / ("narthex_invariance_" + name)) {
    fs::remove_all(directory_);
    fs::create_directories(directory_);
    if (const auto models = environment_value("NARTHEX_TEST_MODELS"))
      fs::create_directory_symlink(fs::absolute(*models), directory_ / "models");
    std::ofstream input(directory_ / "texts.jsonl");
    for (const std::string& text : texts_to_embed()) input << "{\"text\":\"" << text << "\"}\n";
  }
  ~ScratchHome() { fs::remove_all(directory_); }
  ScratchHome(const ScratchHome&) = delete;
  ScratchHome& operator=(const ScratchHome&) = delete;

  // What `narthex ARGUMENTS` writes to standard output; empty, with a failure, when it fails.
  std::string run(const std::string& isa, const std::string& arguments) const {
    const std::string out = (directory_ / "out").string();
    const std::string command = fmt::format("NARTHEX_HOME={} NARTHEX_ISA={} {} {} >{} 2>{}.err </dev/null",
                                            directory_.string(), isa, NARTHEX_BINARY, arguments, out, out);
    EXPECT_EQ(std::system(command.c_str()), 0)
        << command << "\n"
        << read_file(out + ".err", std::uint64_t{1} << 20).value_or("(is narthex built?)");
    return read_file(out, std::uint64_t{1} << 30).value_or("");
  }
  std::string vectors(const std::string& isa, int threads, const std::string& model,
                      const std::string& precision) const {
    const std::string file = (directory_ / "vectors.npy").string();
    fs::remove(file);
    run(isa, fmt::format("embed --input {}/texts.jsonl --format npy --output {} --threads {} --precision {} --model {}",
                         directory_.string(), file, threads, precision, model));
    return read_file(file, std::uint64_t{1} << 30).value_or("");
  }

 private:
  fs::path directory_;
};

std::vector<std::string> isas_here() {
  std::vector<std::string> names;
  for (const Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvx512, Isa::kAmx})
    if (isa <= best_isa()) names.emplace_back(isa_name(isa));
  return names;
}

// Batches of random sizes in random orders, against each text alone.
void expect_invariant_in_batches(const Embedder& embedder) {
  const std::vector<std::string> texts = texts_to_embed();
  std::vector<std::vector<float>> alone;
  for (const std::string_view text : texts) {
    const auto embedded = embedder.embed(std::span(&text, 1), {});
    ASSERT_TRUE(embedded) << embedded.error().message;
    alone.push_back(embedded->front().values);
  }
  std::mt19937 random(5);
  for (int round = 0; round < 20; ++round) {
    std::vector<std::size_t> picked(1 + random() % (2 * texts.size()));
    std::vector<std::string_view> batch;
    for (std::size_t& i : picked) {
      i = random() % texts.size();
      batch.push_back(texts[i]);
    }
    const auto together = embedder.embed(batch, {});
    ASSERT_TRUE(together) << together.error().message;
    for (std::size_t i = 0; i < picked.size(); ++i)
      ASSERT_EQ((*together)[i].values, alone[picked[i]])
          << "text " << i << " of a batch of " << picked.size() << ": " << batch[i];
  }
}

LoadOptions options_for(const std::string& model, const std::string& precision, const std::string& pooling) {
  LoadOptions options;
  options.model = model;
  options.precision = precision;
  options.use_artifacts = false;
  if (!pooling.empty()) options.pooling = parse_pooling(pooling).value();
  return options;
}

TEST(Invariance, SameBytesAloneInAnyBatchAndOrder) {
  for (const char* graph :
       {"x_bert_ts_14_eager", "x_modern_dyn_18_sdpa", "x_nomic_ts_17_eager", "x_jinav3_dyn_18_sdpa"}) {
    const SmallModel files(graph, "invariance_test");
    for (const char* precision : kPrecisions) {
      for (const char* pooling : {"cls", "mean", "max", "none"}) {
        SCOPED_TRACE(fmt::format("{} in {}, {}", graph, precision, pooling));
        const auto model = inspect_model(options_for(files.directory().string(), precision, pooling));
        ASSERT_TRUE(model) << model.error().message;
        ASSERT_NE(model->embedder->plan(), nullptr) << model->compiled.refusal;
        expect_invariant_in_batches(*model->embedder);
      }
    }
  }
}

TEST(Invariance, SameBytesWithAnyNumberOfThreads) {
  const SmallModel files("x_bert_ts_14_eager", "invariance_threads_test");
  const ScratchHome home("threads");
  for (const char* precision : kPrecisions) {
    const std::string model = files.directory().string() + " --pooling mean";
    const std::string one = home.vectors("", 1, model, precision);
    ASSERT_GT(one.size(), texts_to_embed().size() * sizeof(float));
    for (const int threads : {2, 3, 7}) EXPECT_TRUE(home.vectors("", threads, model, precision) == one) << threads;
  }
}

// Nothing of the model fell back from int8 on this instruction set, attention included.
bool is_all_int8(const ScratchHome& home, const std::string& isa, const std::string& model) {
  const auto report = parse_json(home.run(isa, "inspect --format json --precision int8 " + model), "narthex inspect");
  if (!report) return false;
  const json::object& plan = report->as_object().at("plan").as_object();
  return plan.at("attention").as_string() == "int8" && plan.at("fallback_products").to_number<int>() == 0;
}

// Returns on how many instruction sets int8 could be compared.
std::size_t expect_same_on_every_isa(const std::string& model) {
  std::string fp32, int8;
  std::size_t n_int8 = 0;
  for (const std::string& isa : isas_here()) {
    const ScratchHome home("isa");
    const std::string got = home.vectors(isa, 2, model, "fp32");
    EXPECT_GT(got.size(), texts_to_embed().size() * sizeof(float));
    if (fp32.empty()) fp32 = got;
    EXPECT_TRUE(got == fp32) << "fp32 on " << isa << " and on " << isas_here().front();
    if (!is_all_int8(home, isa, model)) continue;
    const std::string got_int8 = home.vectors(isa, 2, model, "int8");
    if (int8.empty()) int8 = got_int8;
    EXPECT_TRUE(got_int8 == int8) << "int8 on " << isa;
    ++n_int8;
  }
  std::printf("%s: fp32 compared on %zu instruction sets, int8 on %zu\n", model.c_str(), isas_here().size(), n_int8);
  return n_int8;
}

TEST(Invariance, SameBytesOnEveryInstructionSet) {
  const SmallModel files("x_bert_ts_14_eager", "invariance_isa_test");
  const std::size_t n_int8 = expect_same_on_every_isa(files.directory().string() + " --pooling mean");
  EXPECT_GE(n_int8, std::min<std::size_t>(2, isas_here().size())) << "this model runs in int8 whole";
}

TEST(Invariance, ARealModelInBatchesAndWithThreads) {
  const auto models = environment_value("NARTHEX_TEST_MODELS");
  if (!models) return skip_loudly("invariance of a real model", "NARTHEX_TEST_MODELS");
  ::setenv("NARTHEX_HOME", fs::path(*models).parent_path().c_str(), 1);
  const std::string name = "paraphrase-MiniLM-L3-v2";
  for (const char* precision : kPrecisions) {
    SCOPED_TRACE(precision);
    const auto model = inspect_model(options_for(name, precision, ""));
    ASSERT_TRUE(model) << model.error().message;
    expect_invariant_in_batches(*model->embedder);
    const ScratchHome home("real");
    const std::string one = home.vectors("", 1, name, precision);
    EXPECT_GT(one.size(), texts_to_embed().size() * sizeof(float));
    EXPECT_TRUE(home.vectors("", 2, name, precision) == one) << "1 and 2 threads";
  }
}

}  // namespace
}  // namespace narthex
