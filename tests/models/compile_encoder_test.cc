// From files to a plan that has proved itself: every small encoder of tests/data/graphs at every precision, what is
// refused and runs in the interpreter, and the real models where they are (NARTHEX_TEST_MODELS).
#include "models/compile_encoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "models/load.h"
#include "models/small_model.h"
#include "models/test_tools.h"

namespace narthex {
namespace {

using ::testing::HasSubstr;

// DeBERTa's attention looks at positions from both sides, which no plan covers.
std::vector<std::string> covered_graphs() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kSmallGraphs)) {
    const std::string name = entry.path().stem().string();
    if (entry.path().extension() == ".onnx" && !name.starts_with("x_deberta")) names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

LoadOptions options_for(const SmallModel& model, const std::string& precision) {
  LoadOptions options;
  options.model = model.directory().string();
  options.pooling = parse_pooling("mean").value();
  options.precision = precision;
  options.use_artifacts = false;
  return options;
}

// Bytes of a plan's constants: the weights as they are packed.
std::string constants_of(const PackedPlan& plan) {
  std::string bytes;
  for (const packed::Step& step : plan.steps)
    for_constants(step, [&](const Constant& constant) {
      if (constant) bytes.append(reinterpret_cast<const char*>(constant.data), constant.bytes);
    });
  return bytes;
}

TEST(CompileEncoder, EveryCoveredGraphHasAPlanThatAgreesWithTheInterpreter) {
  const std::vector<std::string> names = covered_graphs();
  ASSERT_EQ(names.size(), 18U);
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    const SmallModel files(name, "compile_encoder_test");
    const auto model = inspect_model(options_for(files, "fp32"));
    ASSERT_TRUE(model) << model.error().message;
    const CompiledEncoder& compiled = model->compiled;
    ASSERT_NE(compiled.plan, nullptr) << compiled.refusal;
    EXPECT_EQ(compiled.refusal, "");
    EXPECT_LT(compiled.check_difference, 5e-4);
    EXPECT_EQ(compiled.recognised.at("attention"), 2U);
    EXPECT_EQ(compiled.precision.precision, Precision::kFp32);
    EXPECT_EQ(compiled.precision.loss.texts, 0U) << "nothing was rounded, so nothing is measured";
    EXPECT_EQ(model->embedder->info().precision, "fp32");
    EXPECT_EQ(model->embedder->plan(), compiled.plan.get());
  }
}

void expect_sound_report(const PrecisionReport& report, Precision precision, const PackedPlan& plan) {
  EXPECT_EQ(report.precision, precision);
  EXPECT_GT(report.loss.texts, 3U);
  EXPECT_LE(report.loss.worst_cosine, report.loss.mean_cosine + 1e-12);
  EXPECT_LE(report.loss.mean_cosine, 1 + 1e-12);
  EXPECT_GE(report.loss.worst_cosine, precision == Precision::kBf16 ? 0.999 : kInt8WorstCosine);
  std::vector<std::size_t> not_wanted;
  std::size_t n_products = 0;
  for (const packed::Step& step : plan.steps) {
    if (const auto* linear = std::get_if<packed::Linear>(&step)) {
      if (linear->precision != precision) not_wanted.push_back(n_products);
      ++n_products;
    } else if (const auto* attention = std::get_if<packed::Attention>(&step)) {
      EXPECT_EQ(attention->precision, report.attention);
    }
  }
  EXPECT_EQ(report.n_products, n_products);
  EXPECT_EQ(report.fallback_products, not_wanted) << "the report says which products are in another precision";
}

TEST(CompileEncoder, TheReportSaysWhatRoundingCostsAndWhatFellBack) {
  for (const std::string& name : covered_graphs()) {
    for (const auto& [asked, precision] : {std::pair{"bf16", Precision::kBf16}, std::pair{"int8", Precision::kInt8}}) {
      SCOPED_TRACE(name + " in " + asked);
      const SmallModel files(name, "compile_encoder_test");
      const auto model = inspect_model(options_for(files, asked));
      ASSERT_TRUE(model) << model.error().message;
      ASSERT_NE(model->compiled.plan, nullptr) << model->compiled.refusal;
      expect_sound_report(model->compiled.precision, precision, *model->compiled.plan);
      EXPECT_EQ(model->embedder->info().precision, asked);
    }
  }
}

