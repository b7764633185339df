// The promise: a text's vector is the same bytes alone, in any batch, in any order and with any number of threads, in
// every precision; in fp32 on any instruction set too, and in int8 where attention and every product run in int8.
// On small random encoders, and on bge-small where it is (NARTHEX_TEST_MODELS). Threads and instruction sets are chosen
// once a process, so those runs are runs of the program.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "base/cpu.h"
#include "models/load.h"
#include "models/small_model.h"
#include "models/test_tools.h"

namespace narthex {
namespace {

namespace fs = std::filesystem;

// Of 0 to `longest` words, some texts twice.
std::vector<std::string> random_texts(std::size_t n, std::size_t longest) {
  constexpr const char* kWords[] = {"one", "two", "three", "four", "a", "b", "reset", "the", "password", "xyz"};
  std::mt19937 random(20261207);
  std::vector<std::string> texts = {"", "one"};
  while (texts.size() < n) {
    std::string text;
    for (std::size_t words = random() % (longest + 1); words > 0; --words)
      text += std::string(kWords[random() % std::size(kWords)]) + " ";
    texts.push_back(random() % 8 == 0 ? texts[random() % texts.size()] : text);
  }
  return texts;
}

struct Subject {
  fs::path directory;
  std::string pooling;
  std::size_t max_length;  // tokens; the small encoders have positions for 64
};

LoadOptions options_of(const Subject& subject, const std::string& precision) {
  LoadOptions options;
  options.model = subject.directory.string();
  options.pooling = parse_pooling(subject.pooling).value();
  options.max_length = subject.max_length;
  options.precision = precision;
  options.use_artifacts = false;
  return options;
}

void expect_same_in_any_batch(const Embedder& embedder, const std::vector<std::string>& texts) {
  std::vector<std::vector<float>> alone;
  for (const std::string& text : texts) {
    const std::string_view view = text;
    const auto embeddings = embedder.embed({&view, 1}, {});
    ASSERT_TRUE(embeddings) << embeddings.error().message;
    alone.push_back(embeddings->front().values);
  }
  std::mt19937 random(11);
  std::vector<std::size_t> order(texts.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  for (const std::size_t batch : {std::size_t{2}, std::size_t{7}, std::size_t{32}, texts.size()}) {
    std::ranges::shuffle(order, random);
    for (std::size_t first = 0; first < order.size(); first += batch) {
      std::vector<std::string_view> views;
      for (std::size_t i = first; i < std::min(first + batch, order.size()); ++i) views.push_back(texts[order[i]]);
      const auto together = embedder.embed(views, {});
      ASSERT_TRUE(together) << together.error().message;
      for (std::size_t i = 0; i < views.size(); ++i) {
        const std::vector<float>& want = alone[order[first + i]];
        const std::vector<float>& got = (*together)[i].values;
        ASSERT_EQ(got.size(), want.size());
        ASSERT_EQ(0, std::memcmp(got.data(), want.data(), want.size() * sizeof(float)))
            << "batches of " << batch << ", text '" << views[i] << "'";
      }
    }
  }
}

// One of each architecture: absolute positions, rotation and gated units, biases by distance, two-way attention (which
// runs in the interpreter).
constexpr const char* kGraphs[] = {"x_bert_ts_14_eager", "x_modern_ts_17_eager", "x_nomic_ts_17_eager",
                                   "x_mpnet_ts_14_eager", "x_deberta_ts_17_eager"};
constexpr const char* kPrecisions[] = {"fp32", "bf16", "int8"};

TEST(Invariance, SmallEncodersGiveTheSameBytesAloneAndInAnyBatch) {
  const std::vector<std::string> texts = random_texts(80, 7);
  for (const char* graph : kGraphs) {
    const SmallModel files(graph, "invariance_batch");
    for (const char* precision : kPrecisions) {
      SCOPED_TRACE(std::string(graph) + " in " + precision);
      const auto model = inspect_model(options_of({files.directory(), "mean", 60}, precision));
      ASSERT_TRUE(model) << model.error().message;
      expect_same_in_any_batch(*model->embedder, texts);
    }
  }
}

class Runs {
 public:
  Runs(Subject subject, const std::vector<std::string>& texts)
      : folder_(fs::temp_directory_path() / ("runs_of_" + subject.directory.filename().string())),
        subject_(std::move(subject)) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    std::ofstream lines(folder_ / "texts.jsonl");
    for (const std::string& text : texts) lines << json::serialize(json::object{{"text", text}}) << "\n";
  }
  ~Runs() { fs::remove_all(folder_); }
  Runs(const Runs&) = delete;
  Runs& operator=(const Runs&) = delete;

  // The .npy file that the program writes; each instruction set compiles its own plan.
  std::string vectors(const std::string& precision, std::string_view isa, int threads) const {
    const std::string out = fmt::format("{}/{}_{}_{}.npy", folder_.string(), precision, isa, threads);
    const std::string folder = folder_.string();
    const std::string command = fmt::format(
        "NARTHEX_LOG=error NARTHEX_HOME={}/home_{} NARTHEX_ISA={} {} embed --model {} --pooling {} --max-length {} "
        "--precision {} --threads {} --input {}/texts.jsonl --format npy --output {} </dev/null",
        folder, isa, isa, NARTHEX_BINARY, subject_.directory.string(), subject_.pooling, subject_.max_length, precision,
        threads, folder, out);
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    const auto bytes = read_file(out, std::uint64_t{1} << 30);
    EXPECT_TRUE(bytes) << command;
    return bytes ? *bytes : std::string();
  }

 private:
  fs::path folder_;
  Subject subject_;
};

std::vector<std::string_view> isas_here() {
  std::vector<std::string_view> names;
  for (const Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvx512, Isa::kAmx})
    if (isa <= best_isa()) names.push_back(isa_name(isa));
  return names;
}

// Whether the same numbers come out on every instruction set: what falls back is in what the machine has natively.
bool same_on_every_isa(const CompiledEncoder& compiled) {
  const PrecisionReport& report = compiled.precision;
  return compiled.plan == nullptr || report.precision == Precision::kFp32 ||
         (report.precision == Precision::kInt8 && report.attention == Precision::kInt8 &&
          report.fallback_products.empty());
}

void expect_same_in_any_process(const Subject& subject, const std::vector<std::string>& texts,
                                std::span<const std::string_view> isas) {
  const Runs runs(subject, texts);
  for (const char* precision : kPrecisions) {
    SCOPED_TRACE(subject.directory.string() + " in " + precision);
    const auto model = inspect_model(options_of(subject, precision));
    ASSERT_TRUE(model) << model.error().message;
    const bool everywhere = same_on_every_isa(model->compiled);
    std::printf("%s in %s: %s\n", subject.directory.filename().c_str(), precision,
                everywhere ? "compared on every instruction set" : "compared on each instruction set by itself");
    std::string first;
    for (const std::string_view isa : isas) {
      const std::string one = runs.vectors(precision, isa, 1);
      ASSERT_FALSE(one.empty());
      EXPECT_TRUE(one == runs.vectors(precision, isa, 2)) << "1 and 2 threads, " << isa;
      if (first.empty()) first = one;
      EXPECT_TRUE(!everywhere || one == first) << isas.front() << " and " << isa;
    }
  }
}

TEST(Invariance, SmallEncodersGiveTheSameBytesWithAnyThreadsAndInstructions) {
  const std::vector<std::string> texts = random_texts(60, 7);
  const auto isas = isas_here();
  for (const char* graph : {"x_bert_ts_14_eager", "x_modern_ts_17_eager", "x_mpnet_ts_14_eager"}) {
    const SmallModel files(graph, std::string("invariance_isa_") + graph);
    expect_same_in_any_process({files.directory(), "mean", 60}, texts, isas);
  }
}

TEST(Invariance, ARealModelGivesTheSameBytesWithAnyThreadsAndInstructions) {
  const auto models = environment_value("NARTHEX_TEST_MODELS");
  if (!models) return skip_loudly("the same bytes of bge-small", "NARTHEX_TEST_MODELS");
  const std::vector<std::string> texts = random_texts(24, 120);
  // The plain table takes minutes for a model of this size; the small ones above cover it.
  auto isas = isas_here();
  if (isas.size() > 1) isas.erase(isas.begin());
  const Subject bge{*models + "/bge-small-en-v1.5", "cls", 512};
  expect_same_in_any_process(bge, texts, isas);
  for (const char* precision : kPrecisions) {
    SCOPED_TRACE(precision);
    const auto model = inspect_model(options_of(bge, precision));
    ASSERT_TRUE(model) << model.error().message;
    expect_same_in_any_batch(*model->embedder, texts);
  }
}

}  // namespace
}  // namespace narthex
