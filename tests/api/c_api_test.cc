// narthex.h: what callers without a type system can get wrong gives a status, and structs of other versions work.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <narthex/narthex.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <fstream>
#include <limits>
#include <vector>

#include "api/test_model.h"

namespace {

using ::testing::HasSubstr;
using ::testing::StrEq;

narthex_text text_of(std::string_view text) {
  return {text.data(), text.size()};
}

class CApi : public ::testing::Test {
 protected:
  void SetUp() override {
    narthex_load_options options = NARTHEX_LOAD_OPTIONS_INIT;
    options.model = text_of("hashing-ngram-256");
    ASSERT_EQ(narthex_model_load(&options, &model_, &error_), NARTHEX_OK) << error_.message;
    out_.vectors = vectors_.data();
    out_.capacity = vectors_.size();
  }
  void TearDown() override { narthex_model_free(model_); }

  narthex_status embed(const narthex_text* texts, std::size_t n_texts, const narthex_embed_options* options = nullptr) {
    return narthex_embed(model_, texts, n_texts, options, &out_, &error_);
  }

  narthex_model* model_ = nullptr;
  narthex_error error_ = {};
  std::vector<float> vectors_ = std::vector<float>(512);
  narthex_embed_output out_ = NARTHEX_EMBED_OUTPUT_INIT;
  const narthex_text texts_[2] = {text_of("one"), text_of("two")};
};

TEST_F(CApi, NullsAreAStatus) {
  narthex_model_free(nullptr);
  narthex_model* model = model_;
  narthex_load_options nowhere = NARTHEX_LOAD_OPTIONS_INIT;
  nowhere.model = text_of("./nowhere");
  EXPECT_EQ(narthex_model_load(&nowhere, nullptr, nullptr), NARTHEX_USAGE);
  EXPECT_EQ(narthex_model_load(&nowhere, &model, nullptr), NARTHEX_NOT_FOUND);
  EXPECT_EQ(model, nullptr) << "a failure leaves no handle";
  narthex_model_info info = NARTHEX_MODEL_INFO_INIT;
  EXPECT_EQ(narthex_model_get_info(nullptr, &info, &error_), NARTHEX_USAGE);
  EXPECT_THAT(error_.message, HasSubstr("`model` is NULL"));
  EXPECT_EQ(narthex_model_get_info(model_, nullptr, &error_), NARTHEX_USAGE);
  narthex_prompt prompt;
  EXPECT_EQ(narthex_model_get_prompt(nullptr, 0, &prompt, &error_), NARTHEX_USAGE);
  EXPECT_EQ(narthex_model_get_prompt(model_, 0, nullptr, &error_), NARTHEX_USAGE);
  EXPECT_EQ(narthex_model_get_prompt(model_, 0, &prompt, &error_), NARTHEX_USAGE) << "it has no prompts";
  EXPECT_EQ(narthex_embed(nullptr, texts_, 2, nullptr, &out_, &error_), NARTHEX_USAGE);
  EXPECT_EQ(narthex_embed(model_, texts_, 2, nullptr, nullptr, &error_), NARTHEX_USAGE);
  EXPECT_EQ(embed(nullptr, 2), NARTHEX_USAGE);
  EXPECT_THAT(error_.message, HasSubstr("`texts` is NULL, but n_texts is 2"));
  const narthex_text broken[] = {text_of("one"), {nullptr, 5}};
  EXPECT_EQ(embed(broken, 2), NARTHEX_USAGE);
  EXPECT_THAT(error_.message, HasSubstr("text 1 is NULL with size 5"));
  const narthex_text endless[] = {{"a", std::numeric_limits<std::size_t>::max()}};
  EXPECT_EQ(embed(endless, 1), NARTHEX_USAGE);
  EXPECT_EQ(embed(texts_, std::numeric_limits<std::size_t>::max()), NARTHEX_USAGE);
  out_.vectors = nullptr;
  EXPECT_EQ(embed(texts_, 2), NARTHEX_USAGE);
  std::size_t n_ids = 0;
  EXPECT_EQ(narthex_tokenize(nullptr, texts_[0], nullptr, nullptr, 0, &n_ids, &error_), NARTHEX_USAGE);
  EXPECT_EQ(narthex_tokenize(model_, texts_[0], nullptr, nullptr, 0, nullptr, &error_), NARTHEX_USAGE);
  EXPECT_EQ(narthex_tokenize(model_, texts_[0], nullptr, nullptr, 0, &n_ids, nullptr), NARTHEX_UNSUPPORTED);
  EXPECT_EQ(narthex_cosine_similarity(nullptr, vectors_.data(), 2), 0.0F);
  EXPECT_THAT(narthex_status_name(12345), StrEq("unknown"));
  EXPECT_THAT(narthex_status_name(NARTHEX_NOT_FOUND), StrEq("not found"));
  EXPECT_THAT(narthex_version(), ::testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
}

TEST_F(CApi, NoTextsAndEmptyTextsAreFine) {
  EXPECT_EQ(embed(nullptr, 0), NARTHEX_OK) << error_.message;
  EXPECT_EQ(out_.n_floats, 0u);
  const narthex_text empty[] = {{nullptr, 0}, {"", 0}};
  EXPECT_EQ(embed(empty, 2), NARTHEX_OK) << error_.message;
  EXPECT_EQ(out_.n_floats, 512u);
  EXPECT_EQ(error_.status, NARTHEX_OK);
  EXPECT_THAT(error_.message, StrEq("")) << "a success clears the sentence";
}

TEST_F(CApi, ABufferThatIsTooSmallSaysWhatIsNeededAndStaysAsItWas) {
  std::vector<float> before(511, 7.0F);
  out_.vectors = before.data();
  out_.capacity = before.size();
  std::size_t tokens[2] = {};
  out_.n_tokens = tokens;
  EXPECT_EQ(embed(texts_, 2), NARTHEX_BUFFER_TOO_SMALL);
  EXPECT_THAT(error_.message, HasSubstr("`vectors` has room for 511, 512 are needed"));
  EXPECT_EQ(out_.n_floats, 512u);
  EXPECT_THAT(before, ::testing::Each(7.0F));
  out_.vectors = vectors_.data();
  out_.capacity = out_.n_floats;
  EXPECT_EQ(embed(texts_, 2), NARTHEX_OK) << error_.message;
  EXPECT_GT(tokens[0], 0u);
}

TEST_F(CApi, OptionsOfOtherVersions) {
  narthex_embed_options unset = {};
  EXPECT_EQ(embed(texts_, 2, &unset), NARTHEX_USAGE) << "struct_size was forgotten";
  EXPECT_THAT(error_.message, HasSubstr("struct_size of a narthex_embed_options is 0"));
  unset.struct_size = std::numeric_limits<std::size_t>::max();
  EXPECT_EQ(embed(texts_, 2, &unset), NARTHEX_USAGE);
  struct Newer {
    narthex_embed_options known;
    std::uint64_t unknown;
  } newer = {NARTHEX_EMBED_OPTIONS_INIT, 0};
  newer.known.struct_size = sizeof(newer);
  EXPECT_EQ(embed(texts_, 2, &newer.known), NARTHEX_OK) << error_.message;
  newer.unknown = 1;
  EXPECT_EQ(embed(texts_, 2, &newer.known), NARTHEX_UNSUPPORTED);
  struct NewerInfo {
    narthex_model_info known;
    std::uint64_t unknown;
  } info = {NARTHEX_MODEL_INFO_INIT, 5};
  info.known.struct_size = sizeof(info);
  EXPECT_EQ(narthex_model_get_info(model_, &info.known, &error_), NARTHEX_OK) << error_.message;
  EXPECT_EQ(info.known.struct_size, sizeof(info));
  EXPECT_EQ(info.known.dim, 256u);
  EXPECT_EQ(info.unknown, 0u);
  EXPECT_THAT(info.known.id.data, StrEq("hashing-ngram-256"));
}

TEST_F(CApi, NumbersThatNoEnumHas) {
  narthex_embed_options options = NARTHEX_EMBED_OPTIONS_INIT;
  for (const std::int32_t wrong : {-1, 3, 1 << 30}) {
    options.long_texts = wrong;
    EXPECT_EQ(embed(texts_, 2, &options), NARTHEX_USAGE);
    narthex_load_options load = NARTHEX_LOAD_OPTIONS_INIT;
    load.model = text_of("hashing-ngram-256");
    load.normalize = wrong;
    narthex_model* model = nullptr;
    EXPECT_EQ(narthex_model_load(&load, &model, &error_), NARTHEX_USAGE);
  }
  narthex_load_options load = NARTHEX_LOAD_OPTIONS_INIT;
  load.n_prompts = 3;
  narthex_model* model = nullptr;
  load.model = text_of("hashing-ngram-256");
  EXPECT_EQ(narthex_model_load(&load, &model, &error_), NARTHEX_USAGE);
  EXPECT_THAT(error_.message, HasSubstr("options.prompts is NULL"));
  const narthex_prompt nameless[] = {{{nullptr, 0}, text_of("x")}};
  load.prompts = nameless;
  load.n_prompts = 1;
  EXPECT_EQ(narthex_model_load(&load, &model, &error_), NARTHEX_USAGE);
}

TEST_F(CApi, ALongSentenceIsCutBetweenCharacters) {
  std::string name = "./";
  for (int i = 0; i < 900; ++i) name += "\u00e9";
  narthex_load_options options = NARTHEX_LOAD_OPTIONS_INIT;
  for (int shift = 0; shift < 2; ++shift) {
    options.model = text_of(name);
    narthex_model* model = nullptr;
    EXPECT_NE(narthex_model_load(&options, &model, &error_), NARTHEX_OK);
    const std::string_view message = error_.message;
    EXPECT_GE(message.size(), sizeof(error_.message) - 2);
    EXPECT_EQ(static_cast<unsigned char>(message.back()), 0xA9u) << "the second byte of the letter";
    name.insert(2, "x");
  }
}

TEST(CApiTokens, TokensWithTheSameSizeProtocol) {
  const narthex_test::SmallModel files;
  const std::string path = files.path();
  narthex_load_options options = NARTHEX_LOAD_OPTIONS_INIT;
  options.model = text_of(path);
  options.pooling = text_of("none");
  narthex_model* model = nullptr;
  narthex_error error;
  ASSERT_EQ(narthex_model_load(&options, &model, &error), NARTHEX_OK) << error.message;
  std::size_t n_ids = 0;
  EXPECT_EQ(narthex_tokenize(model, text_of("one two"), nullptr, nullptr, 0, &n_ids, &error), NARTHEX_OK);
  EXPECT_EQ(n_ids, 4u);
  std::int32_t ids[4] = {-1, -1, -1, -1};
  EXPECT_EQ(narthex_tokenize(model, text_of("one two"), nullptr, ids, 3, &n_ids, &error), NARTHEX_BUFFER_TOO_SMALL);
  EXPECT_EQ(ids[0], -1);
  EXPECT_EQ(n_ids, 4u);
  EXPECT_EQ(narthex_tokenize(model, text_of("one two"), nullptr, ids, 4, &n_ids, &error), NARTHEX_OK);
  EXPECT_THAT(ids, ::testing::ElementsAre(2, 4, 5, 3));
  EXPECT_EQ(narthex_tokenize(model, text_of("\xC3"), nullptr, ids, 4, &n_ids, &error), NARTHEX_BAD_INPUT);
  // Token vectors: the size is known after computing, and the buffer is still untouched.
  const narthex_text texts[] = {text_of("one two"), text_of("three")};
  narthex_embed_output out = NARTHEX_EMBED_OUTPUT_INIT;
  EXPECT_EQ(narthex_embed(model, texts, 2, nullptr, &out, &error), NARTHEX_BUFFER_TOO_SMALL);
  narthex_model_info info = NARTHEX_MODEL_INFO_INIT;
  ASSERT_EQ(narthex_model_get_info(model, &info, &error), NARTHEX_OK);
  EXPECT_EQ(out.n_floats, 7 * info.dim);
  EXPECT_EQ(info.token_vectors, 1);
  std::vector<float> vectors(out.n_floats);
  std::size_t n_vectors[2];
  std::uint8_t truncated[2];
  out.vectors = vectors.data();
  out.capacity = vectors.size();
  out.n_vectors = n_vectors;
  out.truncated = truncated;
  EXPECT_EQ(narthex_embed(model, texts, 2, nullptr, &out, &error), NARTHEX_OK) << error.message;
  EXPECT_THAT(n_vectors, ::testing::ElementsAre(4, 3));
  EXPECT_THAT(truncated, ::testing::ElementsAre(0, 0));
  narthex_model_free(model);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// The exit status of a child that embeds `texts` in little more address space than it has, and then text 0 with all of
// it: 0 when the first gives NARTHEX_OUT_OF_MEMORY and the second succeeds.
int out_of_memory_in_a_child(const narthex_model* model, const std::vector<narthex_text>& texts,
                             narthex_embed_output out) {
  const pid_t child = fork();
  if (child < 0) return -1;
  if (child == 0) {
    narthex_error error;
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit limit;
    getrlimit(RLIMIT_AS, &limit);
    const rlimit tight = {pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + (std::size_t{16} << 20),
                          limit.rlim_max};
    setrlimit(RLIMIT_AS, &tight);
    const narthex_status first = narthex_embed(model, texts.data(), texts.size(), nullptr, &out, &error);
    setrlimit(RLIMIT_AS, &limit);
    const narthex_text small = {"one", 3};
    const narthex_status second = narthex_embed(model, &small, 1, nullptr, &out, &error);
    _exit(first == NARTHEX_OUT_OF_MEMORY && second == NARTHEX_OK ? 0 : 10 + first);
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(CApi, RunningOutOfMemoryIsAStatus) {
  const std::string big(std::size_t{64} << 20, 'a');
  EXPECT_EQ(out_of_memory_in_a_child(model_, {text_of(big)}, out_), 0);
}

TEST(CApiMemory, RunningOutOfMemoryInAnEncoderIsAStatus) {
  const narthex_test::SmallModel files;
  const std::string path = files.path();
  narthex_load_options options = NARTHEX_LOAD_OPTIONS_INIT;
  options.model = text_of(path);
  options.pooling = text_of("mean");
  narthex_model* model = nullptr;
  narthex_error error;
  ASSERT_EQ(narthex_model_load(&options, &model, &error), NARTHEX_OK) << error.message;
  narthex_model_info info = NARTHEX_MODEL_INFO_INIT;
  ASSERT_EQ(narthex_model_get_info(model, &info, &error), NARTHEX_OK) << error.message;
  const std::vector<narthex_text> texts(200000, text_of("one two three four"));
  std::vector<float> vectors(texts.size() * info.dim);
  narthex_embed_output out = NARTHEX_EMBED_OUTPUT_INIT;
  out.vectors = vectors.data();
  out.capacity = vectors.size();
  EXPECT_EQ(out_of_memory_in_a_child(model, texts, out), 0);
  narthex_model_free(model);
}
#endif

}  // namespace
