// narthex.hpp as a user sees it: no header of the library's own is included here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <list>
#include <narthex/narthex.hpp>
#include <thread>

#include "api/test_model.h"

namespace {

using narthex::EmbedOptions;
using narthex::LoadOptions;
using narthex::LongTexts;
using narthex::Model;
using narthex::Status;
using narthex_test::SmallModel;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

LoadOptions small(const SmallModel& files, const std::string& pooling = "mean") {
  LoadOptions options;
  options.model = files.path();
  options.pooling = pooling;
  return options;
}

TEST(CppApi, TheHashingEmbedderAlwaysWorks) {
  const auto model = Model::load("hashing-ngram-256");
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->info().id, "hashing-ngram-256");
  EXPECT_EQ(model->info().dim, 256u);
  EXPECT_FALSE(model->info().semantic);
  const auto vectors = model->embed_all({"reset my password", "reset the password", "an invoice"});
  ASSERT_TRUE(vectors) << vectors.error().message;
  EXPECT_EQ(vectors->size(), 3u);
  EXPECT_EQ(vectors->values.size(), 3u * 256u);
  EXPECT_THAT(vectors->n_vectors, ElementsAre(1, 1, 1));
  EXPECT_GT(narthex::cosine_similarity(vectors->row(0), vectors->row(1), 256),
            narthex::cosine_similarity(vectors->row(0), vectors->row(2), 256));
  const auto alone = model->embed("reset the password");
  ASSERT_TRUE(alone);
  EXPECT_EQ(std::memcmp(alone->values.data(), vectors->row(1), 256 * sizeof(float)), 0);
  EXPECT_EQ(alone->tokens, vectors->tokens[1]);
}

TEST(CppApi, TextsComeFromAnyContainer) {
  const auto model = Model::load("hashing-ngram-256");
  const auto literal = model->embed_all({"one", "two"});
  ASSERT_TRUE(literal);
  const std::vector<std::string> strings = {"one", "two"};
  const std::list<std::string_view> views = {"one", "two"};
  const char* pointers[] = {"one", "two"};
  EXPECT_EQ(model->embed_all(strings)->values, literal->values);
  EXPECT_EQ(model->embed_all(views)->values, literal->values);
  EXPECT_EQ(model->embed_all(pointers)->values, literal->values);
  const auto none = model->embed_all(std::vector<std::string>{});
  ASSERT_TRUE(none) << none.error().message;
  EXPECT_EQ(none->size(), 0u);
  const auto with_nul = model->embed(std::string_view("one\0two", 7));
  ASSERT_TRUE(with_nul) << with_nul.error().message;
  EXPECT_NE(with_nul->values, model->embed("one")->values);
}

TEST(CppApi, OptionsReachTheModel) {
  const SmallModel files;
  LoadOptions options = small(files);
  options.prompts = {{"query", "three four "}, {"none", ""}};
  const auto model = Model::load(options);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_TRUE(model->info().semantic);
  ASSERT_EQ(model->info().prompts.size(), 2u);
  EXPECT_EQ(model->info().prompts[1].text, "three four ");

  EmbedOptions query;
  query.prompt = "query";
  EmbedOptions text;
  text.prompt_text = "three four ";
  const auto prompted = model->embed("one", query);
  ASSERT_TRUE(prompted) << prompted.error().message;
  EXPECT_EQ(prompted->values, model->embed("three four one")->values);
  EXPECT_EQ(prompted->values, model->embed("one", text)->values);
  EXPECT_NE(prompted->values, model->embed("one")->values);
  EXPECT_THAT(model->tokenize("one", query).value(), ElementsAre(2, 6, 7, 4, 3));

  options.default_prompt = "query";
  const auto by_default = Model::load(options);
  ASSERT_TRUE(by_default) << by_default.error().message;
  EXPECT_EQ(by_default->info().default_prompt, "query");
  EXPECT_EQ(by_default->embed("one")->values, prompted->values);
  text.prompt_text = "";
  EXPECT_EQ(by_default->embed("one", text)->values, model->embed("one")->values) << "an empty prompt is no prompt";

  options.normalize = false;
  options.max_length = 4;
  const auto raw = Model::load(options);
  ASSERT_TRUE(raw) << raw.error().message;
  EXPECT_EQ(raw->info().max_length, 4u);
  EXPECT_NEAR(narthex::cosine_similarity(raw->embed("one", text)->values, model->embed("one")->values), 1.0, 1e-6);
  EXPECT_NE(raw->embed("one", text)->values, model->embed("one")->values);
}

