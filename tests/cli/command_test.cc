// The program as a person runs it: exit codes, stdout and stderr. Needs no model.
#include "cli/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>

#include "base/json.h"

namespace narthex::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Outcome {
  int code = -1;
  std::string out;
  std::string err;
};

std::string slurp(const std::string& path) {
  std::string text;
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return text;
  std::array<char, 4096> buffer;
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), file)) text.append(buffer.data(), got);
  std::fclose(file);
  return text;
}

// `arguments` go through the shell, quoted by the caller; an own, empty NARTHEX_HOME keeps the user's models out.
Outcome narthex(const std::string& arguments) {
  const std::string stem = ::testing::TempDir() + "/command_test";
  const std::string home = stem + "_home";
  const int status = std::system(
      fmt::format("NARTHEX_HOME={} {} {} >{}.out 2>{}.err </dev/null", home, NARTHEX_BINARY, arguments, stem, stem)
          .c_str());
  return {WEXITSTATUS(status), slurp(stem + ".out"), slurp(stem + ".err")};
}

TEST(Command, EveryCommandHasHelpWithAnExample) {
  for (const Command& command : commands()) {
    const Outcome run = narthex(std::string(command.name) + " --help");
    EXPECT_EQ(run.code, kOk) << command.name;
    EXPECT_THAT(run.out, HasSubstr("Example:")) << command.name;
    EXPECT_EQ(run.err, "") << command.name;
  }
}

TEST(Command, AMistypedCommandGetsTheNearest) {
  const Outcome run = narthex("embd hello");
  EXPECT_EQ(run.code, kUsageError);
  EXPECT_EQ(run.out, "");
  EXPECT_EQ(run.err, "narthex: 'embd' is not a command; did you mean 'embed'? `narthex --help` lists all\n");
}

TEST(Command, AMistypedModelGetsTheNearest) {
  const Outcome run = narthex("embed --model bge-smal-en hello");
  EXPECT_EQ(run.code, kUnusable);
  EXPECT_THAT(run.err, HasSubstr("model 'bge-smal-en' is not known; did you mean 'bge-small-en-v1.5'?"));
}

TEST(Command, AModelThatIsNotHereSaysHowToGetIt) {
  const Outcome run = narthex("embed hello");
  EXPECT_EQ(run.code, kUnusable);
  EXPECT_THAT(run.err, HasSubstr("narthex pull bge-small-en-v1.5"));
}

TEST(Command, TheHashingEmbedderWorksWithNothingAndSaysWhatItIs) {
  const Outcome run = narthex("embed --model hashing-ngram-256 hello 'héllo'");
  EXPECT_EQ(run.code, kOk);
  const auto json = parse_json(run.out, "stdout");
  ASSERT_TRUE(json) << run.out;
  EXPECT_FALSE(json->at("embedder").at("semantic").as_bool());
  EXPECT_EQ(json->at("embedder").at("id").as_string(), "hashing-ngram-256");
  EXPECT_EQ(json->at("data").at(1).at("embedding").as_array().size(), 256u);
  EXPECT_THAT(run.err, HasSubstr("lexical, not semantic"));
}

TEST(Command, WrongOptionsAreUsageErrors) {
  EXPECT_EQ(narthex("embed --format xml hello").code, kUsageError);
  EXPECT_EQ(narthex("embed --threads 0 hello").code, kUsageError);
  EXPECT_EQ(narthex("").code, kUsageError);
  EXPECT_EQ(narthex("embed --model hashing-ngram-256 --format npy x").code, kUsageError);
  EXPECT_EQ(narthex("embed --model hashing-ngram-256 --prompt query x").code, kUsageError);
}

TEST(Command, MistypedVariablesAreUsageErrorsToo) {
  const std::string before =
      fmt::format("NARTHEX_ISA=avx9 {} embed --model hashing-ngram-256 x 2>/dev/null >/dev/null", NARTHEX_BINARY);
  EXPECT_EQ(WEXITSTATUS(std::system(before.c_str())), kUsageError);
}

TEST(Command, ModelsListsTheCatalogWithoutANetwork) {
  const Outcome run = narthex("models --format json");
  EXPECT_EQ(run.code, kOk);
  const auto json = parse_json(run.out, "stdout");
  ASSERT_TRUE(json) << run.out;
  EXPECT_GE(json->at("models").as_array().size(), 5u);
  EXPECT_TRUE(json->at("models").at(0).at("directory").is_null());
}

TEST(Command, AFullDiskIsNotSuccess) {
  const std::string full = fmt::format("{} embed --model hashing-ngram-256 x >/dev/full 2>/dev/null", NARTHEX_BINARY);
  EXPECT_EQ(WEXITSTATUS(std::system(full.c_str())), kUnusable);
}

}  // namespace
}  // namespace narthex::cli