TEST(CompileEncoder, TwoCompilationsGiveTheSameBytes) {
  for (const char* precision : {"fp32", "bf16", "int8"}) {
    SCOPED_TRACE(precision);
    const SmallModel files("x_bert_ts_14_eager", "compile_encoder_test");
    const auto one = inspect_model(options_for(files, precision));
    const auto two = inspect_model(options_for(files, precision));
    ASSERT_TRUE(one && two);
    EXPECT_TRUE(constants_of(*one->compiled.plan) == constants_of(*two->compiled.plan));
    EXPECT_EQ(one->compiled.precision.loss.worst_cosine, two->compiled.precision.loss.worst_cosine);
  }
}

TEST(CompileEncoder, AutoIsTheNativePrecision) {
  const SmallModel files("x_bert_ts_14_eager", "compile_encoder_test");
  const auto model = inspect_model(options_for(files, "auto"));
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->compiled.precision.precision, native_precision());
  EXPECT_NE(native_precision(), Precision::kInt8) << "a loss that must be asked for";
}

TEST(CompileEncoder, ARefusedGraphSaysWhyAndTheInterpreterServesIt) {
  for (const char* name : {"x_deberta_dyn_18_eager", "x_deberta_ts_17_eager"}) {
    SCOPED_TRACE(name);
    const SmallModel files(name, "compile_encoder_test");
    LoadOptions options = options_for(files, "int8");
    const auto model = inspect_model(options);
    ASSERT_TRUE(model) << model.error().message;
    EXPECT_EQ(model->compiled.plan, nullptr);
    EXPECT_THAT(model->compiled.refusal, HasSubstr("node '")) << "a refusal names what stands in the way";
    EXPECT_EQ(model->embedder->info().precision, "fp32") << "what runs, not what was asked for";
    options.precision = "auto";
    options.onnx_exact = true;
    const auto exact = inspect_model(options);
    ASSERT_TRUE(exact) << exact.error().message;
    EXPECT_EQ(exact->compiled.refusal, "the graph's own semantics were asked for");
    const std::string_view texts[] = {"one two", "", "three quick brown foxes"};
    const auto served = model->embedder->embed(texts, {});
    const auto expected = exact->embedder->embed(texts, {});
    ASSERT_TRUE(served && expected);
    for (std::size_t i = 0; i < std::size(texts); ++i) EXPECT_EQ((*served)[i].values, (*expected)[i].values);
  }
}

TEST(CompileEncoder, RealModelsRunOnPlansAndQuantisedOnesInInt8) {
  const auto models = environment_value("NARTHEX_TEST_MODELS");
  if (!models) return skip_loudly("plans of the real models", "NARTHEX_TEST_MODELS");
  ::setenv("NARTHEX_HOME", std::filesystem::path(*models).parent_path().c_str(), 1);
  for (const char* name : {"bge-small-en-v1.5", "bge-small-en-v1.5-q", "all-MiniLM-L6-v2", "all-MiniLM-L6-v2-int8",
                           "paraphrase-MiniLM-L3-v2"}) {
    SCOPED_TRACE(name);
    LoadOptions options;
    options.model = name;
    options.use_artifacts = false;
    const auto model = inspect_model(options);
    ASSERT_TRUE(model) << model.error().message;
    const CompiledEncoder& compiled = model->compiled;
    ASSERT_NE(compiled.plan, nullptr) << compiled.refusal;
    const bool quantised = compiled.recognised.contains("quantised linear");
    // all-MiniLM-L6-v2-int8 only stores its weights in int8; its products are in float32.
    EXPECT_EQ(quantised, std::string_view(name).ends_with("-q"));
    if (!quantised) {
      EXPECT_LT(compiled.check_difference, 5e-4);
    }
    EXPECT_EQ(compiled.precision.precision, quantised ? Precision::kInt8 : native_precision());
    std::printf("%s: %s, attention %s, worst cosine %.6f to its own fp32, check difference %.2e\n", name,
                model->embedder->info().precision.c_str(),
                std::string(precision_name(compiled.precision.attention)).c_str(), compiled.precision.loss.worst_cosine,
                compiled.check_difference);
  }
}

}  // namespace
}  // namespace narthex