TEST(CppApi, TheCacheIsFilledUnlessItIsRefused) {
  const SmallModel files;
  LoadOptions options = small(files, "max");
  const std::size_t before = narthex_test::own_home.n_files();
  options.use_cache = false;
  const auto anew = Model::load(options);
  ASSERT_TRUE(anew) << anew.error().message;
  EXPECT_EQ(narthex_test::own_home.n_files(), before);
  options.use_cache = true;
  const auto compiled = Model::load(options);
  ASSERT_TRUE(compiled) << compiled.error().message;
  EXPECT_GT(narthex_test::own_home.n_files(), before);
  const auto mapped = Model::load(options);
  ASSERT_TRUE(mapped) << mapped.error().message;
  for (const char* text : {"", "one", "three two one"}) {
    EXPECT_EQ(compiled->embed(text)->values, anew->embed(text)->values);
    EXPECT_EQ(mapped->embed(text)->values, anew->embed(text)->values);
  }
}

TEST(CppApi, PrecisionsAndExactSemantics) {
  const SmallModel files;
  LoadOptions options = small(files);
  options.onnx_exact = true;
  const auto exact = Model::load(options);
  ASSERT_TRUE(exact) << exact.error().message;
  for (const char* precision : {"fp32", "bf16", "int8"}) {
    options.precision = precision;
    options.onnx_exact = false;
    const auto model = Model::load(options);
    ASSERT_TRUE(model) << model.error().message;
    EXPECT_EQ(model->info().precision, precision);
    EXPECT_GT(narthex::cosine_similarity(model->embed("one two")->values, exact->embed("one two")->values), 0.99F)
        << precision;
  }
  options.onnx_exact = true;
  EXPECT_THAT(Model::load(options).error().message, HasSubstr("cannot be asked for --precision int8"));
}

TEST(CppApi, LongTextsAreCutRefusedOrWindowed) {
  const SmallModel files;
  const auto model = Model::load(small(files));
  ASSERT_TRUE(model) << model.error().message;
  EmbedOptions options;
  options.max_length = 5;
  const char* lengthy = "one two three four one two";
  EXPECT_EQ(model->count_tokens(lengthy, options).value(), 8u) << "nothing is cut when tokens are counted";
  const auto cut = model->embed(lengthy, options);
  ASSERT_TRUE(cut) << cut.error().message;
  EXPECT_TRUE(cut->truncated);
  EXPECT_EQ(cut->tokens, 5u);
  options.long_texts = LongTexts::refuse;
  EXPECT_EQ(model->embed(lengthy, options).error().status, Status::limit);
  options.long_texts = LongTexts::window;
  const auto windows = model->embed(lengthy, options);
  ASSERT_TRUE(windows) << windows.error().message;
  EXPECT_EQ(windows->tokens, 10u);
  EXPECT_FALSE(windows->truncated);
  EmbedOptions special;
  special.allow_special = true;
  EXPECT_THAT(model->tokenize("one [SEP]", special).value(), ElementsAre(2, 4, 3, 3));
}

TEST(CppApi, TokenVectorsFitWhateverTheTexts) {
  const SmallModel files;
  const auto model = Model::load(small(files, "none"));
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_TRUE(model->info().token_vectors);
  const auto vectors = model->embed_all({"one two three", "", "four"});
  ASSERT_TRUE(vectors) << vectors.error().message;
  EXPECT_THAT(vectors->n_vectors, ElementsAre(5, 2, 3));
  EXPECT_EQ(vectors->values.size(), 10 * vectors->dim);
  EmbedOptions options;
  options.max_length = 4;
  EXPECT_THAT(model->embed_all({"one two three"}, options)->n_vectors, ElementsAre(4));
  options.long_texts = LongTexts::window;
  const auto windows = model->embed("one two three four one", options);
  ASSERT_TRUE(windows) << windows.error().message;
  EXPECT_EQ(windows->values.size(), windows->n_vectors * vectors->dim);
  EXPECT_EQ(windows->n_vectors, windows->tokens);
  EXPECT_EQ(windows->tokens, 11u) << "three windows, each with its own special tokens: more than a first guess";
}

TEST(CppApi, ErrorsAreSentencesWithAStatus) {
  const auto unknown = Model::load("bge-smal-en-v1.5");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().status, Status::not_found);
  EXPECT_THAT(unknown.error().message, HasSubstr("did you mean 'bge-small-en-v1.5'?"));
  EXPECT_EQ(Model::load("./nowhere.onnx").error().status, Status::not_found);
  EXPECT_EQ(Model::load(std::string_view("a\0b", 3)).error().status, Status::usage);

  const SmallModel files;
  LoadOptions options = small(files, "median");
  EXPECT_FALSE(Model::load(options));
  options = small(files);
  options.precision = "fp7";
  EXPECT_FALSE(Model::load(options));
  options = small(files);
  options.default_prompt = "query";
  EXPECT_THAT(Model::load(options).error().message, HasSubstr("has no prompt 'query'"));
  std::filesystem::resize_file(files.path() + "/model.onnx", 1000);
  EXPECT_EQ(Model::load(small(files)).error().status, Status::bad_model);

  const auto model = Model::load("hashing-ngram-256");
  const auto bad = model->embed_all({"fine", "not \xFF fine"});
  EXPECT_EQ(bad.error().status, Status::bad_input);
  EXPECT_THAT(bad.error().message, HasSubstr("text 1 is not valid UTF-8 at byte 4"));
  EXPECT_EQ(model->tokenize("a").error().status, Status::unsupported);
  EmbedOptions prompt;
  prompt.prompt = "query";
  EXPECT_THAT(model->embed("a", prompt).error().message, HasSubstr("has no prompt 'query'; it has: none"));
  prompt.prompt_text = "query: ";
  EXPECT_EQ(model->embed("a", prompt).error().status, Status::usage) << "a name and a text";
  EXPECT_EQ(narthex::status_name(Status::bad_input), "bad input");
}

TEST(CppApi, AResultIsCheckedWhenUsed) {
  auto failed = Model::load("./nowhere");
  try {
    static_cast<void>(failed->info());
    FAIL() << "no exception";
  } catch (const narthex::Exception& exception) {
    EXPECT_EQ(exception.status(), Status::not_found);
    EXPECT_THAT(exception.what(), HasSubstr("./nowhere: does not exist"));
  }
  EXPECT_THROW(static_cast<void>(std::move(failed).value()), narthex::Exception);
  Model model = Model::load("hashing-ngram-256").value();
  const Model moved = std::move(model);
  EXPECT_TRUE(moved.embed("a"));
  EXPECT_EQ(model.embed("a").error().status, Status::usage)
      << "what was moved from";  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(model.tokenize("a").error().status, Status::usage);
  EXPECT_EQ(narthex::Result<int>(3).error().status, Status::usage);
  EXPECT_FALSE(std::is_copy_constructible_v<Model>);
}

// 8 threads share one model; every one of them gets the bytes that one thread alone got.
void share(const Model& model, const std::vector<std::string>& texts) {
  const auto expected = model.embed_all(texts);
  ASSERT_TRUE(expected) << expected.error().message;
  std::vector<int> wrong(8, -1);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      int mistakes = 0;
      for (std::size_t i = 0; i < texts.size(); ++i) {
        const std::size_t at = (i + t * 3) % texts.size();
        const auto alone = model.embed(texts[at]);
        mistakes += alone && std::memcmp(alone->values.data(), expected->row(at), expected->dim * 4) == 0 ? 0 : 1;
      }
      const auto again = model.embed_all(texts);
      mistakes += again && again->values == expected->values ? 0 : 1;
      wrong[t] = mistakes;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(wrong, ::testing::Each(0));
}

TEST(CppApi, EightThreadsShareAModel) {
  std::vector<std::string> texts;
  const char* words[] = {"one", "two", "three", "four", "five"};
  for (int i = 0; i < 24; ++i) {
    std::string text;
    for (int w = 0; w <= i % 9; ++w) text += std::string(words[(i * 7 + w * 3) % 5]) + " ";
    texts.push_back(text);
  }
  const SmallModel files;
  for (const char* precision : {"fp32", "bf16", "int8"}) {
    LoadOptions options = small(files);
    options.precision = precision;
    const auto model = Model::load(options);
    ASSERT_TRUE(model) << model.error().message;
    SCOPED_TRACE(precision);
    share(*model, texts);
  }
  share(*Model::load("hashing-ngram-256"), texts);
  if (const std::string real = narthex_test::real_model("bge-small-en-v1.5"); !real.empty()) {
    LoadOptions options;
    options.model = real;
    options.pooling = "cls";
    const auto loaded = Model::load(options);
    ASSERT_TRUE(loaded) << loaded.error().message;
    share(*loaded, texts);
  }
}

TEST(CppApi, ThreadsThatLoadTheSameModelAtOnceAgree) {
  const SmallModel files;
  std::vector<std::vector<float>> vectors(4);
  std::vector<std::thread> threads;
  for (std::vector<float>& mine : vectors) {
    threads.emplace_back([&] {
      if (const auto model = Model::load(small(files, "cls"))) mine = model->embed("one two three")->values;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(vectors[0].empty());
  EXPECT_THAT(vectors, ::testing::Each(vectors[0]));
}

TEST(CppApi, ThreadsAreSetBeforeTheFirstComputation) {
  EXPECT_EQ(narthex::set_threads(0).error().status, Status::usage);
  EXPECT_EQ(narthex::set_threads(100000).error().status, Status::usage);
  LoadOptions options;
  options.model = "hashing-ngram-256";
  options.threads = -1;
  EXPECT_THAT(Model::load(options).error().message, HasSubstr("options.threads"));
}

TEST(CppApi, Similarity) {
  EXPECT_FLOAT_EQ(narthex::cosine_similarity({1, 0}, {1, 1}), std::sqrt(0.5F));
  EXPECT_EQ(narthex::cosine_similarity({0, 0}, {1, 1}), 0.0F);
  EXPECT_EQ(narthex::cosine_similarity({1}, {1, 1}), 0.0F);
}

}  // namespace
